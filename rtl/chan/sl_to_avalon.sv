// SPDX-License-Identifier: Apache-2.0
// Converts a packet channel to Avalon-ST (packets, ready latency 0): the first byte is the high-order symbol, empty counts unused
// low-order symbols, channel is the ingress port throughout the packet, error at endofpacket: the packet is bad. The other metadata
// is discarded. One beat per cycle, latency 1.
module sl_to_avalon
  import sluice_pkg::*;
(
  input  logic                          clk_i,
  input  logic                          rst_i,                   // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // Avalon-ST has no signals for the rest of the metadata
  input  flit_t                         in_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                          in_valid_i,
  output logic                          in_ready_o,              // registered
  output logic [8*DATA_BYTES-1:0]       avalon_data_o,
  output logic [$clog2(DATA_BYTES)-1:0] avalon_empty_o,          // 0 except at endofpacket
  output logic [7:0]                    avalon_channel_o,
  output logic                          avalon_error_o,          // 0 except at endofpacket
  output logic                          avalon_startofpacket_o,
  output logic                          avalon_endofpacket_o,
  output logic                          avalon_valid_o,
  input  logic                          avalon_ready_i
);
  logic [7:0]              channel_q, channel;
  logic [8*DATA_BYTES-1:0] swapped;

  assign channel = in_data_i.sop ? in_data_i.meta.ingress_port : channel_q;

  always_comb begin
    for (int unsigned i = 0; i < DATA_BYTES; i++) swapped[8*i +: 8] = in_data_i.data[8*(DATA_BYTES-1-i) +: 8];
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i) channel_q <= channel;
  end

  sl_skid #(.Width(8 * DATA_BYTES + $clog2(DATA_BYTES) + 11)) u_skid (
    .clk_i, .rst_i,
    .in_data_i({swapped, in_data_i.eop ? in_data_i.empty : '0, channel, in_data_i.eop && in_data_i.error,
                in_data_i.sop, in_data_i.eop}), .in_valid_i, .in_ready_o,
    .out_data_o({avalon_data_o, avalon_empty_o, avalon_channel_o, avalon_error_o,
                 avalon_startofpacket_o, avalon_endofpacket_o}), .out_valid_o(avalon_valid_o), .out_ready_i(avalon_ready_i)
  );
endmodule
