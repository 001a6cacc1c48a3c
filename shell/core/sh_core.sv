// SPDX-License-Identifier: Apache-2.0
// The shell: merges the lanes into one stream, runs it through the graph, merges in the host's packets, replicates and sends to the
// lanes; registers and counters. Whole packets are dropped in only four places, each with a counter: a lane's receive store, the
// to-host store, before the ring of a receive queue, and a lane's transmit store or, where its QoS is on, the queues before it.
// With bit 2 of control (lossless) these apply back-pressure instead.
//
// With HostLanes the host side is lanes to an ordinary NIC (sh_host_lanes) instead of a ring, and to_host_*, from_host_* are
// unused: a bump in the wire. Registers and rules stay on the register bus.
//
// Fence: with bit 1 of control set, no packet enters the graph; status bit 1 then says when nothing is in flight between the
// receive stores, the host, and the merge after which order is kept. Bit 0 resets the graph (rules too) once that is so.
module sh_core #(
  parameter int unsigned Lanes = 4,               // 1 to 7
  parameter int unsigned HostLanes = 0,           // 0, or Lanes: lane Lanes + n is the host lane of lane n
  parameter bit          LaneClocks = 1'b0,       // 1: each lane's channels have their own clocks; 0: all on clk_i
  parameter int unsigned LaneFlits = 512,         // each lane's stores; at least two packets of the largest size
  parameter int unsigned QueueFlits = 16384 / sluice_pkg::DATA_BYTES,  // per lane queue; a power of two, larger than a packet
  parameter int unsigned LpmEntries4 = sluice_pkg::LPM_ENTRIES4,
  parameter int unsigned LpmEntries6 = sluice_pkg::LPM_ENTRIES6,
  parameter int unsigned ExactEntries4 = sluice_pkg::EXACT_ENTRIES4,
  parameter int unsigned ExactEntries6 = sluice_pkg::EXACT_ENTRIES6,
  parameter int unsigned FlowGroups = 0,          // sh_graph parameters, as those before
  parameter int unsigned FlowGroupEntries = sluice_pkg::FLOW_GROUP_ENTRIES,
  parameter int unsigned FlowTernaryEntries = sluice_pkg::FLOW_TERNARY_ENTRIES,
  parameter int unsigned PipelineUnits = 0,
  parameter int unsigned PipelineExactEntries = sluice_pkg::PIPELINE_EXACT_ENTRIES,
  parameter int unsigned StatefulUnits = 0,
  parameter int unsigned Controllers = 0,         // controller cores (sl_controller) in the last lane, masters of the registers: 0, 1, 2, 4
  parameter int unsigned HostQueues = 0,          // receive queues per lane (sh_host_describe), 0 to HOST_QUEUES; 0: one for all
  localparam int unsigned Ports = Lanes + HostLanes
) (
  input  logic                          clk_i,
  input  logic                          rst_i,                 // synchronous, active high, at least 4 cycles; resets lanes too
  input  logic [Ports-1:0]              lane_rx_clk_i = '0,    // LaneClocks: clocks lane_rx_*, any frequency and phase; may stop
  input  logic [Ports-1:0]              lane_tx_clk_i = '0,    // LaneClocks: clocks lane_tx_*
  input  logic                          lanes_wait_i = 1'b1,   // constant; 0: MACs cannot wait for ready, even in lossless mode
  input  sluice_pkg::flit_t [Ports-1:0] lane_rx_data_i,
  input  logic [Ports-1:0]              lane_rx_valid_i,
  output logic [Ports-1:0]              lane_rx_ready_o,
  output sluice_pkg::flit_t [Ports-1:0] lane_tx_data_o,
  output logic [Ports-1:0]              lane_tx_valid_o,
  input  logic [Ports-1:0]              lane_tx_ready_i,
  output sluice_pkg::flit_t             to_host_data_o,
  output logic                          to_host_valid_o,
  input  logic                          to_host_ready_i,
  output sluice_pkg::host_info_t        to_host_info_o,        // HostQueues: describes the packet, see sh_host_describe
  output sluice_pkg::flow_key_t         to_host_key_o,
  input  logic [Lanes-1:0][sluice_pkg::HOST_QUEUES-1:0] to_host_absent_i,  // HostQueues: see sh_host_describe
  input  logic [Lanes-1:0][sluice_pkg::HOST_QUEUES-1:0] to_host_full_i,
  input  sluice_pkg::flit_t             from_host_data_i,      // egress mask and queue in its metadata
  input  logic                          from_host_valid_i,
  output logic                          from_host_ready_o,
  input  sluice_pkg::register_request_t reg_request_i,
  input  logic                          reg_request_valid_i,
  output logic                          reg_request_ready_o,
  output sluice_pkg::register_response_t reg_response_o,
  output logic                          reg_response_valid_o,
  output sluice_pkg::rule_push_t        rule_push_data_o,      // FlowGroups: rule counters for host memory
  output logic                          rule_push_valid_o,
  input  logic                          rule_push_ready_i,
  output logic                          idle_o                 // the device is empty, except for rule counters
);
  import sluice_pkg::*;
  import sl_packet_pkg::*;

  // Register windows: the shell, the graph's, one for each lane's QoS, the receive queues', and the controller cores'.
  localparam int unsigned GraphWindows = 4;
  localparam int unsigned QosWindow    = 1 + GraphWindows;
  localparam int unsigned HostWindow   = QosWindow + Lanes;
  localparam int unsigned AgentWindow  = HostWindow + 32'(HostQueues != 0);
  localparam int unsigned Windows      = AgentWindow + Controllers;

  shell_registers_t registers;
  logic [63:0] cycles;
  logic [2:0]  counter_pair;
  logic [Controllers == 0 ? 0 : $clog2(1 + Controllers) - 1:0] master;  // whose access is in flight
  logic [31:0] lock_refused;
  logic        lossless, graph_idle, graph_rst, reset_done;

  assign lossless = registers.control[2];

  // Lanes in, one stream.
  flit_t [Lanes-1:0] rx_data, enter_data;
  logic [Lanes-1:0]  rx_valid, rx_ready, rx_idle, enter_valid, enter_ready;
  logic [Ports-1:0]  rx_packet;
  logic [Ports-1:0][15:0] rx_length;
  logic [Ports-1:0][3:0]  rx_drop;

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_rx
    sh_lane_rx #(.Lane(i), .Flits(LaneFlits), .OwnClock(LaneClocks)) u_rx (
      .clk_i, .rst_i, .lane_clk_i(lane_rx_clk_i[i]), .lossless_i(lossless && lanes_wait_i), .time_i(cycles),
      .lane_data_i(lane_rx_data_i[i]), .lane_valid_i(lane_rx_valid_i[i]), .lane_ready_o(lane_rx_ready_o[i]),
      .out_data_o(rx_data[i]), .out_valid_o(rx_valid[i]), .out_ready_i(rx_ready[i]),
      .idle_o(rx_idle[i]), .packet_o(rx_packet[i]), .packet_length_o(rx_length[i]), .drop_o(rx_drop[i])
    );
  end

  // The graph.
  flit_t          graph_data, direct_data;
  logic           graph_valid, graph_ready, graph_empty, direct_valid, direct_ready;
  deparse_event_t graph_event;
  flit_t          host_data;
  logic           host_valid, host_ready, host_enters, host_enters_q, takes_host, graph_host_ready;
  register_request_t window_request;
  logic [Windows-1:0] window_request_valid, window_request_ready, window_response_valid;
  register_response_t [Windows-1:0] window_response;
  logic [GraphWindows-1:0][31:0] graph_capability;

  sh_graph #(
    .Lanes(Lanes), .LpmEntries4(LpmEntries4), .LpmEntries6(LpmEntries6), .ExactEntries4(ExactEntries4),
    .ExactEntries6(ExactEntries6), .FlowGroups(FlowGroups), .FlowGroupEntries(FlowGroupEntries),
    .FlowTernaryEntries(FlowTernaryEntries), .PipelineUnits(PipelineUnits),
    .PipelineExactEntries(PipelineExactEntries), .StatefulUnits(StatefulUnits)
  ) u_graph (
    .clk_i, .rst_i, .graph_rst_i(graph_rst), .pause_i(registers.control[1:0] != '0), .time_i(cycles), .tick_i(registers.tick),
    .lane_data_i(enter_data), .lane_valid_i(enter_valid), .lane_ready_o(enter_ready),
    .takes_host_o(takes_host), .host_data_i(host_data), .host_valid_i(host_valid && host_enters && !graph_rst),
    .host_ready_o(graph_host_ready),
    .out_data_o(graph_data), .out_valid_o(graph_valid), .out_ready_i(graph_ready),
    .to_host_data_o(direct_data), .to_host_valid_o(direct_valid), .to_host_ready_i(direct_ready),
    .reg_request_i(window_request), .reg_request_valid_i(window_request_valid[GraphWindows:1]),
    .reg_request_ready_o(window_request_ready[GraphWindows:1]), .reg_response_o(window_response[GraphWindows:1]),
    .reg_response_valid_o(window_response_valid[GraphWindows:1]), .capability_o(graph_capability),
    .push_data_o(rule_push_data_o), .push_valid_o(rule_push_valid_o), .push_ready_i(rule_push_ready_i),
    .event_o(graph_event), .idle_o(graph_empty)
  );

  // Packets from the host: to the lanes, or into the graph.
  logic lanes_host_ready;

  assign host_enters = takes_host && (host_data.sop ? host_data.meta.verdict == VERDICT_PASS : host_enters_q);
  assign host_ready  = host_enters ? graph_host_ready && !graph_rst : lanes_host_ready;

  always_ff @(posedge clk_i) begin
    if (host_valid && host_data.sop) host_enters_q <= host_enters;
  end

  // Out of the graph: to an agent, to the host, to lanes, or to several. Packets for agents are for that of the core that their queue
  // names; where it has none, and packets to the host, are for the first agent that takes the host's, or else for the host.
  localparam int unsigned Cores = Controllers == 0 ? 1 : Controllers;
  localparam int unsigned CoreBits = Cores > 1 ? $clog2(Cores) : 1;
  localparam int unsigned Ways = 2 + Cores;
  flit_t       aimed, split_data, device_data, merged_data;
  logic [Ways-1:0] split_valid, split_ready, to_q, to;  // agents, host, lanes
  logic [Cores-1:0] agent_session, agent_takes_host, hosts, to_agent;
  logic [CoreBits-1:0] core;
  logic        device_valid, device_ready, merged_valid, merged_ready, is_for_agent;

  assign core  = CoreBits'(32'(graph_data.meta.queue) % Cores);
  assign hosts = agent_session & agent_takes_host;
  assign is_for_agent = graph_data.meta.verdict == VERDICT_TO_CONTROLLER;

  always_comb begin
    to_agent = is_for_agent && agent_session[core] ? Cores'(1) << core : hosts & (~hosts + 1'b1);
    if (!(is_for_agent || graph_data.meta.verdict == VERDICT_TO_HOST)) to_agent = '0;
    to = to_q;
    if (graph_data.sop) begin
      to = {to_agent, (is_for_agent || graph_data.meta.verdict == VERDICT_TO_HOST) && to_agent == '0,
            graph_data.meta.verdict == VERDICT_FORWARD};
      if (graph_data.meta.egress_mask[HOST_PORT]) to[1] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (graph_valid && graph_data.sop) to_q <= to;
  end

  always_comb begin
    aimed = graph_data;
    if (graph_data.sop) aimed.meta.egress_mask[HOST_PORT] = 1'b0;
  end

  logic [Ways-1:0] done_q;
  assign split_data  = aimed;
  assign split_valid = graph_valid ? to & ~done_q : '0;
  assign graph_ready = &(~to | done_q | split_ready);

  always_ff @(posedge clk_i) begin
    if (graph_valid) done_q <= graph_ready ? '0 : done_q | (split_valid & split_ready);
    if (rst_i) done_q <= '0;
  end

  // To the host. A graph with its own path to the host sends nothing to the host through out_*.
  flit_t       stored_data;
  logic        host_store_ready;
  assign split_ready[1] = host_store_ready;
  assign direct_ready   = host_store_ready;
  logic        stored_valid, stored_ready;
  logic        host_store_idle, to_host_stored, to_host_bad, to_host_oversize, to_host_runt, to_host_overflow;
  logic [15:0] to_host_length;
  sl_packet_fifo #(.Flits(LaneFlits), .LargestPacket(EGRESS_BYTES)) u_to_host (
    .clk_i, .rst_i, .lossless_i(lossless),
    .in_data_i(direct_valid ? direct_data : graph_data), .in_valid_i(direct_valid || split_valid[1]), .in_ready_o(host_store_ready),
    .out_data_o(stored_data), .out_valid_o(stored_valid), .out_ready_i(stored_ready), .empty_o(host_store_idle),
    .stored_o(to_host_stored), .stored_length_o(to_host_length), .drop_error_o(to_host_bad),
    .drop_oversize_o(to_host_oversize), .drop_runt_o(to_host_runt), .drop_overflow_o(to_host_overflow)
  );

  // The host: a ring, or lanes to a NIC.
  logic [Ports-1:0]       tx_packet, tx_error, tx_overflow;
  logic [Ports-1:0][15:0] tx_length;
  logic                   from_host_idle, from_host_packet, from_host_invalid, from_host_unfilled;
  logic [15:0]            from_host_length;

  logic                   describe_idle, ring_overflow;

  if (HostQueues != 0) begin : gen_queues
    sh_host_describe #(.Lanes(Lanes), .Queues(HostQueues)) u_describe (
      .clk_i, .rst_i, .in_data_i(stored_data), .in_valid_i(stored_valid), .in_ready_o(stored_ready),
      .out_data_o(to_host_data_o), .out_info_o(to_host_info_o), .out_key_o(to_host_key_o), .out_valid_o(to_host_valid_o), .out_ready_i(to_host_ready_i),
      .absent_i(to_host_absent_i), .full_i(to_host_full_i), .lossless_i(lossless),
      .dropped_o(ring_overflow), .idle_o(describe_idle),
      .reg_request_i(window_request), .reg_request_valid_i(window_request_valid[HostWindow]),
      .reg_request_ready_o(window_request_ready[HostWindow]), .reg_response_o(window_response[HostWindow]),
      .reg_response_valid_o(window_response_valid[HostWindow])
    );
  end else begin : gen_no_queues
    logic unused_full;
    assign to_host_info_o = '0;
    assign to_host_key_o  = '0;
    assign ring_overflow  = 1'b0;
    assign describe_idle  = 1'b1;
    assign unused_full    = &{1'b0, to_host_absent_i, to_host_full_i};
  end

  if (HostLanes == 0) begin : gen_ring
    if (HostQueues == 0) begin : gen_whole
      assign to_host_data_o  = stored_data;
      assign to_host_valid_o = stored_valid;
      assign stored_ready    = to_host_ready_i;
    end

    sh_host_tx #(.Lanes(Lanes), .Checksums(HostQueues != 0), .Flits(LaneFlits)) u_from_host (
      .clk_i, .rst_i, .takes_host_i(takes_host),
      .in_data_i(from_host_data_i), .in_valid_i(from_host_valid_i), .in_ready_o(from_host_ready_o),
      .out_data_o(host_data), .out_valid_o(host_valid), .out_ready_i(host_ready), .idle_o(from_host_idle),
      .packet_o(from_host_packet), .packet_length_o(from_host_length), .invalid_o(from_host_invalid), .unfilled_o(from_host_unfilled)
    );
  end else begin : gen_wire
    logic unused_ring;

    assign to_host_data_o    = '0;
    assign to_host_valid_o   = 1'b0;
    assign from_host_ready_o = 1'b0;
    assign from_host_packet  = host_valid && host_ready && host_data.sop;
    assign from_host_length  = host_data.meta.length;
    assign from_host_invalid = 1'b0;
    assign from_host_unfilled = 1'b0;
    assign unused_ring       = &{1'b0, to_host_ready_i, from_host_data_i, from_host_valid_i};

    sh_host_lanes #(.Lanes(Lanes), .Flits(LaneFlits), .OwnClock(LaneClocks)) u_host_lanes (
      .clk_i, .rst_i, .lossless_i(lossless), .lanes_wait_i, .time_i(cycles),
      .lane_rx_clk_i(lane_rx_clk_i[Ports-1:Lanes]), .lane_tx_clk_i(lane_tx_clk_i[Ports-1:Lanes]),
      .lane_rx_data_i(lane_rx_data_i[Ports-1:Lanes]), .lane_rx_valid_i(lane_rx_valid_i[Ports-1:Lanes]),
      .lane_rx_ready_o(lane_rx_ready_o[Ports-1:Lanes]), .lane_tx_data_o(lane_tx_data_o[Ports-1:Lanes]),
      .lane_tx_valid_o(lane_tx_valid_o[Ports-1:Lanes]), .lane_tx_ready_i(lane_tx_ready_i[Ports-1:Lanes]),
      .to_host_data_i(stored_data), .to_host_valid_i(stored_valid), .to_host_ready_o(stored_ready),
      .from_host_data_o(host_data), .from_host_valid_o(host_valid), .from_host_ready_i(host_ready), .idle_o(from_host_idle),
      .rx_packet_o(rx_packet[Ports-1:Lanes]), .rx_length_o(rx_length[Ports-1:Lanes]), .rx_drop_o(rx_drop[Ports-1:Lanes]),
      .tx_packet_o(tx_packet[Ports-1:Lanes]), .tx_length_o(tx_length[Ports-1:Lanes]),
      .tx_error_o(tx_error[Ports-1:Lanes]), .tx_overflow_o(tx_overflow[Ports-1:Lanes])
    );
  end

  sl_merge u_merge (
    .clk_i, .rst_i, .share_i(registers.host_share),
    .fast_data_i(split_data), .fast_valid_i(split_valid[0]), .fast_ready_o(split_ready[0]),
    .slow_data_i(host_data), .slow_valid_i(host_valid && !host_enters), .slow_ready_o(lanes_host_ready),
    .out_data_o(device_data), .out_valid_o(device_valid), .out_ready_i(device_ready)
  );

  // The controller cores, in the last lane.
  flit_t [Lanes-1:0]  tx_data, leave_data;
  logic [Lanes-1:0]   tx_valid, tx_ready, leave_valid, leave_ready;
  register_request_t  [Controllers:0] master_request;  // the host's, the agents'
  logic [Controllers:0] master_request_valid, master_request_ready, master_response_valid;
  register_response_t master_response;
  logic               agent_idle;

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_agent
    if (Controllers != 0 && i == int'(Lanes - 1)) begin : gen_controllers
      flit_t from_agents;
      logic  from_agents_valid, from_agents_ready;

      sh_controllers #(.Lanes(Lanes), .Controllers(Controllers), .Flits(LaneFlits)) u_controllers (
        .clk_i, .rst_i, .time_i(cycles), .lossless_i(lossless),
        .rx_data_i(rx_data[i]), .rx_valid_i(rx_valid[i]), .rx_ready_o(rx_ready[i]),
        .rx_data_o(enter_data[i]), .rx_valid_o(enter_valid[i]), .rx_ready_i(enter_ready[i]),
        .tx_data_i(tx_data[i]), .tx_valid_i(tx_valid[i]), .tx_ready_o(tx_ready[i]),
        .tx_data_o(leave_data[i]), .tx_valid_o(leave_valid[i]), .tx_ready_i(leave_ready[i]),
        .to_agent_data_i(split_data), .to_agent_valid_i(split_valid[Ways-1:2]), .to_agent_ready_o(split_ready[Ways-1:2]),
        .from_agents_data_o(from_agents), .from_agents_valid_o(from_agents_valid), .from_agents_ready_i(from_agents_ready),
        .master_request_o(master_request[Controllers:1]), .master_request_valid_o(master_request_valid[Controllers:1]),
        .master_request_ready_i(master_request_ready[Controllers:1]),
        .master_response_i(master_response), .master_response_valid_i(master_response_valid[Controllers:1]),
        .reg_request_i(window_request), .reg_request_valid_i(window_request_valid[Windows-1:AgentWindow]),
        .reg_request_ready_o(window_request_ready[Windows-1:AgentWindow]),
        .reg_response_o(window_response[Windows-1:AgentWindow]),
        .reg_response_valid_o(window_response_valid[Windows-1:AgentWindow]),
        .session_o(agent_session), .takes_host_o(agent_takes_host), .idle_o(agent_idle)
      );

      sl_merge u_packets (
        .clk_i, .rst_i, .share_i(registers.host_share),
        .fast_data_i(device_data), .fast_valid_i(device_valid), .fast_ready_o(device_ready),
        .slow_data_i(from_agents), .slow_valid_i(from_agents_valid), .slow_ready_o(from_agents_ready),
        .out_data_o(merged_data), .out_valid_o(merged_valid), .out_ready_i(merged_ready)
      );
    end else begin : gen_lane
      assign enter_data[i]  = rx_data[i];
      assign enter_valid[i] = rx_valid[i];
      assign rx_ready[i]    = enter_ready[i];
      assign leave_data[i]  = tx_data[i];
      assign leave_valid[i] = tx_valid[i];
      assign tx_ready[i]    = leave_ready[i];
    end
  end

  if (Controllers == 0) begin : gen_no_controller
    assign merged_data         = device_data;
    assign merged_valid        = device_valid;
    assign device_ready        = merged_ready;
    assign split_ready[Ways-1:2] = '1;
    assign agent_session       = '0;
    assign agent_takes_host    = '0;
    assign agent_idle          = 1'b1;
  end

  // Lanes out.
  flit_t            copy_data;
  logic [Lanes-1:0] copy_valid, copy_ready, tx_full, tx_idle;
  logic [Lanes-1:0] qos_active, qos_empty, qos_drop;

  el_replicate #(.Ports(Lanes)) u_replicate (
    .clk_i, .rst_i, .in_data_i(merged_data), .in_valid_i(merged_valid), .in_ready_o(merged_ready),
    .out_data_o(copy_data), .out_valid_o(copy_valid), .out_ready_i(copy_ready)
  );

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_tx
    el_qos #(.Flits(QueueFlits)) u_qos (
      .clk_i, .rst_i, .lossless_i(lossless),
      .in_data_i(copy_data), .in_valid_i(copy_valid[i]), .in_ready_o(copy_ready[i]),
      .out_data_o(tx_data[i]), .out_valid_o(tx_valid[i]), .out_ready_i(tx_ready[i]),
      .reg_request_i(window_request), .reg_request_valid_i(window_request_valid[QosWindow+i]),
      .reg_request_ready_o(window_request_ready[QosWindow+i]), .reg_response_o(window_response[QosWindow+i]),
      .reg_response_valid_o(window_response_valid[QosWindow+i]),
      .active_o(qos_active[i]), .empty_o(qos_empty[i]), .drop_o(qos_drop[i])
    );

    sh_lane_tx #(.Flits(LaneFlits), .OwnClock(LaneClocks)) u_tx (
      .clk_i, .rst_i, .lane_clk_i(lane_tx_clk_i[i]), .lossless_i(lossless || qos_active[i]),
      .in_data_i(leave_data[i]), .in_valid_i(leave_valid[i]), .in_ready_o(leave_ready[i]),
      .lane_data_o(lane_tx_data_o[i]), .lane_valid_o(lane_tx_valid_o[i]), .lane_ready_i(lane_tx_ready_i[i]),
      .idle_o(tx_idle[i]), .packet_o(tx_packet[i]), .packet_length_o(tx_length[i]),
      .error_o(tx_error[i]), .overflow_o(tx_full[i])
    );
    assign tx_overflow[i] = tx_full[i] || qos_drop[i];
  end

  // In-flight tracking, and the reset of the graph.
  logic [3:0] reset_q;

  assign graph_idle = graph_empty && host_store_idle && describe_idle;
  assign graph_rst  = rst_i || reset_q != '0;
  // Every place that can hold a packet: a packet between two of them must not be missed.
  assign idle_o = graph_idle && from_host_idle && agent_idle && !device_valid && !merged_valid && copy_valid == '0 && &qos_empty && &tx_idle && &rx_idle
                  && (LaneClocks || lane_rx_valid_i == '0);

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b0;
    if (reset_q != '0) begin
      reset_q    <= reset_q - 1'b1;
      reset_done <= reset_q == 4'd1;
    end else if (registers.control[0] && graph_idle && !reset_done) begin
      reset_q <= '1;
    end
    if (rst_i) begin
      reset_q    <= '0;
      reset_done <= 1'b0;
    end
  end

  // Registers.
  logic [Ports-1:0][63:0]   lane_pair;
  logic [63:0]              host_pair, graph_pair;
  logic [Windows-1:0][31:0] capability;
  shell_registers_values_t  values;

  always_comb begin
    values        = '0;
    values.status = {29'd0, graph_empty, graph_idle && from_host_idle, !graph_rst};
    values.master = 32'(master);
    values.lock_refused = lock_refused;
  end

  always_comb begin
    capability[QosWindow-1:0] = {graph_capability, {8'(HostLanes), 8'(Lanes), 16'(ELEMENT_SHELL)}};
    for (int unsigned i = 0; i < Lanes; i++) capability[QosWindow+i] = {16'(i), 16'(ELEMENT_QOS)};
    if (HostQueues != 0) capability[Windows-1-Controllers] = {16'(HostQueues), 16'(ELEMENT_HOST)};
    for (int unsigned i = AgentWindow; i < Windows; i++) capability[i] = {8'(i - AgentWindow), 8'(Lanes - 1), 16'(ELEMENT_CONTROLLER)};
  end

  // The masters of the registers: the host and the agents.
  register_request_t  request;
  register_response_t router_response;
  logic               request_valid, request_ready, response_valid;

  assign master_request[0]       = reg_request_i;
  assign master_request_valid[0] = reg_request_valid_i;
  assign reg_request_ready_o     = master_request_ready[0];
  assign reg_response_o          = master_response;
  assign reg_response_valid_o    = master_response_valid[0];

  register_request_t  turn_request;
  register_response_t turn_response;
  logic               turn_valid, turn_ready, turn_response_valid;

  sl_register_arbiter #(.Masters(1 + Controllers)) u_masters (
    .clk_i, .rst_i, .master_request_i(master_request), .master_request_valid_i(master_request_valid),
    .master_request_ready_o(master_request_ready), .master_response_o(master_response),
    .master_response_valid_o(master_response_valid), .request_o(turn_request), .owner_o(master), .request_valid_o(turn_valid),
    .request_ready_i(turn_ready), .response_i(turn_response), .response_valid_i(turn_response_valid)
  );

  // The graph's windows have an owner where there are several agents.
  if (Controllers > 1) begin : gen_lock
    sl_register_lock #(.Masters(1 + Controllers), .First(1), .Last(GraphWindows)) u_lock (
      .clk_i, .rst_i, .in_request_i(turn_request), .in_master_i(master), .in_request_valid_i(turn_valid),
      .in_request_ready_o(turn_ready), .in_response_o(turn_response), .in_response_valid_o(turn_response_valid),
      .out_request_o(request), .out_request_valid_o(request_valid), .out_request_ready_i(request_ready),
      .out_response_i(router_response), .out_response_valid_i(response_valid), .refused_o(lock_refused)
    );
  end else begin : gen_no_lock
    assign request             = turn_request;
    assign request_valid       = turn_valid;
    assign turn_ready          = request_ready;
    assign turn_response       = router_response;
    assign turn_response_valid = response_valid;
    assign lock_refused        = '0;
  end

  sh_register_router #(.Windows(Windows)) u_router (
    .clk_i, .rst_i, .window_reset_i({(Windows - QosWindow)'(0), {GraphWindows{graph_rst}}, 1'b0}),
    .request_i(request), .request_valid_i(request_valid), .request_ready_o(request_ready),
    .response_o(router_response), .response_valid_o(response_valid),
    .window_request_o(window_request), .window_request_valid_o(window_request_valid),
    .window_request_ready_i(window_request_ready), .window_response_i(window_response),
    .window_response_valid_i(window_response_valid)
  );

  sh_registers #(.Lanes(Lanes), .HostLanes(HostLanes), .Windows(Windows)) u_registers (
    .clk_i, .rst_i, .request_i(window_request), .request_valid_i(window_request_valid[0]),
    .request_ready_o(window_request_ready[0]), .response_o(window_response[0]),
    .response_valid_o(window_response_valid[0]), .values_i(values), .registers_o(registers), .capability_i(capability),
    .reset_done_i(reset_done), .time_o(cycles), .counter_pair_o(counter_pair), .lane_pair_i(lane_pair), .host_pair_i(host_pair), .graph_pair_i(graph_pair)
  );

  for (genvar i = 0; i < int'(Ports); i++) begin : gen_counters
    sh_lane_counters u_counters (
      .clk_i, .rst_i, .rx_packet_i(rx_packet[i]), .rx_length_i(rx_length[i]), .rx_drop_i(rx_drop[i]),
      .tx_packet_i(tx_packet[i]), .tx_length_i(tx_length[i]), .tx_overflow_i(tx_overflow[i]), .tx_error_i(tx_error[i]),
      .pair_i(counter_pair), .pair_o(lane_pair[i])
    );
  end

  sh_host_counters u_counters (
    .clk_i, .rst_i, .to_host_i(to_host_stored), .to_host_length_i(to_host_length), .to_host_overflow_i(to_host_overflow),
    .to_host_error_i(to_host_bad || to_host_oversize || to_host_runt), .ring_overflow_i(ring_overflow), .from_host_i(from_host_packet), .from_host_length_i(from_host_length),
    .from_host_invalid_i(from_host_invalid), .from_host_unfilled_i(from_host_unfilled),
    .from_host_merged_i(host_valid && host_ready && host_data.eop[0]), .graph_i(graph_event), .pair_i(counter_pair),
    .host_pair_o(host_pair), .graph_pair_o(graph_pair)
  );

  logic unused;
  assign unused = &{1'b0, registers};

`ifndef SYNTHESIS
  initial begin
    if (HostLanes != 0 && HostLanes != Lanes) $fatal(1, "sh_core: HostLanes must be 0 or Lanes");
    if (!(Controllers inside {0, 1, 2, 4}) || Windows > 16) $fatal(1, "sh_core: Controllers is 0, 1, 2 or 4, and at most 16 windows fit");
    if (HostQueues > HOST_QUEUES || (HostQueues != 0 && HostLanes != 0)) $fatal(1, "sh_core: HostQueues is 0 to 8, and needs the ring");
  end
`endif
endmodule
