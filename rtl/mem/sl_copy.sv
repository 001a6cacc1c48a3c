// SPDX-License-Identifier: Apache-2.0
// A register that stays one of several copies of the same data, so that each copy is placed near its loads. Synthesis merges equal
// registers unless they are inside a module whose hierarchy it must keep.
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
