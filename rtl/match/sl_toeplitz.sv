// SPDX-License-Identifier: Apache-2.0
// Toeplitz hash (Microsoft's RSS): each 1 bit n of the input, counted from the first, XORs in the 32 bits of the key that start at
// bit n. One input per cycle, never stalls, LATENCY 2. Trailing 0 bits of the input change nothing.
module sl_toeplitz #(
  parameter int unsigned Words = 9  // 32-bit words of the input, at least 1: two IPv6 addresses and two ports
) (
  input  logic                      clk_i,
  input  logic [32*Words-1:0]       data_i,  // the first bit is the highest
  input  logic [32*(Words+1)-1:0]   key_i,   // key for this input; the first bit is the highest
  output logic [31:0]               hash_o   // 2 cycles after its input
);
  logic [31:0] part_q [Words];
  logic [31:0] hash;

  // The contribution of an input word, from the key bits that overlap it.
  function automatic logic [31:0] part(logic [31:0] word, logic [62:0] key);
    part = '0;
    for (int unsigned bit_ = 0; bit_ < 32; bit_++) part ^= key[62 - bit_ -: 32] & {32{word[31 - bit_]}};
  endfunction

  always_comb begin
    hash = '0;
    for (int unsigned word = 0; word < Words; word++) hash ^= part_q[word];
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned word = 0; word < Words; word++) begin
      part_q[word] <= part(data_i[32 * (Words - word) - 1 -: 32], key_i[32 * (Words + 1 - word) - 1 -: 63]);
    end
    hash_o <= hash;
  end

  logic unused;
  assign unused = key_i[0];  // the last key bit meets no input bit
endmodule
