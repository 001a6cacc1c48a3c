// SPDX-License-Identifier: Apache-2.0
// A table of ternary rules with priorities whose value and mask do not come in the instruction: `sl_lpm_table` for wide keys. A
// TCAM, a priority encoder, and the map from the winning entry to the rule and its priority. One lookup per cycle, never stalls,
// sl_flow_pkg::ternary_latency cycles. Operations run concurrently with lookups; each takes effect for all keys that enter with
// `op_commit_o` or later, and for none before. Errors as in sl_lpm_table. If several rules with equal priority match a key, an
// arbitrary one wins, always the same until one of them is written.
module sl_ternary_table #(
  parameter int unsigned KeyBits        = 496,
  parameter int unsigned Entries        = 256,  // rules, and rule ids; at least 8; a multiple of 4 is cheapest
  parameter int unsigned PriorityBits   = 16,   // 1 to 16
  parameter int unsigned ChunkBits      = 4,    // see sl_tcam
  parameter int unsigned LevelsPerStage = 1     // of the priority encoder
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  input  logic                     key_valid_i,
  input  logic [KeyBits-1:0]       key_i,
  output logic                     result_valid_o,     // ternary_latency() cycles after key_valid_i
  output logic                     result_hit_o,
  output logic [PriorityBits-1:0]  result_priority_o,  // on a hit
  output logic [31:0]              result_id_o,
  input  sluice_pkg::instruction_t op_i,               // its value and mask are ignored
  input  logic [KeyBits-1:0]       op_value_i,         // stable with op_i until op_done_o
  input  logic [KeyBits-1:0]       op_mask_i,          // 1: the bit must match
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,
  output logic                     ready_o,
  output logic [31:0]              used_o
);
  localparam int unsigned Physical    = Entries + 1;
  localparam int unsigned IndexBits   = $clog2(Physical);
  localparam int unsigned RuleBits    = $clog2(Entries);
  localparam int unsigned BankEntries = 64;
  localparam int unsigned Banks       = (Physical + BankEntries - 1) / BankEntries;

  // A key register: the key drives the whole table. So the entry switch is delayed by one cycle too.
  logic               key_valid_q;
  logic [KeyBits-1:0] key_q;
  always_ff @(posedge clk_i) begin
    key_valid_q <= key_valid_i && !rst_i;
    if (key_valid_i) key_q <= key_i;
  end

  logic [Banks-1:0]        match_valid;
  logic                    winner_valid, winner_any;
  logic [Physical-1:0]     match;
  logic [IndexBits-1:0]    winner_index;
  logic                    target_valid, reload, write_valid, tcam_ready, priority_ready, both_ready_q;
  logic [IndexBits-1:0]    target_index, set_index, clear_index, set_index_q, clear_index_q;
  logic [RuleBits-1:0]     set_rule;
  logic                    tcam_written, priority_written, tcam_done_q, priority_done_q, written;
  logic                    switch_valid, set_valid, clear_valid, clear_all;
  logic                    switch_q, set_valid_q, clear_valid_q, clear_all_q;

  sl_lpm_control #(.KeyBits(4), .Entries(Entries), .PriorityBits(PriorityBits), .PrefixOnly(1'b0)) u_control (
    .clk_i, .rst_i, .op_i, .op_valid_i, .op_ready_o, .op_commit_o, .op_done_o, .op_status_o, .ready_o, .used_o,
    .target_valid_o(target_valid), .target_index_o(target_index), .reload_o(reload),
    .write_valid_o(write_valid), .write_ready_i(both_ready_q), .written_i(written),
    .switch_o(switch_valid), .set_valid_o(set_valid), .set_index_o(set_index), .set_rule_o(set_rule),
    .clear_valid_o(clear_valid), .clear_index_o(clear_index), .clear_all_o(clear_all)
  );

  // A write goes to both memories at once, and is done when both have it (see sl_lpm_table).
  assign written = (tcam_written || tcam_done_q) && (priority_written || priority_done_q);
  always_ff @(posedge clk_i) begin
    both_ready_q    <= tcam_ready && priority_ready && !write_valid && !reload && !rst_i;
    tcam_done_q     <= (tcam_done_q || tcam_written) && !written && !rst_i;
    priority_done_q <= (priority_done_q || priority_written) && !written && !rst_i;
    switch_q        <= switch_valid && !rst_i;
    set_valid_q     <= set_valid;
    set_index_q     <= set_index;
    clear_valid_q   <= clear_valid;
    clear_index_q   <= clear_index;
    clear_all_q     <= clear_all;
  end

  sl_tcam #(.KeyBits(KeyBits), .Entries(Physical), .ChunkBits(ChunkBits), .BankEntries(BankEntries)) u_tcam (
    .clk_i, .rst_i, .key_valid_i(key_valid_q), .key_i(key_q), .match_valid_o(match_valid), .match_o(match),
    .target_valid_i(target_valid), .target_index_i(target_index), .reload_i(reload),
    .write_valid_i(write_valid), .write_ready_o(tcam_ready),
    .write_value_i(op_value_i), .write_mask_i(op_mask_i), .written_o(tcam_written),
    .switch_i(switch_q), .set_valid_i(set_valid_q), .set_index_i(set_index_q),
    .clear_valid_i(clear_valid_q), .clear_index_i(clear_index_q), .clear_all_i(clear_all_q)
  );

  sl_priority_encoder #(
    .Entries(Physical), .PriorityBits(PriorityBits), .LevelsPerStage(LevelsPerStage), .BankEntries(BankEntries)
  ) u_priority (
    .clk_i, .rst_i, .match_valid_i(match_valid), .match_i(match),
    .winner_valid_o(winner_valid), .winner_any_o(winner_any), .winner_index_o(winner_index),
    .target_valid_i(target_valid), .target_index_i(target_index), .reload_i(reload),
    .write_valid_i(write_valid), .write_ready_o(priority_ready),
    .write_priority_i(op_i.rule_priority[PriorityBits-1:0]), .written_o(priority_written)
  );

  // The rule and priority of each entry. Written at the commit: in-flight lookups that matched an earlier rule of this entry
  // entered before that rule was freed, at least a whole write ago, which is longer than the latency (checked below).
  logic [RuleBits-1:0] result_rule;
  sl_ram_block #(.Width(PriorityBits + RuleBits), .Depth(Physical), .Latency(2)) u_rule (
    .clk_i,
    .write_valid_i(op_commit_o && set_valid), .write_address_i(set_index),
    .write_data_i({op_i.rule_priority[PriorityBits-1:0], set_rule}),
    .read_valid_i(winner_valid && winner_any), .read_address_i(winner_index),
    .read_data_o({result_priority_o, result_rule})
  );

  logic [1:0] result_valid_q, result_hit_q;
  always_ff @(posedge clk_i) begin
    result_valid_q <= {result_valid_q[0], winner_valid};
    result_hit_q   <= {result_hit_q[0], winner_any};
    if (rst_i) result_valid_q <= '0;
  end
  assign result_valid_o = result_valid_q[1];
  assign result_hit_o   = result_hit_q[1];
  assign result_id_o    = 32'(result_rule);

  if (sl_flow_pkg::ternary_latency(Entries, LevelsPerStage) > 2 ** ChunkBits + 8) begin : gen_too_deep
    $error("sl_ternary_table: a write is not longer than a lookup; a larger LevelsPerStage or fewer Entries");
  end
endmodule
