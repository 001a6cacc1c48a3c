// SPDX-License-Identifier: Apache-2.0
// Proof obligation of sl_toeplitz: a single 1 bit of the input, at any position, adds the 32 bits of the key from its position on,
// for every key; without a 1 bit, the hash is 0. (Linearity over several bits, modulo 2, follows from the code.)
module fv_toeplitz #(
  parameter int unsigned Words = 2  // 32-bit words of the input
) (
  input logic                    clk_i,
  input logic [8:0]              place_i,  // of the bit, counted from the first; beyond the end: no bit
  input logic [32*(Words+1)-1:0] key_i
);
  localparam int unsigned Bits = 32 * Words;

  logic [31:0]     hash, expected, expected_1q, expected_2q;
  logic [Bits-1:0] data;
  logic [1:0]      started_q = '0;

  assign data     = {1'b1, (Bits - 1)'(0)} >> place_i;
  assign expected = 32'(place_i) < Bits ? 32'((key_i << place_i) >> Bits) : '0;

  sl_toeplitz #(.Words(Words)) u_hash (.clk_i, .data_i(data), .key_i, .hash_o(hash));

  always_ff @(posedge clk_i) begin
    started_q   <= {started_q[0], 1'b1};
    expected_1q <= expected;
    expected_2q <= expected_1q;
    if (started_q == '1) begin
      a_adds_the_bits_of_the_key : assert (hash == expected_2q);
      c_some : cover (hash == 32'h51cc_c178);
    end
  end
endmodule
