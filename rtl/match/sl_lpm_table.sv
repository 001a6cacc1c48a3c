// SPDX-License-Identifier: Apache-2.0
// A table of ternary rules with priorities, by default for longest prefix match: a TCAM, a priority encoder, and the map from the
// winning entry to the rule. One lookup per cycle, never stalls, sl_match_pkg::lpm_latency cycles. Operations run concurrently with
// lookups; each takes effect for all keys that enter with `op_commit_o` or later, and for none before. Cycles from one operation to
// the next: 25 for a populate or update, 5 for a delete (LUT RAM), at least 260 for a populate in block RAM; an initialize sweeps
// the rules.
//
// Errors (nothing changes): EINVAL rule id out of range, priority not below 2**PriorityBits, mask not a prefix (PrefixOnly),
// unknown kind; EEXIST populate of an existing rule; ENOENT delete or update of a missing rule; ENOSPC. If several rules with equal
// priority match a key, an arbitrary one wins, always the same until one of them is written.
module sl_lpm_table #(
  parameter int unsigned KeyBits        = 32,   // 4 to sluice_pkg::KEY_BITS
  parameter int unsigned Entries        = 512,  // rules, and rule ids; at least 4; a multiple of 4 is cheapest
  parameter int unsigned PriorityBits   = $clog2(KeyBits + 1),  // 1 to 16
  parameter bit          PrefixOnly     = 1'b1, // accept only masks that are a prefix
  parameter bit          BlockRam       = 1'b0, // match in block RAM: fewer LUTs, slower writes
  parameter int unsigned ChunkBits      = BlockRam ? 8 : 4,  // see sl_tcam
  parameter int unsigned GroupEntries   = BlockRam ? 8 : 4,
  parameter int unsigned BankEntries    = 64,
  parameter int unsigned LevelsPerStage = 1     // of the priority encoder
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  input  logic                     key_valid_i,
  input  logic [KeyBits-1:0]       key_i,
  output logic                     result_valid_o,  // lpm_latency() cycles after key_valid_i
  output logic                     result_hit_o,
  output logic [31:0]              result_id_o,     // rule id, on a hit
  input  sluice_pkg::instruction_t op_i,
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,
  output logic                     ready_o,
  output logic [31:0]              used_o
);
  localparam int unsigned Physical  = Entries + 1;
  localparam int unsigned IndexBits = $clog2(Physical);
  localparam int unsigned RuleBits  = $clog2(Entries);
  localparam int unsigned BankSize  = sl_match_pkg::tcam_bank(BlockRam, Physical, BankEntries);
  localparam int unsigned Banks     = (Physical + BankSize - 1) / BankSize;

  logic [Banks-1:0]        match_valid;
  logic                    winner_valid, winner_any;
  logic [Physical-1:0]     match;
  logic [IndexBits-1:0]    winner_index;
  logic                    target_valid, reload, write_valid, tcam_ready, priority_ready, both_ready_q;
  logic [IndexBits-1:0]    target_index, set_index, clear_index;
  logic [RuleBits-1:0]     set_rule, result_rule;
  logic                    tcam_written, priority_written, tcam_done_q, priority_done_q, written;
  logic                    switch_valid, set_valid, clear_valid, clear_all;

  sl_lpm_control #(
    .KeyBits(KeyBits), .Entries(Entries), .PriorityBits(PriorityBits), .PrefixOnly(PrefixOnly)
  ) u_control (
    .clk_i, .rst_i, .op_i, .op_valid_i, .op_ready_o, .op_commit_o, .op_done_o, .op_status_o, .ready_o, .used_o,
    .target_valid_o(target_valid), .target_index_o(target_index), .reload_o(reload),
    .write_valid_o(write_valid), .write_ready_i(both_ready_q), .written_i(written),
    .switch_o(switch_valid), .set_valid_o(set_valid), .set_index_o(set_index), .set_rule_o(set_rule),
    .clear_valid_o(clear_valid), .clear_index_o(clear_index), .clear_all_o(clear_all)
  );

  // A write goes to both memories at once, and is done when both have it. Ready is registered here because the memories are far
  // apart; both stay ready until a write, and the next write comes long after it.
  assign written = (tcam_written || tcam_done_q) && (priority_written || priority_done_q);
  always_ff @(posedge clk_i) begin
    both_ready_q    <= tcam_ready && priority_ready && !write_valid && !reload && !rst_i;
    tcam_done_q     <= (tcam_done_q || tcam_written) && !written && !rst_i;
    priority_done_q <= (priority_done_q || priority_written) && !written && !rst_i;
  end

  sl_tcam #(
    .KeyBits(KeyBits), .Entries(Physical), .BlockRam(BlockRam), .ChunkBits(ChunkBits), .GroupEntries(GroupEntries),
    .BankEntries(BankEntries)
  ) u_tcam (
    .clk_i, .rst_i, .key_valid_i, .key_i, .match_valid_o(match_valid), .match_o(match),
    .target_valid_i(target_valid), .target_index_i(target_index), .reload_i(reload),
    .write_valid_i(write_valid), .write_ready_o(tcam_ready),
    .write_value_i(op_i.value[KeyBits-1:0]), .write_mask_i(op_i.mask[KeyBits-1:0]), .written_o(tcam_written),
    .switch_i(switch_valid), .set_valid_i(set_valid), .set_index_i(set_index),
    .clear_valid_i(clear_valid), .clear_index_i(clear_index), .clear_all_i(clear_all)
  );

  sl_priority_encoder #(
    .Entries(Physical), .PriorityBits(PriorityBits), .LevelsPerStage(LevelsPerStage), .BankEntries(4 * ((BankSize + 3) / 4))
  ) u_priority (
    .clk_i, .rst_i, .match_valid_i(match_valid), .match_i(match),
    .winner_valid_o(winner_valid), .winner_any_o(winner_any), .winner_index_o(winner_index),
    .target_valid_i(target_valid), .target_index_i(target_index), .reload_i(reload),
    .write_valid_i(write_valid), .write_ready_o(priority_ready),
    .write_priority_i(op_i.rule_priority[PriorityBits-1:0]), .written_o(priority_written)
  );

  // The rule of each entry. Written at the commit: in-flight lookups that matched an earlier rule of this entry entered before that
  // rule was freed, at least a whole write ago, which is longer than the latency (checked below).
  sl_ram_block #(.Width(RuleBits), .Depth(Physical), .Latency(2)) u_rule (
    .clk_i,
    .write_valid_i(op_commit_o && set_valid), .write_address_i(set_index), .write_data_i(set_rule),
    .read_valid_i(winner_valid && winner_any), .read_address_i(winner_index), .read_data_o(result_rule)
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

  if (sl_match_pkg::lpm_latency(KeyBits, Entries, BlockRam, LevelsPerStage) > 2 ** ChunkBits + 8) begin : gen_too_deep
    $error("sl_lpm_table: a write is not longer than a lookup; a larger LevelsPerStage or fewer Entries");
  end
endmodule
