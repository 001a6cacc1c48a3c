// SPDX-License-Identifier: Apache-2.0
// The part of the flow table's window from 0x100 on (`flow_registers`); lower addresses go to the OFU's frame. Answers every
// request once, in the next cycle; an access to an unused address, an index out of range and an access in the wrong direction
// answer an error and change nothing.
module sl_flow_registers
  import sluice_pkg::*;
#(
  parameter int unsigned Groups       = 16,
  parameter bit          Push         = 1'b1,  // 1: counters are pushed into host memory
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
  input  flow_registers_values_t          values_i,              // what this module does not give itself
  output flow_registers_t                 registers_o,           // as the host wrote them
  output logic [7:0][63:0]                fence_done_o,
  input  logic                            fence_held_i,          // pulses
  input  logic                            fence_forced_i
);
  logic                   own, own_valid_q, write, refused, failed, in_operand, in_done;
  logic [31:0]            held_q, forced_q, done_low_q;
  logic [11:0]            address;
  logic [31:0]            data;
  register_response_t     own_q;

  assign address    = reg_request_i.address[11:0];
  assign data       = reg_request_i.data;
  assign write      = reg_request_i.write[0];
  assign own        = address[11:8] != '0;
  assign in_operand = in_registers(address, FLOW_REGISTERS_OPERAND, FLOW_REGISTERS_OPERAND_COUNT);
  assign in_done    = in_registers(address, FLOW_REGISTERS_FENCE_DONE, FLOW_REGISTERS_FENCE_DONE_COUNT);

  always_comb begin
    unique case (address)
      FLOW_REGISTERS_OPERAND_INDEX: refused = data >= FLOW_OPERANDS;
      FLOW_REGISTERS_GROUP_INDEX:   refused = data >= Groups;
      FLOW_REGISTERS_FENCE_BOUND:   refused = data[31];
      FLOW_REGISTERS_PUSH_CONTROL, FLOW_REGISTERS_PUSH_PERIOD: refused = !Push;
      default:                      refused = 1'b0;
    endcase
  end
  assign failed = !flow_registers_allows(address, write) || (write && refused);

  // What the host reads, computed only when it does.
  function automatic logic [31:0] read();
    flow_registers_values_t live;
    live              = values_i;
    live.fence_held   = held_q;
    live.fence_forced = forced_q;
    live.fence_done   = fence_done_o[address[5:3]][32*address[2]+:32];
    return flow_registers_read(flow_registers_values(live, registers_o, address), address);
  endfunction

  assign write_valid_o   = reg_request_valid_i && own && write && in_operand && !failed;
  assign write_address_o = {registers_o.operand_index, address[2+:WordBits]};
  assign write_data_o    = data;

  always_ff @(posedge clk_i) begin
    own_valid_q <= reg_request_valid_i && own && !rst_i;
    if (reg_request_valid_i && own) begin
      own_q.error <= failed;
      own_q.data  <= failed || write ? '0 : read();
      if (write && !failed) registers_o <= flow_registers_write(registers_o, address, data);
      if (write && !failed && in_done && !address[2]) done_low_q <= data;
      if (write && !failed && in_done && address[2]) fence_done_o[address[5:3]] <= {data, done_low_q};
    end
    held_q   <= held_q + 32'(fence_held_i);
    forced_q <= forced_q + 32'(fence_forced_i);
    if (rst_i) begin
      registers_o  <= FLOW_REGISTERS_RESET;
      fence_done_o <= '0;
      done_low_q   <= '0;
      held_q       <= '0;
      forced_q     <= '0;
    end
  end

  assign ofu_request_valid_o  = reg_request_valid_i && !own;
  assign reg_request_ready_o  = own || ofu_request_ready_i;
  assign reg_response_valid_o = own_valid_q || ofu_response_valid_i;
  assign reg_response_o       = own_valid_q ? own_q : ofu_response_i;
endmodule
