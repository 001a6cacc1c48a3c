// SPDX-License-Identifier: Apache-2.0
// The frame of a rule table element: everything except key selection and tables. A record goes to the tables and, on a hit, through
// the action units; one record per cycle. A record that is not eligible, or that enters while the OFU is disabled, passes
// unchanged. Rules change under full traffic: each lookup sees the old or the new rule as a whole, and none is delayed. Only one
// operation takes a cycle from the traffic: a read of counters that found no cycle without a hit in 32.
module sl_ofu
  import sluice_pkg::*;
#(
  parameter element_kind_t Kind          = ELEMENT_LPM,  // kind of the element
  parameter int unsigned   TableBit      = TABLE_LPM,    // its bit in record.hits, 0 to TABLE_MASK_BITS - 1
  parameter int unsigned   LookupLatency = 8,            // cycles from lookup_valid_o to lookup_hit_i, at least 2
  parameter int unsigned   Entries0      = 512,          // rules of table 0 (TABLE_IPV4), 2 to 262144
  parameter int unsigned   Entries1      = 512,          // rules of table 1 (TABLE_IPV6), 0 to 262144; 0: no table 1
  parameter int unsigned   KeyBits0      = 32,           // key bits of table 0
  parameter int unsigned   KeyBits1      = 128,          // key bits of table 1
  parameter int unsigned   EditEntries   = 256           // entries of the edit-data table, a power of two from 2 to 65536
) (
  input  logic               clk_i,
  input  logic               rst_i,  // synchronous, active high
  input  phv_record_t        in_data_i,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  output phv_record_t        out_data_o,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  input  register_request_t  reg_request_i,
  input  logic               reg_request_valid_i,
  output logic               reg_request_ready_o,
  output register_response_t reg_response_o,
  output logic               reg_response_valid_o,
  input  logic [31:0]        tick_i,              // microseconds
  output logic               lookup_valid_o,      // a record enters the tables
  output phv_record_t        lookup_record_o,
  input  logic               lookup_hit_i,        // LookupLatency cycles later
  input  logic               lookup_table_i,      // which table hit
  input  logic [31:0]        lookup_id_i,         // rule id, below its Entries
  output instruction_t       op_o,                // to both tables
  output logic [1:0]         op_valid_o,          // index: table_t
  input  logic [1:0]         op_ready_i,
  input  logic [1:0]         op_commit_i,
  input  logic [1:0]         op_done_i,
  input  status_t [1:0]      op_status_i,
  input  logic [1:0]         table_ready_i,       // 1 for a missing table
  input  logic [1:0][31:0]   table_used_i,
  output sl_counter_pkg::counter_event_t counters_o,  // of both tables, as in sl_rule_counters
  input  logic               hold_i = 1'b0        // on from 3 cycles after a fresh rule: no populate is answered, and none begins
);
  localparam int unsigned ReadCycles  = 3;  // of sl_action_ram
  localparam int unsigned Latency     = LookupLatency + ReadCycles + sl_action_pkg::ACTION_LATENCY;
  localparam int unsigned GateLatency = 2;  // of sl_pipe_gate's output FIFO
  localparam int unsigned CountCycles = 6;  // of sl_rule_counters, from a hit to its sum in the RAM
  localparam int unsigned EditBits    = $clog2(EditEntries);
  // Rules of both tables share one index: table 1 starts at the first multiple of its power of two after table 0, so that the index
  // needs no adder.
  localparam int unsigned EntriesMax  = Entries0 > Entries1 ? Entries0 : Entries1;
  localparam int unsigned IdBits      = $clog2(EntriesMax);
  localparam int unsigned Span1       = Entries1 == 0 ? 1 : 2 ** $clog2(Entries1);
  localparam int unsigned First1      = (Entries0 + Span1 - 1) / Span1 * Span1;
  localparam int unsigned Rules       = First1 + Entries1;
  localparam int unsigned RuleBits    = $clog2(Rules);

  function automatic logic [RuleBits-1:0] rule_index(logic rule_table, logic [IdBits-1:0] id);
    return RuleBits'(id) | (rule_table ? RuleBits'(First1) : '0);
  endfunction

  logic                      hold_q, gate_ready;
  ofu_registers_t            registers;
  logic                      pipe_valid;
  phv_record_t               pipe_record;
  logic                      fresh, commit, counters_ready, counter_valid, counter_done, counter_wait;
  rule_counters_t            counter_data;
  logic                      edit_valid;

  assign in_ready_o = gate_ready && !hold_q;

  sl_pipe_gate #(.InWidth(PHV_RECORD_BITS), .OutWidth(PHV_RECORD_BITS), .Latency(Latency)) u_gate (
    .clk_i, .rst_i, .in_data_i, .in_valid_i(in_valid_i && !hold_q), .in_ready_o(gate_ready),
    .stage_valid_o(lookup_valid_o), .stage_data_o(lookup_record_o),
    .stage_valid_i(pipe_valid), .stage_data_i(pipe_record), .out_data_o, .out_valid_o, .out_ready_i
  );

  // Records wait for their lookup, then for the actions of their rule.
  logic        entered_active, looked_up, looked_up_active, hit;
  logic [15:0] looked_up_length;
  phv_record_t waiting, waiting_hit;
  logic        waiting_valid;
  logic [ReadCycles:0] hit_q;

  assign entered_active = lookup_record_o.eligible[0] && registers.control[0];

  sl_delay #(.Width(17), .Cycles(LookupLatency)) u_lookup (
    .clk_i, .rst_i, .valid_i(lookup_valid_o), .data_i({entered_active, lookup_record_o.length}),
    .valid_o(looked_up), .data_o({looked_up_active, looked_up_length})
  );
  sl_delay #(.Width(PHV_RECORD_BITS), .Cycles(LookupLatency + ReadCycles)) u_record (
    .clk_i, .rst_i, .valid_i(lookup_valid_o), .data_i(lookup_record_o), .valid_o(waiting_valid), .data_o(waiting)
  );
  assign hit      = looked_up && looked_up_active && lookup_hit_i;
  assign hit_q[0] = hit;
  always_ff @(posedge clk_i) hit_q[ReadCycles:1] <= rst_i ? '0 : hit_q[ReadCycles-1:0];

  // The actions of a rule change when the first lookup that sees its new entry leaves the tables.
  localparam int unsigned CommitBits = RuleBits + ACTION_SET_BITS;
  logic                commit_late;
  logic [RuleBits-1:0] commit_rule, hit_rule, op_rule;
  action_set_t         commit_actions, actions;

  assign op_rule  = rule_index(op_o.table_id[0], op_o.rule_id[IdBits-1:0]);
  assign hit_rule = rule_index(lookup_table_i, lookup_id_i[IdBits-1:0]);

  sl_delay #(.Width(CommitBits), .Cycles(LookupLatency)) u_commit (
    .clk_i, .rst_i, .valid_i(commit), .data_i({op_rule, op_o.actions}),
    .valid_o(commit_late), .data_o({commit_rule, commit_actions})
  );
  sl_action_ram #(.Entries(Rules)) u_actions (
    .clk_i, .rst_i, .write_valid_i(commit_late), .write_index_i(commit_rule), .write_data_i(commit_actions),
    .read_valid_i(hit), .read_index_i(hit_rule), .read_data_o(actions)
  );

  always_comb begin
    waiting_hit = waiting;
    waiting_hit.hits[TableBit] = waiting.hits[TableBit] || hit_q[ReadCycles];
  end
  sl_action_pipe #(.EditEntries(EditEntries)) u_pipe (
    .clk_i, .rst_i, .valid_i(waiting_valid), .record_i(waiting_hit), .actions_i(actions), .execute_i(hit_q[ReadCycles]),
    .valid_o(pipe_valid), .record_o(pipe_record),
    .edit_valid_i(edit_valid), .edit_index_i(registers.edit_index[EditBits-1:0]), .edit_data_i(registers.edit_data)
  );

  sl_rule_counters #(.Entries(Rules)) u_counters (
    .clk_i, .rst_i, .ready_o(counters_ready), .tick_i, .hit_valid_i(hit), .hit_index_i(hit_rule), .hit_length_i(looked_up_length),
    .fresh_valid_i(fresh), .fresh_index_i(op_rule),
    .read_valid_i(counter_valid), .read_index_i(rule_index(registers.counter_index[30], registers.counter_index[IdBits-1:0])),
    .read_wait_o(counter_wait), .read_done_o(counter_done), .read_data_o(counter_data), .event_o(counters_o)
  );

  // A read of counters that waits too long gets one cycle without a new record.
  logic [4:0] patience_q;
  always_ff @(posedge clk_i) begin
    patience_q <= counter_wait ? patience_q + 5'd1 : '0;
    hold_q     <= counter_wait && patience_q == '1;
    if (rst_i) begin
      patience_q <= '0;
      hold_q     <= 1'b0;
    end
  end

  sl_rule_control #(
    .Kind(Kind), .Entries0(Entries0), .Entries1(Entries1), .KeyBits0(KeyBits0), .KeyBits1(KeyBits1),
    .Latency(Latency + GateLatency), .DrainCycles(LookupLatency + CountCycles), .EditEntries(EditEntries)
  ) u_control (
    .clk_i, .rst_i, .reg_request_i, .reg_request_valid_i, .reg_request_ready_o, .reg_response_o, .reg_response_valid_o,
    .registers_o(registers), .op_o, .op_valid_o, .op_ready_i, .op_commit_i, .op_done_i,
    .op_status0_i(op_status_i[0]), .op_status1_i(op_status_i[1]), .table_ready_i(table_ready_i & {2{counters_ready}}),
    .table_used0_i(table_used_i[0]), .table_used1_i(table_used_i[1]), .hold_i, .fresh_o(fresh), .commit_o(commit),
    .edit_valid_o(edit_valid), .counter_valid_o(counter_valid), .counter_done_i(counter_done), .counter_data_i(counter_data)
  );

  // Only the low bits of ids are used: tables return ids below their Entries.
  logic unused;
  assign unused = &{1'b0, lookup_id_i[31:IdBits], registers};
endmodule
