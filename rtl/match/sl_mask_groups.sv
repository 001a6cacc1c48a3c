// SPDX-License-Identifier: Apache-2.0
// Ternary rules grouped by mask, in block RAM (the idea of elements/hashtcam): each group has a mask and a cuckoo hash table of
// masked keys. Every group looks up every key; the hit with the highest priority wins, the lowest group at equal priority. One
// lookup per cycle, never stalls, sl_flow_pkg::groups_latency cycles. All groups share one rule id space; operations run
// concurrently with lookups, each takes effect for all keys that enter with `op_commit_o` or later, and for none before.
// `op_i.value` is a flow_target_t. POPULATE puts the rule into the group it names; an empty group takes the rule's mask. UPDATE
// changes the priority. EINVAL: a mask other than the group's, an invalid group, rule id or priority, or an UPDATE whose group, key
// or mask differ from the rule's. EEXIST: the rule id, or the key in this group, is already there. ENOSPC: no path to a free slot
// was found; from 90 % of GroupEntries on. ENOENT: no such rule. INITIALIZE empties every group in GroupEntries / Ways cycles and
// makes the low 64 bits of its value part of the hash seed.
module sl_mask_groups #(
  parameter int unsigned KeyBits      = 496,
  parameter int unsigned Groups       = 16,    // 1 to 256
  parameter int unsigned GroupEntries = 4096,  // slots per group; a multiple of Ways, at least twice Ways
  parameter int unsigned Ways         = 4,     // 2 to 8
  parameter int unsigned PriorityBits = 16,    // 1 to 16; with the bits of a rule id at most 32
  parameter int unsigned MaxNodes     = 512,   // slots that a search for a free slot expands; a power of two
  localparam int unsigned MaskBits = $clog2((KeyBits + 31) / 32)
) (
  input  logic                     clk_i,
  input  logic                     rst_i,              // synchronous, active high
  input  logic                     key_valid_i,
  input  logic [KeyBits-1:0]       key_i,
  output logic                     result_valid_o,     // groups_latency() cycles after key_valid_i
  output logic                     result_hit_o,
  output logic [PriorityBits-1:0]  result_priority_o,  // on a hit
  output logic [31:0]              result_id_o,
  input  sluice_pkg::instruction_t op_i,
  input  logic [KeyBits-1:0]       op_value_i,         // stable with op_i until op_done_o
  input  logic [KeyBits-1:0]       op_mask_i,
  input  logic                     op_mask_valid_i,    // the words of the mask, in order, before op_valid_i, with op_i
  input  logic [MaskBits-1:0]      op_mask_index_i,
  input  logic [31:0]              op_mask_word_i,
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,
  output logic                     ready_o,
  output logic [31:0]              used_o,
  input  logic [7:0]               group_index_i,
  output logic [31:0]              group_used_o        // rules in that group, one cycle later
);
  import sluice_pkg::*;
  localparam int unsigned Slots       = GroupEntries / Ways;
  localparam int unsigned IndexBits   = $clog2(Slots);
  localparam int unsigned RuleBits    = $clog2(Groups * GroupEntries);
  localparam int unsigned PayloadBits = PriorityBits + RuleBits;
  localparam int unsigned WordBits    = 1 + PayloadBits + KeyBits;
  localparam int unsigned GroupBits   = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned CountBits   = $clog2(GroupEntries + 1);
  localparam int unsigned EnterCycles = 2;  // from a key's entry to its lookup: the key, its mask
  localparam int unsigned MaskWords   = (KeyBits + 31) / 32;
  localparam int unsigned Levels      = $clog2(Groups);

  if (Slots * Ways != GroupEntries || Slots < 2 || PayloadBits > 32 || Groups > 256) begin : gen_bad_parameters
    $error("sl_mask_groups: GroupEntries a multiple of Ways, twice it or more; priority and rule id 32 bits; 256 groups");
  end

  typedef struct packed {
    logic                    hit;
    logic [PriorityBits-1:0] rule_priority;
    logic [RuleBits-1:0]     id;
  } found_t;

  logic [63:0]                                seed;
  logic [Groups-1:0]                          first, select;
  logic [Groups-1:0][CountBits-1:0]           group_used;
  logic [Groups-1:0][Ways-1:0]                write;
  logic [Ways-1:0][IndexBits-1:0]             index;
  logic [WordBits-1:0]                        word;
  logic [Groups-1:0][Ways-1:0][WordBits-1:0]  control_words;
  logic [Ways-1:0][WordBits-1:0]              control_word;
  logic [1:0]                                 key_valid_q, live_q;
  logic [KeyBits-1:0]                         key_q;
  logic [Groups-1:0]                          found_valid;
  found_t [Groups-1:0]                        found;

  always_ff @(posedge clk_i) begin
    key_valid_q <= {key_valid_q[0], key_valid_i};
    live_q      <= {live_q[0], ready_o};
    if (key_valid_i) key_q <= key_i;
    if (rst_i) key_valid_q <= '0;
  end

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    logic [KeyBits-1:0]             mask_q, masked_q;
    logic                           read_valid;
    logic [Ways-1:0][IndexBits-1:0] read_index;
    logic [Ways-1:0][WordBits-1:0]  read_word;
    logic [31:0]                    payload;

    always_ff @(posedge clk_i) begin
      if (first[g]) mask_q <= op_mask_i;
      if (key_valid_q[0]) masked_q <= key_q & mask_q;
    end

    for (genvar way = 0; way < Ways; way++) begin : gen_way
      sl_hash_ram #(.Width(WordBits), .Depth(Slots)) u_ram (
        .clk_i,
        .a_valid_i(read_valid), .a_address_i(read_index[way]), .a_data_o(read_word[way]),
        .b_write_i(write[g][way]), .b_address_i(index[way]), .b_data_i(word), .b_data_o(control_words[g][way])
      );
    end

    sl_hash_lookup #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways), .IdBits(PayloadBits)) u_lookup (
      .clk_i, .rst_i, .seed_i(seed), .live_i(live_q[1]), .key_valid_i(key_valid_q[1]), .key_i(masked_q),
      .read_valid_o(read_valid), .read_index_o(read_index), .read_word_i(read_word),
      .write_i(write[g]), .write_index_i(index), .write_word_i(word),
      .result_valid_o(found_valid[g]), .result_hit_o(found[g].hit), .result_id_o(payload)
    );
    assign {found[g].rule_priority, found[g].id} = payload[PayloadBits-1:0];
    if (PayloadBits < 32) begin : gen_unused
      logic unused;
      assign unused = &{1'b0, payload[31:PayloadBits]};
    end
  end

  always_comb begin
    control_word = '0;
    for (int unsigned g = 0; g < Groups; g++) control_word |= control_words[g] & {Ways * WordBits{select[g]}};
  end

  flow_target_t         target;
  logic [GroupBits-1:0] op_group;
  logic                 group_known;
  assign target      = flow_target_t'(op_i.value[FLOW_TARGET_BITS-1:0]);
  assign op_group    = target.group[GroupBits-1:0];
  assign group_known = 32'(target.group) < Groups;

  // A second copy of the group masks, to compare with an operation's mask as its words arrive. The mask of an empty group is
  // overwritten: nothing reads it until the group has a rule.
  localparam logic [31:0] LastWord = KeyBits % 32 == 0 ? '1 : 32'((64'd1 << (KeyBits % 32)) - 64'd1);
  logic [31:0]         mask_word, mask_known, mask_word_q;
  logic [MaskBits-1:0] mask_index_q;
  logic                mask_valid_q, same_mask_q;
  assign mask_word = op_mask_word_i & (32'(op_mask_index_i) == MaskWords - 1 ? LastWord : '1);
  sl_ram_block #(.Width(32), .Depth(Groups * 2 ** MaskBits)) u_masks (
    .clk_i,
    .write_valid_i(op_mask_valid_i && group_known && op_i.kind == INSTRUCTION_POPULATE && group_used[op_group] == '0),
    .write_address_i({op_group, op_mask_index_i}), .write_data_i(mask_word),
    .read_valid_i(op_mask_valid_i && group_known), .read_address_i({op_group, op_mask_index_i}), .read_data_o(mask_known)
  );
  always_ff @(posedge clk_i) begin
    mask_valid_q <= op_mask_valid_i;
    mask_word_q  <= mask_word;
    mask_index_q <= op_mask_index_i;
    if (mask_valid_q) same_mask_q <= (mask_index_q == '0 || same_mask_q) && mask_known == mask_word_q;
    group_used_o <= 32'(group_index_i) < Groups ? 32'(group_used[group_index_i[GroupBits-1:0]]) : '0;
  end

  sl_hash_control #(
    .KeyBits(KeyBits), .Groups(Groups), .Slots(Slots), .Ways(Ways), .PriorityBits(PriorityBits), .EnterCycles(EnterCycles),
    .MaxNodes(MaxNodes)
  ) u_control (
    .clk_i, .rst_i, .op_i, .op_key_i(op_value_i & op_mask_i), .op_group_i(op_group),
    .op_legal_i(group_known && 32'(op_i.rule_priority) < 2 ** PriorityBits), .op_same_mask_i(same_mask_q),
    .op_seed_i(64'(op_value_i)), .op_valid_i, .op_ready_o, .op_commit_o, .op_done_o, .op_status_o, .ready_o, .used_o,
    .group_used_o(group_used), .seed_o(seed), .first_o(first), .select_o(select), .write_o(write), .index_o(index),
    .word_o(word), .read_word_i(control_word)
  );

  // The best of each two, level by level.
  function automatic found_t better(found_t left, found_t right);
    return right.hit && (!left.hit || right.rule_priority > left.rule_priority) ? right : left;
  endfunction

  for (genvar l = 0; l <= Levels; l++) begin : gen_level
    localparam int unsigned Nodes = (Groups + 2 ** l - 1) / 2 ** l;
    logic               valid;
    found_t [Nodes-1:0] best;
    if (l == 0) begin : gen_leaves
      assign valid = found_valid[0];
      assign best  = found;
    end else begin : gen_nodes
      localparam int unsigned Children = (Groups + 2 ** (l - 1) - 1) / 2 ** (l - 1);
      always_ff @(posedge clk_i) begin
        valid <= gen_level[l-1].valid && !rst_i;
        if (gen_level[l-1].valid) begin
          for (int unsigned n = 0; n < Nodes; n++) begin
            best[n] <= 2 * n + 1 < Children ? better(gen_level[l-1].best[2*n], gen_level[l-1].best[(2*n+1) % Children])
                                            : gen_level[l-1].best[2*n];
          end
        end
      end
    end
  end
  assign result_valid_o    = gen_level[Levels].valid;
  assign result_hit_o      = gen_level[Levels].best[0].hit;
  assign result_priority_o = gen_level[Levels].best[0].rule_priority;
  assign result_id_o       = 32'(gen_level[Levels].best[0].id);

  logic unused_bits;
  assign unused_bits = &{1'b0, found_valid, op_i, target, group_index_i};
endmodule
