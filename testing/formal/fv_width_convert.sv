// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_width_convert, wider and narrower, for all packets and stalls, and runs of any length (induction): the
// bytes of each packet leave once, in order (fv_watch), in the fewest possible words, with sop, eop, empty and error in the right
// places. A waiting word is stable; a word inside is offered at once; an input word is taken when the output has room for the word
// that it completes (narrower: in the cycle of its last piece). Assumed: whole packets whose words are full before the end.
module fv_width_convert #(
  parameter int unsigned InBytes  = 4,
  parameter int unsigned OutBytes = 2
) (
  input logic                       clk_i,
  input logic [8*InBytes-1:0]       in_data_i,
  input logic [$clog2(InBytes)-1:0] in_empty_i,
  input logic                       in_sop_i,
  input logic                       in_eop_i,
  input logic                       in_error_i,
  input logic                       in_valid_i,
  input logic                       out_ready_i,
  input logic                       choose_i
);
  typedef struct packed {
    logic [8*OutBytes-1:0]       data;
    logic [$clog2(OutBytes)-1:0] empty;
    logic                        sop;
    logic                        eop;
    logic                        error;
  } word_t;

  logic       rst_q = 1'b1, inside_q = 1'b0, begun_q = 1'b0;  // inside an input packet; sop of the packet has left
  logic       in_ready, out_valid, watching, enter, room, completes;
  word_t      out_word, expected, word;
  logic [1:0] held, ahead;
  int unsigned                       in_bytes, bytes, done;  // in the input word; to leave in the next word; of it already sent
  logic [$clog2(InBytes+OutBytes):0] done_q = '0;            // narrower: bytes of the input word that left; wider: waiting bytes
  logic [8*OutBytes-1:0]             wait_q = '0;            // wider: waiting bytes

  sl_width_convert #(.InBytes(InBytes), .OutBytes(OutBytes)) u_convert (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_empty_i, .in_sop_i, .in_eop_i, .in_error_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_word.data), .out_empty_o(out_word.empty), .out_sop_o(out_word.sop), .out_eop_o(out_word.eop),
    .out_error_o(out_word.error), .out_valid_o(out_valid), .out_ready_i
  );

  assign done     = 32'(done_q);
  assign in_bytes = InBytes - (in_eop_i ? 32'(in_empty_i) : 0);
  assign room     = held != 2'd2;
  if (InBytes > OutBytes) begin : gen_narrow
    assign completes     = done + OutBytes >= in_bytes;  // this piece is the last of the word
    assign bytes         = completes ? in_bytes - done : OutBytes;
    assign expected.data = (8*OutBytes)'(in_data_i >> (8 * done));
    assign enter         = in_valid_i && room && !rst_q;

    logic unused;
    assign unused = &{1'b0, wait_q};
    always_ff @(posedge clk_i) begin
      if (!rst_q) begin
        i_begun : assert (begun_q == (inside_q || done != 0));
        i_stays : assert (done == 0 || (in_valid_i && done < in_bytes));
      end
    end
  end else begin : gen_wide
    assign completes     = in_eop_i || done + InBytes == OutBytes;
    assign bytes         = done + in_bytes;
    assign expected.data = wait_q | (8*OutBytes)'(in_data_i) << (8 * done);
    assign enter         = in_valid_i && room && completes && !rst_q;

    always_ff @(posedge clk_i) begin
      if (!rst_q) begin
        i_waits : assert (wait_q >> (8 * done) == '0 && (done == 0 || u_convert.gen_wide.data_q == wait_q));
        i_begun : assert (done == 0 ? begun_q == inside_q : inside_q && u_convert.gen_wide.sop_q == !begun_q);
      end
    end
  end
  assign expected.eop   = in_eop_i && completes;
  assign expected.empty = $clog2(OutBytes)'(OutBytes - bytes);
  assign expected.sop   = !begun_q;
  assign expected.error = in_eop_i && completes && in_error_i;

  fv_watch #(.Width($bits(word_t)), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter), .enter_data_i(expected),
    .leave_i(out_valid && out_ready_i && !rst_q), .out_valid_i(out_valid), .out_data_i(out_word),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (in_valid_i) m_packets : assume (in_sop_i == !inside_q && (in_eop_i || in_empty_i == '0) && !rst_q);
    if (in_valid_i && in_ready && !rst_q) inside_q <= !in_eop_i;
    if (enter) begun_q <= !expected.eop;
    if (in_valid_i && room && !rst_q) begin
      if (completes) begin
        done_q <= '0;
        wait_q <= '0;
      end else begin
        done_q <= done_q + $bits(done_q)'(InBytes > OutBytes ? OutBytes : InBytes);
        wait_q <= expected.data;
      end
    end
    if (!rst_q) begin
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_words_when_there_is_room : assert (in_ready == (room && (completes || InBytes < OutBytes)) || !in_valid_i);
      // For the induction.
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_convert.u_skid.spare_q == word);
      i_room : assert (u_convert.room == room);
      i_place : assert (32'(u_convert.index_q) * (InBytes > OutBytes ? OutBytes : InBytes) == done);
      c_odd_end : cover (watching && ahead == 2'd1 && word.eop && word.empty == '1 && !word.sop);
    end
  end

  sl_channel_check #(.Width(8 * InBytes + $clog2(InBytes) + 3), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i({in_data_i, in_empty_i, in_sop_i, in_eop_i, in_error_i}), .valid_i(in_valid_i), .ready_i(in_ready)
  );
  sl_channel_check #(.Width($bits(word_t))) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_word), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
