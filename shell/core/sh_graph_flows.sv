// SPDX-License-Identifier: Apache-2.0
// The flow table behind a compiled configuration. A packet that leaves the configuration on a lane is looked up as a packet of that
// lane; the verdict and egress mask from the configuration are ignored. Windows 1 and 4 belong to cfg_flow, window 2 to the
// configuration.
module sh_graph_flows #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Groups = 8,              // flow table sizes, as in el_flow_table
  parameter int unsigned GroupEntries = 256,
  parameter int unsigned TernaryEntries = 64
) (
  input  logic                          clk_i,
  input  logic                          rst_i,               // synchronous, active high
  input  logic [31:0]                   tick_i,              // microseconds
  input  sluice_pkg::flit_t [Lanes-1:0] lane_data_i,         // whole packets without gaps, lengths in their metadata
  input  logic [Lanes-1:0]              lane_valid_i,
  output logic [Lanes-1:0]              lane_ready_o,
  output sluice_pkg::flit_t             out_data_o,          // packets; verdict and egress mask give the destination
  output logic                          out_valid_o,
  input  logic                          out_ready_i,
  input  sluice_pkg::register_request_t reg_request_i,
  input  logic [3:0]                    reg_request_valid_i, // windows 1 to 4
  output logic [3:0]                    reg_request_ready_o,
  output sluice_pkg::register_response_t [3:0] reg_response_o,
  output logic [3:0]                    reg_response_valid_o,
  output logic                          program_valid_o,     // window 2: to the configuration
  input  logic                          program_ready_i,
  input  sluice_pkg::register_response_t program_response_i,
  input  logic                          program_response_valid_i,
  output sluice_pkg::rule_push_t        push_data_o,         // rule counters for host memory
  output logic                          push_valid_o,
  input  logic                          push_ready_i,
  output sl_packet_pkg::deparse_event_t event_o,             // pulses for the graph's counters
  output logic                          idle_o               // nothing in flight here
);
  import sluice_pkg::*;

  flit_t [Lanes-1:0] lane_data;
  flit_t             in_data;
  logic              in_valid, in_ready, in_empty, entered, left, dropped;
  logic [15:0]       in_flight_q;
  logic [3:0]        flow_ready, flow_response_valid;
  register_response_t [3:0] flow_response;

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_lane
    always_comb begin
      lane_data[i] = lane_data_i[i];
      if (lane_data_i[i].sop) begin
        lane_data[i].meta.ingress_port = 8'(i);
        lane_data[i].meta.egress_mask  = '0;
        lane_data[i].meta.verdict      = VERDICT_PASS;
      end
    end
  end

  sl_packet_arbiter #(.Ports(Lanes)) u_schedule (
    .clk_i, .rst_i, .pause_i(1'b0), .in_data_i(lane_data), .in_valid_i(lane_valid_i), .in_ready_o(lane_ready_o),
    .out_data_o(in_data), .out_valid_o(in_valid), .out_ready_i(in_ready), .empty_o(in_empty)
  );

  cfg_flow #(.Groups(Groups), .GroupEntries(GroupEntries), .TernaryEntries(TernaryEntries)) u_flow (
    .clk_i, .rst_i, .tick_i, .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i(reg_request_valid_i & 4'b1101), .reg_request_ready_o(flow_ready),
    .reg_response_o(flow_response), .reg_response_valid_o(flow_response_valid), .event_o,
    .push_data_o, .push_valid_o, .push_ready_i
  );

  assign program_valid_o = reg_request_valid_i[1];
  always_comb begin
    reg_request_ready_o     = flow_ready;
    reg_request_ready_o[1]  = program_ready_i;
    reg_response_o          = flow_response;
    reg_response_o[1]       = program_response_i;
    reg_response_valid_o    = flow_response_valid;
    reg_response_valid_o[1] = program_response_valid_i;
  end

  // Every packet that entered leaves, or is dropped with an event.
  assign entered = in_valid && in_ready && in_data.sop;
  assign left    = out_valid_o && out_ready_i && out_data_o.eop;
  assign dropped = event_o.drop_rule || event_o.drop_ttl || event_o.drop_no_port;
  assign idle_o  = in_flight_q == '0 && in_empty;

  always_ff @(posedge clk_i) begin
    in_flight_q <= in_flight_q + 16'(entered) - 16'(left) - 16'(dropped);
    if (rst_i) in_flight_q <= '0;
  end

  logic unused;
  assign unused = &{1'b0, flow_ready[1], flow_response_valid[1], flow_response[1]};
endmodule
