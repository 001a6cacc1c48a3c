// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_from_axis, for all beats, well-formed or not, and stalls, and runs of any length (induction): each beat
// leaves once, in order (fv_watch), as one flit: the first of a packet as sop, metadata and unused bytes as 0, error at the end if
// any beat of the packet had tuser, a tkeep that is not ones from the bottom, or one that is not all ones before the end. A waiting
// flit is stable; a flit inside is offered at once, and a beat is taken unless two are inside.
module fv_from_axis
  import sluice_pkg::*;
(
  input logic                    clk_i,
  input logic [8*DATA_BYTES-1:0] axis_tdata_i,
  input logic [DATA_BYTES-1:0]   axis_tkeep_i,
  input logic                    axis_tlast_i,
  input logic                    axis_tuser_i,
  input logic                    axis_tvalid_i,
  input logic                    out_ready_i,
  input logic                    choose_i
);
  logic       rst_q = 1'b1, first_q = 1'b1, bad_q = 1'b0;  // the next beat is the first of a packet; the packet is bad so far
  logic       tready, out_valid, watching, enter, bad, counted;
  flit_t      out_data, expected, word;
  logic [1:0] held, ahead;

  sl_from_axis u_axis (
    .clk_i, .rst_i(rst_q), .axis_tdata_i, .axis_tkeep_i, .axis_tlast_i, .axis_tuser_i, .axis_tvalid_i, .axis_tready_o(tready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  always_comb begin
    expected     = '0;
    expected.sop = first_q;
    expected.eop = axis_tlast_i;
    counted      = 1'b0;
    for (int unsigned bytes = 1; bytes <= DATA_BYTES; bytes++) begin
      if (64'(axis_tkeep_i) == (64'd1 << bytes) - 1) begin
        counted = axis_tlast_i || bytes == DATA_BYTES;
        if (axis_tlast_i) expected.empty = $bits(expected.empty)'(DATA_BYTES - bytes);
      end
    end
    bad            = axis_tuser_i || !counted || (!first_q && bad_q);
    expected.error = axis_tlast_i && bad;
    for (int unsigned i = 0; i < DATA_BYTES; i++) if (axis_tkeep_i[i]) expected.data[8*i +: 8] = axis_tdata_i[8*i +: 8];
  end

  assign enter = axis_tvalid_i && tready && !rst_q;

  fv_watch #(.Width(FLIT_BITS), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(expected),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_data),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (enter) begin
      first_q <= axis_tlast_i;
      bad_q   <= bad;
    end
    if (!rst_q) begin
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_beats_until_full : assert (tready == (held != 2'd2));
      // For the induction.
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_axis.u_skid.spare_q == word);
      i_place : assert (u_axis.inside_q == !first_q && (first_q || u_axis.bad_q == bad_q));
      c_bad_before_its_end : cover (watching && ahead == 2'd1 && word.error && word.eop && !word.sop && word.empty != '0);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
