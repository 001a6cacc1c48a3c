// SPDX-License-Identifier: Apache-2.0
// The leaf of the priority encoder: four entries and their priority RAM. The RAM is addressed by the match lines and holds, for
// each of the 16 patterns, the winning entry and its priority, so no comparator and no priority register is needed. The result is
// registered. Until the RAM is written for an entry, patterns with that entry give arbitrary results.
module sl_priority_leaf #(
  parameter int unsigned PriorityBits = 6  // at least 1
) (
  input  logic                    clk_i,
  input  logic                    match_valid_i,
  input  logic [3:0]              match_i,
  input  logic                    write_valid_i,
  input  logic [3:0]              write_pattern_i,
  input  logic [PriorityBits+1:0] write_winner_i,  // {priority, entry}
  output logic                    any_o,           // one cycle after match_valid_i, stable
  output logic [PriorityBits-1:0] priority_o,      // valid with any_o
  output logic [1:0]              entry_o
);
  logic [PriorityBits+1:0] winner;

  sl_ram_lut #(.Width(PriorityBits + 2), .Depth(16)) u_priority_ram (
    .clk_i,
    .write_valid_i,
    .write_address_i(write_pattern_i),
    .write_data_i(write_winner_i),
    .read_address_i(match_i),
    .read_data_o(winner)
  );

  always_ff @(posedge clk_i) begin
    if (match_valid_i) begin
      any_o                 <= |match_i;
      {priority_o, entry_o} <= winner;
    end
  end
endmodule
