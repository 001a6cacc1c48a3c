// SPDX-License-Identifier: Apache-2.0
// The configuration FSM (AccelSDP Figure 15): takes instructions, checks them against the map of used rule ids, passes them to a
// table and answers each one in order. A failed instruction changes nothing. EINVAL: a table, rule id or kind out of range; EEXIST:
// populate of a used id; ENOENT: delete or update of an unused id; errors of the table are passed on. It waits while the response
// channel is full. At most 4 cycles from the end of a table's operation to the start of the next.
module sl_rule_fsm
  import sluice_pkg::*;
#(
  parameter int unsigned Entries0 = 512,  // rules of table 0, 1 to 262144
  parameter int unsigned Entries1 = 512,  // rules of table 1, 0 to 262144; 0: no table 1
  parameter int unsigned DrainCycles = 16 // cycles from a deletion until no lookup and no count of the rule is in flight
) (
  input  logic         clk_i,
  input  logic         rst_i,                // synchronous, active high: clears the map of used ids
  input  instruction_t instruction_data_i,   // channel of instructions
  input  logic         instruction_valid_i,
  output logic         instruction_ready_o,
  output response_t    response_data_o,      // channel of responses
  output logic         response_valid_o,
  input  logic         response_ready_i,
  output instruction_t op_o,                 // to both tables
  output logic [1:0]   op_valid_o,           // index: table
  input  logic [1:0]   op_ready_i,
  input  logic [1:0]   op_commit_i,
  input  logic [1:0]   op_done_i,
  input  status_t      op_status0_i,
  input  status_t      op_status1_i,
  input  logic [1:0]   table_ready_i,
  input  logic         hold_i = 1'b0,        // no populate begins
  output logic         fresh_o,              // pulse: the rule of op_o is about to be populated
  output logic         commit_o,             // pulse: the actions of op_o take effect for its rule from this cycle on
  output logic         ready_o               // reset is over
);
  localparam int unsigned Words0   = (Entries0 + 31) / 32;
  localparam int unsigned Words1   = (Entries1 + 31) / 32;
  localparam int unsigned WordsMax = Words0 > Words1 ? Words0 : Words1;
  localparam int unsigned WordBits = WordsMax > 1 ? $clog2(WordsMax) : 1;
  localparam int unsigned Words    = Entries1 == 0 ? 2 ** WordBits : 2 ** WordBits + Words1;
  localparam int unsigned MapBits  = $clog2(Words);
  localparam int unsigned DrainBits = $clog2(DrainCycles + 1);

  typedef enum logic [2:0] {StReset, StIdle, StWrite, StDelete, StUpdate, StInitialize, StClear} state_e;

  state_e               state_q;
  /* verilator lint_off UNUSEDSIGNAL */  // key, priority and actions are for the table
  instruction_t         head;
  /* verilator lint_on UNUSEDSIGNAL */
  logic                 head_table, in_range_q, bad, used, issue, refuse, finish, done;
  status_t              op_status, refusal;
  logic [15:0]          cycles_q;     // since the instruction was taken, saturating
  logic [1:0]           age_q;        // of the instruction in StIdle, up to 2
  logic [DrainBits-1:0] drain_q;
  logic [MapBits-1:0]   map_address, sweep_q;
  logic                 map_write, map_read, sweep_last;
  logic [31:0]          map_word, map_data;

  assign head       = instruction_data_i;
  assign head_table = head.table_id[0];
  assign op_o       = instruction_data_i;
  assign op_status  = head_table ? op_status1_i : op_status0_i;
  assign done       = op_done_i[head_table];

  // Whether the instruction may go to its table, valid from the third cycle on.
  always_comb begin
    bad = !(head.kind inside {INSTRUCTION_INITIALIZE, INSTRUCTION_POPULATE, INSTRUCTION_DELETE, INSTRUCTION_UPDATE}) ||
          !in_range_q;
    used = map_word[head.rule_id[4:0]];
    refusal = STATUS_OK;
    if (bad) refusal = STATUS_EINVAL;
    else if (head.kind == INSTRUCTION_POPULATE && used) refusal = STATUS_EEXIST;
    else if (head.kind inside {INSTRUCTION_DELETE, INSTRUCTION_UPDATE} && !used) refusal = STATUS_ENOENT;
    refuse = state_q == StIdle && age_q == 2'd2 && response_ready_i && refusal != STATUS_OK;
    issue  = state_q == StIdle && age_q == 2'd2 && response_ready_i && refusal == STATUS_OK &&
             (head.kind != INSTRUCTION_POPULATE || (drain_q == '0 && !hold_i));
    finish = refuse || (state_q == StClear && sweep_last) ||
             (done && (state_q inside {StWrite, StDelete, StUpdate} || (state_q == StInitialize && op_status != STATUS_OK)));
  end

  assign instruction_ready_o = finish;
  assign response_valid_o    = finish;
  assign response_data_o     = '{
    rule_id: head.rule_id, cycles: cycles_q,
    status: refuse ? refusal : state_q == StClear ? STATUS_OK : op_status, kind: head.kind
  };
  assign fresh_o  = issue && head.kind == INSTRUCTION_POPULATE;
  assign commit_o = op_commit_i[head_table] && state_q inside {StWrite, StUpdate};
  assign ready_o  = state_q != StReset;

  always_ff @(posedge clk_i) begin
    in_range_q <= head.table_id[7:1] == '0 && (head.kind == INSTRUCTION_INITIALIZE ?
                  !head_table || Entries1 != 0 : head.rule_id < (head_table ? Entries1 : Entries0));
    op_valid_o <= op_valid_o & ~op_ready_i;
    if (issue) op_valid_o[head_table] <= 1'b1;
    if (finish || !instruction_valid_i || state_q == StReset) begin
      age_q    <= '0;
      cycles_q <= '0;
    end else begin
      if (age_q != 2'd2) age_q <= age_q + 2'd1;
      if (cycles_q != '1) cycles_q <= cycles_q + 16'd1;
    end
    if (done && state_q inside {StDelete, StInitialize}) drain_q <= DrainBits'(DrainCycles);
    else if (drain_q != '0) drain_q <= drain_q - 1'b1;

    unique case (state_q)
      StReset: if (sweep_last && &table_ready_i) state_q <= StIdle;
      StIdle: if (issue) begin
        unique case (head.kind)
          INSTRUCTION_POPULATE: state_q <= StWrite;
          INSTRUCTION_DELETE:   state_q <= StDelete;
          INSTRUCTION_UPDATE:   state_q <= StUpdate;
          default:              state_q <= StInitialize;
        endcase
      end
      StInitialize: if (done) state_q <= op_status == STATUS_OK ? StClear : StIdle;
      StClear: if (sweep_last) state_q <= StIdle;
      default: if (done) state_q <= StIdle;
    endcase
    if (state_q inside {StReset, StClear}) begin
      if (!sweep_last) sweep_q <= sweep_q + 1'b1;
    end else begin
      sweep_q <= head_table ? MapBits'(2 ** WordBits) : '0;
    end
    if (rst_i) begin
      state_q    <= StReset;
      op_valid_o <= '0;
      drain_q    <= '0;
      sweep_q    <= '0;
    end
  end

  // The map of used rule ids, 32 per word; table 1 starts at a power of two.
  assign sweep_last = sweep_q == ((state_q == StClear && !head_table) ? MapBits'(Words0 - 1) : MapBits'(Words - 1));
  assign map_read   = state_q == StIdle && instruction_valid_i;

  always_comb begin
    map_address = MapBits'(head.rule_id[31:5]);
    if (head_table) map_address = MapBits'(2 ** WordBits) | MapBits'(head.rule_id[5 +: WordBits]);
    map_data    = map_word;
    map_data[head.rule_id[4:0]] = state_q == StWrite;
    map_write   = done && op_status == STATUS_OK && state_q inside {StWrite, StDelete};
    if (state_q inside {StReset, StClear}) begin
      map_address = sweep_q;
      map_data    = '0;
      map_write   = 1'b1;
    end
  end
  sl_ram_block #(.Width(32), .Depth(Words), .Latency(2)) u_map (
    .clk_i, .write_valid_i(map_write), .write_address_i(map_address), .write_data_i(map_data),
    .read_valid_i(map_read), .read_address_i(map_address), .read_data_o(map_word)
  );

  logic unused;
  assign unused = &{1'b0, op_commit_i};
endmodule
