// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_skid, for all inputs and all lengths of runs (induction): one word, chosen freely among those that
// enter, leaves once, unchanged, and behind exactly the words that entered before it; a waiting word holds still; without a
// stall a word is out one cycle after it entered.
module fv_skid #(
  parameter int unsigned Width = 4  // bits of a word
) (
  input logic             clk_i,
  input logic [Width-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i,
  input logic             choose_i  // watch the word that enters now, if none is watched yet
);
  logic             rst_q = 1'b1;
  logic             in_ready, out_valid;
  logic [Width-1:0] out_data;

  sl_skid #(.Width(Width)) u_skid (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  logic             watching_q = 1'b0, done_q = 1'b0;
  logic [Width-1:0] word_q;
  logic [1:0]       inside_q = '0, ahead_q = '0;  // words inside; words inside before the watched one
  logic             enter, leave;

  assign enter = in_valid_i && in_ready && !rst_q;
  assign leave = out_valid && out_ready_i && !rst_q;

  always_ff @(posedge clk_i) begin
    rst_q    <= 1'b0;
    inside_q <= inside_q + 2'(enter) - 2'(leave);
    if (enter && choose_i && !watching_q && !done_q) begin
      watching_q <= 1'b1;
      word_q     <= in_data_i;
      ahead_q    <= inside_q - 2'(leave);
    end else if (watching_q && leave) begin
      ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0) begin
        watching_q <= 1'b0;
        done_q     <= 1'b1;
      end
    end

    if (!rst_q) begin
      a_holds_two_at_most : assert (inside_q <= 2'd2);
      a_valid_says_what_is_inside : assert (out_valid == (inside_q != '0) && in_ready == (inside_q != 2'd2));
      if (watching_q) a_is_still_inside : assert (ahead_q < inside_q);
      if (watching_q && ahead_q == '0) a_leaves_unchanged_and_in_order : assert (out_data == word_q);
      // Where the second word is, for the induction.
      a_spare_is_the_second : assert (u_skid.spare_valid_q == (inside_q == 2'd2));
      if (watching_q && ahead_q == 2'd1) a_waits_behind : assert (u_skid.spare_q == word_q);
      c_watched_word_leaves_from_behind : cover (watching_q && leave && ahead_q == 2'd1);
    end
  end

  sl_channel_check #(.Width(Width)) u_check (
    .clk_i, .rst_i(rst_q), .data_i(out_data), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
