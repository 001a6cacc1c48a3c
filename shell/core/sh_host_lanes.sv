// SPDX-License-Identifier: Apache-2.0
// The host side as lanes to an ordinary NIC instead of a ring: host lane n belongs to lane n. A packet that the graph sends to the
// host leaves on the host lane of its ingress lane; a packet from a host lane goes to that lane, bypassing the graph. So a device
// without rules is a pass-through, and a hit never reaches the NIC. Stores, drops and counters are the same as for any lane.
module sh_host_lanes #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Flits = 512,     // of each store; at least two packets of the largest size
  parameter bit          OwnClock = 1'b0  // 1: lane_* are on lane_rx_clk_i and lane_tx_clk_i; 0: on clk_i
) (
  input  logic                          clk_i,
  input  logic                          rst_i,             // synchronous, active high
  input  logic                          lossless_i,        // 1: full stores apply back-pressure; 0: they drop
  input  logic                          lanes_wait_i,      // 0: the MACs cannot wait, even in lossless mode
  input  logic [63:0]                   time_i,            // core cycles
  input  logic [Lanes-1:0]              lane_rx_clk_i,
  input  logic [Lanes-1:0]              lane_tx_clk_i,
  input  sluice_pkg::flit_t [Lanes-1:0] lane_rx_data_i,
  input  logic [Lanes-1:0]              lane_rx_valid_i,
  output logic [Lanes-1:0]              lane_rx_ready_o,
  output sluice_pkg::flit_t [Lanes-1:0] lane_tx_data_o,
  output logic [Lanes-1:0]              lane_tx_valid_o,
  input  logic [Lanes-1:0]              lane_tx_ready_i,
  input  sluice_pkg::flit_t             to_host_data_i,    // ingress port in its metadata
  input  logic                          to_host_valid_i,
  output logic                          to_host_ready_o,
  output sluice_pkg::flit_t             from_host_data_o,  // egress mask in its metadata
  output logic                          from_host_valid_o,
  input  logic                          from_host_ready_i,
  output logic                          idle_o,            // nothing stored
  output logic [Lanes-1:0]              rx_packet_o,       // for the counters: see sh_lane_rx and sh_lane_tx
  output logic [Lanes-1:0][15:0]        rx_length_o,
  output logic [Lanes-1:0][3:0]         rx_drop_o,
  output logic [Lanes-1:0]              tx_packet_o,
  output logic [Lanes-1:0][15:0]        tx_length_o,
  output logic [Lanes-1:0]              tx_error_o,
  output logic [Lanes-1:0]              tx_overflow_o
);
  import sluice_pkg::*;

  flit_t [Lanes-1:0] rx_data;
  logic [Lanes-1:0]  rx_valid, rx_ready, rx_idle, tx_ready, tx_idle, aim, aim_q;
  flit_t             joined;
  logic              join_empty;

  // To the host: the lane is in the metadata of the first flit.
  assign aim             = to_host_data_i.sop ? Lanes'(1) << to_host_data_i.meta.ingress_port : aim_q;
  assign to_host_ready_o = (aim & ~tx_ready) == '0;

  always_ff @(posedge clk_i) begin
    if (to_host_valid_i && to_host_data_i.sop) aim_q <= aim;
  end

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_lanes
    sh_lane_rx #(.Lane(i), .Flits(Flits), .OwnClock(OwnClock)) u_rx (
      .clk_i, .rst_i, .lane_clk_i(lane_rx_clk_i[i]), .lossless_i(lossless_i && lanes_wait_i), .time_i,
      .lane_data_i(lane_rx_data_i[i]), .lane_valid_i(lane_rx_valid_i[i]), .lane_ready_o(lane_rx_ready_o[i]),
      .out_data_o(rx_data[i]), .out_valid_o(rx_valid[i]), .out_ready_i(rx_ready[i]),
      .idle_o(rx_idle[i]), .packet_o(rx_packet_o[i]), .packet_length_o(rx_length_o[i]), .drop_o(rx_drop_o[i])
    );

    sh_lane_tx #(.Flits(Flits), .OwnClock(OwnClock)) u_tx (
      .clk_i, .rst_i, .lane_clk_i(lane_tx_clk_i[i]), .lossless_i,
      .in_data_i(to_host_data_i), .in_valid_i(to_host_valid_i && aim[i]), .in_ready_o(tx_ready[i]),
      .lane_data_o(lane_tx_data_o[i]), .lane_valid_o(lane_tx_valid_o[i]), .lane_ready_i(lane_tx_ready_i[i]),
      .idle_o(tx_idle[i]), .packet_o(tx_packet_o[i]), .packet_length_o(tx_length_o[i]),
      .error_o(tx_error_o[i]), .overflow_o(tx_overflow_o[i])
    );
  end

  sl_packet_arbiter #(.Ports(Lanes)) u_join (
    .clk_i, .rst_i, .pause_i(1'b0), .in_data_i(rx_data), .in_valid_i(rx_valid), .in_ready_o(rx_ready),
    .out_data_o(joined), .out_valid_o(from_host_valid_o), .out_ready_i(from_host_ready_i),
    .empty_o(join_empty)
  );

  always_comb begin
    from_host_data_o = joined;
    if (joined.sop) begin
      from_host_data_o.meta.egress_mask  = 8'd1 << joined.meta.ingress_port;
      from_host_data_o.meta.ingress_port = 8'(HOST_PORT);
      from_host_data_o.meta.verdict      = VERDICT_FORWARD;
    end
  end

  assign idle_o = &rx_idle && &tx_idle && join_empty;
endmodule
