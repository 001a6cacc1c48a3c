// SPDX-License-Identifier: Apache-2.0
// One's complement sum of a range of a packet's bytes, as 16-bit big-endian words (RFC 1071), over its flits so far; after the last
// flit, of the whole range. One flit per cycle, never stalls, LATENCY 6. An odd last byte counts as the high half of a word.
module sl_flit_sum
  import sluice_pkg::*;
(
  input  logic                    clk_i,
  input  logic                    valid_i,
  input  logic                    first_i,  // first flit of a packet
  input  logic [8*DATA_BYTES-1:0] data_i,   // byte 0 in bits 7:0
  input  logic [15:0]             from_i,   // first byte of the range, even; same for all flits of a packet
  input  logic [15:0]             to_i,     // first byte after the range
  output logic [15:0]             sum_o     // 6 cycles after a flit; 0 only if every byte was 0
);
  localparam int unsigned Words  = DATA_BYTES / 2;
  localparam int unsigned Groups = Words / 4;

  logic [15:0] base_q;  // bytes of the packet before this flit
  logic [15:0] base;
  logic [15:0] word_q [Words];
  logic [17:0] group_q [Groups];
  logic [20:0] flit_q, flit;
  logic [31:0] total_q;
  logic [16:0] fold_q;
  logic [3:0]  valid_q, first_q;

  assign base = first_i ? '0 : base_q;

  always_comb begin
    flit = '0;
    for (int unsigned i = 0; i < Groups; i++) flit += 21'(group_q[i]);
  end

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[2:0], valid_i};
    first_q <= {first_q[2:0], first_i};
    if (valid_i) base_q <= base + 16'(DATA_BYTES);
    for (int unsigned i = 0; i < Words; i++) begin
      word_q[i][15:8] <= base + 16'(2 * i) >= from_i && base + 16'(2 * i) < to_i ? data_i[16*i +: 8] : '0;
      word_q[i][7:0]  <= base + 16'(2 * i) >= from_i && base + 16'(2 * i + 1) < to_i ? data_i[16*i+8 +: 8] : '0;
    end
    for (int unsigned i = 0; i < Groups; i++) begin
      group_q[i] <= 18'(word_q[4*i]) + 18'(word_q[4*i+1]) + 18'(word_q[4*i+2]) + 18'(word_q[4*i+3]);
    end
    flit_q <= flit;
    // A packet has less than 2**15 words: the total does not overflow.
    if (valid_q[2]) total_q <= (first_q[2] ? '0 : total_q) + 32'(flit_q);
    fold_q <= 17'(total_q[31:16]) + 17'(total_q[15:0]);
    sum_o  <= fold_q[15:0] + 16'(fold_q[16]);
  end

  logic unused;
  assign unused = &{1'b0, valid_q[3], first_q[3]};
endmodule
