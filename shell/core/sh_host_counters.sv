// SPDX-License-Identifier: Apache-2.0
// Counters of the host path (`host_counters_t`) and of the graph (`graph_counters_t`), read two words at a time. They wrap.
module sh_host_counters (
  input  logic                          clk_i,
  input  logic                          rst_i,              // synchronous, active high: clears all
  input  logic                          to_host_i,          // pulses, with their lengths in bytes
  input  logic [15:0]                   to_host_length_i,
  input  logic                          to_host_overflow_i,
  input  logic                          to_host_error_i,
  input  logic                          ring_overflow_i,
  input  logic                          from_host_i,
  input  logic [15:0]                   from_host_length_i,
  input  logic                          from_host_invalid_i,
  input  logic                          from_host_merged_i,
  input  logic                          from_host_unfilled_i,
  input  sl_packet_pkg::deparse_event_t graph_i,
  input  logic [2:0]                    pair_i,             // index of the two words
  output logic [63:0]                   host_pair_o,        // combinational from pair_i
  output logic [63:0]                   graph_pair_o        // combinational from pair_i
);
  sluice_pkg::host_counters_t  host_q;
  sluice_pkg::graph_counters_t graph_q;
  logic [7:0][63:0] host_pairs, graph_pairs;

  assign host_pairs   = host_q;
  assign graph_pairs  = graph_q;
  assign host_pair_o  = host_pairs[pair_i];
  assign graph_pair_o = graph_pairs[pair_i];

  always_ff @(posedge clk_i) begin
    if (to_host_i) begin
      host_q.to_host_packets <= host_q.to_host_packets + 1'b1;
      host_q.to_host_bytes   <= host_q.to_host_bytes + 64'(to_host_length_i);
    end
    if (from_host_i) begin
      host_q.from_host_packets <= host_q.from_host_packets + 1'b1;
      host_q.from_host_bytes   <= host_q.from_host_bytes + 64'(from_host_length_i);
    end
    if (to_host_overflow_i)  host_q.to_host_overflow  <= host_q.to_host_overflow + 1'b1;
    if (to_host_error_i)     host_q.to_host_error     <= host_q.to_host_error + 1'b1;
    if (ring_overflow_i)     host_q.ring_overflow     <= host_q.ring_overflow + 1'b1;
    if (from_host_invalid_i) host_q.from_host_invalid <= host_q.from_host_invalid + 1'b1;
    if (from_host_merged_i)  host_q.from_host_merged  <= host_q.from_host_merged + 1'b1;
    if (from_host_unfilled_i) host_q.from_host_unfilled <= host_q.from_host_unfilled + 1'b1;
    if (rst_i) host_q <= '0;
  end

  always_ff @(posedge clk_i) begin
    if (graph_i.forwarded)    graph_q.forwarded_packets <= graph_q.forwarded_packets + 1'b1;
    if (graph_i.to_host)      graph_q.to_host_packets   <= graph_q.to_host_packets + 1'b1;
    if (graph_i.drop_rule)    graph_q.drop_rule         <= graph_q.drop_rule + 1'b1;
    if (graph_i.drop_ttl)     graph_q.drop_ttl          <= graph_q.drop_ttl + 1'b1;
    if (graph_i.drop_no_port) graph_q.drop_no_port      <= graph_q.drop_no_port + 1'b1;
    if (graph_i.fault)        graph_q.faults            <= graph_q.faults + 1'b1;
    if (graph_i.not_eligible) graph_q.not_eligible      <= graph_q.not_eligible + 1'b1;
    if (graph_i.miss)         graph_q.misses            <= graph_q.misses + 1'b1;
    if (graph_i.not_stripped) graph_q.not_stripped      <= graph_q.not_stripped + 1'b1;
    if (rst_i) graph_q <= '0;
  end
endmodule
