// SPDX-License-Identifier: Apache-2.0
// What executes instructions in an OFU, without its packet pipeline and register window: the instruction FIFO, the
// configuration FSM and both tables, wired as sl_rule_control and the elements wire them. Responses are always taken.
module rules_harness
  import sluice_pkg::*;
#(
  parameter bit          Exact    = 1'b0,  // 0: LPM tables, 1: hashed tables
  parameter int unsigned Entries0 = 512,   // of the table for IPv4
  parameter int unsigned Entries1 = 512    // of the table for IPv6
) (
  input  logic                clk_i,
  input  logic                rst_i,                // synchronous, active high
  input  instruction_t        instruction_i,
  input  logic                instruction_valid_i,
  output logic                instruction_ready_o,
  output logic [63:0]         response_o,           // response_t
  output logic                response_valid_o,
  input  logic [KEY_BITS-1:0] key_i,                // looked up in both tables in every cycle
  input  logic                key_valid_i,
  output logic [1:0]          hit_o,
  output logic                ready_o               // memories are cleared
);
  localparam int unsigned KeyBits0 = Exact ? FIVE_TUPLE4_BITS : 32;
  localparam int unsigned KeyBits1 = Exact ? FIVE_TUPLE6_BITS : 128;
  localparam int unsigned Latency  = sl_match_pkg::ip_latency(Exact, KeyBits0, KeyBits1, Entries0, Entries1);
  localparam int unsigned Drain    = Latency + 6;  // as in sl_ofu

  instruction_t     instruction, op;
  logic             valid, ready, unused_fresh, unused_commit;
  logic [4:0]       unused_count;
  response_t        response;
  logic [1:0]       op_valid, op_ready, op_commit, op_done, table_ready, result_valid, result_hit;
  status_t [1:0]    op_status;
  logic [1:0][31:0] unused_used, unused_id;

  sl_fifo #(.Width(INSTRUCTION_BITS), .Depth(16)) u_instructions (
    .clk_i, .rst_i, .in_data_i(instruction_i), .in_valid_i(instruction_valid_i), .in_ready_o(instruction_ready_o),
    .out_data_o(instruction), .out_valid_o(valid), .out_ready_i(ready), .count_o(unused_count)
  );

  sl_rule_fsm #(.Entries0(Entries0), .Entries1(Entries1), .DrainCycles(Drain)) u_fsm (
    .clk_i, .rst_i, .instruction_data_i(instruction), .instruction_valid_i(valid), .instruction_ready_o(ready),
    .response_data_o(response), .response_valid_o, .response_ready_i(1'b1),
    .op_o(op), .op_valid_o(op_valid), .op_ready_i(op_ready), .op_commit_i(op_commit), .op_done_i(op_done),
    .op_status0_i(op_status[0]), .op_status1_i(op_status[1]), .table_ready_i(table_ready),
    .fresh_o(unused_fresh), .commit_o(unused_commit), .ready_o
  );
  assign response_o = response;
  assign hit_o      = result_valid & result_hit;

  sl_ip_tables #(
    .Exact(Exact), .KeyBits4(KeyBits0), .KeyBits6(KeyBits1), .Entries4(Entries0), .Entries6(Entries1)
  ) u_tables (
    .clk_i, .rst_i, .key_valid_i({2{key_valid_i}}), .key_i({2{key_i[KeyBits1-1:0]}}),
    .result_valid_o(result_valid), .result_hit_o(result_hit), .result_id_o(unused_id),
    .op_i(op), .op_valid_i(op_valid), .op_ready_o(op_ready), .op_commit_o(op_commit), .op_done_o(op_done),
    .op_status_o(op_status), .ready_o(table_ready), .used_o(unused_used)
  );

  logic unused_key;
  assign unused_key = &{1'b0, key_i, unused_fresh, unused_commit, unused_count, unused_used, unused_id};
endmodule
