// SPDX-License-Identifier: Apache-2.0
// A plain learning switch built from the project's parts, to compare with the cost of the host path (`shell/l2/README.md`): lanes
// with their stores, one stream, an address table, copies to lanes. A packet for a group or an unknown address goes to all other
// lanes; a packet for its ingress lane, or for the bridge itself (01:80:c2:00:00:00 to 0f), is dropped. No ageing, no VLANs, no
// counters.
module cfg_l2 #(
  parameter int unsigned Lanes   = 4,    // 2 to 7
  parameter int unsigned Flits   = 512,  // store of a lane, per direction
  parameter int unsigned Entries = 4096  // addresses, a power of two
) (
  input  logic                          clk_i,
  input  logic                          rst_i,            // synchronous, active high
  input  logic                          lossless_i,       // 1: full stores apply back-pressure; 0: they drop
  input  sluice_pkg::flit_t [Lanes-1:0] lane_rx_data_i,
  input  logic [Lanes-1:0]              lane_rx_valid_i,
  output logic [Lanes-1:0]              lane_rx_ready_o,
  output sluice_pkg::flit_t [Lanes-1:0] lane_tx_data_o,
  output logic [Lanes-1:0]              lane_tx_valid_o,
  input  logic [Lanes-1:0]              lane_tx_ready_i
);
  import sluice_pkg::*;

  localparam int unsigned Latency = 7;            // of cfg_l2_table
  localparam logic [39:0] Bridge  = 40'h0000c28001;  // 01:80:c2:00:00, the first byte lowest

  typedef struct packed {
    logic        is_group;
    logic        is_bridge;
    logic [2:0]  lane;
  } head_t;

  flit_t      in_data, packet, aimed;
  logic       in_valid, in_ready, packet_valid, packet_ready, aimed_valid, aimed_ready;
  logic       gate_ready, gate_valid, answer_valid, answer_ready, fifo_ready, live;
  logic       key_valid, result_valid, result_hit, unused_valid;
  logic [2:0] result_lane;
  logic [98:0] key;  // lane, source, destination
  logic [5:0]  unused_count;
  head_t      head, head_out;
  logic [Lanes-1:0] mask, answer;

  cfg_l2_lanes #(.Lanes(Lanes), .Flits(Flits)) u_lanes (
    .clk_i, .rst_i, .lossless_i, .time_i('0),
    .lane_rx_data_i, .lane_rx_valid_i, .lane_rx_ready_o, .lane_tx_data_o, .lane_tx_valid_o, .lane_tx_ready_i,
    .rx_data_o(in_data), .rx_valid_o(in_valid), .rx_ready_i(in_ready),
    .tx_data_i(aimed), .tx_valid_i(aimed_valid), .tx_ready_o(aimed_ready)
  );

  // A packet waits for the lookup of its first flit.
  assign in_ready   = live && fifo_ready && (!in_data.sop || gate_ready);
  assign gate_valid = live && fifo_ready && in_valid && in_data.sop;

  sl_fifo #(.Width(FLIT_BITS), .Depth(32), .Style(0)) u_packets (
    .clk_i, .rst_i, .in_data_i(in_data), .in_valid_i(in_valid && live && (!in_data.sop || gate_ready)), .in_ready_o(fifo_ready),
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_ready), .count_o(unused_count)
  );

  sl_pipe_gate #(.InWidth(99), .OutWidth(Lanes), .Latency(Latency)) u_gate (
    .clk_i, .rst_i,
    .in_data_i({in_data.meta.ingress_port[2:0], in_data.data[95:0]}), .in_valid_i(gate_valid), .in_ready_o(gate_ready),
    .stage_valid_o(key_valid), .stage_data_o(key), .stage_valid_i(result_valid), .stage_data_i(mask),
    .out_data_o(answer), .out_valid_o(answer_valid), .out_ready_i(answer_ready)
  );

  cfg_l2_table #(.Entries(Entries)) u_table (
    .clk_i, .rst_i, .ready_o(live), .key_valid_i(key_valid), .destination_i(key[47:0]), .source_i(key[95:48]), .lane_i(key[98:96]),
    .result_valid_o(result_valid), .result_hit_o(result_hit), .result_lane_o(result_lane)
  );

  assign head = '{is_group: key[0], is_bridge: key[39:0] == Bridge && key[47:44] == '0, lane: key[98:96]};

  sl_delay #(.Width($bits(head_t)), .Cycles(Latency)) u_head (
    .clk_i, .rst_i, .valid_i(key_valid), .data_i(head), .valid_o(unused_valid), .data_o(head_out)
  );

  always_comb begin
    mask = head_out.is_group || !result_hit ? '1 : Lanes'(1) << result_lane;
    mask[head_out.lane[$clog2(Lanes)-1:0]] = 1'b0;
    if (head_out.is_bridge) mask = '0;
  end

  // The first flit leaves together with its lookup result.
  assign aimed_valid  = packet_valid && (!packet.sop || answer_valid);
  assign packet_ready = aimed_ready && (!packet.sop || answer_valid);
  assign answer_ready = packet_valid && packet.sop && aimed_ready;

  always_comb begin
    aimed = packet;
    aimed.meta.egress_mask = 8'(answer);
  end

  logic unused;
  assign unused = &{1'b0, unused_count, unused_valid};
endmodule
