// SPDX-License-Identifier: Apache-2.0
// Register window of the controller core (`controller_registers`).
module sl_controller_registers
  import sluice_pkg::*;
  import sl_message_pkg::*;
#(
  parameter int unsigned Number = 0                // of the core: added to its address after a reset
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t  reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o, // the cycle after the request
  input  message_event_t     message_i,            // pulses
  input  logic               overflow_i,
  input  logic               packet_in_i,
  input  logic [1:0]         packet_in_lost_i,
  input  logic               packet_out_i,
  input  logic               packet_out_lost_i,
  output controller_registers_t registers_o,
  output logic [127:0]       key_o                 // byte 0 in bits 7:0
);
  typedef struct packed {
    logic [31:0] accepted, repeated, malformed, forged, unexpected, overflow, packet_in, packet_in_lost, packet_out, packet_out_lost;
  } counters_t;

  controller_registers_t        registers_q;
  controller_registers_values_t live;
  counters_t                    counters_q;
  logic [11:0]                  address;
  logic                         write, failed, is_key;

  assign address             = reg_request_i.address[11:0];
  assign write               = reg_request_i.write[0];
  assign is_key              = write && address[11:4] == 8'(CONTROLLER_REGISTERS_KEY >> 4);
  assign failed              = !controller_registers_allows(address, write);
  assign reg_request_ready_o = 1'b1;
  assign registers_o         = registers_q;

  always_comb begin
    live                 = '0;
    live.accepted        = counters_q.accepted;
    live.repeated        = counters_q.repeated;
    live.malformed       = counters_q.malformed;
    live.forged          = counters_q.forged;
    live.unexpected      = counters_q.unexpected;
    live.overflow        = counters_q.overflow;
    live.packet_in       = counters_q.packet_in;
    live.packet_in_lost  = counters_q.packet_in_lost;
    live.packet_out      = counters_q.packet_out;
    live.packet_out_lost = counters_q.packet_out_lost;
  end

  always_ff @(posedge clk_i) begin
    reg_response_valid_o <= reg_request_valid_i && !rst_i;
    counters_q.accepted        <= counters_q.accepted + 32'(message_i.accepted);
    counters_q.repeated        <= counters_q.repeated + 32'(message_i.repeated);
    counters_q.malformed       <= counters_q.malformed + 32'(message_i.malformed);
    counters_q.forged          <= counters_q.forged + 32'(message_i.forged);
    counters_q.unexpected      <= counters_q.unexpected + 32'(message_i.unexpected);
    counters_q.overflow        <= counters_q.overflow + 32'(overflow_i);
    counters_q.packet_in       <= counters_q.packet_in + 32'(packet_in_i);
    counters_q.packet_in_lost  <= counters_q.packet_in_lost + 32'(packet_in_lost_i[0]) + 32'(packet_in_lost_i[1]);
    counters_q.packet_out      <= counters_q.packet_out + 32'(packet_out_i);
    counters_q.packet_out_lost <= counters_q.packet_out_lost + 32'(packet_out_lost_i);
    if (reg_request_valid_i) begin
      reg_response_o <= '{
        error: failed,
        data: failed || write ? '0 : controller_registers_read(controller_registers_values(live, registers_q, address), address)
      };
      if (write && !failed) begin
        registers_q <= controller_registers_write(registers_q, address, reg_request_i.data);
        if (is_key) key_o[32*address[3:2] +: 32] <= reg_request_i.data;
      end
    end
    if (rst_i) begin
      registers_q <= CONTROLLER_REGISTERS_RESET;
      registers_q.mac_low <= CONTROLLER_REGISTERS_RESET.mac_low + 32'(Number);
      counters_q  <= '0;
      key_o       <= '0;
    end
  end
endmodule
