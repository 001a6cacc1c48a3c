// SPDX-License-Identifier: Apache-2.0
// Reset for one clock from a reset of any clock: asserts at once, without a clock, and lets go in step with `clk_i`. Give
// every clock of a design its own, from the same source, so that all of them are reset together.
module sl_reset_sync #(
  parameter int unsigned Stages = 2  // flip-flops in the chain, 2 or more: the reset lasts this many cycles at least
) (
  input  logic clk_i,
  input  logic async_rst_i,  // active high, from any clock, free of glitches
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
