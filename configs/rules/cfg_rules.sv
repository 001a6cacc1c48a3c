// SPDX-License-Identifier: Apache-2.0
// The rule-table configuration (AccelSDP): packets are parsed, admitted, looked up in the exact table and in the LPM table, edited
// and forwarded; packets that miss in a required table go to the host unchanged. Register windows 1: admission, 2: exact, 3: LPM,
// 4: header templates. One flit per cycle; only a rule drops packets.
module cfg_rules #(
  parameter int unsigned LpmEntries4 = sluice_pkg::LPM_ENTRIES4,
  parameter int unsigned LpmEntries6 = sluice_pkg::LPM_ENTRIES6,
  parameter int unsigned ExactEntries4 = sluice_pkg::EXACT_ENTRIES4,
  parameter int unsigned ExactEntries6 = sluice_pkg::EXACT_ENTRIES6
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
  output sl_packet_pkg::deparse_event_t  event_o             // pulses for the graph's counters
);
  import sluice_pkg::*;

  flit_t       packet;
  phv_record_t parsed, admitted, exact, lpm;
  logic        packet_valid, packet_ready, parsed_valid, parsed_ready, admitted_valid, admitted_ready;
  logic        exact_valid, exact_ready, lpm_valid, lpm_ready;

  sl_packet_pkg::own_addresses_t own;

  el_parse u_parse (
    .clk_i, .rst_i, .own_i(own), .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(packet), .out_valid_o(packet_valid), .out_ready_i(packet_ready),
    .phv_data_o(parsed), .phv_valid_o(parsed_valid), .phv_ready_i(parsed_ready)
  );

  el_admit u_admit (
    .clk_i, .rst_i,
    .in_data_i(parsed), .in_valid_i(parsed_valid), .in_ready_o(parsed_ready),
    .out_data_o(admitted), .out_valid_o(admitted_valid), .out_ready_i(admitted_ready), .own_o(own),
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[0]), .reg_request_ready_o(reg_request_ready_o[0]),
    .reg_response_o(reg_response_o[0]), .reg_response_valid_o(reg_response_valid_o[0])
  );

  el_exact #(.Entries4(ExactEntries4), .Entries6(ExactEntries6)) u_exact (
    .clk_i, .rst_i, .tick_i,
    .in_data_i(admitted), .in_valid_i(admitted_valid), .in_ready_o(admitted_ready),
    .out_data_o(exact), .out_valid_o(exact_valid), .out_ready_i(exact_ready),
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[1]), .reg_request_ready_o(reg_request_ready_o[1]),
    .reg_response_o(reg_response_o[1]), .reg_response_valid_o(reg_response_valid_o[1])
  );

  el_lpm #(.Entries4(LpmEntries4), .Entries6(LpmEntries6)) u_lpm (
    .clk_i, .rst_i, .tick_i,
    .in_data_i(exact), .in_valid_i(exact_valid), .in_ready_o(exact_ready),
    .out_data_o(lpm), .out_valid_o(lpm_valid), .out_ready_i(lpm_ready),
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[2]), .reg_request_ready_o(reg_request_ready_o[2]),
    .reg_response_o(reg_response_o[2]), .reg_response_valid_o(reg_response_valid_o[2])
  );

  // Cycles that a packet waits in the deparser while its record passes the tables, without stalls. Per OFU: its lookup, 3 for the
  // action RAM, its actions, 2 for its gate.
  localparam int unsigned OfuCycles    = 3 + sl_action_pkg::ACTION_LATENCY + 2;
  localparam int unsigned ExactCycles  = sl_match_pkg::hash_latency(FIVE_TUPLE4_BITS, ExactEntries4) +
                                         sl_match_pkg::hash_latency(FIVE_TUPLE6_BITS, ExactEntries6) + OfuCycles;
  localparam int unsigned LpmCycles    = sl_match_pkg::lpm_latency(32, LpmEntries4) +
                                         sl_match_pkg::lpm_latency(128, LpmEntries6) + OfuCycles;
  localparam int unsigned RecordCycles = sl_packet_pkg::PARSE_LATENCY + 4 + 1 + ExactCycles + LpmCycles +
                                         sl_packet_pkg::DECIDE_LATENCY + 2;
  localparam int unsigned PacketFlits  = RecordCycles <= 256 ? 256 : 2 ** $clog2(RecordCycles);

  el_deparse #(.PacketFlits(PacketFlits)) u_deparse (
    .clk_i, .rst_i,
    .in_data_i(packet), .in_valid_i(packet_valid), .in_ready_o(packet_ready),
    .phv_data_i(lpm), .phv_valid_i(lpm_valid), .phv_ready_o(lpm_ready),
    .out_data_o, .out_valid_o, .out_ready_i, .event_o,
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i[3]), .reg_request_ready_o(reg_request_ready_o[3]),
    .reg_response_o(reg_response_o[3]), .reg_response_valid_o(reg_response_valid_o[3])
  );
endmodule
