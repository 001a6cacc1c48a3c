// SPDX-License-Identifier: Apache-2.0
// One of sixteen words by its number, combinational. A module of its own so that synthesis for the ECP5 maps it to the multiplexers
// of one logic tile for each bit (toolchain/synth/ecp5_cells.v): 8 LUT4 and the wires of 16 data and 4 select inputs. What abc9 makes
// of it takes more LUTs, and so many wires that parts with hundreds of them cannot be routed.
module sl_words_mux (
  input  logic [15:0][15:0] words_i,
  input  logic [3:0]        number_i,
  output logic [15:0]       word_o
);
  assign word_o = words_i[number_i];
endmodule
