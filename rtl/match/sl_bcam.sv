// SPDX-License-Identifier: Apache-2.0
// Exact match for small tables: a binary CAM in transposed LUT RAM (AccelSDP 4.3.2). The key is cut into chunks; each has
// a small RAM whose word, addressed by the chunk, says for every entry whether it has that chunk; the AND of all words is
// the entry that matches. The chunks are concatenated as the paper concatenates a BCAM for each field. Entry n is rule n.
// A write takes 2 cycles, as in the paper: the words of the key are read (is it there already?), then written with one
// bit more or less. An entry counts only with its valid bit, so it appears and vanishes in one cycle; no lookup is
// stalled. Any content of up to Entries rules fits. EEXIST, ENOENT, EINVAL, INITIALIZE: as in sl_hash_table; ENOSPC does not occur.
module sl_bcam #(
  parameter int unsigned KeyBits   = 104,  // 1 to 320
  parameter int unsigned Entries   = 64,   // rules and rule ids, 2 or more; beyond 256 sl_hash_table is smaller
  parameter int unsigned ChunkBits = 5,    // key bits of a chunk: 5 or 6 suit xcup, 4 suits ECP5
  parameter int unsigned Group     = 4     // chunks that are ANDed in the first step
) (
  input  logic                     clk_i,
  input  logic                     rst_i,           // synchronous, active high
  input  logic                     key_valid_i,     // a lookup
  input  logic [KeyBits-1:0]       key_i,
  output logic                     result_valid_o,  // sl_match_pkg::bcam_latency cycles later
  output logic                     result_hit_o,
  output logic [31:0]              result_id_o,     // rule id; 0 where there is no hit
  input  sluice_pkg::instruction_t op_i,
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,     // keys from this cycle on see the new state
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,     // with op_done_o
  output logic                     ready_o,         // memories are clear; before, every lookup misses
  output logic [31:0]              used_o           // rules in the table
);
  import sluice_pkg::*;
  localparam int unsigned Chunks = (KeyBits + ChunkBits - 1) / ChunkBits;
  localparam int unsigned Padded = Chunks * ChunkBits;
  localparam int unsigned Groups = (Chunks + Group - 1) / Group;
  localparam int unsigned IdBits = $clog2(Entries);

  typedef enum logic [2:0] {SWEEP, IDLE, READ, FIND, DECIDE, SET, CLEAR, DONE} state_t;

  state_t                         state_q;
  instruction_kind_t              kind_q;
  logic                           valid_op_q;  // mask and rule id are legal
  logic [IdBits-1:0]              id_q;
  logic [Entries-1:0]             bit_q;       // of rule id_q
  logic [KeyBits-1:0]             key_q;       // of the operation; a delete: of its rule
  logic [KeyBits-1:0]             stored;      // key of rule id_q
  logic [Entries-1:0]             valid_q;     // rules in the table
  logic [ChunkBits-1:0]           sweep_q;
  logic                           present_q, same_q, answer_q;
  logic [Groups-1:0][Entries-1:0] look_group_q, find_group_q;
  logic [Entries-1:0]             look_match_q, find_match_q;
  logic [2:0]                     look_valid_q;
  status_t                        status_q;

  assign op_ready_o  = state_q == IDLE;
  assign op_status_o = status_q;

  sl_ram_lut #(.Width(KeyBits), .Depth(Entries)) u_keys (
    .clk_i, .write_valid_i(state_q == SET), .write_address_i(id_q), .write_data_i(key_q),
    .read_address_i(id_q), .read_data_o(stored)
  );

  // The transposed memories: one copy is read by lookups, one by operations.
  logic                           write;
  logic [Padded-1:0]              look_key, work_key;
  logic [Chunks-1:0][Entries-1:0] look_word, work_word, new_word;
  assign look_key = Padded'(key_i);
  assign work_key = state_q == SWEEP ? {Chunks{sweep_q}} : Padded'(key_q);
  assign write    = state_q == SWEEP || state_q == SET || state_q == CLEAR;

  for (genvar chunk = 0; chunk < Chunks; chunk++) begin : gen_chunk
    localparam int unsigned Low = chunk * ChunkBits;
    assign new_word[chunk] = state_q == SWEEP ? '0 : state_q == SET ? work_word[chunk] | bit_q
                                                                    : work_word[chunk] & ~bit_q;
    sl_ram_lut #(.Width(Entries), .Depth(2 ** ChunkBits)) u_look (
      .clk_i, .write_valid_i(write), .write_address_i(work_key[Low+:ChunkBits]), .write_data_i(new_word[chunk]),
      .read_address_i(look_key[Low+:ChunkBits]), .read_data_o(look_word[chunk])
    );
    sl_ram_lut #(.Width(Entries), .Depth(2 ** ChunkBits)) u_work (
      .clk_i, .write_valid_i(write), .write_address_i(work_key[Low+:ChunkBits]), .write_data_i(new_word[chunk]),
      .read_address_i(work_key[Low+:ChunkBits]), .read_data_o(work_word[chunk])
    );
  end

  function automatic logic [Groups-1:0][Entries-1:0] and_groups(logic [Chunks-1:0][Entries-1:0] word);
    and_groups = '1;
    for (int unsigned chunk = 0; chunk < Chunks; chunk++) and_groups[chunk/Group] &= word[chunk];
  endfunction

  function automatic logic [Entries-1:0] and_all(logic [Groups-1:0][Entries-1:0] group, logic [Entries-1:0] start);
    and_all = start;
    for (int unsigned number = 0; number < Groups; number++) and_all &= group[number];
  endfunction

  function automatic logic [31:0] encode(logic [Entries-1:0] match);
    encode = '0;
    for (int unsigned entry = 0; entry < Entries; entry++) begin
      if (match[entry]) encode |= entry;
    end
  endfunction

  always_ff @(posedge clk_i) begin
    look_valid_q <= {look_valid_q[1:0], key_valid_i};
    if (key_valid_i) look_group_q <= and_groups(look_word);
    if (look_valid_q[0]) look_match_q <= and_all(look_group_q, valid_q);
    if (look_valid_q[1]) begin
      result_hit_o <= |look_match_q;
      result_id_o  <= encode(look_match_q);
    end
    if (rst_i) look_valid_q <= '0;
  end
  assign result_valid_o = look_valid_q[2];

  always_ff @(posedge clk_i) begin
    op_commit_o <= 1'b0;
    op_done_o   <= 1'b0;
    unique case (state_q)
      SWEEP: begin
        valid_q <= '0;
        used_o  <= '0;
        sweep_q <= sweep_q + 1'b1;
        if (&sweep_q) state_q <= DONE;
      end
      IDLE: begin
        if (op_valid_i) begin
          kind_q     <= op_i.kind;
          id_q       <= op_i.rule_id[IdBits-1:0];
          key_q      <= op_i.value[KeyBits-1:0];
          valid_op_q <= op_i.rule_id < Entries && (op_i.kind == INSTRUCTION_DELETE || &op_i.mask[KeyBits-1:0]);
          answer_q   <= 1'b1;
          state_q    <= READ;
          for (int unsigned entry = 0; entry < Entries; entry++) bit_q[entry] <= op_i.rule_id == entry;
        end
      end
      READ: begin
        find_group_q <= and_groups(work_word);
        present_q    <= |(valid_q & bit_q);
        same_q       <= stored == key_q;
        status_q     <= STATUS_OK;
        state_q      <= FIND;
        if (kind_q == INSTRUCTION_DELETE) key_q <= stored;
      end
      FIND: begin
        find_match_q <= and_all(find_group_q, valid_q);
        state_q      <= DECIDE;
      end
      DECIDE: begin
        state_q <= DONE;
        if (kind_q == INSTRUCTION_INITIALIZE) begin
          op_commit_o <= 1'b1;
          ready_o     <= 1'b0;
          sweep_q     <= '0;
          state_q     <= SWEEP;
        end else if (!valid_op_q || !(kind_q inside {INSTRUCTION_POPULATE, INSTRUCTION_DELETE, INSTRUCTION_UPDATE})) begin
          status_q <= STATUS_EINVAL;
        end else if (kind_q == INSTRUCTION_POPULATE) begin
          if (present_q || |find_match_q) status_q <= STATUS_EEXIST;
          else state_q <= SET;
        end else if (!present_q) begin
          status_q <= STATUS_ENOENT;
        end else if (kind_q == INSTRUCTION_UPDATE) begin
          if (!same_q) status_q <= STATUS_EINVAL;
          else op_commit_o <= 1'b1;
        end else begin
          op_commit_o <= 1'b1;
          state_q     <= CLEAR;
        end
      end
      SET: begin  // the words are there before the entry counts
        op_commit_o <= 1'b1;
        used_o      <= used_o + 1'b1;
        state_q     <= DONE;
      end
      CLEAR: begin  // beside the commit: a key of this cycle no longer sees the entry, an earlier one has read its words
        valid_q <= valid_q & ~bit_q;
        used_o  <= used_o - 1'b1;
        state_q <= DONE;
      end
      default: begin  // DONE
        // The commit pulse stands now; the lookup of this cycle is masked with these bits in the next.
        if (kind_q == INSTRUCTION_POPULATE && status_q == STATUS_OK && answer_q) valid_q <= valid_q | bit_q;
        op_done_o <= answer_q;
        ready_o   <= 1'b1;
        state_q   <= IDLE;
      end
    endcase
    if (rst_i) begin
      state_q     <= SWEEP;
      sweep_q     <= '0;
      valid_q     <= '0;
      used_o      <= '0;
      ready_o     <= 1'b0;
      answer_q    <= 1'b0;
      op_commit_o <= 1'b0;
      op_done_o   <= 1'b0;
    end
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, op_i};
endmodule
