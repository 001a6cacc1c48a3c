// SPDX-License-Identifier: Apache-2.0
// The ternary table of a parser stage: finds the first entry that takes the key, five cycles later, a key a cycle. Whoever loads the
// table writes its memory as it is: a word for each value of a nibble of the key and each group of four entries, with a bit for
// each nibble's place and entry (`pipeline_write_t`). Writing the words of a group again does not disturb its other entries. Nothing
// is reset: every word must be written once before the first key. A write applies to the keys that enter after it.
module sl_program_match #(
  parameter int unsigned KeyBits = 40,  // multiple of 4
  parameter int unsigned Entries = 64,  // multiple of 4 and of Fan
  parameter int unsigned Fan     = 8,   // entries that the first level of the choice chooses from, a power of two
  localparam int unsigned Groups    = Entries / 4,
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                      clk_i,
  input  logic                      rst_i,           // synchronous, active high
  input  logic                      key_valid_i,
  input  logic [KeyBits-1:0]        key_i,
  input  logic                      write_valid_i,
  input  logic [Groups-1:0]         write_group_i,   // one-hot; best registered
  input  logic [3:0]                write_nibble_i,
  input  logic [KeyBits-1:0]        write_data_i,    // bit 4n + m: entry m of the group takes this nibble as nibble n of a key
  output logic                      hit_o,           // five cycles after key_valid_i, stable until the next
  output logic [IndexBits-1:0]      index_o          // the lowest entry that matches, undefined without a hit
);
  localparam int unsigned Partials = (KeyBits / 4 + 3) / 4;

  localparam int unsigned Fans     = Entries / Fan;
  localparam int unsigned FanBits  = $clog2(Fan);

  logic [4:1]                       valid_q;
  logic [Partials-1:0][Entries-1:0] partial;
  logic [Entries-1:0]               match_q;
  logic [Fans-1:0]                  fan_hit_q;    // an entry of these matches
  logic [Fans-1:0][FanBits-1:0]     fan_index_q;  // the lowest of them

  sl_tcam_slice #(.KeyBits(KeyBits), .Entries(Entries)) u_slice (
    .clk_i, .key_valid_i, .key_i,
    .write_valid_i, .write_group_i, .write_word_i(write_nibble_i), .write_data_i,
    .match_o(partial)
  );

  function automatic logic [FanBits-1:0] lowest_of(logic [Fan-1:0] entries);
    logic [FanBits-1:0] index;
    index = '1;
    for (int e = Fan - 2; e >= 0; e--) if (entries[e]) index = FanBits'(e);
    return index;
  endfunction

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[3:1], key_valid_i};
    if (valid_q[2]) begin
      logic [Entries-1:0] all;
      all = '1;
      for (int p = 0; p < Partials; p++) all &= partial[p];
      match_q <= all;
    end
    if (valid_q[3]) begin
      for (int n = 0; n < Fans; n++) begin
        fan_hit_q[n]   <= |match_q[Fan*n +: Fan];
        fan_index_q[n] <= lowest_of(match_q[Fan*n +: Fan]);
      end
    end
    if (valid_q[4]) begin
      hit_o <= |fan_hit_q;
      for (int n = Fans - 1; n >= 0; n--) if (fan_hit_q[n]) index_o <= IndexBits'(n << FanBits) | IndexBits'(fan_index_q[n]);
    end
    if (rst_i) valid_q <= '0;
  end
endmodule
