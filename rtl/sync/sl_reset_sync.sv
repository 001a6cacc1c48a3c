// SPDX-License-Identifier: Apache-2.0
// Reset for one clock from a reset of any clock: asserts at once, without a clock, and deasserts synchronously to `clk_i`. Give
// each clock of a design its own instance, from the same source, so that all are reset together.
module sl_reset_sync #(
  parameter int unsigned Stages = 2  // flip-flops in the chain, at least 2: the reset lasts at least this many cycles
) (
  input  logic clk_i,
  input  logic async_rst_i,  // active high, from any clock, glitch-free
  output logic rst_o         // active high; falls Stages cycles after async_rst_i, give or take one
);
  (* ASYNC_REG = "TRUE", keep = "true" *)
  logic [Stages-1:0] chain_q;

  always_ff @(posedge clk_i or posedge async_rst_i) begin
    if (async_rst_i) chain_q <= '1;
    else chain_q <= Stages'({chain_q, 1'b0});
  end

  assign rst_o = chain_q[Stages-1];
endmodule
