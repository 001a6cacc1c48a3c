// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_flit_sum with flits of 8 bytes, for all bytes, ranges and gaps between flits (induction): 6 cycles after
// a flit, the sum is that of RFC 1071, accumulated in 32 bits and folded twice, over the bytes of the range in the packet's flits
// so far, and 0 only if this total is 0. Assumed: a range starts at an even byte and is the same for all flits of a packet.
module fv_flit_sum
  import sluice_pkg::*;
(
  input logic                    clk_i,
  input logic                    valid_i,
  input logic                    first_i,
  input logic [8*DATA_BYTES-1:0] data_i,
  input logic [15:0]             from_i,
  input logic [15:0]             to_i
);
  localparam int unsigned Latency = 6, Words = DATA_BYTES / 2;

  logic               begun_q = 1'b0;
  logic [15:0]        sum, base_q, base, from_q, to_q;
  logic [31:0]        total, summed;
  logic [Latency:1][31:0] total_q;      // after the flits up to this many cycles ago
  logic [Latency:1]   begun_before_q = '0;  // there was a flit by then

  sl_flit_sum u_sum (.clk_i, .valid_i, .first_i, .data_i, .from_i, .to_i, .sum_o(sum));

  assign base = first_i ? '0 : base_q;

  function automatic logic [31:0] words(logic [8*DATA_BYTES-1:0] data, logic [15:0] at, logic [15:0] first, logic [15:0] behind);
    words = '0;
    for (int unsigned i = 0; i < Words; i++) begin
      automatic logic [15:0] even = at + 16'(2 * i), odd = even + 16'd1;
      words += 32'({even >= first && even < behind ? data[16*i +: 8] : 8'd0, odd >= first && odd < behind ? data[16*i+8 +: 8] : 8'd0});
    end
  endfunction

  function automatic logic [31:0] fold(logic [31:0] value);
    return 32'(value[31:16]) + 32'(value[15:0]);
  endfunction

  assign summed = 32'(u_sum.word_q[0]) + 32'(u_sum.word_q[1]) + 32'(u_sum.word_q[2]) + 32'(u_sum.word_q[3]);
  assign total = (first_i ? '0 : total_q[1]) + words(data_i, base, from_i, to_i);

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      m_first : assume (first_i || begun_q);
      m_range : assume (!from_i[0] && (first_i || (from_i == from_q && to_i == to_q)));
      begun_q <= 1'b1;
      base_q  <= base + 16'(DATA_BYTES);
      from_q  <= from_i;
      to_q    <= to_i;
    end
    total_q        <= {total_q[Latency-1:1], valid_i ? total : total_q[1]};
    begun_before_q <= {begun_before_q[Latency-1:1], begun_q || valid_i};

    if (begun_before_q[Latency]) begin
      a_sum_is_that_of_the_range : assert (32'(sum) == fold(fold(total_q[Latency])));
      a_zero_is_of_zeros : assert ((sum == '0) == (total_q[Latency] == '0));
    end
    // Intermediate steps, for the induction.
    if (begun_q) i_base : assert (u_sum.base_q == base_q && base_q % 16'(DATA_BYTES) == '0);
    i_begun : assert (begun_before_q[1] == begun_q && (begun_before_q & (begun_before_q + 1'b1)) == '0);
    i_begins_with_a_first : assert ((begun_before_q[3:1] & ~begun_before_q[4:2] & ~(u_sum.valid_q[2:0] & u_sum.first_q[2:0])) == '0);
    if (begun_before_q[1] && u_sum.valid_q[0]) i_words : assert (total_q[1] == (u_sum.first_q[0] ? '0 : total_q[2]) + summed);
    else if (begun_before_q[2]) i_words_wait : assert (total_q[1] == total_q[2]);
    if (begun_before_q[2] && u_sum.valid_q[1]) i_groups : assert (total_q[2] == (u_sum.first_q[1] ? '0 : total_q[3]) + 32'(u_sum.group_q[0]));
    else if (begun_before_q[3]) i_groups_wait : assert (total_q[2] == total_q[3]);
    if (begun_before_q[3] && u_sum.valid_q[2]) i_flit : assert (total_q[3] == (u_sum.first_q[2] ? '0 : total_q[4]) + 32'(u_sum.flit_q));
    else if (begun_before_q[4]) i_flit_waits : assert (total_q[3] == total_q[4]);
    if (begun_before_q[4]) i_total : assert (u_sum.total_q == total_q[4]);
    if (begun_before_q[5]) i_fold : assert (32'(u_sum.fold_q) == fold(total_q[5]));
    c_odd_end_in_a_second_flit : cover (begun_before_q[Latency] && sum == 16'hff00 && base_q == 16'(2 * DATA_BYTES) && to_q[0] && from_q == 16'd2);
    c_carries_twice : cover (begun_before_q[Latency] && fold(total_q[Latency]) > 32'hffff);
  end
endmodule
