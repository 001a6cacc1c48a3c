// SPDX-License-Identifier: Apache-2.0
// Sends the host's packets to the channels of a compiled configuration: `queue` is the channel number. Packets with an unknown
// channel, or whose length is not the channel's record length, are dropped and counted. Each channel has a store and counts the
// flits that leave it, so the host can avoid sending what does not fit: no channel then waits for another.
module sh_graph_host #(
  parameter int unsigned                Channels = 1,  // 1 to GRAPH_CHANNELS
  parameter logic [Channels-1:0][15:0]  Bytes = '0     // length of a record's packet; 0: a channel of packets
) (
  input  logic                             clk_i,
  input  logic                             rst_i,       // synchronous, active high
  input  sluice_pkg::flit_t                in_data_i,   // whole packets, queue and length in their metadata
  input  logic                             in_valid_i,
  output logic                             in_ready_o,
  output sluice_pkg::flit_t [Channels-1:0] out_data_o,  // registered; queue and verdict 0
  output logic [Channels-1:0]              out_valid_o, // registered
  input  logic [Channels-1:0]              out_ready_i,
  output logic [Channels-1:0][31:0]        taken_o,     // flits that left the stores; they wrap
  output logic                             invalid_o    // pulse: a packet was dropped
);
  import sluice_pkg::*;

  logic [Channels-1:0] here, here_q, room;
  flit_t               clean;

  always_comb begin
    here = here_q;
    if (in_data_i.sop) begin
      for (int unsigned i = 0; i < Channels; i++) begin
        here[i] = 32'(in_data_i.meta.queue) == i && (Bytes[i] == '0 || in_data_i.meta.length == Bytes[i]);
      end
    end
    clean              = in_data_i;
    clean.meta.queue   = '0;
    clean.meta.verdict = VERDICT_PASS;
  end

  assign in_ready_o = (here & ~room) == '0;
  assign invalid_o  = in_valid_i && in_ready_o && in_data_i.eop && here == '0;

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_data_i.sop) here_q <= here;
  end

  for (genvar i = 0; i < int'(Channels); i++) begin : gen_channel
    logic        unused_empty, unused_stored;
    logic [15:0] unused_length;
    logic [3:0]  unused_drop;

    sl_packet_fifo #(
      .Flits(GRAPH_STORE_FLITS), .Packets(GRAPH_STORE_PACKETS), .SmallestPacket(1), .LargestPacket(EGRESS_BYTES)
    ) u_store (
      .clk_i, .rst_i, .lossless_i(1'b1), .in_data_i(clean), .in_valid_i(in_valid_i && here[i]), .in_ready_o(room[i]),
      .out_data_o(out_data_o[i]), .out_valid_o(out_valid_o[i]), .out_ready_i(out_ready_i[i]), .empty_o(unused_empty),
      .stored_o(unused_stored), .stored_length_o(unused_length), .drop_error_o(unused_drop[0]),
      .drop_oversize_o(unused_drop[1]), .drop_runt_o(unused_drop[2]), .drop_overflow_o(unused_drop[3])
    );

    always_ff @(posedge clk_i) begin
      if (out_valid_o[i] && out_ready_i[i]) taken_o[i] <= taken_o[i] + 1'b1;
      if (rst_i) taken_o[i] <= '0;
    end
  end
endmodule
