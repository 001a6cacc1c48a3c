// SPDX-License-Identifier: Apache-2.0
// Keeps packets whole after an element whose program is not proved to do so: the output is well-formed for any input. A flit that
// breaks a packet (a first flit inside a packet, unused bytes before the last) ends it with `error`; flits up to the next first
// flit are discarded. Combinational in the data path; the state moves with `in_valid_i`.
module sl_packet_guard
  import sluice_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_i,       // synchronous, active high
  input  flit_t in_data_i,
  input  logic  in_valid_i,  // the word moves in this cycle
  output flit_t out_data_o,
  output logic  out_valid_o
);
  logic inside_q, breaks;

  assign out_valid_o = in_valid_i && (inside_q || in_data_i.sop);
  assign breaks      = (inside_q && in_data_i.sop) || (in_data_i.empty != '0 && !in_data_i.eop);

  always_comb begin
    out_data_o = in_data_i;
    if (breaks) begin
      out_data_o.sop   = !inside_q;
      out_data_o.eop   = 1'b1;
      out_data_o.error = 1'b1;
      out_data_o.empty = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (out_valid_o) inside_q <= !out_data_o.eop;
    if (rst_i) inside_q <= 1'b0;
  end

`ifdef SLUICE_TRACE
  int unsigned discarded_q = 0, mended_q = 0;
  always_ff @(posedge clk_i) begin
    if (!rst_i && in_valid_i && !out_valid_o) discarded_q <= discarded_q + 1;
    if (!rst_i && out_valid_o && breaks) mended_q <= mended_q + 1;
  end
  final $display("@guard %m %0d %0d", discarded_q, mended_q);
`endif
endmodule
