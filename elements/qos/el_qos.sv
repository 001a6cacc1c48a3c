// SPDX-License-Identifier: Apache-2.0
// Quality of service of one port: packets wait in queues (`meta.queue`) and leave by strict priority and deficit round robin
// (README.md). When off (the state after reset), packets bypass it. When on, the receiver must apply back-pressure when it is full
// (`active_o`): then a slow port fills the queues, and only the full queue drops its own packets. An invalid register access
// answers an error.
module el_qos
  import sluice_pkg::*;
#(
  parameter int unsigned Flits = 16384 / DATA_BYTES,  // per queue; a power of two, more than the largest packet
  localparam int unsigned Queues = QOS_REGISTERS_QUANTUM_COUNT
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high
  input  logic               lossless_i,           // 1: a full queue applies back-pressure instead of dropping
  input  flit_t              in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,           // off: combinational from out_ready_i; on: from in_data_i
  output flit_t              out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,        // window: qos_registers
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o, // the cycle after the request
  output logic               active_o,             // packets pass through the queues
  output logic               empty_o,              // nothing stored, not even part of a packet
  output logic               drop_o                // pulse: dropped a packet, no room
);
  localparam int unsigned QueueBits = $clog2(Queues);

  logic                    chosen_q, active_q;
  qos_registers_t          registers_q;
  logic [Queues-1:0][31:0] drops_q;
  logic [Queues-1:0]       drop;
  flit_t                   queued_data;
  logic                    queued_valid, queues_ready;

  // A packet keeps the path that it was first offered. After switching off, packets use the queues until they are empty: none
  // overtakes.
  assign active_o    = chosen_q ? active_q : registers_q.control[0] || !empty_o;
  assign in_ready_o  = active_o ? queues_ready : out_ready_i;
  assign out_data_o  = active_o ? queued_data : in_data_i;
  assign out_valid_o = active_o ? queued_valid : in_valid_i;
  assign drop_o      = |drop;

  always_ff @(posedge clk_i) begin
    if (in_valid_i) begin
      active_q <= active_o;
      chosen_q <= !(in_ready_o && in_data_i.eop);
    end
    if (rst_i) chosen_q <= 1'b0;
  end

  sl_queues #(.Queues(Queues), .Flits(Flits)) u_queues (
    .clk_i, .rst_i, .lossless_i, .strict_from_i(registers_q.strict_from), .quantum_i(registers_q.quantum),
    .in_data_i, .in_valid_i(in_valid_i && active_o), .in_ready_o(queues_ready),
    .out_data_o(queued_data), .out_valid_o(queued_valid), .out_ready_i(out_ready_i && active_o),
    .empty_o, .drop_o(drop)
  );

  logic [11:0] address;
  logic        write, refused, failed;

  assign address = reg_request_i.address[11:0];
  assign write   = reg_request_i.write[0];
  assign refused = address == QOS_REGISTERS_STRICT_FROM ? reg_request_i.data > Queues :
                   in_registers(address, QOS_REGISTERS_QUANTUM, Queues) && reg_request_i.data[31:16] != '0;
  assign failed  = !qos_registers_allows(address, write) || (write && refused);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    qos_registers_values_t live;
    live       = '0;
    live.drops = drops_q[address[2 +: QueueBits]];
    return qos_registers_read(qos_registers_values(live, registers_q, address), address);
  endfunction

  assign reg_request_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    if (reg_request_valid_i) begin
      reg_response_o.error <= failed;
      reg_response_o.data  <= write || failed ? '0 : read();
      if (write && !failed) registers_q <= qos_registers_write(registers_q, address, reg_request_i.data);
    end
    if (drop_o) begin
      for (int unsigned i = 0; i < Queues; i++) drops_q[i] <= drops_q[i] + 32'(drop[i]);
    end
    if (rst_i) begin
      registers_q <= QOS_REGISTERS_RESET;
      drops_q     <= '0;
    end
  end

  sl_channel_check #(.Width(FLIT_BITS)) u_out_check (
    .clk_i, .rst_i, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
