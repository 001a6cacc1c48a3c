// SPDX-License-Identifier: Apache-2.0
// Selects the PARSER_REACH words from a position of the window on; words beyond the window read 0. PARSER_REACH_LATENCY cycles, never
// stalls.
//
// The window is rows of PARSER_REACH words. Cycle 1: which row each column is read from, the position's or the next; 2: the
// columns; 3 and 4: the rotation that brings the position's column to word 0, a power of two after the other, so that a word's
// multiplexers have two inputs.
module sl_parser_reach
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,       // synchronous, active high
  input  logic          valid_i,
  input  logic [6:0]    position_i,  // words, at most PARSER_WORDS
  input  parser_words_t words_1_i,   // a cycle later, registered
  output parser_reach_t reach_o      // registered
);
  localparam int unsigned Rows   = PARSER_WORDS / PARSER_REACH;
  localparam int unsigned Copies = 8;  // of what chooses among the words, which are many
  localparam int unsigned Own    = PARSER_REACH / Copies;

  logic [PARSER_REACH_LATENCY-1:1] valid_q;
  logic [PARSER_REACH-1:0][1:0]    row_q;
  logic [4:0]                      column_1_q;
  parser_reach_t                   columns_q, turned_q;
  logic [Copies-1:0][4:0]          column_q;
  logic [Copies-1:0][1:0]          rest_q;

  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    sl_copy #(.Width(5)) u_column (.clk_i, .enable_i(valid_q[1]), .data_i(column_1_q), .data_o(column_q[c]));
    sl_copy #(.Width(2)) u_rest (.clk_i, .enable_i(valid_q[2]), .data_i(column_q[c][1:0]), .data_o(rest_q[c]));
  end

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[PARSER_REACH_LATENCY-2:1], valid_i};
    if (valid_i) begin
      column_1_q <= position_i[4:0];
      for (int c = 0; c < PARSER_REACH; c++) row_q[c] <= position_i[6:5] + 2'(32'(position_i[4:0]) > c);
    end
    if (valid_q[1]) begin
      for (int c = 0; c < PARSER_REACH; c++) begin
        columns_q[c] <= '0;
        for (int r = 0; r < Rows; r++) if (row_q[c] == 2'(r)) columns_q[c] <= words_1_i[PARSER_REACH*r+c];
      end
    end
    if (valid_q[2]) begin
      parser_reach_t by_16, by_8;
      for (int c = 0; c < PARSER_REACH; c++) by_16[c] = column_q[c/Own][4] ? columns_q[5'(c+16)] : columns_q[c];
      for (int c = 0; c < PARSER_REACH; c++) by_8[c] = column_q[c/Own][3] ? by_16[5'(c+8)] : by_16[c];
      for (int c = 0; c < PARSER_REACH; c++) turned_q[c] <= column_q[c/Own][2] ? by_8[5'(c+4)] : by_8[c];
    end
    if (valid_q[3]) begin
      parser_reach_t by_2;
      for (int c = 0; c < PARSER_REACH; c++) by_2[c] = rest_q[c/Own][1] ? turned_q[5'(c+2)] : turned_q[c];
      for (int c = 0; c < PARSER_REACH; c++) reach_o[c] <= rest_q[c/Own][0] ? by_2[5'(c+1)] : by_2[c];
    end
  end
endmodule
