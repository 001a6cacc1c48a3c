// SPDX-License-Identifier: Apache-2.0
// The action sets of all rules, by rule index. Three cycles to read. A read in the cycle of a write or later returns the new set,
// an earlier one the old set: exact to the cycle, even where the RAM itself would leave the word undefined.
module sl_action_ram
  import sluice_pkg::*;
#(
  parameter int unsigned Entries = 1024,  // rules, at least 2
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,  // synchronous, active high: discards reads in flight
  input  logic                 write_valid_i,
  input  logic [IndexBits-1:0] write_index_i,
  input  action_set_t          write_data_i,
  input  logic                 read_valid_i,
  input  logic [IndexBits-1:0] read_index_i,
  output action_set_t          read_data_o  // registered, 3 cycles after read_valid_i
);
  logic [1:0]  valid_q, same_q;
  action_set_t written_q, written_q2, ram_data;

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[0], read_valid_i};
    same_q  <= {same_q[0], write_valid_i && read_valid_i && write_index_i == read_index_i};
    if (write_valid_i) written_q <= write_data_i;
    if (same_q[0]) written_q2 <= written_q;
    if (valid_q[1]) read_data_o <= same_q[1] ? written_q2 : ram_data;
  end

  sl_ram_block #(.Width(ACTION_SET_BITS), .Depth(Entries), .Latency(2)) u_ram (
    .clk_i, .write_valid_i, .write_address_i(write_index_i), .write_data_i,
    .read_valid_i, .read_address_i(read_index_i), .read_data_o(ram_data)
  );
endmodule
