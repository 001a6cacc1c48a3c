// SPDX-License-Identifier: Apache-2.0
// Modules of ours that the ECP5 has better cells for than Yosys finds by itself (`techmap -map`).

// 2:1 in a LUT4, two of them by PFUMX, four by L6MUX21, eight by one more: all eight LUT4s of a logic tile.
module sl_words_mux (input [255:0] words_i, input [3:0] number_i, output [15:0] word_o);
  genvar b, n;
  generate
    for (b = 0; b < 16; b = b + 1) begin : bit_of
      wire [7:0] two;
      wire [3:0] four;
      wire [1:0] eight;
      for (n = 0; n < 8; n = n + 1) begin : gen_two
        LUT4 #(.INIT(16'hCACA)) u_two (
          .A(words_i[32 * n + b]), .B(words_i[32 * n + 16 + b]), .C(number_i[0]), .D(1'b0), .Z(two[n])
        );
      end
      for (n = 0; n < 4; n = n + 1) begin : gen_four
        PFUMX u_four (.ALUT(two[2 * n + 1]), .BLUT(two[2 * n]), .C0(number_i[1]), .Z(four[n]));
      end
      for (n = 0; n < 2; n = n + 1) begin : gen_eight
        L6MUX21 u_eight (.D1(four[2 * n + 1]), .D0(four[2 * n]), .SD(number_i[2]), .Z(eight[n]));
      end
      L6MUX21 u_sixteen (.D1(eight[1]), .D0(eight[0]), .SD(number_i[3]), .Z(word_o[b]));
    end
  endgenerate
endmodule

// 2:1 in a LUT4, two of them by PFUMX: one slice.
module sl_words_mux4 (input [63:0] words_i, input [1:0] number_i, output [15:0] word_o);
  genvar b, n;
  generate
    for (b = 0; b < 16; b = b + 1) begin : bit_of
      wire [1:0] two;
      for (n = 0; n < 2; n = n + 1) begin : gen_two
        LUT4 #(.INIT(16'hCACA)) u_two (
          .A(words_i[32 * n + b]), .B(words_i[32 * n + 16 + b]), .C(number_i[0]), .D(1'b0), .Z(two[n])
        );
      end
      PFUMX u_four (.ALUT(two[1]), .BLUT(two[0]), .C0(number_i[1]), .Z(word_o[b]));
    end
  endgenerate
endmodule
