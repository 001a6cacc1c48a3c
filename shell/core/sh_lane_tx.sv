// SPDX-License-Identifier: Apache-2.0
// Transmit side of a lane. Packets are stored whole, so a lane never underruns inside one; packets marked bad, or without room, are
// dropped and counted. If the lane has its own clock, its channel leaves the core's clock last, all its signals together; counters
// and `idle_o` are on the core side. A lane that takes more bytes per second than the core clock carries can underrun inside a
// packet.
module sh_lane_tx #(
  parameter int unsigned Flits = 512,  // store: at least two packets of the largest size
  parameter bit          OwnClock = 1'b0  // 1: lane_* are on lane_clk_i; 0: on clk_i
) (
  input  logic              clk_i,
  input  logic              rst_i,            // synchronous, active high
  input  logic              lane_clk_i = 1'b0,  // OwnClock: any frequency and phase; may stop
  input  logic              lossless_i,       // 1: a full store applies back-pressure; 0: it drops
  input  sluice_pkg::flit_t in_data_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t lane_data_o,
  output logic              lane_valid_o,
  input  logic              lane_ready_i,
  output logic              idle_o,           // nothing stored
  output logic              packet_o,         // pulse: a packet starts to leave
  output logic [15:0]       packet_length_o,  // its length in bytes
  output logic              error_o,          // pulse: dropped, marked bad (or larger than EGRESS_BYTES)
  output logic              overflow_o        // pulse: dropped, no room
);
  sluice_pkg::flit_t lane_data;
  logic              lane_valid, lane_ready;

  if (OwnClock) begin : gen_crossing
    logic lane_rst, unused_roomy;

    sl_reset_sync #(.Stages(3)) u_reset (.clk_i(lane_clk_i), .async_rst_i(rst_i), .rst_o(lane_rst));
    sl_cdc_fifo #(.Width(sluice_pkg::FLIT_BITS)) u_cdc (
      .in_clk_i(clk_i), .in_rst_i(rst_i), .in_data_i(lane_data), .in_valid_i(lane_valid), .in_ready_o(lane_ready), .in_roomy_o(unused_roomy),
      .out_clk_i(lane_clk_i), .out_rst_i(lane_rst),
      .out_data_o(lane_data_o), .out_valid_o(lane_valid_o), .out_ready_i(lane_ready_i)
    );
  end else begin : gen_same_clock
    logic unused_clk;

    assign unused_clk   = lane_clk_i;
    assign lane_data_o  = lane_data;
    assign lane_valid_o = lane_valid;
    assign lane_ready   = lane_ready_i;
  end

  logic        unused_stored, error, oversize, runt;
  logic [15:0] unused_length;

  assign error_o         = error || oversize || runt;
  assign packet_o        = lane_valid && lane_ready && lane_data.sop;
  assign packet_length_o = lane_data.meta.length;

  sl_packet_fifo #(.Flits(Flits), .LargestPacket(sluice_pkg::EGRESS_BYTES)) u_store (
    .clk_i, .rst_i, .lossless_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(lane_data), .out_valid_o(lane_valid), .out_ready_i(lane_ready), .empty_o(idle_o),
    .stored_o(unused_stored), .stored_length_o(unused_length),
    .drop_error_o(error), .drop_oversize_o(oversize), .drop_runt_o(runt), .drop_overflow_o(overflow_o)
  );

  logic unused;
  assign unused = &{1'b0, unused_stored, unused_length};
endmodule
