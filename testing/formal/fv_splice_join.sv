// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_splice_join, for all packets, stalls and runs of any length (induction): output packets are whole, and only
// their last flit is partly empty. A flit that is not skipped leaves as one flit, in order, with its own columns unchanged and the
// others those of the next flit, or 0 at the end of its packet; an end that is not `over` leaves with the flit before it if that
// lags; one more flit, the tail, leaves behind an end that is `over` and does not lag. Nothing else leaves. Whatever can leave is
// offered at once, an offered flit is stable, and a flit is taken unless the one inside has to wait. Assumed: flits as
// sl_splice_turn makes them.
module fv_splice_join
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input logic         clk_i,
  input splice_flit_t in_data_i,
  input logic         in_valid_i,
  input logic         out_ready_i,
  input logic [$clog2(FLIT_WORDS)-1:0] column_i  // the one that is looked at; any, in each cycle
);
  logic         rst_q = 1'b1;
  logic         in_ready, out_valid, take, leave, waited_q;
  flit_t        out_data, out_q;
  splice_flit_t in_q;
  logic         held_q;  // an offered flit that was not taken

  sl_splice_join u_join (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );
  assign take  = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;

  // The packet that enters, so far: inside it; a flit of it was not skipped; it lags; a flit that lags was not skipped.
  logic inside_q, kept_q, lags_q, head_q;
  // The flit that is to leave next, and whether only its tail is left.
  logic         due_q, tail_q, out_inside_q, ends;
  /* verilator lint_off UNUSEDSIGNAL */  // it is none to skip
  splice_flit_t due_flit_q;
  /* verilator lint_on UNUSEDSIGNAL */

  assign ends = due_q && due_flit_q.lags && !due_flit_q.flit.eop && in_data_i.flit.eop && !in_data_i.over;

  logic [15:0] in_word, due_word, out_word, tail_word;
  assign in_word   = in_data_i.flit.data[16*column_i +: 16];
  assign due_word  = due_flit_q.flit.data[16*column_i +: 16];
  assign out_word  = out_data.data[16*column_i +: 16];
  assign tail_word = due_flit_q.tail[column_i];

  always_ff @(posedge clk_i) begin
    rst_q    <= 1'b0;
    waited_q <= in_valid_i && !in_ready && !rst_q;
    held_q   <= out_valid && !out_ready_i && !rst_q;
    in_q     <= in_data_i;
    out_q    <= out_data;
    if (rst_q) {inside_q, kept_q, lags_q, head_q, due_q, tail_q, out_inside_q} <= '0;
    if (take) begin
      inside_q <= !in_data_i.flit.eop;
      kept_q   <= !in_data_i.flit.eop && (!in_data_i.skip || (inside_q && kept_q));
      lags_q   <= !in_data_i.flit.eop && in_data_i.lags;
      head_q   <= !in_data_i.flit.eop && in_data_i.lags && !in_data_i.skip;
    end
    if (take && !in_data_i.skip && !ends) begin
      due_q      <= 1'b1;
      due_flit_q <= in_data_i;
    end else if (leave && (tail_q || due_flit_q.lags || !due_flit_q.over)) due_q <= 1'b0;
    if (leave) begin
      tail_q       <= !tail_q && !due_flit_q.lags && due_flit_q.over;
      out_inside_q <= !out_data.eop;
    end

    if (!rst_q && in_valid_i) begin
      m_waits : assume (!waited_q || in_data_i == in_q);
      m_first : assume (in_data_i.flit.sop == !kept_q);
      m_meta : assume (in_data_i.flit.sop || in_data_i.flit.meta == '0);
      m_empty : assume (in_data_i.flit.eop || (in_data_i.flit.empty == '0 && !in_data_i.flit.error && !in_data_i.over));
      m_lags : assume (in_data_i.lags ? inside_q || in_data_i.flit.sop : !lags_q && in_data_i.own == '1);
      m_skip : assume (!in_data_i.skip || (in_data_i.lags && !in_data_i.flit.eop && !head_q));
    end
    if (!rst_q && waited_q) m_stays : assume (in_valid_i);

    if (!rst_q) begin
      a_offers_what_can_leave : assert (out_valid == (due_q && (!due_flit_q.lags || due_flit_q.flit.eop || in_valid_i)));
      if (!due_q) a_takes_when_empty : assert (in_ready);
      if (leave && (tail_q || due_flit_q.lags || !due_flit_q.over)) a_takes_when_one_leaves : assert (in_ready);
      if (held_q) a_offered_is_stable : assert (out_valid && out_data == out_q);
      if (out_valid) begin
        a_packets_are_whole : assert (out_data.sop == !out_inside_q);
        a_only_ends_are_partly_empty : assert (out_data.eop || (out_data.empty == '0 && !out_data.error));
        a_metadata_is_first : assert (out_data.sop ? tail_q || out_data.meta == due_flit_q.flit.meta : out_data.meta == '0);
        if (tail_q) a_tail_is_last : assert (out_data.eop && out_word == tail_word);
        else if (due_flit_q.own[column_i]) a_own_columns_leave : assert (out_word == due_word);
        else a_other_columns_are_the_next : assert (out_word == (due_flit_q.flit.eop ? '0 : in_word));
        if (!tail_q) a_ends : assert (out_data.eop == (ends || (due_flit_q.flit.eop && (due_flit_q.lags || !due_flit_q.over))));
        if (out_data.eop) a_end_is_its_own : assert (
          out_data.empty == (ends ? in_data_i.flit.empty : due_flit_q.flit.empty)
          && out_data.error == (ends ? in_data_i.flit.error : due_flit_q.flit.error));
      end
      // Internal state, for the induction.
      i_holds : assert (u_join.hold_valid_q == due_q && (due_q || !tail_q));
      if (due_q) i_flit : assert (
        u_join.hold_q.lags == due_flit_q.lags && u_join.hold_q.flit.eop == due_flit_q.flit.eop
        && u_join.hold_q.flit.empty == due_flit_q.flit.empty && u_join.hold_q.flit.error == due_flit_q.flit.error
        && u_join.hold_q.own == due_flit_q.own && u_join.hold_q.over == (due_flit_q.over && !tail_q));
      if (due_q && !tail_q) i_words : assert (
        u_join.hold_q.flit == due_flit_q.flit && u_join.hold_q.tail == due_flit_q.tail && out_inside_q == !due_flit_q.flit.sop);
      if (due_q && tail_q) i_tail : assert (
        u_join.hold_q.flit.data == (8 * DATA_BYTES)'(due_flit_q.tail) && !u_join.hold_q.flit.sop && u_join.hold_q.flit.meta == '0
        && out_inside_q && due_flit_q.flit.eop && !due_flit_q.lags && due_flit_q.over);
      if (due_q) i_sound : assert (
        (due_flit_q.lags || due_flit_q.own == '1) && (due_flit_q.flit.eop || !due_flit_q.over)
        && (due_flit_q.flit.eop || (due_flit_q.flit.empty == '0 && !due_flit_q.flit.error))
        && (due_flit_q.flit.sop || due_flit_q.flit.meta == '0));
      if (due_q && !due_flit_q.flit.eop) i_goes_on : assert (
        inside_q && kept_q && lags_q == due_flit_q.lags && head_q == due_flit_q.lags);
      if (!due_q) i_between : assert (out_inside_q == (inside_q && kept_q) && !head_q);
      if (due_q && due_flit_q.flit.eop) i_next_packet : assert (!inside_q);
      i_entering : assert ((inside_q || (!kept_q && !lags_q)) && (lags_q || !head_q) && (kept_q || !head_q));
      c_joins : cover (leave && due_flit_q.lags && ends && due_flit_q.own != '1);
      c_skips : cover (leave && due_flit_q.lags && out_inside_q);
      c_tail : cover (leave && tail_q);
    end
  end
endmodule
