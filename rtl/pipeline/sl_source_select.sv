// SPDX-License-Identifier: Apache-2.0
// Selects words of a packet's PHV, any source for each word: a row of eight sources by their column, then the row. Never stalls.
// Selecting with a bit for each source takes a third of the LUT4s of a tree by number.
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

  always_ff @(posedge clk_i) begin
    for (int w = 0; w < Words; w++) begin
      for (int r = 0; r < SOURCE_ROWS; r++) begin
        logic [15:0] word;
        word = '0;
        for (int c = 0; c < SOURCE_COLUMNS; c++) if (choice_i[w].column[c]) word |= sources_i[SOURCE_COLUMNS*r+c];
        if (choice_i[w].row[r]) row_q[w][r] <= word;
        else row_q[w][r] <= '0;
      end
    end
  end

  always_comb begin
    word_o = '0;
    for (int w = 0; w < Words; w++) for (int r = 0; r < SOURCE_ROWS; r++) word_o[w] |= row_q[w][r];
  end
endmodule
