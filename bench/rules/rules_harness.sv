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
  localparam int unsigned Latency0 = Exact ? sl_match_pkg::hash_latency(KeyBits0, Entries0) : sl_match_pkg::lpm_latency(KeyBits0, Entries0);
  localparam int unsigned Latency1 = Exact ? sl_match_pkg::hash_latency(KeyBits1, Entries1) : sl_match_pkg::lpm_latency(KeyBits1, Entries1);
  localparam int unsigned Latency  = Latency0 > Latency1 ? Latency0 : Latency1;
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

  if (Exact) begin : gen_exact
    sl_hash_table #(.KeyBits(KeyBits0), .Entries(Entries0)) u_table0 (
      .clk_i, .rst_i, .key_valid_i, .key_i(key_i[KeyBits0-1:0]),
      .result_valid_o(result_valid[0]), .result_hit_o(result_hit[0]), .result_id_o(unused_id[0]),
      .op_i(op), .op_valid_i(op_valid[0]), .op_ready_o(op_ready[0]), .op_commit_o(op_commit[0]),
      .op_done_o(op_done[0]), .op_status_o(op_status[0]), .ready_o(table_ready[0]), .used_o(unused_used[0])
    );
    sl_hash_table #(.KeyBits(KeyBits1), .Entries(Entries1)) u_table1 (
      .clk_i, .rst_i, .key_valid_i, .key_i(key_i[KeyBits1-1:0]),
      .result_valid_o(result_valid[1]), .result_hit_o(result_hit[1]), .result_id_o(unused_id[1]),
      .op_i(op), .op_valid_i(op_valid[1]), .op_ready_o(op_ready[1]), .op_commit_o(op_commit[1]),
      .op_done_o(op_done[1]), .op_status_o(op_status[1]), .ready_o(table_ready[1]), .used_o(unused_used[1])
    );
  end else begin : gen_lpm
    sl_lpm_table #(.KeyBits(KeyBits0), .Entries(Entries0)) u_table0 (
      .clk_i, .rst_i, .key_valid_i, .key_i(key_i[KeyBits0-1:0]),
      .result_valid_o(result_valid[0]), .result_hit_o(result_hit[0]), .result_id_o(unused_id[0]),
      .op_i(op), .op_valid_i(op_valid[0]), .op_ready_o(op_ready[0]), .op_commit_o(op_commit[0]),
      .op_done_o(op_done[0]), .op_status_o(op_status[0]), .ready_o(table_ready[0]), .used_o(unused_used[0])
    );
    sl_lpm_table #(.KeyBits(KeyBits1), .Entries(Entries1)) u_table1 (
      .clk_i, .rst_i, .key_valid_i, .key_i(key_i[KeyBits1-1:0]),
      .result_valid_o(result_valid[1]), .result_hit_o(result_hit[1]), .result_id_o(unused_id[1]),
      .op_i(op), .op_valid_i(op_valid[1]), .op_ready_o(op_ready[1]), .op_commit_o(op_commit[1]),
      .op_done_o(op_done[1]), .op_status_o(op_status[1]), .ready_o(table_ready[1]), .used_o(unused_used[1])
    );
  end

  logic unused_key;
  assign unused_key = &{1'b0, key_i, unused_fresh, unused_commit, unused_count, unused_used, unused_id};
endmodule
