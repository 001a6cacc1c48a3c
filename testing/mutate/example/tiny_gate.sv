// SPDX-License-Identifier: Apache-2.0
// A part to be mutated in the test of `sluice mutate`: its test sees `sum_o` and, of `both_o`, only cycles with a_i not 0.
module tiny_gate (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic [3:0] a_i,
  input  logic [3:0] b_i,
  output logic [3:0] sum_o,   // registered
  output logic       both_o,
  output logic       high_o
);
  assign both_o = a_i != '0 && b_i != '0;
  assign high_o = a_i[3] || a_i > 4'd7;  // one operand would do

  always_ff @(posedge clk_i) begin
    sum_o <= a_i + b_i;
    if (rst_i) sum_o <= '0;
  end
endmodule
