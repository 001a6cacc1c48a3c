// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_skid, for all inputs and runs of any length (induction): words leave once, unchanged and in order
// (fv_watch); a waiting word is stable; a word inside is offered at once, so it leaves one cycle after it entered if the receiver
// is ready; a word is taken unless two are inside.
module fv_skid #(
  parameter int unsigned Width = 4  // bits per word
) (
  input logic             clk_i,
  input logic [Width-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i
);
  logic             rst_q = 1'b1;
  logic             in_ready, out_valid, leave, watching;
  logic [Width-1:0] out_data, word;
  logic [1:0]       held, ahead;

  sl_skid #(.Width(Width)) u_skid (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  assign leave = out_valid && out_ready_i && !rst_q;

  fv_watch #(.Width(Width), .Most(2)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(in_valid_i && in_ready && !rst_q), .enter_data_i(in_data_i), .leave_i(leave),
    .out_valid_i(out_valid), .out_data_i(out_data), .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(held)
  );

  always_ff @(posedge clk_i) begin
    rst_q <= 1'b0;
    if (!rst_q) begin
      a_offers_what_is_inside : assert (out_valid == (held != '0));
      a_takes_words_until_full : assert (in_ready == (held != 2'd2));
      // Location of the second word, for the induction.
      i_spare_is_the_second : assert (u_skid.spare_valid_q == (held == 2'd2));
      if (watching && ahead == 2'd1) i_waits_behind : assert (u_skid.spare_q == word);
      c_watched_word_leaves_from_behind : cover (watching && leave && ahead == 2'd1);
    end
  end

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
