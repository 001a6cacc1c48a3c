// SPDX-License-Identifier: Apache-2.0
// The shell for the simulator: sh_core with its channels as flat ports of whole 32-bit words, so that the C++ side copies packet
// bytes without shifting bits. Control word of a flit: bit 0 sop, 1 eop, 2 error, 13:8 empty.
module sh_sim #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned HostLanes = 0,       // 0, or Lanes: lanes to a NIC after the Lanes, and no ring (sh_core)
  parameter bit          LaneClocks = 1'b0,   // 1: lane n is on lane_clk_i[n]; 0: all on clk_i
  parameter int unsigned LpmEntries4 = sluice_pkg::LPM_ENTRIES4,
  parameter int unsigned LpmEntries6 = sluice_pkg::LPM_ENTRIES6,
  parameter int unsigned ExactEntries4 = sluice_pkg::EXACT_ENTRIES4,
  parameter int unsigned ExactEntries6 = sluice_pkg::EXACT_ENTRIES6,
  parameter int unsigned FlowGroups = 0,      // 0: rule tables; else the flow table (sh_graph)
  parameter int unsigned FlowGroupEntries = sluice_pkg::FLOW_GROUP_ENTRIES,
  parameter int unsigned FlowTernaryEntries = sluice_pkg::FLOW_TERNARY_ENTRIES,
  parameter int unsigned PipelineUnits = 0,   // 0: none; else the programmable pipeline (sh_graph)
  parameter int unsigned PipelineExactEntries = sluice_pkg::PIPELINE_EXACT_ENTRIES,
  parameter int unsigned StatefulUnits = 0,   // bit u: unit u is a stateful one
  parameter int unsigned Controllers = 0,     // controller cores in the last lane
  parameter int unsigned HostQueues = 0,      // receive queues per lane; 0: one for all
  localparam int unsigned Ports = Lanes + HostLanes
) (
  input  logic                      clk_i,
  input  logic                      rst_i,                // held for at least 4 cycles
  input  logic [Ports-1:0]          lane_clk_i,           // LaneClocks: any frequency and phase; may stop
  input  logic                      lanes_wait_i,         // 0: lanes do not wait for lane_rx_ready_o
  output logic                      lane_clocks_o,        // LaneClocks, for the model
  input  logic [Ports-1:0][511:0]   lane_rx_bytes_i,
  input  logic [Ports-1:0][31:0]    lane_rx_control_i,
  input  logic [Ports-1:0]          lane_rx_valid_i,
  output logic [Ports-1:0]          lane_rx_ready_o,
  output logic [Ports-1:0][511:0]   lane_tx_bytes_o,
  output logic [Ports-1:0][31:0]    lane_tx_control_o,
  output logic [Ports-1:0][63:0]    lane_tx_timestamp_o,  // receive time at the lane, at sop; 0 for the host's packets
  output logic [Ports-1:0]          lane_tx_valid_o,
  input  logic [Ports-1:0]          lane_tx_ready_i,
  output logic [511:0]              to_host_bytes_o,
  output logic [31:0]               to_host_control_o,
  output logic [159:0]              to_host_meta_o,       // meta_t, at sop
  output logic                      to_host_valid_o,
  input  logic                      to_host_ready_i,
  output logic [31:0]               host_queues_o,        // HostQueues, for the model
  output logic [95:0]               to_host_info_o,       // host_info_t
  output logic [511:0]              to_host_key_o,        // flow_key_t of the same packet
  input  logic [63:0]               to_host_absent_i,     // bit 8n + q: queue q of lane n has no ring
  input  logic [63:0]               to_host_full_i,       // queue q of lane n has no room for the largest packet
  input  logic [511:0]              from_host_bytes_i,
  input  logic [31:0]               from_host_control_i,
  input  logic [159:0]              from_host_meta_i,     // meta_t
  input  logic                      from_host_valid_i,
  output logic                      from_host_ready_o,
  input  logic                      reg_valid_i,
  input  logic                      reg_write_i,
  input  logic [31:0]               reg_address_i,
  input  logic [31:0]               reg_data_i,
  output logic                      reg_ready_o,
  output logic                      reg_response_valid_o,
  output logic                      reg_response_error_o,
  output logic [31:0]               reg_response_data_o,
  output logic [191:0]              push_o,               // rule_push_t, FlowGroups; taken every cycle
  output logic                      push_valid_o,
  output logic                      idle_o
);
  import sluice_pkg::*;

  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);

  flit_t [Ports-1:0] lane_rx, lane_tx;
  flit_t             to_host, from_host;
  host_info_t        info;
  flow_key_t         key;
  register_response_t response;
  rule_push_t        push;

  /* verilator lint_off UNUSEDSIGNAL */  // control words have spare bits; a control word is a part of a flit
  function automatic flit_t to_flit(logic [511:0] bytes, logic [31:0] control);
    flit_t flit;
    flit       = '0;
    flit.data  = bytes[8*DATA_BYTES-1:0];
    flit.sop   = control[0];
    flit.eop   = control[1];
    flit.error = control[2];
    flit.empty = control[8 +: EmptyBits];
    return flit;
  endfunction

  function automatic logic [31:0] to_control(flit_t flit);
    return {16'd0, 8'(flit.empty), 5'd0, flit.error, flit.eop, flit.sop};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_comb begin
    for (int unsigned i = 0; i < Ports; i++) begin
      lane_rx[i]             = to_flit(lane_rx_bytes_i[i], lane_rx_control_i[i]);
      lane_tx_bytes_o[i]     = 512'(lane_tx[i].data);
      lane_tx_control_o[i]   = to_control(lane_tx[i]);
      lane_tx_timestamp_o[i] = lane_tx[i].meta.timestamp;
    end
    from_host = to_flit(from_host_bytes_i, from_host_control_i);
    if (from_host.sop) from_host.meta = from_host_meta_i[META_BITS-1:0];
    to_host_bytes_o   = 512'(to_host.data);
    to_host_control_o = to_control(to_host);
    to_host_meta_o    = 160'(to_host.meta);
  end

  assign reg_response_error_o = response.error;
  assign reg_response_data_o  = response.data;

  register_request_t request;
  logic              outside;  // above the address space: mapped to window 255, which does not exist
  assign outside = |reg_address_i[31:REGISTER_ADDRESS_BITS];
  assign request = '{write: reg_write_i, address: outside ? '1 : reg_address_i[REGISTER_ADDRESS_BITS-1:0], data: reg_data_i};

  assign lane_clocks_o  = LaneClocks;
  assign host_queues_o  = HostQueues;
  assign to_host_info_o = 96'(info);
  assign to_host_key_o  = 512'(key);
  assign push_o         = 192'(push);

  logic unused;
  assign unused = &{1'b0, from_host_meta_i[159:META_BITS], to_host_absent_i, to_host_full_i};

  sh_core #(
    .Lanes(Lanes), .HostLanes(HostLanes), .LaneClocks(LaneClocks), .LpmEntries4(LpmEntries4), .LpmEntries6(LpmEntries6),
    .ExactEntries4(ExactEntries4), .ExactEntries6(ExactEntries6), .FlowGroups(FlowGroups),
    .FlowGroupEntries(FlowGroupEntries), .FlowTernaryEntries(FlowTernaryEntries), .PipelineUnits(PipelineUnits),
    .PipelineExactEntries(PipelineExactEntries), .StatefulUnits(StatefulUnits), .Controllers(Controllers),
    .HostQueues(HostQueues)
  ) u_core (
    .clk_i, .rst_i, .lane_rx_clk_i(lane_clk_i), .lane_tx_clk_i(lane_clk_i), .lanes_wait_i,
    .lane_rx_data_i(lane_rx), .lane_rx_valid_i, .lane_rx_ready_o,
    .lane_tx_data_o(lane_tx), .lane_tx_valid_o, .lane_tx_ready_i,
    .to_host_data_o(to_host), .to_host_valid_o, .to_host_ready_i, .to_host_info_o(info), .to_host_key_o(key),
    .to_host_absent_i(to_host_absent_i[HOST_QUEUES*Lanes-1:0]), .to_host_full_i(to_host_full_i[HOST_QUEUES*Lanes-1:0]),
    .from_host_data_i(from_host), .from_host_valid_i, .from_host_ready_o,
    .reg_request_i(request), .reg_request_valid_i(reg_valid_i), .reg_request_ready_o(reg_ready_o),
    .reg_response_o(response), .reg_response_valid_o,
    .rule_push_data_o(push), .rule_push_valid_o(push_valid_o), .rule_push_ready_i(1'b1), .idle_o
  );
endmodule
