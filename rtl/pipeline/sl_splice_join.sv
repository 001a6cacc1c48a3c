// SPDX-License-Identifier: Apache-2.0
// Makes packets of the flits of sl_splice_turn: leaves out those that go, joins a flit with columns of the next where a packet
// shrinks, and adds a flit where one grows by it. One flit a cycle of the busier side. A packet must go on behind what goes from it,
// as its `length` says: sl_splice_job has compared that.
module sl_splice_join
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,        // synchronous, active high
  input  splice_flit_t in_data_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,   // combinational from out_ready_i
  output flit_t        out_data_o,
  output logic         out_valid_o,  // combinational from in_valid_i
  input  logic         out_ready_i
);
  /* verilator lint_off UNUSEDSIGNAL */  // it is none to skip
  splice_flit_t hold_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic         hold_valid_q, waits, merges, spills, fire, take;

  assign waits       = hold_q.lags && !hold_q.flit.eop;
  assign merges      = waits && in_data_i.flit.eop && !in_data_i.over;  // the next flit is the end of this one
  assign spills      = !hold_q.lags && hold_q.over;
  assign out_valid_o = hold_valid_q && (!waits || in_valid_i);
  assign fire        = out_valid_o && out_ready_i;
  assign in_ready_o  = !hold_valid_q || (out_ready_i && !spills);
  assign take        = in_valid_i && in_ready_o;

  always_comb begin
    out_data_o       = hold_q.flit;
    out_data_o.eop   = (hold_q.flit.eop && !spills) || merges;
    out_data_o.empty = !out_data_o.eop ? '0 : merges ? in_data_i.flit.empty : hold_q.flit.empty;
    out_data_o.error = out_data_o.eop && (merges ? in_data_i.flit.error : hold_q.flit.error);
    for (int c = 0; c < FLIT_WORDS; c++) begin
      if (!hold_q.own[c]) out_data_o.data[16*c +: 16] = waits ? in_data_i.flit.data[16*c +: 16] : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) hold_valid_q <= !in_data_i.skip && !(hold_valid_q && merges);
    else if (fire && !spills) hold_valid_q <= 1'b0;
    if (take) hold_q <= in_data_i;
    else if (fire && spills) begin
      hold_q.over      <= 1'b0;
      hold_q.flit.sop  <= 1'b0;
      hold_q.flit.meta <= '0;
      hold_q.flit.data <= (8 * DATA_BYTES)'(hold_q.tail);
    end
    if (rst_i) hold_valid_q <= 1'b0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && hold_valid_q && waits && in_valid_i) a_packet_goes_on : assert (!in_data_i.flit.sop && !in_data_i.skip);
  end
`endif
endmodule
