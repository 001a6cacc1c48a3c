// SPDX-License-Identifier: Apache-2.0
// Exact match in block RAM: a cuckoo hash table with one slot of each way per key, all read in one cycle. One lookup per cycle,
// never stalled by an operation. Inserts, with their moves, run in this module, concurrent with lookups; no present key is missed
// or answered wrongly meanwhile. With 4 ways it takes 90 % of Entries and commonly 96 %; a key with no path to a free slot is
// refused with ENOSPC, and nothing changes. EEXIST: the rule id or the key is already there. ENOENT: no such rule. EINVAL: rule id
// out of range, a mask that is not all ones, or an UPDATE whose value is not the key of the rule. INITIALIZE clears the table in
// Entries / Ways cycles (every lookup misses from its commit on) and makes the low 64 bits of its value part of the hash seed.
module sl_hash_table #(
  parameter int unsigned KeyBits  = 104,    // 3 to 320
  parameter int unsigned Entries  = 4096,   // slots and rule ids; at least twice Ways
  parameter int unsigned Ways     = 4,      // 2 to 8; Entries is a multiple of it
  parameter int unsigned MaxNodes = 512,    // slots that a search for a free slot expands; a power of two
  parameter logic [63:0] Seed     = 64'h243f6a8885a308d3  // of the hash, until an INITIALIZE replaces it
) (
  input  logic                     clk_i,
  input  logic                     rst_i,           // synchronous, active high
  input  logic                     key_valid_i,     // a lookup
  input  logic [KeyBits-1:0]       key_i,
  output logic                     result_valid_o,  // sl_match_pkg::hash_latency cycles later
  output logic                     result_hit_o,
  output logic [31:0]              result_id_o,     // rule id; 0 on a miss
  input  sluice_pkg::instruction_t op_i,
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,     // keys that enter from this cycle on see the new state
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,     // valid with op_done_o
  output logic                     ready_o,         // memories are clear; before that, every lookup misses
  output logic [31:0]              used_o           // rules in the table
);
  localparam int unsigned Slots     = Entries / Ways;
  localparam int unsigned IndexBits = $clog2(Slots);
  localparam int unsigned IdBits    = $clog2(Entries);
  localparam int unsigned WordBits  = 1 + IdBits + KeyBits;

  if (Slots * Ways != Entries || Slots < 2) begin : gen_bad_entries
    $error("Entries must be a multiple of Ways, and twice Ways or more");
  end

  logic                           read_valid;
  logic [Ways-1:0][IndexBits-1:0] read_index, index;
  logic [Ways-1:0][WordBits-1:0]  read_word, control_word;
  logic [Ways-1:0]                write;
  logic [WordBits-1:0]            word;
  logic [63:0]                    seed;
  logic [$clog2(Entries+1)-1:0]   unused_group_used;
  logic                           unused_first, unused_select;

  for (genvar way = 0; way < Ways; way++) begin : gen_way
    sl_hash_ram #(.Width(WordBits), .Depth(Slots)) u_ram (
      .clk_i,
      .a_valid_i(read_valid), .a_address_i(read_index[way]), .a_data_o(read_word[way]),
      .b_write_i(write[way]), .b_address_i(index[way]), .b_data_i(word), .b_data_o(control_word[way])
    );
  end

  sl_hash_lookup #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways), .IdBits(IdBits)) u_lookup (
    .clk_i, .rst_i, .seed_i(seed), .live_i(ready_o), .key_valid_i, .key_i,
    .read_valid_o(read_valid), .read_index_o(read_index), .read_word_i(read_word),
    .write_i(write), .write_index_i(index), .write_word_i(word),
    .result_valid_o, .result_hit_o, .result_id_o
  );

  sl_hash_control #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways), .MaxNodes(MaxNodes), .Seed(Seed)) u_control (
    .clk_i, .rst_i, .op_i, .op_key_i(op_i.value[KeyBits-1:0]), .op_group_i('0), .op_legal_i(&op_i.mask[KeyBits-1:0]),
    .op_same_mask_i(1'b1), .op_seed_i(64'(op_i.value[KeyBits-1:0])), .op_valid_i, .op_ready_o, .op_commit_o, .op_done_o,
    .op_status_o, .ready_o, .used_o, .group_used_o(unused_group_used), .seed_o(seed),
    .first_o(unused_first), .select_o(unused_select), .write_o(write), .index_o(index), .word_o(word),
    .read_word_i(control_word)
  );
endmodule
