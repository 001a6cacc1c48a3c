// SPDX-License-Identifier: Apache-2.0
// Synchronises bits from another clock, each through a chain of flip-flops. The bits are not kept aligned with each other: use it
// only for single bits and for gray code. A pulse shorter than a clock may be missed. The source must be a flip-flop, or glitches
// are sampled.
module sl_sync #(
  parameter int unsigned Width  = 1,  // at least 1
  parameter int unsigned Stages = 2   // flip-flops in the chain, at least 2
) (
  input  logic             clk_i,
  input  logic [Width-1:0] async_i,
  output logic [Width-1:0] sync_o   // Stages cycles later, give or take one
);
  (* ASYNC_REG = "TRUE", keep = "true" *)
  logic [Stages-1:0][Width-1:0] chain_q;

  always_ff @(posedge clk_i) chain_q <= (Stages * Width)'({chain_q, async_i});

  assign sync_o = chain_q[Stages-1];
endmodule
