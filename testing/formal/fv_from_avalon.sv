// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_from_avalon, for all beats and stalls, and runs of any length (induction): each beat leaves once, in
// order (fv_watch), as one flit: its high-order symbol as the first byte, unused symbols as 0, the channel of the first beat as its
// ingress port, error at the end if any beat of the packet had it. A waiting flit is stable; a flit inside is offered at once, and
// a beat is taken unless two are inside. Assumed: packets begin with startofpacket.
module fv_from_avalon
  import sluice_pkg::*;
(
  input logic                          clk_i,
  input logic [8*DATA_BYTES-1:0]       avalon_data_i,
  input logic [$clog2(DATA_BYTES)-1:0] avalon_empty_i,
  input logic [7:0]                    avalon_channel_i,
  input logic                          avalon_error_i,
  input logic                          avalon_startofpacket_i,
  input logic                          avalon_endofpacket_i,
  input logic                          avalon_valid_i,
  input logic                          out_ready_i,
  input logic                          choose_i
);
  logic       rst_q = 1'b1, inside_q = 1'b0, bad_q = 1'b0;
  logic       ready, out_valid, watching, enter, bad;
  flit_t      out_data, expected, word;
  logic [1:0] held, ahead;

  sl_from_avalon u_avalon (
    .clk_i, .rst_i(rst_q), .avalon_data_i, .avalon_empty_i, .avalon_channel_i, .avalon_error_i, .avalon_startofpacket_i,
    .avalon_endofpacket_i, .avalon_valid_i, .avalon_ready_o(ready), .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  always_comb begin
    bad            = avalon_error_i || (inside_q && bad_q);
    expected       = '0;
    expected.sop   = avalon_startofpacket_i;
    expected.eop   = avalon_endofpacket_i;
    expected.error = avalon_endofpacket_i && bad;
    if (avalon_startofpacket_i) expected.meta.ingress_port = avalon_channel_i;
    if (avalon_endofpacket_i) expected.empty = avalon_empty_i;
    for (int unsigned i = 0; i < DATA_BYTES; i++) begin
      if (i + 32'(expected.empty) < DATA_BYTES) expected.data[8*i +: 8] = 8'(avalon_data_i >> (8 * (DATA_BYTES - 1 - i)));
    end
  end

  assign enter = avalon_valid_i && ready && !rst_q;

  fv_watch #(.Width(FLIT_BITS), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(expected),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_data),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (avalon_valid_i) m_packets : assume (avalon_startofpacket_i == !inside_q);
    if (enter) begin
      inside_q <= !avalon_endofpacket_i;
      bad_q    <= bad;
    end
    if (!rst_q) begin
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_beats_until_full : assert (ready == (held != 2'd2));
      // For the induction.
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_avalon.u_skid.spare_q == word);
      if (inside_q) i_bad : assert (u_avalon.bad_q == bad_q);
      c_bad_before_its_end : cover (watching && ahead == 2'd1 && word.error && word.eop && !word.sop && word.empty != '0);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
