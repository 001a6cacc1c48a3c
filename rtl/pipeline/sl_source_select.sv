// SPDX-License-Identifier: Apache-2.0
// Selects words of a packet's PHV, any source for each word: one of each row of sixteen sources, then the row. Never stalls.
module sl_source_select
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Words = UNIT_KEY_WORDS
) (
  input  logic                       clk_i,
  input  pipeline_sources_t          sources_i,
  input  source_choice_t [Words-1:0] choice_i,
  output logic [Words-1:0][15:0]     word_o     // one cycle later, behind an OR of registers; 0 for a choice without a row
);
  logic [Words-1:0][SOURCE_ROWS-1:0][15:0] row_q;

  for (genvar w = 0; w < Words; w++) begin : gen_word
    for (genvar r = 0; r < SOURCE_ROWS; r++) begin : gen_row
      logic [15:0] word;
      sl_words_mux u_row (.words_i(sources_i[SOURCE_COLUMNS*r +: SOURCE_COLUMNS]), .number_i(choice_i[w].column), .word_o(word));
      always_ff @(posedge clk_i) row_q[w][r] <= choice_i[w].row[r] ? word : '0;
    end
  end

  always_comb begin
    word_o = '0;
    for (int w = 0; w < Words; w++) for (int r = 0; r < SOURCE_ROWS; r++) word_o[w] |= row_q[w][r];
  end
endmodule
