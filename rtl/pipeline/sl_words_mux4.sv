// SPDX-License-Identifier: Apache-2.0
// One of four words by its number, combinational. A module of its own for the reason of sl_words_mux: two LUT4 and a multiplexer of an
// ECP5 for each bit, where abc9 takes four.
module sl_words_mux4 (
  input  logic [3:0][15:0] words_i,
  input  logic [1:0]       number_i,
  output logic [15:0]      word_o
);
  assign word_o = words_i[number_i];
endmodule
