// SPDX-License-Identifier: Apache-2.0
// Flow table, the table behind rte_flow: finds the highest-priority rule that matches a packet's whole key, and runs its actions on
// the record; see README.md. It admits packets itself: `eligible` of every record says whether the packet has a key; a packet
// without one (a parser fault, the inside of a tunnel, 802.2 SNAP) matches nothing. Only `out` can stall the stream.
module el_flow_table
  import sluice_pkg::*;
#(
  parameter int unsigned Groups         = 16,    // mask groups, 1 to 256
  parameter int unsigned GroupEntries   = 4096,  // slots per group, a multiple of 4, at least 8; times Groups at most 65536
  parameter int unsigned TernaryEntries = 256,   // rules of the TCAM, a multiple of 4, at least 8
  parameter int unsigned EditEntries    = 256,   // entries of the edit-data table, a power of two from 2 to 65536
  parameter bit          Push           = 1'b1   // 1: counters are pushed into host memory
) (
  input  logic               clk_i,
  input  logic               rst_i,                // synchronous, active high
  input  phv_record_t        in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  link_info_t         link_data_i,          // one word per record, in the same order
  input  logic               link_valid_i,
  output logic               link_ready_o,
  output phv_record_t        out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  input  register_request_t  reg_request_i,        // window: ofu_registers and flow_registers
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,
  input  logic [31:0]        tick_i,               // microseconds
  output rule_push_t         push_data_o,          // counters for host memory; never stalls packets
  output logic               push_valid_o,
  input  logic               push_ready_i
);
  localparam int unsigned Latency     = sl_flow_pkg::flow_latency(FLOW_KEY_BITS, Groups, GroupEntries, TernaryEntries);
  // Rules of both tables share one index, as in sl_ofu: the TCAM's start at a multiple of their power of two.
  localparam int unsigned Span1       = 2 ** $clog2(TernaryEntries);
  localparam int unsigned First1      = (Groups * GroupEntries + Span1 - 1) / Span1 * Span1;
  localparam int unsigned Rules       = First1 + TernaryEntries;
  localparam int unsigned RuleBits    = $clog2(Rules);
  localparam int unsigned PushLatency = 32;  // more than the steps of sl_rule_counters and sl_counter_push together
  localparam int unsigned FlowBits    = sl_flow_pkg::FENCE_FLOW_BITS;
  localparam int unsigned AddressBits = $clog2(FLOW_OPERANDS) + $clog2(FLOW_OPERAND_BITS / 32);

  logic                   ofu_ready, usable;
  phv_record_t            admitted, record;
  flow_key_t              key;
  logic                   lookup_valid, result_valid, result_hit, result_table;
  logic [31:0]            result_id;
  instruction_t           op;
  logic [1:0]             op_valid, op_ready, op_commit, op_done, table_ready;
  status_t [1:0]          op_status;
  logic [1:0][31:0]       table_used;
  logic                   ofu_request_valid, ofu_request_ready, ofu_response_valid;
  register_response_t     ofu_response;
  logic                   write_valid;
  logic [AddressBits-1:0] write_address;
  logic [31:0]            write_data, group_used;
  flow_registers_t        registers;
  flow_registers_values_t values;
  logic                   fence_ready, flow_valid, set_valid, set_to_host, fenced_hit, fenced_table, held, forced;
  logic                   unused_valid, hold;
  logic [31:0]            push_sweeps;
  sl_counter_pkg::counter_event_t counters;
  logic [31:0]            fenced_id;
  logic [63:0]            flow_time;
  logic [7:0][63:0]       fence_done;
  logic [FlowBits-1:0]    flow;
  logic [RuleBits-1:0]    set_rule;

  // A record and its link word enter together; the key is built from both.
  sl_flow_key u_key (.record_i(in_data_i), .link_i(link_data_i), .key_o(key), .usable_o(usable));

  always_comb begin
    admitted          = in_data_i;
    admitted.eligible = usable;
  end
  assign in_ready_o   = ofu_ready && link_valid_i;
  assign link_ready_o = ofu_ready && in_valid_i;

  sl_ofu #(
    .Kind(ELEMENT_FLOW_TABLE), .TableBit(TABLE_FLOW), .LookupLatency(Latency + sl_flow_pkg::FENCE_LATENCY),
    .Entries0(Groups * GroupEntries), .Entries1(TernaryEntries), .KeyBits0(FLOW_KEY_BITS), .KeyBits1(FLOW_KEY_BITS),
    .EditEntries(EditEntries)
  ) u_ofu (
    .clk_i, .rst_i, .in_data_i(admitted), .in_valid_i(in_valid_i && link_valid_i), .in_ready_o(ofu_ready),
    .out_data_o, .out_valid_o, .out_ready_i,
    .reg_request_i, .reg_request_valid_i(ofu_request_valid), .reg_request_ready_o(ofu_request_ready),
    .reg_response_o(ofu_response), .reg_response_valid_o(ofu_response_valid), .tick_i,
    .lookup_valid_o(lookup_valid), .lookup_record_o(record),
    .lookup_hit_i(fenced_hit), .lookup_table_i(fenced_table), .lookup_id_i(fenced_id),
    .op_o(op), .op_valid_o(op_valid), .op_ready_i(op_ready), .op_commit_i(op_commit), .op_done_i(op_done),
    .op_status_i(op_status), .table_ready_i(table_ready & {2{fence_ready}}), .table_used_i(table_used),
    .counters_o(counters), .hold_i(hold)
  );

  sl_flow_match #(.Groups(Groups), .GroupEntries(GroupEntries), .TernaryEntries(TernaryEntries)) u_match (
    .clk_i, .rst_i, .key_valid_i(lookup_valid && record.eligible[0]), .key_i(key),
    .result_valid_o(result_valid), .result_hit_o(result_hit), .result_table_o(result_table), .result_id_o(result_id),
    .write_valid_i(write_valid), .write_address_i(write_address), .write_data_i(write_data),
    .op_i(op), .op_valid_i(op_valid), .op_ready_o(op_ready), .op_commit_o(op_commit), .op_done_o(op_done),
    .op_status_o(op_status), .ready_o(table_ready), .used_o(table_used),
    .group_index_i(registers.group_index), .group_used_o(group_used)
  );

  always_comb begin
    values               = '0;
    values.groups        = Groups;
    values.group_entries = GroupEntries;
    values.group_used    = group_used;
    values.push_records  = Push ? Rules : 0;
    values.push_ternary  = First1;
    values.push_cycles   = Rules + PushLatency;
    values.push_sweeps   = push_sweeps;
  end

  sl_flow_registers #(.Groups(Groups), .Push(Push)) u_registers (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .ofu_request_valid_o(ofu_request_valid), .ofu_request_ready_i(ofu_request_ready),
    .ofu_response_i(ofu_response), .ofu_response_valid_i(ofu_response_valid),
    .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
    .values_i(values), .registers_o(registers), .fence_done_o(fence_done), .fence_held_i(held), .fence_forced_i(forced)
  );

  if (Push) begin : gen_push
    sl_counter_push #(.Entries(Rules)) u_push (
      .clk_i, .rst_i, .on_i(registers.push_control[0]), .period_i(registers.push_period), .event_i(counters), .hold_o(hold), .sweeps_o(push_sweeps),
      .push_data_o, .push_valid_o, .push_ready_i
    );
  end else begin : gen_no_push
    logic unused_push;
    assign hold         = 1'b0;
    assign push_sweeps  = '0;
    assign push_data_o  = '0;
    assign push_valid_o = 1'b0;
    assign unused_push  = &{1'b0, push_ready_i, counters};
  end

  // The order fence: every record passes it with its result, even without a key.
  function automatic logic is_to_host(action_set_t actions);
    is_to_host = 1'b0;
    for (int unsigned n = 0; n < ACTION_SLOTS; n++) begin
      if (actions.slots[n].opcode inside {ACTION_TO_HOST, ACTION_TO_CONTROLLER}) is_to_host = 1'b1;
      if (actions.slots[n].opcode == ACTION_OUTPUT && actions.slots[n].operand[7:0] == 8'(HOST_PORT)) is_to_host = 1'b1;
      if (actions.slots[n].opcode == ACTION_REPLICATE && actions.slots[n].operand[HOST_PORT]) is_to_host = 1'b1;
    end
  endfunction

  function automatic logic [RuleBits-1:0] rule_index(logic rule_table, logic [RuleBits-1:0] id);
    return id | (rule_table ? RuleBits'(First1) : '0);
  endfunction

  sl_delay #(.Width(FlowBits + 64), .Cycles(Latency)) u_flow (
    .clk_i, .rst_i, .valid_i(lookup_valid), .data_i({sl_flow_pkg::fence_flow(key), link_data_i.received}),
    .valid_o(flow_valid), .data_o({flow, flow_time})
  );
  sl_delay #(.Width(RuleBits + 1), .Cycles(Latency)) u_set (
    .clk_i, .rst_i, .valid_i(|op_commit), .data_i({rule_index(op.table_id[0], op.rule_id[RuleBits-1:0]), is_to_host(op.actions)}),
    .valid_o(set_valid), .data_o({set_rule, set_to_host})
  );
  sl_flow_fence #(.Rules(Rules)) u_fence (
    .clk_i, .rst_i, .ready_o(fence_ready), .on_i(registers.fence_control[0]), .bound_i(32'(registers.fence_bound)), .done_i(fence_done),
    .set_valid_i(set_valid), .set_rule_i(set_rule), .set_to_host_i(set_to_host),
    .valid_i(flow_valid), .hit_i(result_valid && result_hit), .rule_i(rule_index(result_table, result_id[RuleBits-1:0])),
    .flow_i(flow), .time_i(flow_time), .hit_o(fenced_hit), .held_o(held), .forced_o(forced)
  );
  sl_delay #(.Width(33), .Cycles(sl_flow_pkg::FENCE_LATENCY)) u_result (
    .clk_i, .rst_i, .valid_i(result_valid), .data_i({result_table, result_id}),
    .valid_o(unused_valid), .data_o({fenced_table, fenced_id})
  );

  logic unused;
  assign unused = &{1'b0, record, registers, unused_valid};
endmodule
