// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_to_avalon, for all packets and stalls, and runs of any length (induction): each flit leaves once, in
// order (fv_watch), as one beat: the first byte as the high-order symbol, empty and error at the end only, the ingress port of the
// packet as channel in all its beats. A waiting beat is stable; a beat inside is offered at once, and a flit is taken unless two
// are inside. Assumed: whole packets, and that an offered flit is stable.
module fv_to_avalon
  import sluice_pkg::*;
(
  input logic  clk_i,
  input flit_t in_data_i,
  input logic  in_valid_i,
  input logic  avalon_ready_i,
  input logic  choose_i
);
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);

  typedef struct packed {
    logic [8*DATA_BYTES-1:0] data;
    logic [EmptyBits-1:0]    empty;
    logic [7:0]              channel;
    logic                    error;
    logic                    startofpacket;
    logic                    endofpacket;
  } beat_t;

  logic       rst_q = 1'b1, inside_q = 1'b0;
  logic       in_ready, valid, watching, enter;
  logic [7:0] channel_q;
  beat_t      beat, expected, word;
  logic [1:0] held, ahead;

  sl_to_avalon u_avalon (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .avalon_data_o(beat.data), .avalon_empty_o(beat.empty),
    .avalon_channel_o(beat.channel), .avalon_error_o(beat.error), .avalon_startofpacket_o(beat.startofpacket),
    .avalon_endofpacket_o(beat.endofpacket), .avalon_valid_o(valid), .avalon_ready_i
  );

  always_comb begin
    expected               = '0;
    expected.startofpacket = in_data_i.sop;
    expected.endofpacket   = in_data_i.eop;
    expected.channel       = in_data_i.sop ? in_data_i.meta.ingress_port : channel_q;
    if (in_data_i.eop) begin
      expected.empty = in_data_i.empty;
      expected.error = in_data_i.error;
    end
    for (int unsigned i = 0; i < DATA_BYTES; i++) expected.data = {expected.data[8*DATA_BYTES-9:0], in_data_i.data[8*i +: 8]};
  end

  assign enter = in_valid_i && in_ready && !rst_q;

  fv_watch #(.Width($bits(beat_t)), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(expected),
    .leave_i(valid && avalon_ready_i && !rst_q), .out_valid_i(valid), .out_data_i(beat),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (in_valid_i) m_packets : assume (in_data_i.sop == !inside_q && !rst_q);
    if (enter) begin
      inside_q  <= !in_data_i.eop;
      channel_q <= expected.channel;
    end
    if (!rst_q) begin
      a_offers_what_is_inside : assert (valid == (held != '0));
      a_takes_flits_until_full : assert (in_ready == (held != 2'd2));
      // For the induction.
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_avalon.u_skid.spare_q == word);
      if (inside_q) i_channel : assert (u_avalon.channel_q == channel_q);
      c_last_beat_waits : cover (watching && ahead == 2'd1 && word.endofpacket && !word.startofpacket && word.channel == 8'd5);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i(in_data_i), .valid_i(in_valid_i), .ready_i(in_ready)
  );
  sl_channel_check #(.Width($bits(beat_t))) u_check (
    .clk_i, .rst_i(rst_q), .data_i(beat), .valid_i(valid), .ready_i(avalon_ready_i)
  );
endmodule
