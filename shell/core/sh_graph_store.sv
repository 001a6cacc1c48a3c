// SPDX-License-Identifier: Apache-2.0
// A channel that leaves a compiled configuration, to a lane or to the host. It stores whole packets, so no channel blocks another
// in the middle of a packet, and sets the metadata that routes them. It applies back-pressure when full; packets that are marked
// bad, too long or too short are dropped and counted.
module sh_graph_store #(
  parameter bit          ToHost = 1'b0,
  parameter int unsigned Number = 0  // number of the lane, or of the channel to the host
) (
  input  logic              clk_i,
  input  logic              rst_i,        // synchronous, active high
  input  sluice_pkg::flit_t in_data_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output sluice_pkg::flit_t out_data_o,
  output logic              out_valid_o,  // registered
  input  logic              out_ready_i,
  output logic [2:0]        drop_o        // pulses: error, oversize, runt
);
  import sluice_pkg::*;

  flit_t       stored;
  logic        unused_empty, unused_stored, unused_overflow;
  logic [15:0] unused_length;

  sl_packet_fifo #(.Flits(GRAPH_STORE_FLITS), .LargestPacket(EGRESS_BYTES)) u_store (
    .clk_i, .rst_i, .lossless_i(1'b1), .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(stored), .out_valid_o, .out_ready_i, .empty_o(unused_empty),
    .stored_o(unused_stored), .stored_length_o(unused_length), .drop_error_o(drop_o[0]), .drop_oversize_o(drop_o[1]),
    .drop_runt_o(drop_o[2]), .drop_overflow_o(unused_overflow)
  );

  always_comb begin
    out_data_o = stored;
    if (stored.sop) begin
      out_data_o.meta.verdict = ToHost ? VERDICT_TO_HOST : VERDICT_FORWARD;
      if (ToHost) out_data_o.meta.queue = 4'(Number);
      else        out_data_o.meta.egress_mask = 8'(1 << Number);
    end
  end
endmodule
