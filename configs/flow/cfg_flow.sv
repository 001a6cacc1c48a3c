// SPDX-License-Identifier: Apache-2.0
// The flow-table configuration: packets are parsed, looked up in the table behind rte_flow, edited and forwarded; packets that
// match no rule go to the host unchanged. Same ports as cfg_rules. Register windows 1: flow table, 4: header templates; the others
// answer errors. One flit per cycle; only a rule drops packets.
module cfg_flow #(
  parameter int unsigned Groups = 16,           // flow table sizes, as in el_flow_table
  parameter int unsigned GroupEntries = 4096,
  parameter int unsigned TernaryEntries = 256
) (
  input  logic                           clk_i,
  input  logic                           rst_i,              // synchronous, active high
  input  logic [31:0]                    tick_i,             // microseconds
  input  sluice_pkg::flit_t              in_data_i,
  input  logic                           in_valid_i,
  output logic                           in_ready_o,
  output sluice_pkg::flit_t              out_data_o,
  output logic                           out_valid_o,
  input  logic                           out_ready_i,
  input  sluice_pkg::register_request_t  reg_request_i,      // to the window's element
  input  logic [3:0]                     reg_request_valid_i, // windows 1 to 4
  output logic [3:0]                     reg_request_ready_o,
  output sluice_pkg::register_response_t [3:0] reg_response_o,
  output logic [3:0]                     reg_response_valid_o,
  output sluice_pkg::rule_push_t         push_data_o,        // rule counters for host memory
  output logic                           push_valid_o,
  input  logic                           push_ready_i,
  output sl_packet_pkg::deparse_event_t  event_o             // pulses for the graph's counters
);
  import sluice_pkg::*;

  flit_t       linked, packet;
  link_info_t  link;
  phv_record_t parsed, found;
  logic        linked_valid, linked_ready, packet_valid, packet_ready, link_valid, link_ready;
  logic        parsed_valid, parsed_ready, found_valid, found_ready;

  sl_flow_link u_link (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(linked), .out_valid_o(linked_valid), .out_ready_i(linked_ready),
    .link_data_o(link), .link_valid_o(link_valid), .link_ready_i(link_ready)
  );

  el_parse u_parse (
    .clk_i, .rst_i, .own_i('0),  // no tunnel is opened
    .in_data_i(linked), .in_valid_i(linked_valid), .in_ready_o(linked_ready),
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_ready),
    .phv_data_o(parsed), .phv_valid_o(parsed_valid), .phv_ready_i(parsed_ready)
  );

  el_flow_table #(.Groups(Groups), .GroupEntries(GroupEntries), .TernaryEntries(TernaryEntries)) u_flow (
    .clk_i, .rst_i, .tick_i,
    .in_data_i(parsed), .in_valid_i(parsed_valid), .in_ready_o(parsed_ready),
    .link_data_i(link), .link_valid_i(link_valid), .link_ready_o(link_ready),
    .out_data_o(found), .out_valid_o(found_valid), .out_ready_i(found_ready),
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[0]), .reg_request_ready_o(reg_request_ready_o[0]),
    .reg_response_o(reg_response_o[0]), .reg_response_valid_o(reg_response_valid_o[0]),
    .push_data_o, .push_valid_o, .push_ready_i
  );

  // A packet waits in the deparser while its record passes the table (see cfg_rules): lookup, fence, 3 for the action RAM, actions,
  // 2 for the gate.
  localparam int unsigned FlowCycles   = sl_flow_pkg::flow_latency(FLOW_KEY_BITS, Groups, GroupEntries, TernaryEntries) +
                                         sl_flow_pkg::FENCE_LATENCY + 3 + sl_action_pkg::ACTION_LATENCY + 2;
  localparam int unsigned RecordCycles = sl_packet_pkg::PARSE_LATENCY + 4 + FlowCycles + sl_packet_pkg::DECIDE_LATENCY + 2;
  localparam int unsigned PacketFlits  = RecordCycles <= 256 ? 256 : 2 ** $clog2(RecordCycles);

  el_deparse #(.PacketFlits(PacketFlits)) u_deparse (
    .clk_i, .rst_i,
    .in_data_i(packet), .in_valid_i(packet_valid), .in_ready_o(packet_ready),
    .phv_data_i(found), .phv_valid_i(found_valid), .phv_ready_o(found_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .event_o,
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[3]), .reg_request_ready_o(reg_request_ready_o[3]),
    .reg_response_o(reg_response_o[3]), .reg_response_valid_o(reg_response_valid_o[3])
  );

  // The unused windows.
  assign reg_request_ready_o[2:1] = ~reg_response_valid_o[2:1];
  assign reg_response_o[2:1]      = {2{register_response_t'{error: 1'b1, data: '0}}};

  always_ff @(posedge clk_i) begin
    reg_response_valid_o[2:1] <= rst_i ? '0 : reg_request_valid_i[2:1] & reg_request_ready_o[2:1];
  end
endmodule
