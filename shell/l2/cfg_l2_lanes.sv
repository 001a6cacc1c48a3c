// SPDX-License-Identifier: Apache-2.0
// Shared by the learning switch and the host path: lanes in as one stream, one stream out to the lanes of each egress mask.
module cfg_l2_lanes #(
  parameter int unsigned Lanes = 4,   // 2 to 7
  parameter int unsigned Flits = 512  // store of a lane, per direction
) (
  input  logic                          clk_i,
  input  logic                          rst_i,            // synchronous, active high
  input  logic                          lossless_i,       // 1: full stores apply back-pressure; 0: they drop
  input  logic [63:0]                   time_i,           // timestamp for packets
  input  sluice_pkg::flit_t [Lanes-1:0] lane_rx_data_i,
  input  logic [Lanes-1:0]              lane_rx_valid_i,
  output logic [Lanes-1:0]              lane_rx_ready_o,
  output sluice_pkg::flit_t [Lanes-1:0] lane_tx_data_o,
  output logic [Lanes-1:0]              lane_tx_valid_o,
  input  logic [Lanes-1:0]              lane_tx_ready_i,
  output sluice_pkg::flit_t             rx_data_o,
  output logic                          rx_valid_o,
  input  logic                          rx_ready_i,
  input  sluice_pkg::flit_t             tx_data_i,
  input  logic                          tx_valid_i,
  output logic                          tx_ready_o
);
  import sluice_pkg::*;

  flit_t [Lanes-1:0]      rx_data;
  flit_t                  copy_data;
  logic [Lanes-1:0]       rx_valid, rx_ready, copy_valid, copy_ready;
  logic [Lanes-1:0]       unused_rx_idle, unused_rx_packet, unused_tx_idle, unused_tx_packet, unused_error, unused_overflow;
  logic                   unused_empty;
  logic [Lanes-1:0][15:0] unused_rx_length, unused_tx_length;
  logic [Lanes-1:0][3:0]  unused_drop;

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_lane
    sh_lane_rx #(.Lane(i), .Flits(Flits)) u_rx (
      .clk_i, .rst_i, .lossless_i, .time_i,
      .lane_data_i(lane_rx_data_i[i]), .lane_valid_i(lane_rx_valid_i[i]), .lane_ready_o(lane_rx_ready_o[i]),
      .out_data_o(rx_data[i]), .out_valid_o(rx_valid[i]), .out_ready_i(rx_ready[i]),
      .idle_o(unused_rx_idle[i]), .packet_o(unused_rx_packet[i]), .packet_length_o(unused_rx_length[i]), .drop_o(unused_drop[i])
    );

    sh_lane_tx #(.Flits(Flits)) u_tx (
      .clk_i, .rst_i, .lossless_i,
      .in_data_i(copy_data), .in_valid_i(copy_valid[i]), .in_ready_o(copy_ready[i]),
      .lane_data_o(lane_tx_data_o[i]), .lane_valid_o(lane_tx_valid_o[i]), .lane_ready_i(lane_tx_ready_i[i]),
      .idle_o(unused_tx_idle[i]), .packet_o(unused_tx_packet[i]), .packet_length_o(unused_tx_length[i]),
      .error_o(unused_error[i]), .overflow_o(unused_overflow[i])
    );
  end

  sl_packet_arbiter #(.Ports(Lanes)) u_join (
    .clk_i, .rst_i, .pause_i(1'b0), .in_data_i(rx_data), .in_valid_i(rx_valid), .in_ready_o(rx_ready),
    .out_data_o(rx_data_o), .out_valid_o(rx_valid_o), .out_ready_i(rx_ready_i),
    .empty_o(unused_empty)
  );

  el_replicate #(.Ports(Lanes)) u_replicate (
    .clk_i, .rst_i, .in_data_i(tx_data_i), .in_valid_i(tx_valid_i), .in_ready_o(tx_ready_o),
    .out_data_o(copy_data), .out_valid_o(copy_valid), .out_ready_i(copy_ready)
  );

  logic unused;
  assign unused = &{1'b0, unused_rx_idle, unused_rx_packet, unused_rx_length, unused_drop, unused_tx_idle, unused_tx_packet,
                    unused_tx_length, unused_error, unused_overflow, unused_empty};
endmodule
