// SPDX-License-Identifier: Apache-2.0
// The shadow of a transposed RAM: the contents of each entry, in block RAM, so that entries that share a RAM word can be rewritten
// together. `target_*` announces the next entry to write; its group is then read into registers (`lanes_o`), one entry per cycle. A
// write puts the new word into its lane and starts a sweep: `sweep_valid_o` for 2**WordBits cycles, with the word number, while the
// user computes each RAM word from all lanes. The other lanes are unchanged, so the sweep rewrites live entries with their own
// contents. A write without `write_ready_o` is lost.
module sl_tcam_shadow #(
  parameter int unsigned Width        = 64,   // bits per entry
  parameter int unsigned Entries      = 513,  // at least 2; if the last group has only one entry, that entry takes no shadow
  parameter int unsigned GroupEntries = 4,    // a power of two, at least 2
  parameter int unsigned WordBits     = 4,    // a sweep has 2**WordBits words; at least 2
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned LaneBits  = $clog2(GroupEntries),
  localparam int unsigned Groups    = (Entries + GroupEntries - 1) / GroupEntries,
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 target_valid_i,  // the entry of the next write is known
  input  logic [IndexBits-1:0] target_index_i,  // stable while target_valid_i, until the write or reload_i
  input  logic                 reload_i,        // pulse while not sweeping: the target changed without a write
  input  logic                 write_valid_i,
  output logic                 write_ready_o,   // registered; stays until the write
  input  logic [Width-1:0]     write_data_i,
  output logic                 sweep_valid_o,
  output logic                 sweep_last_o,
  output logic [GroupBits-1:0] sweep_group_o,
  output logic [WordBits-1:0]  sweep_word_o,
  output logic [Width-1:0]     lanes_o [GroupEntries]
);
  localparam int unsigned Depth       = Entries % GroupEntries == 1 ? Entries - 1 : Entries;
  localparam int unsigned AddressBits = $clog2(Depth);

  logic                    write;
  logic                    target_valid_q;  // registered target: its source may be far away
  logic [IndexBits-1:0]    target_q;
  logic                    loading_q;      // the lanes are being read
  logic [LaneBits-1:0]     read_lane_q;
  logic [GroupEntries-1:0] read_here_q;    // lane whose word the RAM outputs next, one-hot or none
  logic [GroupEntries-1:0] target_here_q;  // lane of the target, one-hot: known long before the write
  logic [Width-1:0]        shadow;
  logic [IndexBits-1:0]    read_index;
  logic                    near_end;

  assign write       = write_valid_i && write_ready_o;
  assign read_index  = {target_q[IndexBits-1:LaneBits], read_lane_q};
  assign near_end    = !sweep_valid_o || &sweep_word_o[WordBits-1:1];  // a lane read now is latched after the last word

  sl_ram_block #(.Width(Width), .Depth(Depth)) u_shadow (
    .clk_i,
    .write_valid_i(write && 32'(target_q) < Depth),
    .write_address_i(AddressBits'(target_q)),
    .write_data_i,
    .read_valid_i(loading_q && near_end && 32'(read_index) < Depth),
    .read_address_i(AddressBits'(read_index)),
    .read_data_o(shadow)
  );

  always_ff @(posedge clk_i) begin
    for (int l = 0; l < GroupEntries; l++) begin
      read_here_q[l]   <= loading_q && near_end && 32'(read_lane_q) == l;
      target_here_q[l] <= 32'(target_q[LaneBits-1:0]) == l;
    end
    target_q       <= target_index_i;
    target_valid_q <= target_valid_i && !write && !reload_i;
    if (loading_q && near_end) begin
      read_lane_q <= read_lane_q + 1'b1;
      if (32'(read_lane_q) == GroupEntries - 1) loading_q <= 1'b0;
    end
    if (!loading_q && read_here_q == '0 && !write_ready_o && target_valid_q) begin
      loading_q   <= 1'b1;
      read_lane_q <= '0;
    end
    if (read_here_q[GroupEntries-1]) write_ready_o <= 1'b1;
    if (reload_i) begin
      loading_q     <= 1'b0;
      read_here_q   <= '0;
      write_ready_o <= 1'b0;
    end
    if (write) begin
      write_ready_o <= 1'b0;
      sweep_valid_o <= 1'b1;
      sweep_group_o <= GroupBits'(target_q >> LaneBits);
    end else if (sweep_last_o) begin
      sweep_valid_o <= 1'b0;
    end
    sweep_last_o <= sweep_valid_o && 32'(sweep_word_o) == 2 ** WordBits - 2;
    if (sweep_valid_o) sweep_word_o <= sweep_word_o + 1'b1;
    if (rst_i) begin
      loading_q     <= 1'b0;
      read_here_q   <= '0;
      write_ready_o <= 1'b0;
      sweep_valid_o <= 1'b0;
      sweep_last_o  <= 1'b0;
      sweep_word_o  <= '0;
    end
  end

  for (genvar l = 0; l < GroupEntries; l++) begin : gen_lane
    always_ff @(posedge clk_i) begin
      if ((write && target_here_q[l]) || read_here_q[l]) lanes_o[l] <= read_here_q[l] ? shadow : write_data_i;
    end
  end
endmodule
