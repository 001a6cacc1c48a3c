// SPDX-License-Identifier: Apache-2.0
// The packet path between lanes and host as in the shell (`shell/core/sh_core.sv`), alone and without a graph, to compare its cost
// with the learning switch in this folder: lanes with their stores, one stream, timestamps, the to-host store; the host's packets
// checked, stored, copied to lanes. Reading and writing buffers in host memory is not RTL and so not included.
module cfg_hostio #(
  parameter int unsigned Lanes = 4,   // 2 to 7
  parameter int unsigned Flits = 512  // store of a lane, per direction, and of the host
) (
  input  logic                          clk_i,
  input  logic                          rst_i,            // synchronous, active high
  input  logic                          lossless_i,       // 1: full stores apply back-pressure; 0: they drop
  input  sluice_pkg::flit_t [Lanes-1:0] lane_rx_data_i,
  input  logic [Lanes-1:0]              lane_rx_valid_i,
  output logic [Lanes-1:0]              lane_rx_ready_o,
  output sluice_pkg::flit_t [Lanes-1:0] lane_tx_data_o,
  output logic [Lanes-1:0]              lane_tx_valid_o,
  input  logic [Lanes-1:0]              lane_tx_ready_i,
  output sluice_pkg::flit_t             to_host_data_o,
  output logic                          to_host_valid_o,
  input  logic                          to_host_ready_i,
  input  sluice_pkg::flit_t             from_host_data_i, // egress mask in its metadata
  input  logic                          from_host_valid_i,
  output logic                          from_host_ready_o
);
  import sluice_pkg::*;

  logic [63:0] cycles_q;
  flit_t       rx_data, tx_data;
  logic        rx_valid, rx_ready, tx_valid, tx_ready;
  logic [9:0]  unused_flags;
  logic [15:0] unused_to_length, unused_from_length;

  always_ff @(posedge clk_i) cycles_q <= rst_i ? '0 : cycles_q + 1'b1;

  cfg_l2_lanes #(.Lanes(Lanes), .Flits(Flits)) u_lanes (
    .clk_i, .rst_i, .lossless_i, .time_i(cycles_q),
    .lane_rx_data_i, .lane_rx_valid_i, .lane_rx_ready_o, .lane_tx_data_o, .lane_tx_valid_o, .lane_tx_ready_i,
    .rx_data_o(rx_data), .rx_valid_o(rx_valid), .rx_ready_i(rx_ready),
    .tx_data_i(tx_data), .tx_valid_i(tx_valid), .tx_ready_o(tx_ready)
  );

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(EGRESS_BYTES)) u_to_host (
    .clk_i, .rst_i, .lossless_i, .in_data_i(rx_data), .in_valid_i(rx_valid), .in_ready_o(rx_ready),
    .out_data_o(to_host_data_o), .out_valid_o(to_host_valid_o), .out_ready_i(to_host_ready_i), .empty_o(unused_flags[0]),
    .stored_o(unused_flags[1]), .stored_length_o(unused_to_length), .drop_error_o(unused_flags[2]),
    .drop_oversize_o(unused_flags[3]), .drop_runt_o(unused_flags[4]), .drop_overflow_o(unused_flags[5])
  );

  sh_host_tx #(.Lanes(Lanes), .Flits(Flits)) u_from_host (
    .clk_i, .rst_i, .takes_host_i(1'b0),
    .in_data_i(from_host_data_i), .in_valid_i(from_host_valid_i), .in_ready_o(from_host_ready_o),
    .out_data_o(tx_data), .out_valid_o(tx_valid), .out_ready_i(tx_ready), .idle_o(unused_flags[6]),
    .packet_o(unused_flags[7]), .packet_length_o(unused_from_length), .invalid_o(unused_flags[8]), .unfilled_o(unused_flags[9])
  );

  logic unused;
  assign unused = &{1'b0, unused_flags, unused_to_length, unused_from_length};
endmodule
