// SPDX-License-Identifier: Apache-2.0
// Writes containers into a flit, by a crossbar in two parts: from each row of containers to the columns of a flit, then from the
// rows in a column to its words. Of a row, a container goes to a column only if no other does; a word that several rows have a
// container for stays as it is. A crossbar in one part, from each container to each word, could not be routed (docs/design/pipeline.md).
// DEPARSER_FILL_LATENCY cycles, never stalls.
//
// cycle 1: the containers of this flit, their column one-hot; 2: for each row and column, which bits the numbers of its containers
// have set, and which clear; 3: so whether there is exactly one; 4: the word of the column that it goes to; 5: the rows for each word;
// 6: which bits their numbers have set, and which clear; 7: so which one, and the containers of the columns; 8: one of them, or the
// word of the flit.
module sl_deparser_fill
  import sluice_pkg::*;
  import sl_packet_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic                    clk_i,
  input  flit_index_t             index_i,       // of the flit in its packet, at most WINDOW_FLITS; registered
  input  deparser_places_t        places_i,      // registered, stable from the first flit to the last
  input  pipeline_containers_t    containers_6_i,// those of the packet, six cycles later, as stable
  input  logic [8*DATA_BYTES-1:0] data_7_i,      // of the flit, seven cycles later
  output logic [8*DATA_BYTES-1:0] data_o         // eight cycles later
);
  localparam int unsigned Words     = FLIT_WORDS;
  localparam int unsigned Eights    = Words / DEPARSER_COLUMNS;
  localparam int unsigned Kept      = 15;  // in place of the number of a row: the word of the flit

  typedef logic [DEPARSER_ROWS-1:0][DEPARSER_COLUMNS-1:0][1:0] numbers_t;  // of a container in its row

  if (DEPARSER_ROWS > Kept || DEPARSER_ROW != 4 || PIPELINE_CONTAINERS % DEPARSER_ROW != 0) begin : gen_bad
    $error("sl_deparser_fill: rows of 4 containers, %0d at most", Kept);
  end

  // ---- From rows to columns

  logic [PIPELINE_CONTAINERS-1:0]                             here_q;     // the container goes to this flit
  logic [PIPELINE_CONTAINERS-1:0][DEPARSER_COLUMNS-1:0]       column_q;   // to this column of a flit
  logic [3:1][PIPELINE_CONTAINERS-1:0][$clog2(Eights)-1:0]    eight_q;    // to this word of the column
  numbers_t                                                   set_q, clear_q;
  numbers_t                                                   number_q [6:3];
  logic [DEPARSER_ROWS-1:0][DEPARSER_COLUMNS-1:0]             takes_3_q, takes_4_q;
  logic [DEPARSER_ROWS-1:0][DEPARSER_COLUMNS-1:0][15:0]       eight_3, eight_4_q;  // of the container taken
  logic [DEPARSER_ROWS-1:0][DEPARSER_COLUMNS-1:0][15:0]       word_6, word_q;      // what it holds

  for (genvar r = 0; r < DEPARSER_ROWS; r++) begin : gen_row
    logic [DEPARSER_ROW-1:0][15:0] eights;
    for (genvar n = 0; n < DEPARSER_ROW; n++) begin : gen_container
      assign eights[n] = 16'(eight_q[3][DEPARSER_ROW*r+n]);
    end
    for (genvar k = 0; k < DEPARSER_COLUMNS; k++) begin : gen_column
      sl_words_mux4 u_eight (.words_i(eights), .number_i(number_q[3][r][k]), .word_o(eight_3[r][k]));
      sl_words_mux4 u_word (
        .words_i(containers_6_i[DEPARSER_ROW*r +: DEPARSER_ROW]), .number_i(number_q[6][r][k]), .word_o(word_6[r][k])
      );
    end
  end

  always_ff @(posedge clk_i) begin
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      here_q[c]     <= places_i.valid[c] && 32'(places_i.word[c]) / Words == 32'(index_i) && index_i != flit_index_t'(WINDOW_FLITS);
      eight_q[1][c] <= places_i.word[c][$clog2(Words)-1:$clog2(DEPARSER_COLUMNS)];
      for (int k = 0; k < DEPARSER_COLUMNS; k++) column_q[c][k] <= 32'(places_i.word[c]) % DEPARSER_COLUMNS == k;
    end
    eight_q[3:2] <= eight_q[2:1];
    set_q        <= '0;
    clear_q      <= '0;
    for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
      for (int k = 0; k < DEPARSER_COLUMNS; k++) begin
        if (here_q[c] && column_q[c][k]) begin
          for (int b = 0; b < 2; b++) begin
            if ((c % DEPARSER_ROW & 1 << b) != 0) set_q[c/DEPARSER_ROW][k][b] <= 1'b1;
            else clear_q[c/DEPARSER_ROW][k][b] <= 1'b1;
          end
        end
      end
    end
    // Numbers of several containers differ in a bit that is set and clear.
    for (int r = 0; r < DEPARSER_ROWS; r++) begin
      for (int k = 0; k < DEPARSER_COLUMNS; k++) takes_3_q[r][k] <= &(set_q[r][k] ^ clear_q[r][k]);
    end
    number_q[3] <= set_q;
    for (int n = 4; n <= 6; n++) number_q[n] <= number_q[n-1];
    takes_4_q <= takes_3_q;
    eight_4_q <= eight_3;
    word_q    <= word_6;
  end

  // ---- From columns to words

  logic [Words-1:0][DEPARSER_ROWS-1:0] row_q;                  // has a container for the word
  logic [Words-1:0][3:0]               row_set_q, row_clear_q;
  logic [Words-1:0][3:0]               row_number_q;           // or Kept
  logic [Words-1:0][15:0]              filled;

  for (genvar n = 0; n < Words; n++) begin : gen_word
    logic [15:0][15:0] from;  // each row, or the flit
    always_comb begin
      from = {16{data_7_i[16*n +: 8], data_7_i[16*n+8 +: 8]}};
      for (int r = 0; r < DEPARSER_ROWS; r++) from[r] = word_q[r][n%DEPARSER_COLUMNS];
    end
    sl_words_mux u_word (.words_i(from), .number_i(row_number_q[n]), .word_o(filled[n]));
  end

  always_ff @(posedge clk_i) begin
    for (int n = 0; n < Words; n++) begin
      row_set_q[n]   <= '0;
      row_clear_q[n] <= '0;
      for (int r = 0; r < DEPARSER_ROWS; r++) begin
        row_q[n][r] <= takes_4_q[r][n%DEPARSER_COLUMNS] && 32'(eight_4_q[r][n%DEPARSER_COLUMNS]) == n / DEPARSER_COLUMNS;
        if (row_q[n][r]) begin
          for (int b = 0; b < 4; b++) begin
            if ((r & 1 << b) != 0) row_set_q[n][b] <= 1'b1;
            else row_clear_q[n][b] <= 1'b1;
          end
        end
      end
      row_number_q[n] <= &(row_set_q[n] ^ row_clear_q[n]) ? row_set_q[n] : 4'(Kept);
      {data_o[16*n +: 8], data_o[16*n+8 +: 8]} <= filled[n];
    end
  end
endmodule
