// SPDX-License-Identifier: Apache-2.0
// Sends each packet to every port of its egress mask (multicast), one flit per cycle, without storing it: a flit advances once each
// port of the mask has taken it. So a stalled port stalls the other copies; where that must not happen (the lanes in live runs), a
// FIFO after the port drops instead of stalling. A packet with an empty mask is dropped.
module el_replicate #(
  parameter int unsigned Ports = 4  // 1 to 8; port n is bit n of the mask
) (
  input  logic              clk_i,
  input  logic              rst_i,        // synchronous, active high
  input  sluice_pkg::flit_t in_data_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t out_data_o,   // same for all ports
  output logic [Ports-1:0]  out_valid_o,
  input  logic [Ports-1:0]  out_ready_i
);
  import sluice_pkg::*;

  logic [Ports-1:0] mask_q, mask, done_q;

  assign mask        = in_data_i.sop ? in_data_i.meta.egress_mask[Ports-1:0] : mask_q;
  assign out_data_o  = in_data_i;
  assign out_valid_o = in_valid_i ? mask & ~done_q : '0;
  assign in_ready_o  = (mask & ~done_q & ~out_ready_i) == '0;

  always_ff @(posedge clk_i) begin
    if (in_valid_i) begin
      done_q <= in_ready_o ? '0 : done_q | (mask & out_ready_i);
      if (in_data_i.sop) mask_q <= mask;
    end
    if (rst_i) done_q <= '0;
  end
endmodule
