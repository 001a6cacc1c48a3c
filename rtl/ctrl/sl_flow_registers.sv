// SPDX-License-Identifier: Apache-2.0
// The part of the flow table's window from 0x100 on (`flow_registers`); lower addresses go to the OFU's frame. Answers every
// request once, in the next cycle; an access to an unused address, an index out of range and an access in the wrong direction
// answer an error and change nothing.
module sl_flow_registers
  import sluice_pkg::*;
#(
  parameter int unsigned Groups       = 16,
  parameter int unsigned GroupEntries = 4096,
  parameter int unsigned PushRecords  = 0,     // see flow_registers
  parameter int unsigned PushTernary  = 0,
  parameter int unsigned PushCycles   = 0,
  localparam int unsigned OperandBits = $clog2(FLOW_OPERANDS),
  localparam int unsigned WordBits    = $clog2(FLOW_REGISTERS_OPERAND_COUNT)
) (
  input  logic                            clk_i,
  input  logic                            rst_i,                 // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // the upper address bits chose this window
  input  register_request_t               reg_request_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                            reg_request_valid_i,
  output logic                            reg_request_ready_o,
  output register_response_t              reg_response_o,
  output logic                            reg_response_valid_o,  // one cycle
  output logic                            ofu_request_valid_o,   // reg_request_i is for the frame
  input  logic                            ofu_request_ready_i,
  input  register_response_t              ofu_response_i,
  input  logic                            ofu_response_valid_i,
  output logic                            write_valid_o,         // writes one word of an operand
  output logic [OperandBits+WordBits-1:0] write_address_o,
  output logic [31:0]                     write_data_o,
  output logic [7:0]                      group_index_o,
  input  logic [31:0]                     group_used_i,          // rules in that group
  output logic                            fence_on_o,            // see sl_flow_fence
  output logic [31:0]                     fence_bound_o,
  output logic [7:0][63:0]                fence_done_o,
  output logic                            push_on_o,             // see sl_counter_push
  output logic [31:0]                     push_period_o,
  input  logic [31:0]                     push_sweeps_i,
  input  logic                            fence_held_i,          // pulses
  input  logic                            fence_forced_i
);
  logic                   own, own_valid_q, write, failed, in_operand, in_done;
  logic [31:0]            held_q, forced_q, done_low_q;
  logic [11:0]            address;
  logic [31:0]            data, read_data;
  logic [OperandBits-1:0] operand_q;
  register_response_t     own_q;

  assign address    = reg_request_i.address[11:0];
  assign data       = reg_request_i.data;
  assign write      = reg_request_i.write[0];
  assign own        = address[11:8] != '0;
  assign in_operand = address >= FLOW_REGISTERS_OPERAND &&
                      address < FLOW_REGISTERS_OPERAND + 12'(4 * FLOW_REGISTERS_OPERAND_COUNT);
  assign in_done    = address >= FLOW_REGISTERS_FENCE_DONE &&
                      address < FLOW_REGISTERS_FENCE_DONE + 12'(4 * FLOW_REGISTERS_FENCE_DONE_COUNT);

  always_comb begin
    read_data = '0;
    failed    = write;  // an error unless writable
    unique case (address)
      FLOW_REGISTERS_GROUPS:        read_data = Groups;
      FLOW_REGISTERS_GROUP_ENTRIES: read_data = GroupEntries;
      FLOW_REGISTERS_OPERANDS:      read_data = FLOW_OPERANDS;
      FLOW_REGISTERS_GROUP_USED:    read_data = group_used_i;
      FLOW_REGISTERS_OPERAND_INDEX: begin
        read_data = 32'(operand_q);
        failed    = write && data >= FLOW_OPERANDS;
      end
      FLOW_REGISTERS_GROUP_INDEX: begin
        read_data = 32'(group_index_o);
        failed    = write && data >= Groups;
      end
      FLOW_REGISTERS_FENCE_HELD:    read_data = held_q;
      FLOW_REGISTERS_FENCE_FORCED:  read_data = forced_q;
      FLOW_REGISTERS_PUSH_RECORDS:  read_data = PushRecords;
      FLOW_REGISTERS_PUSH_TERNARY:  read_data = PushTernary;
      FLOW_REGISTERS_PUSH_CYCLES:   read_data = PushCycles;
      FLOW_REGISTERS_PUSH_SWEEPS:   read_data = push_sweeps_i;
      FLOW_REGISTERS_PUSH_CONTROL: begin
        read_data = 32'(push_on_o);
        failed    = write && PushRecords == 0;
      end
      FLOW_REGISTERS_PUSH_PERIOD: begin
        read_data = push_period_o;
        failed    = write && PushRecords == 0;
      end
      FLOW_REGISTERS_FENCE_CONTROL: begin
        read_data = 32'(fence_on_o);
        failed    = 1'b0;
      end
      FLOW_REGISTERS_FENCE_BOUND: begin
        read_data = fence_bound_o;
        failed    = write && data[31];
      end
      default: begin
        if (in_done) read_data = fence_done_o[address[5:3]][32*address[2]+:32];
        failed = !in_done && !(in_operand && write);
      end
    endcase
    if (address[1:0] != 2'd0) failed = 1'b1;
  end

  assign write_valid_o   = reg_request_valid_i && own && write && in_operand && !failed;
  assign write_address_o = {operand_q, address[2+:WordBits]};
  assign write_data_o    = data;

  always_ff @(posedge clk_i) begin
    own_valid_q <= reg_request_valid_i && own && !rst_i;
    if (reg_request_valid_i && own) begin
      own_q.error <= failed;
      own_q.data  <= failed || write ? '0 : read_data;
      if (write && !failed && address == FLOW_REGISTERS_OPERAND_INDEX) operand_q <= data[OperandBits-1:0];
      if (write && !failed && address == FLOW_REGISTERS_GROUP_INDEX) group_index_o <= data[7:0];
      if (write && !failed && address == FLOW_REGISTERS_FENCE_CONTROL) fence_on_o <= data[0];
      if (write && !failed && address == FLOW_REGISTERS_FENCE_BOUND) fence_bound_o <= data;
      if (write && !failed && address == FLOW_REGISTERS_PUSH_CONTROL) push_on_o <= data[0];
      if (write && !failed && address == FLOW_REGISTERS_PUSH_PERIOD) push_period_o <= data;
      if (write && !failed && in_done && !address[2]) done_low_q <= data;
      if (write && !failed && in_done && address[2]) fence_done_o[address[5:3]] <= {data, done_low_q};
    end
    held_q   <= held_q + 32'(fence_held_i);
    forced_q <= forced_q + 32'(fence_forced_i);
    if (rst_i) begin
      operand_q     <= '0;
      group_index_o <= '0;
      fence_on_o    <= 1'b0;
      fence_bound_o <= '0;
      push_on_o     <= 1'b0;
      push_period_o <= '0;
      fence_done_o  <= '0;
      done_low_q    <= '0;
      held_q        <= '0;
      forced_q      <= '0;
    end
  end

  assign ofu_request_valid_o  = reg_request_valid_i && !own;
  assign reg_request_ready_o  = own || ofu_request_ready_i;
  assign reg_response_valid_o = own_valid_q || ofu_response_valid_i;
  assign reg_response_o       = own_valid_q ? own_q : ofu_response_i;
endmodule
