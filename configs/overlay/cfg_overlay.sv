// SPDX-License-Identifier: Apache-2.0
// The overlay configuration: the programmable pipeline alone. What it does is loaded while it runs; until then every packet goes to
// the host. Ports as of cfg_rules, and out_stays_o. Register window 1: the pipeline; the others answer errors.
module cfg_overlay #(
  parameter int unsigned Units = 2,  // as of el_pipeline
  parameter int unsigned ExactEntries = sluice_pkg::PIPELINE_EXACT_ENTRIES,
  parameter int unsigned Stateful = 0
) (
  input  logic                           clk_i,
  input  logic                           rst_i,              // synchronous, active high: forgets the program
  input  logic [31:0]                    tick_i,             // microseconds
  input  sluice_pkg::flit_t              in_data_i,
  input  logic                           in_valid_i,
  output logic                           in_ready_o,
  output sluice_pkg::flit_t              out_data_o,
  output logic                           out_stays_o,        // the packet is inside still: it leaves once more, or is dropped
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

  el_pipeline #(
    .Units(Units), .ExactEntries(ExactEntries), .TernaryEntries(PIPELINE_TERNARY_ENTRIES), .Stateful(Stateful)
  ) u_pipeline (
    .clk_i, .rst_i, .tick_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o, .out_stays_o,
    .out_valid_o, .out_ready_i, .reg_request_i, .reg_request_valid_i(reg_request_valid_i[0]), .reg_request_ready_o(reg_request_ready_o[0]),
    .reg_response_o(reg_response_o[0]), .reg_response_valid_o(reg_response_valid_o[0]), .event_o
  );

  // The unused windows.
  assign reg_request_ready_o[3:1] = ~reg_response_valid_o[3:1];
  assign reg_response_o[3:1]      = {3{register_response_t'{error: 1'b1, data: '0}}};

  always_ff @(posedge clk_i) begin
    reg_response_valid_o[3:1] <= rst_i ? '0 : reg_request_valid_i[3:1] & reg_request_ready_o[3:1];
  end
endmodule
