// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_passes with room for 6 flits, around a pipeline that is a FIFO of 2 flits, for all packets of 1 or 2 flits,
// requests and stalls (bounded): whoever asks for a pass has a place (a_room_for_every_pass), and no more is kept free than there is.
// As long as a packet is inside, the pipeline offers a flit within 8 cycles, or has since; without one a new packet enters within 3: so
// nothing ever waits for what cannot come. A watched packet goes from the pipeline to the waiting ones, or ends; its passes begin at
// higher and higher units, and end when it asks for none; once it waits, at most one new packet, which was offered before, enters the
// pipeline before it. Assumed: whole packets with their length, which do not grow.
module fv_passes
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input logic       clk_i,
  input flit_t      in_data_i,
  input logic       in_valid_i,
  input logic       out_ready_i,
  input logic       watch_i,
  input logic [3:0] again_i,
  input logic       dropped_i
);
  localparam int unsigned Units = 4, Flits = 2 * (MTU_BYTES + PASS_GROWTH) / DATA_BYTES;  // 6

  logic           rst_q = 1'b1, inside_q = 1'b0, watched_q = 1'b0, offered_q = 1'b0, wanted_q;
  logic           in_ready, enter_valid, enter_ready, left_valid, left_ready, out_valid, out_stays, ends, passes, refused;
  flit_t          word, enter_data, left_data, out_data;
  logic [2:0]     count_q = '0;  // packets inside
  logic [3:0]     kept_free_q = '0;  // flits, for the packets inside
  logic [3:0]     waits_q = '0, again_q, begins_q, passes_q = '0, age_q = '0;
  logic [1:0]     passed_by_q = '0, offers_q = '0, unused_count;
  logic           dropped_q;
  pipeline_pass_t left_pass, enter_pass;
  enum logic [1:0] {OUTSIDE, PASSING, WAITING, GONE} state_q = OUTSIDE;

  // Of the metadata the length, and a bit that only the watched packet has; a bit of data.
  always_comb begin
    word                   = '0;
    word.sop               = in_data_i.sop;
    word.eop               = in_data_i.eop;
    word.data[0]           = in_data_i.data[0];
    word.meta.length       = in_data_i.sop ? in_data_i.meta.length : '0;
    word.meta.timestamp[0] = in_data_i.sop && watch_i && !watched_q;
  end

  sl_passes #(.Units(Units), .Flits(Flits)) u_passes (
    .clk_i, .rst_i(rst_q), .in_data_i(word), .in_valid_i, .in_ready_o(in_ready),
    .enter_data_o(enter_data), .enter_valid_o(enter_valid), .enter_ready_i(enter_ready),
    .left_data_i(left_data), .left_pass_i(left_pass), .left_again_i(again_i), .left_dropped_i(dropped_i),
    .left_valid_i(left_valid), .left_ready_o(left_ready),
    .out_data_o(out_data), .out_stays_o(out_stays), .out_valid_o(out_valid), .out_ready_i,
    .ends_o(ends), .passes_o(passes), .refused_o(refused)
  );
  sl_fifo #(.Width(FLIT_BITS), .Depth(2)) u_pipeline (
    .clk_i, .rst_i(rst_q), .in_data_i(enter_data), .in_valid_i(enter_valid), .in_ready_o(enter_ready),
    .out_data_o(left_data), .out_valid_o(left_valid), .out_ready_i(left_ready), .count_o(unused_count)
  );
  assign left_pass  = pass_of(left_data.meta);
  assign enter_pass = pass_of(enter_data.meta);

  logic new_enters, new_begins, watched_enters, watched_leaves;
  assign new_enters     = in_valid_i && in_ready && word.sop && !rst_q;
  assign new_begins     = enter_valid && enter_ready && enter_data.sop && enter_pass.begins == '0 && !rst_q;
  assign watched_enters = enter_valid && enter_ready && enter_data.sop && enter_data.meta.timestamp[0] && !rst_q;
  assign watched_leaves = left_valid && left_ready && left_data.sop && left_data.meta.timestamp[0] && !rst_q;

  function automatic logic [3:0] flits_of(logic [3:0] bytes);
    return bytes / 4'(DATA_BYTES) + 4'(bytes % 4'(DATA_BYTES) != '0);
  endfunction

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    offered_q <= in_valid_i && !in_ready;
    wanted_q  <= left_valid && !left_ready && !rst_q;
    again_q   <= again_i;
    dropped_q <= dropped_i;
    if (offered_q) m_holds : assume (in_valid_i && $stable(in_data_i) && $stable(watch_i));
    if (wanted_q) m_asks_once : assume (again_i == again_q && dropped_i == dropped_q);
    if (in_valid_i) begin
      m_packets : assume (!rst_q && in_data_i.sop == !inside_q);
      if (in_data_i.sop) m_length : assume (in_data_i.meta.length == (in_data_i.eop ? 16'd3 : 16'd7));
      else m_two_flits : assume (in_data_i.eop);
    end
    if (in_valid_i && in_ready && !rst_q) begin
      inside_q <= !word.eop;
      if (word.meta.timestamp[0]) watched_q <= 1'b1;
    end
    if (!rst_q) count_q <= count_q + 3'(new_enters) - 3'(left_valid && left_ready && left_data.eop && !out_stays);
    kept_free_q <= kept_free_q + (new_enters ? flits_of(word.meta.length[3:0] + 4'(PASS_GROWTH)) : '0)
                               - (ends && !rst_q ? flits_of(left_pass.longest[3:0]) : '0);
    offers_q <= in_valid_i && !in_ready && enter_ready && word.sop && count_q == '0 && !rst_q ? offers_q + 1'b1 : '0;
    waits_q  <= count_q == '0 || left_valid || inside_q ? '0 : waits_q + 1'b1;
    if (watched_enters) begin
      state_q  <= PASSING;
      begins_q <= enter_pass.begins;
      passes_q <= passes_q + 1'b1;
    end
    if (watched_leaves) begin
      state_q     <= ends ? GONE : WAITING;
      age_q       <= '0;
      passed_by_q <= '0;
    end
    if (state_q == WAITING) begin
      if (age_q != '1) age_q <= age_q + 1'b1;
      if (new_begins && age_q > 4'd5) passed_by_q <= passed_by_q + 1'b1;
    end

    if (!rst_q) begin
      if (u_passes.kept_valid_q) a_room_for_every_pass : assert (u_passes.fifo_ready);
      a_keeps_free_what_there_is : assert (32'(kept_free_q) <= Flits);
      a_moves_as_long_as_one_is_inside : assert (waits_q <= 4'd8);
      a_takes_what_fits : assert (offers_q <= 2'd2);
      a_leaves_when_the_output_takes : assert (left_ready == (out_ready_i || !out_valid) || !left_valid);
      if (watched_enters) begin
        a_is_nowhere_twice : assert (state_q == (enter_pass.begins == '0 ? OUTSIDE : WAITING));
        if (state_q == WAITING) a_begins_higher : assert (enter_pass.begins > begins_q && 32'(enter_pass.begins) < Units);
        a_has_an_end : assert (32'(passes_q) < Units);
      end
      if (watched_leaves) begin
        a_leaves_what_it_entered : assert (state_q == PASSING && left_pass.begins == begins_q);
        a_ends_when_it_asks_for_none : assert (again_i != '0 || ends);
        a_gets_what_it_may : assert (ends == !(again_i > begins_q && 32'(again_i) < Units));
      end
      a_enters_before_new_ones : assert (passed_by_q <= 2'd1);
      c_ends_after_two_passes : cover (watched_leaves && ends && passes_q == 4'd2);
      c_no_room : cover (in_valid_i && !in_ready && enter_ready && word.sop);
      c_refused : cover (refused);
      c_two_wait : cover (32'(u_passes.u_waiting.count_o) == 2 && count_q == 3'd2);
    end
  end

  logic unused;
  assign unused = &{1'b0, out_data, out_stays, passes, unused_count, enter_pass, left_pass};
endmodule
