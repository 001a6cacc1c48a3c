// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_merge, for all well-formed packets, stalls and shares, and runs of any length (induction): packets come
// out whole and never interleaved; every flit that enters leaves once, unchanged (data and metadata) and in order (fv_watch); a
// waiting flit is stable. Whenever there is room and a channel that may send has a flit, one is taken; a flit inside is offered at
// once. A waiting packet gets its turn: fast begins no packet once it has sent 65,792 / share flits while slow waited, slow none
// once it has sent 4,351 / (256 - share) while fast waited. Bit 0 of the data identifies a flit's source.
module fv_merge
  import sluice_pkg::*;
(
  input logic       clk_i,
  input logic [7:0] share_i,
  input flit_t      fast_data_i,
  input logic       fast_valid_i,
  input flit_t      slow_data_i,
  input logic       slow_valid_i,
  input logic       out_ready_i,
  input logic       choose_i
);
  localparam int unsigned MostDebt = 65536 + 256, MostCredit = 4096 + 255;

  typedef struct packed {
    logic is_open;  // between sop and eop
    logic slow;    // source of the packet
  } place_t;

  logic       rst_q = 1'b1;
  logic       fast_ready, slow_ready, out_valid, watching, fast_move, slow_move, asks;
  logic [1:0] held, ahead;
  flit_t      out_data, word;

  sl_merge u_merge (
    .clk_i, .rst_i(rst_q), .share_i, .fast_data_i, .fast_valid_i, .fast_ready_o(fast_ready),
    .slow_data_i, .slow_valid_i, .slow_ready_o(slow_ready), .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  assign fast_move = fast_valid_i && fast_ready && !rst_q;
  assign slow_move = slow_valid_i && slow_ready && !rst_q;

  fv_watch #(.Width(FLIT_BITS), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(fast_move || slow_move), .enter_data_i(slow_move ? slow_data_i : fast_data_i),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_data),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  /* verilator lint_off UNUSEDSIGNAL */  // only these fields of a flit are used
  // The stream's state after a flit, and whether the flit is legal in a state.
  function automatic place_t behind(flit_t flit, logic valid, place_t place);
    return valid ? '{is_open: !flit.eop, slow: flit.data[0]} : place;
  endfunction
  function automatic logic is_legal(flit_t flit, logic valid, place_t place);
    return !valid || (flit.sop == !place.is_open && (flit.sop || flit.data[0] == place.slow));
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic        fast_inside_q = 1'b0, slow_inside_q = 1'b0;
  place_t      out_q = '0, behind_out, behind_spare, choice;
  logic [17:0] fast_sent_q = '0, slow_sent_q = '0;  // while the other waited: share per flit, 256 - share per flit
  int          credit;

  assign behind_out   = behind(out_data, out_valid, out_q);
  assign behind_spare = behind(u_merge.u_out.spare_q, u_merge.u_out.spare_valid_q, behind_out);
  assign choice       = '{is_open: u_merge.locked_q, slow: u_merge.slow_turn_q};
  assign credit       = 32'(u_merge.credit_q);
  assign asks         = fast_inside_q ? fast_valid_i : slow_inside_q ? slow_valid_i : fast_valid_i || slow_valid_i;

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (fast_move) fast_inside_q <= !fast_data_i.eop;
    if (slow_move) slow_inside_q <= !slow_data_i.eop;
    if (out_valid && out_ready_i && !rst_q) out_q <= behind_out;
    if (slow_move || !slow_valid_i || rst_q) fast_sent_q <= '0;
    else if (fast_move && !fast_sent_q[17]) fast_sent_q <= fast_sent_q + 18'(share_i);
    if (fast_move || !fast_valid_i || rst_q) slow_sent_q <= '0;
    else if (slow_move && !slow_sent_q[17]) slow_sent_q <= slow_sent_q + 18'd256 - 18'(share_i);

    if (fast_valid_i) m_fast_packets : assume (fast_data_i.sop == !fast_inside_q && !fast_data_i.data[0]);
    if (slow_valid_i) m_slow_packets : assume (slow_data_i.sop == !slow_inside_q && slow_data_i.data[0]);

    if (!rst_q) begin
      a_packets_are_whole_and_unmixed : assert (is_legal(out_data, out_valid, out_q));
      a_takes_one_at_a_time : assert (!(fast_ready && slow_ready));
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_a_flit_when_there_is_room : assert ((fast_move || slow_move) == (asks && held != 2'd2));
      if (fast_move && fast_data_i.sop && slow_valid_i) a_slow_gets_its_turn : assert (32'(fast_sent_q) <= MostDebt);
      if (slow_move && slow_data_i.sop && fast_valid_i) a_fast_gets_its_turn : assert (32'(slow_sent_q) <= MostCredit);
      // Internal state, for the induction.
      i_spare : assert (is_legal(u_merge.u_out.spare_q, u_merge.u_out.spare_valid_q, behind_out));
      i_spare_is_the_second : assert (u_merge.u_out.spare_valid_q == (held == 2'd2));
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_merge.u_out.spare_q == word);
      i_choice : assert (choice.is_open == behind_spare.is_open && (!choice.is_open || choice.slow == behind_spare.slow));
      i_inputs : assert (fast_inside_q == (choice.is_open && !choice.slow) && slow_inside_q == (choice.is_open && choice.slow));
      if (fast_move && fast_data_i.sop && slow_valid_i) a_credit_gives_the_way : assert (credit <= 0);
      i_credit : assert (credit >= -int'(MostDebt) && credit <= int'(MostCredit));
      i_fast_pays : assert (credit > 0 || credit + int'(MostDebt) >= int'(32'(fast_sent_q)));
      i_slow_pays : assert (credit <= 0 || credit + int'(32'(slow_sent_q)) <= int'(MostCredit));
      c_slow_after_fast : cover (out_valid && out_q == 2'b10 && fast_valid_i && slow_valid_i && slow_inside_q);
      c_slow_gets_its_turn : cover (slow_move && slow_data_i.sop && fast_valid_i && fast_sent_q != '0);
    end
  end

  sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_fast (
    .clk_i, .rst_i(rst_q), .data_i(fast_data_i), .valid_i(fast_valid_i), .ready_i(fast_ready)
  );
  sl_channel_check #(.Width(FLIT_BITS), .Assume(1'b1)) u_slow (
    .clk_i, .rst_i(rst_q), .data_i(slow_data_i), .valid_i(slow_valid_i), .ready_i(slow_ready)
  );
  sl_channel_check #(.Width(FLIT_BITS)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
