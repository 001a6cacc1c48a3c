// SPDX-License-Identifier: Apache-2.0
// Selects the PARSER_REACH words from a position of the window on; words beyond the window read 0. Four cycles, never stalls.
//
// The window is rows of PARSER_REACH words. Cycle 1: which row each column is read from, the position's or the next; 2: the
// columns; 3 and 4: the rotation that brings the position's column to word 0.
module sl_parser_reach
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic [3:0]    valid_i,     // bit n: the packet is in cycle n; its inputs are taken in cycle 0
  input  logic [6:0]    position_i,  // words, at most PARSER_WORDS
  input  parser_words_t words_i,     // registered
  output parser_reach_t reach_o      // registered
);
  localparam int unsigned Rows   = PARSER_WORDS / PARSER_REACH;
  localparam int unsigned Copies = 8;  // of what chooses among the words, which are many
  localparam int unsigned Own    = PARSER_REACH / Copies;

  logic [PARSER_REACH-1:0][1:0] row_q;
  parser_words_t                words_q;
  logic [4:0]                   column_1_q;
  parser_reach_t                columns_q, turned_q;
  logic [Copies-1:0][4:0]       column_q;
  logic [Copies-1:0][1:0]       rest_q;

  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    sl_copy #(.Width(5)) u_column (.clk_i, .enable_i(valid_i[1]), .data_i(column_1_q), .data_o(column_q[c]));
    sl_copy #(.Width(2)) u_rest (.clk_i, .enable_i(valid_i[2]), .data_i(column_q[c][1:0]), .data_o(rest_q[c]));
  end

  always_ff @(posedge clk_i) begin
    if (valid_i[0]) begin
      words_q    <= words_i;
      column_1_q <= position_i[4:0];
      for (int c = 0; c < PARSER_REACH; c++) row_q[c] <= position_i[6:5] + 2'(32'(position_i[4:0]) > c);
    end
    if (valid_i[1]) begin
      for (int c = 0; c < PARSER_REACH; c++) begin
        columns_q[c] <= '0;
        for (int r = 0; r < Rows; r++) if (row_q[c] == 2'(r)) columns_q[c] <= words_q[PARSER_REACH*r+c];
      end
    end
    if (valid_i[2]) begin
      for (int c = 0; c < PARSER_REACH; c++) turned_q[c] <= columns_q[5'(c)+{column_q[c/Own][4:2], 2'b00}];
    end
    if (valid_i[3]) begin
      for (int c = 0; c < PARSER_REACH; c++) reach_o[c] <= turned_q[5'(c)+5'(rest_q[c/Own])];
    end
  end
endmodule
