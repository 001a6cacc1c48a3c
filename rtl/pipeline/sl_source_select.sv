// SPDX-License-Identifier: Apache-2.0
// Selects words of a packet's PHV by number, any of UNIT_SOURCES for each. Two cycles, never stalls.
module sl_source_select
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Words = UNIT_KEY_WORDS
) (
  input  logic                   clk_i,
  input  logic [1:0]             valid_i,   // bit n: the packet is in cycle n; its inputs are taken in cycle 0
  input  pipeline_sources_t      sources_i,
  input  logic [Words-1:0][5:0]  number_i,  // UNIT_SOURCES or more: undefined
  output logic [Words-1:0][15:0] word_o     // two cycles after the inputs
);
  localparam int unsigned Rows = UNIT_SOURCES / 16;

  logic [Words-1:0][Rows-1:0][15:0] row_q;
  logic [Words-1:0][1:0]            number_q;

  always_ff @(posedge clk_i) begin
    for (int w = 0; w < Words; w++) begin
      if (valid_i[0]) begin
        number_q[w] <= number_i[w][5:4];
        for (int r = 0; r < Rows; r++) row_q[w][r] <= sources_i[{2'(r), number_i[w][3:0]}];
      end
      if (valid_i[1]) begin
        word_o[w] <= row_q[w][0];
        for (int r = 1; r < Rows; r++) if (number_q[w] == 2'(r)) word_o[w] <= row_q[w][r];
      end
    end
  end
endmodule
