// SPDX-License-Identifier: Apache-2.0
// Formal only: the scoreboard of a part that words pass through in order. One freely chosen input word leaves once, as expected,
// and after exactly the words that entered before it; nothing leaves that did not enter. By data independence this holds for every
// word. The harness defines which words enter and leave, and the expected output.
module fv_watch #(
  parameter int unsigned Width = 8,  // bits per word
  parameter int unsigned Most  = 2   // words that the part can hold
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  input  logic                      choose_i,    // watch the word that enters now, if none is watched yet
  input  logic                      enter_i,
  input  logic [Width-1:0]          enter_data_i,  // expected output
  input  logic                      leave_i,
  input  logic                      out_valid_i,
  input  logic [Width-1:0]          out_data_i,
  output logic                      watching_o,
  output logic [Width-1:0]          word_o,      // the watched word
  output logic [$clog2(Most+1)-1:0] ahead_o,     // words inside that entered before it
  output logic [$clog2(Most+1)-1:0] held_o     // words inside
);
  localparam int unsigned CountBits = $clog2(Most + 1);

  initial watching_o = 1'b0;
  initial held_o   = '0;
  initial ahead_o    = '0;

  always_ff @(posedge clk_i) begin
    held_o <= held_o + CountBits'(enter_i) - CountBits'(leave_i);
    if (enter_i && choose_i && !watching_o) begin
      watching_o <= 1'b1;
      word_o     <= enter_data_i;
      ahead_o    <= held_o - CountBits'(leave_i);
    end else if (watching_o && leave_i) begin
      ahead_o    <= ahead_o - 1'b1;
      watching_o <= ahead_o != '0;
    end
    if (rst_i) begin
      held_o   <= '0;
      watching_o <= 1'b0;
    end else begin
      a_has_no_more_than_fit : assert (32'(held_o) <= Most);
      if (out_valid_i) a_nothing_leaves_that_did_not_enter : assert (held_o != '0);
      if (watching_o) a_is_still_inside : assert (ahead_o < held_o);
      if (watching_o && out_valid_i && ahead_o == '0) a_leaves_unchanged_and_in_order : assert (out_data_i == word_o);
    end
  end
endmodule
