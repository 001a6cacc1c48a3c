// SPDX-License-Identifier: Apache-2.0
// One's complement sums of the words that actions can change: those that the IPv4 header checksum covers and those that the
// transport checksum covers. Four cycles, one record per cycle. A sum is 0 only if every word is 0; otherwise it is in 1 to 65535.
module sl_action_sums (
  input  logic         clk_i,
  input  logic         valid_i,
  input  logic [127:0] ip_src_i,
  input  logic [127:0] ip_dst_i,
  input  logic [7:0]   ip_tos_i,
  input  logic [7:0]   ip_ttl_i,
  input  logic [15:0]  l4_src_i,
  input  logic [15:0]  l4_dst_i,
  input  logic [15:0]  ip_add_i,  // one more word of the IPv4 sum
  input  logic [15:0]  l4_add_i,  // one more word of the transport sum
  output logic [15:0]  ip_sum_o,  // 4 cycles later
  output logic [15:0]  l4_sum_o   // 4 cycles later
);
  function automatic logic [17:0] four(logic [63:0] words);
    return 18'(words[15:0]) + 18'(words[31:16]) + 18'(words[47:32]) + 18'(words[63:48]);
  endfunction

  // The end-around carry of a sum whose upper part is small.
  function automatic logic [15:0] fold(logic [17:0] sum);
    logic [16:0] plain = {1'b0, sum[15:0]} + 17'(sum[17:16]);
    logic [15:0] next  = sum[15:0] + 16'(sum[17:16]) + 16'd1;
    return plain[16] ? next : plain[15:0];
  endfunction

  logic [2:0]  valid_q;
  logic [17:0] low_q, high0_q, high1_q, high2_q, ports_q;
  logic [16:0] type_q;
  logic [18:0] ip_q2;
  logic [19:0] l4a_q2;
  logic [18:0] l4b_q2;
  logic [17:0] ip_q3, l4_q3;

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[1:0], valid_i};
    if (valid_i) begin
      low_q   <= four({ip_src_i[31:0], ip_dst_i[31:0]});
      high0_q <= four(ip_src_i[95:32]);
      high1_q <= four(ip_dst_i[95:32]);
      high2_q <= four({ip_src_i[127:96], ip_dst_i[127:96]});
      ports_q <= four({l4_src_i, l4_dst_i, l4_add_i, 16'd0});
      type_q  <= 17'({ip_ttl_i, ip_tos_i}) + 17'(ip_add_i);
    end
    if (valid_q[0]) begin
      ip_q2  <= 19'(low_q) + 19'(type_q);
      l4a_q2 <= 20'(low_q) + 20'(high0_q) + 20'(high1_q);
      l4b_q2 <= 19'(high2_q) + 19'(ports_q);
    end
    if (valid_q[1]) begin
      ip_q3 <= 18'(ip_q2[15:0]) + 18'(ip_q2[18:16]);
      l4_q3 <= 18'(l4a_q2[15:0]) + 18'(l4b_q2[15:0]) + 18'({1'b0, l4a_q2[19:16]} + 5'(l4b_q2[18:16]));
    end
    if (valid_q[2]) begin
      ip_sum_o <= fold(ip_q3);
      l4_sum_o <= fold(l4_q3);
    end
  end
endmodule
