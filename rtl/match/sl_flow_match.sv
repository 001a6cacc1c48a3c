// SPDX-License-Identifier: Apache-2.0
// The match half of the flow table: mask groups in hashed memory (sl_mask_groups) and a TCAM (sl_ternary_table) in parallel. The
// highest priority of both wins; at equal priority the groups win. One lookup per cycle, never stalls, sl_flow_pkg::flow_latency
// cycles. Operations as in the two tables; their value and mask come from the operand (sl_flow_operands) that op_i.value
// (flow_target_t) names and that was written before. One operation at a time.
module sl_flow_match
  import sluice_pkg::*;
#(
  parameter int unsigned Groups         = 16,    // 1 to 256
  parameter int unsigned GroupEntries   = 4096,  // slots per group; a multiple of 4, at least 8
  parameter int unsigned TernaryEntries = 256,   // rules of the TCAM; a multiple of 4, at least 8
  localparam int unsigned AddressBits = $clog2(FLOW_OPERANDS) + $clog2(FLOW_OPERAND_BITS / 32)
) (
  input  logic                   clk_i,
  input  logic                   rst_i,            // synchronous, active high
  input  logic                   key_valid_i,
  input  flow_key_t              key_i,
  output logic                   result_valid_o,   // flow_latency() cycles after key_valid_i
  output logic                   result_hit_o,
  output logic                   result_table_o,   // TABLE_HASHED or TABLE_TERNARY
  output logic [31:0]            result_id_o,      // rule id in that table
  input  logic                   write_valid_i,    // write one word of an operand
  input  logic [AddressBits-1:0] write_address_i,  // {operand, word}
  input  logic [31:0]            write_data_i,
  input  instruction_t           op_i,
  input  logic [1:0]             op_valid_i,       // index: table; at most one bit set
  output logic [1:0]             op_ready_o,
  output logic [1:0]             op_commit_o,
  output logic [1:0]             op_done_o,
  output status_t [1:0]          op_status_o,
  output logic [1:0]             ready_o,
  output logic [1:0][31:0]       used_o,
  input  logic [7:0]             group_index_i,
  output logic [31:0]            group_used_o      // rules in that group, one cycle later
);
  localparam int unsigned KeyBits        = FLOW_KEY_BITS;
  localparam int unsigned PriorityBits   = 16;
  localparam int unsigned GroupsLatency  = sl_flow_pkg::groups_latency(KeyBits, Groups, GroupEntries);
  localparam int unsigned TernaryLatency = sl_flow_pkg::ternary_latency(TernaryEntries);
  localparam int unsigned Latency        = sl_flow_pkg::flow_latency(KeyBits, Groups, GroupEntries, TernaryEntries) - 1;

  typedef struct packed {
    logic                    hit;
    logic [PriorityBits-1:0] rule_priority;
    logic [31:0]             id;
  } found_t;

  logic [1:0]         op_valid, op_ready, valid, late_valid;
  logic [KeyBits-1:0] value, mask;
  logic               mask_valid;
  logic [3:0]         mask_index;
  logic [31:0]        mask_word;
  found_t [1:0]       found, late;
  flow_target_t       target;

  assign target = flow_target_t'(op_i.value[FLOW_TARGET_BITS-1:0]);

  sl_flow_operands #(.KeyBits(KeyBits)) u_operands (
    .clk_i, .rst_i, .write_valid_i, .write_address_i, .write_data_i, .operand_i(target.operand[$clog2(FLOW_OPERANDS)-1:0]),
    .op_valid_i, .op_valid_o(op_valid), .op_ready_i(op_ready), .op_ready_o, .value_o(value), .mask_o(mask),
    .mask_valid_o(mask_valid), .mask_index_o(mask_index), .mask_word_o(mask_word)
  );

  sl_mask_groups #(.KeyBits(KeyBits), .Groups(Groups), .GroupEntries(GroupEntries), .PriorityBits(PriorityBits)) u_groups (
    .clk_i, .rst_i, .key_valid_i, .key_i, .result_valid_o(valid[0]), .result_hit_o(found[0].hit),
    .result_priority_o(found[0].rule_priority), .result_id_o(found[0].id),
    .op_i, .op_value_i(value), .op_mask_i(mask), .op_mask_valid_i(mask_valid && op_valid_i[0]), .op_mask_index_i(mask_index),
    .op_mask_word_i(mask_word), .op_valid_i(op_valid[0]), .op_ready_o(op_ready[0]), .op_commit_o(op_commit_o[0]),
    .op_done_o(op_done_o[0]), .op_status_o(op_status_o[0]), .ready_o(ready_o[0]), .used_o(used_o[0]),
    .group_index_i, .group_used_o
  );

  sl_ternary_table #(.KeyBits(KeyBits), .Entries(TernaryEntries), .PriorityBits(PriorityBits)) u_ternary (
    .clk_i, .rst_i, .key_valid_i, .key_i, .result_valid_o(valid[1]), .result_hit_o(found[1].hit),
    .result_priority_o(found[1].rule_priority), .result_id_o(found[1].id),
    .op_i, .op_value_i(value), .op_mask_i(mask), .op_valid_i(op_valid[1]), .op_ready_o(op_ready[1]),
    .op_commit_o(op_commit_o[1]), .op_done_o(op_done_o[1]), .op_status_o(op_status_o[1]), .ready_o(ready_o[1]),
    .used_o(used_o[1])
  );

  sl_delay #(.Width($bits(found_t)), .Cycles(Latency - GroupsLatency)) u_late_groups (
    .clk_i, .rst_i, .valid_i(valid[0]), .data_i(found[0]), .valid_o(late_valid[0]), .data_o(late[0])
  );
  sl_delay #(.Width($bits(found_t)), .Cycles(Latency - TernaryLatency)) u_late_ternary (
    .clk_i, .rst_i, .valid_i(valid[1]), .data_i(found[1]), .valid_o(late_valid[1]), .data_o(late[1])
  );

  logic ternary;
  assign ternary = late[1].hit && (!late[0].hit || late[1].rule_priority > late[0].rule_priority);

  always_ff @(posedge clk_i) begin
    result_valid_o <= late_valid[0] && !rst_i;
    if (late_valid[0]) begin
      result_hit_o   <= late[0].hit || late[1].hit;
      result_table_o <= ternary;
      result_id_o    <= late[ternary].id;
    end
  end

  logic unused;
  assign unused = &{1'b0, target, late_valid[1]};
endmodule
