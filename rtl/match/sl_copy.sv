// SPDX-License-Identifier: Apache-2.0
// A register that stays one of several copies of the same data, so that each is near to what it drives: synthesis merges
// registers that are equal, unless they lie behind the border of a module that it must keep.
(* keep_hierarchy *)
module sl_copy #(
  parameter int unsigned Width = 32
) (
  input  logic             clk_i,
  input  logic             enable_i,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o   // one cycle later
);
  always_ff @(posedge clk_i) if (enable_i) data_o <= data_i;
endmodule
