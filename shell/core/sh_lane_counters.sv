// SPDX-License-Identifier: Apache-2.0
// Counters of a lane (`lane_counters_t`), read two words at a time. They wrap.
module sh_lane_counters (
  input  logic        clk_i,
  input  logic        rst_i,         // synchronous, active high: clears all
  input  logic        rx_packet_i,   // pulses, with their lengths in bytes
  input  logic [15:0] rx_length_i,
  input  logic [3:0]  rx_drop_i,     // error, oversize, overflow, runt
  input  logic        tx_packet_i,
  input  logic [15:0] tx_length_i,
  input  logic        tx_overflow_i,
  input  logic        tx_error_i,
  input  logic [2:0]  pair_i,        // index of the two words
  output logic [63:0] pair_o         // combinational from pair_i
);
  sluice_pkg::lane_counters_t count_q;
  logic [7:0][63:0] pairs;

  assign pairs  = count_q;
  assign pair_o = pairs[pair_i];

  always_ff @(posedge clk_i) begin
    if (rx_packet_i) begin
      count_q.rx_packets <= count_q.rx_packets + 1'b1;
      count_q.rx_bytes   <= count_q.rx_bytes + 64'(rx_length_i);
    end
    if (tx_packet_i) begin
      count_q.tx_packets <= count_q.tx_packets + 1'b1;
      count_q.tx_bytes   <= count_q.tx_bytes + 64'(tx_length_i);
    end
    if (rx_drop_i[0])  count_q.rx_error    <= count_q.rx_error + 1'b1;
    if (rx_drop_i[1])  count_q.rx_oversize <= count_q.rx_oversize + 1'b1;
    if (rx_drop_i[2])  count_q.rx_overflow <= count_q.rx_overflow + 1'b1;
    if (rx_drop_i[3])  count_q.rx_runt     <= count_q.rx_runt + 1'b1;
    if (tx_overflow_i) count_q.tx_overflow <= count_q.tx_overflow + 1'b1;
    if (tx_error_i)    count_q.tx_error    <= count_q.tx_error + 1'b1;
    if (rst_i) count_q <= '0;
  end
endmodule
