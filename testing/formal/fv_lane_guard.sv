// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sh_lane_guard, for all packets, all room, any waits_i and resets at any time (induction): output packets
// begin with a sop; an output word is an input word, or ends a packet as bad whose rest is lost. A packet that leaves whole has all
// its words. Each packet either leaves whole, is ended as bad, or is counted by lost_o in the cycle it is lost: exactly one of
// these. A word is refused only if there is no room, for a sop if not roomy, or while a packet must still be ended, which happens
// at the next room. With waits_i nothing is refused, and input is taken in the second of two cycles with room; without it
// everything is taken at once. A packet cut by a reset is discarded up to the next sop, uncounted. Assumed: whole packets.
module fv_lane_guard
  import sluice_pkg::*;
(
  input logic  clk_i,
  input logic  rst_i,
  input logic  waits_i,
  input flit_t in_data_i,
  input logic  in_valid_i,
  input logic  out_ready_i,
  input logic  out_roomy_i
);
  logic  started_q = 1'b0, in_ready, out_lost, out_valid, lost, enter, passes, refuses;
  flit_t out_data;

  sh_lane_guard u_guard (
    .clk_i, .rst_i, .waits_i, .in_data_i, .in_valid_i, .in_ready_o(in_ready), .out_data_o(out_data), .out_lost_o(out_lost),
    .out_valid_o(out_valid), .out_ready_i, .out_roomy_i, .lost_o(lost)
  );

  logic inside_q, dead_q;        // input packet: it has begun; a word was refused, or it began before the reset
  logic out_inside_q, cut_q;     // output packet: it has begun and not ended; its rest is lost
  logic [1:0] open_q;            // packets received, minus those that left whole, were ended as bad or were counted
  logic room_q, fresh_q, ended_q;  // there was room; no sop since the reset; a packet was ended as bad since

  assign enter   = in_valid_i && in_ready;
  assign passes  = out_valid && !out_lost;
  assign refuses = enter && !passes && (in_data_i.sop || !dead_q);  // the first word of a lost packet

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) m_reset : assume (rst_i);
    if (started_q && in_valid_i) m_packets : assume (in_data_i.sop == !inside_q);
    if (enter) begin
      inside_q <= !in_data_i.eop;
      dead_q   <= refuses || (dead_q && !in_data_i.sop);
      if (in_data_i.sop) fresh_q <= 1'b0;
    end
    if (out_valid) out_inside_q <= !out_data.eop;
    if (out_valid && out_lost) ended_q <= 1'b1;
    cut_q  <= cut_q ? !out_ready_i : refuses && !in_data_i.sop;
    open_q <= open_q + 2'(enter && in_data_i.sop) - 2'(out_valid && out_data.eop) - 2'(lost);
    room_q <= out_ready_i && !rst_i;
    if (rst_i) begin
      dead_q       <= 1'b1;
      out_inside_q <= 1'b0;
      cut_q        <= 1'b0;
      open_q       <= '0;
      fresh_q      <= 1'b1;
      ended_q      <= 1'b0;
    end
    if (started_q && !rst_i) begin
      if (out_valid) a_only_with_room : assert (out_ready_i);
      if (out_valid) a_begins_with_a_sop : assert (out_data.sop == !out_inside_q);
      if (passes) a_leaves_unchanged : assert (in_valid_i && out_data == in_data_i);
      if (passes) a_has_all_its_words : assert (in_data_i.sop || !dead_q);
      if (out_valid && out_lost) a_ends_as_bad : assert (out_data.eop && out_data.error && out_data.empty == '0 && cut_q);
      a_each_leaves_or_is_counted_once : assert (open_q == 2'(out_inside_q));
      if (refuses) a_refuses_for_want_of_room_only : assert (!waits_i && (!out_ready_i || cut_q || (in_data_i.sop && !out_roomy_i)));
      if (cut_q && out_ready_i) a_is_ended_at_once : assert (out_valid && out_lost);
      if (!waits_i || (out_ready_i && room_q)) a_takes_words : assert (in_ready);
      i_same_state : assert (u_guard.inside_q == out_inside_q && u_guard.broken_q == cut_q && (!cut_q || out_inside_q));
      if (inside_q) i_same_view : assert (u_guard.discard_q == dead_q);
      if (inside_q && !dead_q) i_same_packet : assert (out_inside_q && !cut_q);
      if (!inside_q || dead_q) i_no_other_packet : assert (out_inside_q == cut_q);
      if (room_q) i_ended : assert (!cut_q);
      c_lost_while_another_is_ended : cover (cut_q && lost && in_data_i.eop);
      c_whole_behind_what_was_lost : cover (ended_q && passes && out_data.eop && !out_data.sop);
      c_discards_what_a_reset_cut : cover (fresh_q && enter && in_data_i.eop && !in_data_i.sop);
    end
  end
endmodule
