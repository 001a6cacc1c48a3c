// SPDX-License-Identifier: Apache-2.0
// Operations on a ternary table. Takes populate, delete, update and initialize operations one after the other, chooses the physical
// entry of each, has the match memories written, and switches the valid bits. Tracks the physical entry of each rule (block RAM)
// and the free entries (those never used, then a FIFO of freed ones; the next one is announced early so that its group is read
// before it is needed). An operation that fails changes nothing.
//
// A freed entry may be rewritten at once: the write reaches the memories after in-flight lookups have read them.
module sl_lpm_control #(
  parameter int unsigned KeyBits      = 32,   // up to sluice_pkg::KEY_BITS
  parameter int unsigned Entries      = 512,  // rules, and rule ids: 0 to Entries - 1; there is one more physical entry
  parameter int unsigned PriorityBits = 6,    // 1 to 16
  parameter bit          PrefixOnly   = 1'b1, // accept only masks that are a prefix
  localparam int unsigned RuleBits  = $clog2(Entries),
  localparam int unsigned IndexBits = $clog2(Entries + 1)
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  sluice_pkg::instruction_t op_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                     op_valid_i,
  output logic                     op_ready_o,
  output logic                     op_commit_o,
  output logic                     op_done_o,
  output sluice_pkg::status_t      op_status_o,
  output logic                     ready_o,
  output logic [31:0]              used_o,
  output logic                     target_valid_o,  // to the memories: the entry of the next write
  output logic [IndexBits-1:0]     target_index_o,
  output logic                     reload_o,
  output logic                     write_valid_o,   // pulse after write_ready_i, with value, mask and priority of op_i
  input  logic                     write_ready_i,   // may rise late after a write, but no later than written_i
  input  logic                     written_i,       // pulse, some cycles after a write
  output logic                     switch_o,        // = op_commit_o
  output logic                     set_valid_o,
  output logic [IndexBits-1:0]     set_index_o,
  output logic [RuleBits-1:0]      set_rule_o,      // the rule of set_index_o
  output logic                     clear_valid_o,
  output logic [IndexBits-1:0]     clear_index_o,
  output logic                     clear_all_o
);
  import sluice_pkg::*;

  typedef enum logic [2:0] {StClear, StPause, StIdle, StRead, StCheck, StDecide, StWrite} state_e;

  state_e               state_q;
  logic [RuleBits-1:0]  sweep_rule_q;    // rule map clearing
  logic                 initialize_q;    // the clearing is part of an operation
  logic                 found_q, bad_q, full_q;
  logic [IndexBits-1:0] old_q;
  logic [IndexBits:0]   fresh_q;         // entries below this were used since the last initialize
  logic                 populate, remove, update;
  logic                 take, fail, start, drop, initialize;

  assign populate   = op_i.kind == INSTRUCTION_POPULATE;
  assign remove     = op_i.kind == INSTRUCTION_DELETE;
  assign update     = op_i.kind == INSTRUCTION_UPDATE;

  // The decision comes from registers: the checks take one cycle, their consequences the next.
  logic    populate_q, remove_q, update_q, initialize_kind_q;
  logic    fail_q, write_q, start_q, drop_q, init_q;  // valid in StDecide
  status_t failure, failure_q;

  always_comb begin
    failure = STATUS_OK;
    if (bad_q) failure = STATUS_EINVAL;
    else if (populate_q && found_q) failure = STATUS_EEXIST;
    else if (populate_q && full_q) failure = STATUS_ENOSPC;
    else if ((remove_q || update_q) && !found_q) failure = STATUS_ENOENT;
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StRead) begin
      populate_q        <= populate;
      remove_q          <= remove;
      update_q          <= update;
      initialize_kind_q <= op_i.kind == INSTRUCTION_INITIALIZE;
    end
    if (state_q == StCheck) failure_q <= failure;
    fail_q  <= state_q == StCheck && failure != STATUS_OK;
    drop_q  <= state_q == StCheck && failure == STATUS_OK && remove_q;
    init_q  <= state_q == StCheck && failure == STATUS_OK && initialize_kind_q;
    write_q <= (state_q == StCheck && failure == STATUS_OK && (populate_q || update_q)) || (write_q && !write_ready_i);
    start_q <= write_q && write_ready_i;
    if (rst_i) begin
      write_q <= 1'b0;
      start_q <= 1'b0;
    end
  end
  assign fail          = fail_q;
  assign drop          = drop_q;
  assign initialize    = init_q;
  assign write_valid_o = start_q;
  assign start         = start_q;
  assign take          = fail || start || drop || initialize;
  assign op_ready_o    = take;

  // Rule map: {present, physical entry} of each rule.
  logic                 map_write_q, map_present_q;
  logic [RuleBits-1:0]  map_rule_q;
  logic [IndexBits-1:0] map_index_q;
  logic [IndexBits:0]   map;
  sl_ram_block #(.Width(IndexBits + 1), .Depth(Entries)) u_rule_map (
    .clk_i,
    .write_valid_i(map_write_q), .write_address_i(map_rule_q), .write_data_i({map_present_q, map_index_q}),
    .read_valid_i(state_q == StIdle && op_valid_i), .read_address_i(op_i.rule_id[RuleBits-1:0]), .read_data_o(map)
  );

  // Free entries: a FIFO of freed ones after the counter of never used ones; the head is in a register.
  logic [IndexBits-1:0] free_write_q, free_read_q, freed;
  logic [IndexBits:0]   free_count_q;
  logic                 free_any_q, fresh_done_q;  // whether entries are in the FIFO, and whether all were used: they decide at once
  logic                 free_fetch, free_fetch_q, is_freed, fresh_fetch;
  sl_ram_block #(.Width(IndexBits), .Depth(2 ** IndexBits)) u_free (
    .clk_i,
    .write_valid_i(is_freed), .write_address_i(free_write_q), .write_data_i(old_q),
    .read_valid_i(free_fetch), .read_address_i(free_read_q), .read_data_o(freed)
  );
  assign is_freed    = drop || (start && update_q);
  assign free_fetch  = !target_valid_o && !free_fetch_q && free_any_q && fresh_done_q;
  assign fresh_fetch = !target_valid_o && !free_fetch_q && !fresh_done_q;

  always_ff @(posedge clk_i) begin
    free_fetch_q <= free_fetch;
    reload_o     <= 1'b0;
    if (fresh_fetch) begin
      target_valid_o <= 1'b1;
      target_index_o <= IndexBits'(fresh_q);
      fresh_q        <= fresh_q + 1'b1;
      fresh_done_q   <= fresh_q == (IndexBits + 1)'(Entries);
    end
    if (free_fetch) free_read_q <= free_read_q + 1'b1;
    if (free_fetch_q) begin
      target_valid_o <= 1'b1;
      target_index_o <= freed;
    end
    if (start) target_valid_o <= 1'b0;
    if (is_freed) free_write_q <= free_write_q + 1'b1;
    free_any_q   <= is_freed || (free_any_q && !(free_fetch && free_count_q == (IndexBits + 1)'(1)));
    free_count_q <= free_count_q + (IndexBits + 1)'(is_freed) - (IndexBits + 1)'(free_fetch);
    if (rst_i || initialize) begin
      target_valid_o <= 1'b0;
      reload_o       <= 1'b1;
      free_fetch_q   <= 1'b0;
      free_read_q    <= '0;
      free_write_q   <= '0;
      free_count_q   <= '0;
      free_any_q     <= 1'b0;
      fresh_q        <= '0;
      fresh_done_q   <= 1'b0;
    end
  end

  // Checks of the operand, two register stages.
  localparam int unsigned Bytes = (KeyBits + 7) / 8;
  logic [Bytes-1:0] step_q;  // the mask has a 1 below a 0 here
  logic             rule_bad_q, priority_bad_q;

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && op_valid_i) begin
      rule_bad_q     <= op_i.rule_id >= 32'(Entries);
      priority_bad_q <= 32'(op_i.rule_priority) >= 2 ** PriorityBits;
      for (int b = 0; b < Bytes; b++) begin
        step_q[b] <= 1'b0;
        for (int i = 8 * b; i < 8 * b + 8 && i + 1 < KeyBits; i++) if (op_i.mask[i] && !op_i.mask[i+1]) step_q[b] <= 1'b1;
      end
    end
    if (state_q == StRead) begin
      full_q  <= used_o == 32'(Entries);
      found_q <= map[IndexBits];
      old_q   <= map[IndexBits-1:0];
      // An initialize has no operand; a delete has only a rule id.
      bad_q   <= op_i.kind != INSTRUCTION_INITIALIZE && (rule_bad_q || !(populate || remove || update) ||
                 (!remove && (priority_bad_q || (PrefixOnly && |step_q))));
    end
  end

  always_ff @(posedge clk_i) begin
    op_commit_o   <= 1'b0;
    op_done_o     <= 1'b0;
    map_write_q   <= 1'b0;
    map_present_q <= 1'b0;
    if (op_commit_o) clear_all_o <= 1'b0;
    unique case (state_q)
      StClear: begin
        map_write_q  <= 1'b1;
        map_rule_q   <= sweep_rule_q;
        sweep_rule_q <= sweep_rule_q + 1'b1;
        if (32'(sweep_rule_q) == Entries - 1) begin
          sweep_rule_q <= '0;
          ready_o      <= 1'b1;
          op_done_o    <= initialize_q;
          op_status_o  <= STATUS_OK;
          state_q      <= StPause;
        end
      end
      StPause: state_q <= StIdle;  // the rule map is being written
      StIdle: if (op_valid_i) state_q <= StRead;
      StRead: state_q <= StCheck;
      StCheck: state_q <= StDecide;
      StDecide: begin
        if (take) begin
          map_rule_q    <= op_i.rule_id[RuleBits-1:0];
          map_index_q   <= target_index_o;
          map_present_q <= start;
          map_write_q   <= start || drop;
          set_valid_o   <= start;
          set_index_o   <= target_index_o;
          set_rule_o    <= op_i.rule_id[RuleBits-1:0];
          clear_valid_o <= drop || (start && update_q);
          clear_index_o <= old_q;
          op_status_o   <= failure_q;
        end
        if (fail || drop) begin
          op_commit_o <= drop;
          op_done_o   <= 1'b1;
          state_q     <= StPause;
        end
        if (start) state_q <= StWrite;
        if (initialize) begin
          clear_all_o  <= 1'b1;
          op_commit_o  <= 1'b1;
          initialize_q <= 1'b1;
          state_q      <= StClear;
        end
        if (drop) used_o <= used_o - 1'b1;
        if (start && populate_q) used_o <= used_o + 1'b1;
        if (initialize) used_o <= '0;
      end
      StWrite: begin
        if (written_i) begin
          op_commit_o <= 1'b1;
          op_done_o   <= 1'b1;
          state_q     <= StIdle;
        end
      end
      default: state_q <= StIdle;
    endcase
    if (rst_i) begin
      state_q      <= StClear;
      sweep_rule_q <= '0;
      initialize_q <= 1'b0;
      ready_o      <= 1'b0;
      used_o       <= '0;
      op_commit_o  <= 1'b0;
      op_done_o    <= 1'b0;
      clear_all_o  <= 1'b0;
    end
  end

  assign switch_o = op_commit_o;
endmodule
