// SPDX-License-Identifier: Apache-2.0
// The graph of the shell: the rule tables (cfg_rules) or, with FlowGroups, the flow table (cfg_flow) or, with PipelineUnits, the
// programmable pipeline (cfg_overlay), behind one stream of all lanes. `./sluice build FILE.sl` writes another module with this name and these ports, which replaces it (docs/design/shell.md).
module sh_graph #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned LpmEntries4 = sluice_pkg::LPM_ENTRIES4,
  parameter int unsigned LpmEntries6 = sluice_pkg::LPM_ENTRIES6,
  parameter int unsigned ExactEntries4 = sluice_pkg::EXACT_ENTRIES4,
  parameter int unsigned ExactEntries6 = sluice_pkg::EXACT_ENTRIES6,
  parameter int unsigned FlowGroups = 0,          // 0: the rule tables; else the flow table, sizes as in el_flow_table
  parameter int unsigned FlowGroupEntries = sluice_pkg::FLOW_GROUP_ENTRIES,
  parameter int unsigned FlowTernaryEntries = sluice_pkg::FLOW_TERNARY_ENTRIES,
  parameter int unsigned PipelineUnits = 0,       // 0: no programmable pipeline; else its units
  parameter int unsigned PipelineExactEntries = sluice_pkg::PIPELINE_EXACT_ENTRIES,
  parameter int unsigned StatefulUnits = 0        // bit u: unit u is a stateful one
) (
  input  logic                          clk_i,
  input  logic                          rst_i,              // synchronous, active high: resets the shell
  input  logic                          graph_rst_i,        // resets the graph, on with rst_i too; begins only when it is idle
  input  logic                          pause_i,            // 1: no packet from a lane enters; stays on through graph_rst_i
  input  logic [63:0]                   time_i,             // core cycles
  input  logic [31:0]                   tick_i,             // microseconds
  input  sluice_pkg::flit_t [Lanes-1:0] lane_data_i,        // whole packets without gaps, lengths in their metadata
  input  logic [Lanes-1:0]              lane_valid_i,
  output logic [Lanes-1:0]              lane_ready_o,
  output logic                          takes_host_o,       // constant. 1: host packets with VERDICT_PASS come here
  input  sluice_pkg::flit_t             host_data_i,        // whole packets without gaps; `queue` is the channel
  input  logic                          host_valid_i,
  output logic                          host_ready_o,
  output sluice_pkg::flit_t             out_data_o,         // packets; verdict and egress mask give the destination
  output logic                          out_valid_o,
  input  logic                          out_ready_i,
  output sluice_pkg::flit_t             to_host_data_o,     // optional path to the host; if used, out_* sends nothing there
  output logic                          to_host_valid_o,
  input  logic                          to_host_ready_i,
  input  sluice_pkg::register_request_t reg_request_i,
  input  logic [3:0]                    reg_request_valid_i, // windows 1 to 4
  output logic [3:0]                    reg_request_ready_o,
  output sluice_pkg::register_response_t [3:0] reg_response_o,
  output logic [3:0]                    reg_response_valid_o,
  output logic [3:0][31:0]              capability_o,       // constant: kind and size code of the windows
  output sl_packet_pkg::deparse_event_t event_o,            // pulses for the graph's counters
  output logic                          idle_o,             // nothing in flight
  output sluice_pkg::rule_push_t        push_data_o,        // rule counters for host memory
  output logic                          push_valid_o,
  input  logic                          push_ready_i
);
  import sluice_pkg::*;

  flit_t       in_data;
  logic        in_valid, in_ready, in_empty, entered, stays, left, dropped;
  logic [15:0] in_flight_q;

  sl_packet_arbiter #(.Ports(Lanes)) u_schedule (
    .clk_i, .rst_i, .pause_i,
    .in_data_i(lane_data_i), .in_valid_i(lane_valid_i), .in_ready_o(lane_ready_o),
    .out_data_o(in_data), .out_valid_o(in_valid), .out_ready_i(in_ready), .empty_o(in_empty)
  );

  if (PipelineUnits != 0) begin : gen_overlay
    logic unused_overlay;
    assign push_data_o    = '0;
    assign push_valid_o   = 1'b0;
    assign unused_overlay = push_ready_i;

    cfg_overlay #(.Units(PipelineUnits), .ExactEntries(PipelineExactEntries), .Stateful(StatefulUnits)) u_overlay (
      .clk_i, .rst_i(graph_rst_i), .tick_i, .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
      .out_data_o, .out_stays_o(stays), .out_valid_o, .out_ready_i,
      .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .event_o
    );

    assign capability_o = {96'd0, {16'(PipelineUnits), 16'(ELEMENT_PIPELINE)}};
  end else if (FlowGroups != 0) begin : gen_flow
    cfg_flow #(.Groups(FlowGroups), .GroupEntries(FlowGroupEntries), .TernaryEntries(FlowTernaryEntries)) u_flow (
      .clk_i, .rst_i(graph_rst_i), .tick_i, .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
      .out_data_o, .out_valid_o, .out_ready_i,
      .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .event_o,
      .push_data_o, .push_valid_o, .push_ready_i
    );

    assign stays        = 1'b0;
    assign capability_o = {
      {16'($clog2(TEMPLATES)), 16'(ELEMENT_DEPARSE)}, 64'd0,
      {16'($clog2(FlowGroups * FlowGroupEntries)), 16'(ELEMENT_FLOW_TABLE)}
    };
  end else begin : gen_rules
    logic unused_push;
    assign push_data_o  = '0;
    assign push_valid_o = 1'b0;
    assign unused_push  = push_ready_i;
    assign stays        = 1'b0;

    cfg_rules #(
      .LpmEntries4(LpmEntries4), .LpmEntries6(LpmEntries6), .ExactEntries4(ExactEntries4), .ExactEntries6(ExactEntries6)
    ) u_rules (
      .clk_i, .rst_i(graph_rst_i), .tick_i, .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
      .out_data_o, .out_valid_o, .out_ready_i,
      .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o, .event_o
    );

    assign capability_o = {
      {16'($clog2(TEMPLATES)), 16'(ELEMENT_DEPARSE)},
      {16'($clog2(LpmEntries4)), 16'(ELEMENT_LPM)}, {16'($clog2(ExactEntries4)), 16'(ELEMENT_EXACT)},
      {16'd0, 16'(ELEMENT_ADMIT)}
    };
  end

  assign takes_host_o = 1'b0;
  assign host_ready_o = 1'b0;
  assign to_host_data_o  = '0;
  assign to_host_valid_o = 1'b0;

  // Packets in flight: every packet that entered leaves for the last time, or is dropped with an event.
  assign entered = in_valid && in_ready && in_data.sop;
  assign left    = out_valid_o && out_ready_i && out_data_o.eop && !stays;
  assign dropped = event_o.drop_rule || event_o.drop_ttl || event_o.drop_no_port;
  assign idle_o  = in_flight_q == '0 && in_empty;

  always_ff @(posedge clk_i) begin
    in_flight_q <= in_flight_q + 16'(entered) - 16'(left) - 16'(dropped);
    if (rst_i) in_flight_q <= '0;
  end

  logic unused;
  assign unused = &{1'b0, time_i, host_data_i, host_valid_i, to_host_ready_i};
endmodule
