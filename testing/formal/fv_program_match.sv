// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_program_match, for one arbitrary key among arbitrary others, under arbitrary writes: five cycles later it
// finds the lowest entry that accepts each of its nibbles, as the words of the table were when it entered, whatever is written in
// that cycle or later. Assumed: the words that it reads were written once.
module fv_program_match #(
  parameter int unsigned KeyBits = 4,
  parameter int unsigned Entries = 8,
  localparam int unsigned Nibbles   = KeyBits / 4,
  localparam int unsigned Groups    = Entries / 4,
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned GroupBits = $clog2(Groups)
) (
  input logic                 clk_i,
  input logic                 key_valid_i,
  input logic [KeyBits-1:0]   key_i,
  input logic                 write_valid_i,
  input logic [GroupBits-1:0] write_group_i,
  input logic [3:0]           write_nibble_i,
  input logic [KeyBits-1:0]   write_data_i,
  input logic [KeyBits-1:0]   watched_i        // the watched key; constant
);
  logic                 rst_q = 1'b1, started_q = 1'b0;
  logic                 hit;
  logic [IndexBits-1:0] index;

  sl_program_match #(.KeyBits(KeyBits), .Entries(Entries), .Fan(4)) u_match (
    .clk_i, .rst_i(rst_q), .key_valid_i(key_valid_i && !rst_q), .key_i,
    .write_valid_i, .write_group_i(Groups'(1) << write_group_i), .write_nibble_i, .write_data_i, .hit_o(hit), .index_o(index)
  );

  // Which entries accept each nibble of the watched key.
  logic [Nibbles-1:0][Groups-1:0] known_q = '0;
  logic [Nibbles-1:0][Entries-1:0] accepts_q;
  logic [KeyBits-1:0]              watched_q;
  logic [Entries-1:0]              accepting;
  logic                            ask;
  logic [4:0]                      asked_q = '0;
  logic [4:0][Entries-1:0]         expected_q;

  always_comb begin
    accepting = '1;
    for (int n = 0; n < Nibbles; n++) accepting &= accepts_q[n];
  end
  assign ask = key_valid_i && !rst_q && key_i == watched_i && known_q == '1;

  always_ff @(posedge clk_i) begin
    rst_q      <= 1'b0;
    started_q  <= 1'b1;
    watched_q  <= watched_i;
    asked_q    <= {asked_q[3:0], ask};
    expected_q <= {expected_q[3:0], accepting};
    for (int n = 0; n < Nibbles; n++) begin
      if (write_valid_i && write_nibble_i == watched_i[4*n +: 4]) begin
        known_q[n][write_group_i] <= 1'b1;
        accepts_q[n][4*write_group_i +: 4] <= write_data_i[4*n +: 4];
      end
    end

    if (started_q) assume (watched_i == watched_q);

    if (asked_q[4]) begin
      a_hits_when_an_entry_accepts : assert (hit == (expected_q[4] != '0));
      if (hit) a_finds_the_lowest : assert ((expected_q[4] & ((Entries'(2) << index) - 1'b1)) == Entries'(1) << index);
      c_misses : cover (!hit);
      c_finds_the_second_of_a_later_group : cover (hit && index == IndexBits'(Entries - 2));
      c_changes_under_traffic : cover (hit && asked_q[0] && expected_q[0] == '0);
    end
  end
endmodule
