// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_to_axis, for all flits and stalls, and runs of any length (induction): each flit leaves once, in order
// (fv_watch), as one beat: its bytes, tkeep ones over the valid bytes, tlast and tuser at the end only. A waiting beat is stable; a
// beat inside is offered at once, and a flit is taken unless two are inside.
module fv_to_axis
  import sluice_pkg::*;
(
  input logic  clk_i,
  input flit_t in_data_i,
  input logic  in_valid_i,
  input logic  axis_tready_i,
  input logic  choose_i
);
  typedef struct packed {
    logic [8*DATA_BYTES-1:0] tdata;
    logic [DATA_BYTES-1:0]   tkeep;
    logic                    tlast;
    logic                    tuser;
  } beat_t;

  logic       rst_q = 1'b1;
  logic       in_ready, tvalid, watching;
  beat_t      beat, expected, word;
  logic [1:0] held, ahead;

  sl_to_axis u_axis (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .axis_tdata_o(beat.tdata), .axis_tkeep_o(beat.tkeep),
    .axis_tlast_o(beat.tlast), .axis_tuser_o(beat.tuser), .axis_tvalid_o(tvalid), .axis_tready_i
  );

  always_comb begin
    expected.tdata = in_data_i.data;
    expected.tlast = in_data_i.eop;
    expected.tuser = in_data_i.eop && in_data_i.error;
    for (int unsigned i = 0; i < DATA_BYTES; i++) begin
      expected.tkeep[i] = !in_data_i.eop || i + 32'(in_data_i.empty) < DATA_BYTES;
    end
  end

  fv_watch #(.Width($bits(beat_t)), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(in_valid_i && in_ready && !rst_q), .enter_data_i(expected),
    .leave_i(tvalid && axis_tready_i && !rst_q), .out_valid_i(tvalid), .out_data_i(beat),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (!rst_q) begin
      a_offers_what_is_inside : assert (tvalid == (held != '0));
      a_takes_flits_until_full : assert (in_ready == (held != 2'd2));
      // For the induction.
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_axis.u_skid.spare_q == word);
      c_last_beat_waits : cover (watching && ahead == 2'd1 && word.tlast && word.tkeep == DATA_BYTES'(1));
    end
  end

  sl_channel_check #(.Width($bits(beat_t))) u_check (
    .clk_i, .rst_i(rst_q), .data_i(beat), .valid_i(tvalid), .ready_i(axis_tready_i)
  );
endmodule
