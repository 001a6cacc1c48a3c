// SPDX-License-Identifier: Apache-2.0
// Rule control of an OFU: register window, instruction FIFO (16), configuration FSM, response FIFO (32). Instructions are executed
// and answered in order. If software does not read responses, the FSM stops at 32, then the instruction FIFO fills and a push
// answers an error: nothing is lost.
module sl_rule_control
  import sluice_pkg::*;
#(
  parameter element_kind_t Kind        = ELEMENT_LPM,  // kind of the element
  parameter int unsigned   Entries0    = 512,          // rules of table 0, 1 to 262144
  parameter int unsigned   Entries1    = 512,          // rules of table 1, 0 to 262144; 0: no table 1
  parameter int unsigned   KeyBits0    = 32,           // key bits of table 0
  parameter int unsigned   KeyBits1    = 128,          // key bits of table 1
  parameter int unsigned   Latency     = 20,           // cycles from record in to record out
  parameter int unsigned   DrainCycles = 16,           // see sl_rule_fsm
  parameter int unsigned   EditEntries = 256           // entries of the edit-data table, a power of two up to 65536
) (
  input  logic                      clk_i,
  input  logic                      rst_i,  // synchronous, active high
  input  register_request_t         reg_request_i,
  input  logic                      reg_request_valid_i,
  output logic                      reg_request_ready_o,
  output register_response_t        reg_response_o,
  output logic                      reg_response_valid_o,
  output ofu_registers_t            registers_o,      // as the host wrote them
  output instruction_t              op_o,             // to both tables
  output logic [1:0]                op_valid_o,       // index: table
  input  logic [1:0]                op_ready_i,
  input  logic [1:0]                op_commit_i,
  input  logic [1:0]                op_done_i,
  input  status_t                   op_status0_i,
  input  status_t                   op_status1_i,
  input  logic [1:0]                table_ready_i,
  input  logic [31:0]               table_used0_i,
  input  logic [31:0]               table_used1_i,
  input  logic                      hold_i,           // no response is visible, and no populate begins
  output logic                      fresh_o,          // pulse: the rule of op_o is about to be populated
  output logic                      commit_o,         // pulse: the actions of op_o take effect for its rule
  output logic                      edit_valid_o,     // writes edit_data as entry edit_index of the edit-data table
  output logic                      counter_valid_o,  // reads the counters of rule counter_index; stable until counter_done_i
  input  logic                      counter_done_i,
  input  rule_counters_t            counter_data_i
);
  localparam int unsigned Instructions = 16;
  localparam int unsigned Responses    = 32;

  instruction_t push_data, instruction;
  response_t    response, response_out;
  logic         push_valid, push_ready, instruction_valid, instruction_ready, ready;
  logic         response_valid, response_ready, response_out_valid, response_out_ready;
  logic [4:0]   queued;
  logic [5:0]   waiting;
  ofu_registers_values_t values;

  always_comb begin
    values        = '0;
    values.status = {10'd0, hold_i ? 6'd0 : waiting, 3'd0, 5'(Instructions) - queued, 7'd0, ready};
  end

  sl_rule_registers #(
    .Kind(Kind), .Entries0(Entries0), .Entries1(Entries1), .KeyBits0(KeyBits0), .KeyBits1(KeyBits1),
    .Latency(Latency), .EditEntries(EditEntries)
  ) u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .values_i(values), .registers_o, .idle_i(queued == '0 && waiting == '0),
    .used0_i(table_used0_i), .used1_i(table_used1_i),
    .push_data_o(push_data), .push_valid_o(push_valid), .push_ready_i(push_ready),
    .response_data_i(response_out), .response_valid_i(response_out_valid && !hold_i), .response_ready_o(response_out_ready),
    .edit_valid_o, .counter_valid_o, .counter_done_i, .counter_data_i
  );

  sl_fifo #(.Width(INSTRUCTION_BITS), .Depth(Instructions)) u_instructions (
    .clk_i, .rst_i, .in_data_i(push_data), .in_valid_i(push_valid), .in_ready_o(push_ready),
    .out_data_o(instruction), .out_valid_o(instruction_valid), .out_ready_i(instruction_ready), .count_o(queued)
  );

  sl_rule_fsm #(.Entries0(Entries0), .Entries1(Entries1), .DrainCycles(DrainCycles)) u_fsm (
    .clk_i, .rst_i,
    .instruction_data_i(instruction), .instruction_valid_i(instruction_valid), .instruction_ready_o(instruction_ready),
    .response_data_o(response), .response_valid_o(response_valid), .response_ready_i(response_ready),
    .op_o, .op_valid_o, .op_ready_i, .op_commit_i, .op_done_i, .op_status0_i, .op_status1_i, .table_ready_i,
    .hold_i, .fresh_o, .commit_o, .ready_o(ready)
  );

  sl_fifo #(.Width(RESPONSE_BITS), .Depth(Responses)) u_responses (
    .clk_i, .rst_i, .in_data_i(response), .in_valid_i(response_valid), .in_ready_o(response_ready),
    .out_data_o(response_out), .out_valid_o(response_out_valid), .out_ready_i(response_out_ready && !hold_i), .count_o(waiting)
  );
endmodule
