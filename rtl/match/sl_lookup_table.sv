// SPDX-License-Identifier: Apache-2.0
// A table of rules with values, as in the element language (docs/design/compiler.md, "Tables"): a match table, the values of its
// rules, and updates that identify a rule by its key, its prefix, or its priority. One lookup per cycle, never stalls; the answer
// comes sl_lookup_pkg::lookup_latency cycles later.
//
// An update searches the rules, one per cycle, concurrent with lookups. Then `want_o` rises and the update waits for `go_i`. Keys
// that enter after the cycle of `take_o` see it, earlier ones do not, and in that cycle no key may enter. Its answer is an errno:
// STATUS_OK, STATUS_EINVAL (prefix longer than the key), STATUS_ENOENT (no such rule to remove), STATUS_ENOSPC (Entries rules are
// there already; or the hash table finds no slot, which random keys do not cause). A rule that is already there is replaced.
module sl_lookup_table #(
  parameter int unsigned Kind      = 0,    // of sl_lookup_pkg: EXACT, LPM, TERNARY
  parameter int unsigned KeyBits   = 32,   // 1 to sluice_pkg::KEY_BITS
  parameter int unsigned ValueBits = 32,   // at least 1
  parameter int unsigned Entries   = 512,  // rules, at least 1
  parameter int unsigned Latency   = sl_lookup_pkg::lookup_latency(Kind, KeyBits, Entries)  // the latency that its user assumes
) (
  input  logic                 clk_i,
  input  logic                 rst_i,            // synchronous, active high
  output logic                 ready_o,          // the table is cleared; no key may enter before
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  output logic                 result_valid_o,   // Latency cycles after key_valid_i
  output logic [ValueBits:0]   result_o,         // {hit, value}; 0 on a miss
  input  logic                 update_valid_i,   // stable with the other update inputs until take_o
  input  logic                 update_insert_i,  // 1: insert; 0: remove
  input  logic [KeyBits-1:0]   update_key_i,
  input  logic [KeyBits-1:0]   update_mask_i,    // of a ternary rule: bits that must match the key
  input  logic [15:0]          update_number_i,  // prefix length; priority
  input  logic [ValueBits-1:0] update_value_i,
  output logic                 want_o,
  input  logic                 go_i,             // may rise at any time, and stays until take_o
  output logic                 take_o,
  output logic [7:0]           status_o          // valid with take_o
);
  import sluice_pkg::*;
  import sl_lookup_pkg::*;

  localparam int unsigned PartBits    = part_key_bits(KeyBits);
  localparam int unsigned PartEntries = part_entries(Kind, Entries);
  localparam int unsigned MatchCycles = part_latency(Kind, KeyBits, Entries);
  localparam int unsigned Depth       = Entries < 2 ? 2 : Entries;
  localparam int unsigned IndexBits   = $clog2(Depth);
  localparam int unsigned LengthBits  = $clog2(PartBits + 1);
  localparam int unsigned NameBits    = Kind == EXACT ? KeyBits : Kind == LPM ? LengthBits + KeyBits : 16;  // identify a rule
  localparam int unsigned SliceBits   = 8;  // bits compared in the first step
  localparam int unsigned Slices      = (NameBits + SliceBits - 1) / SliceBits;
  localparam int unsigned WaitBits    = $clog2(MatchCycles + 1);

  if (Latency != MatchCycles + 2) begin : gen_bad_latency
    $error("sl_lookup_table: Latency is not sl_lookup_pkg::lookup_latency(Kind, KeyBits, Entries)");
  end

  typedef enum logic [3:0] {StClear, StIdle, StMask, StScan, StDecide, StWant, StApply, StRefuse, StSettle} state_e;

  state_e               state_q;
  logic                 insert_q, found_q, free_q, bad_q, done_q;
  logic [KeyBits-1:0]   key_q, mask_q;
  logic [15:0]          number_q;
  logic [ValueBits-1:0] value_q;
  logic [NameBits-1:0]  name;
  logic [IndexBits-1:0] found_index_q, free_index_q, id_q;
  logic [IndexBits:0]   asked_q, seen_q;      // rules that the search has requested, and compared
  logic [WaitBits-1:0]  wait_q;
  logic [7:0]           refusal_q;
  logic                 op_sent_q;

  // The match table
  instruction_t op;
  logic         op_valid, op_ready, op_commit, op_done, part_ready, match_valid, match_hit;
  status_t      op_status;
  logic [31:0]  match_id;

  always_comb begin
    op = '0;
    op.kind          = !insert_q ? INSTRUCTION_DELETE : found_q ? INSTRUCTION_UPDATE : INSTRUCTION_POPULATE;
    op.rule_id       = 32'(id_q);
    op.rule_priority = number_q;
    op.value         = KEY_BITS'(key_q);
    op.mask          = Kind == EXACT ? '1 : KEY_BITS'(mask_q);
  end
  assign op_valid = state_q == StApply && !op_sent_q;

  if (Kind == EXACT) begin : gen_exact
    logic [31:0] unused_used;
    sl_hash_table #(.KeyBits(PartBits), .Entries(PartEntries)) u_match (
      .clk_i, .rst_i, .key_valid_i, .key_i(PartBits'(key_i)),
      .result_valid_o(match_valid), .result_hit_o(match_hit), .result_id_o(match_id),
      .op_i(op), .op_valid_i(op_valid), .op_ready_o(op_ready), .op_commit_o(op_commit), .op_done_o(op_done),
      .op_status_o(op_status), .ready_o(part_ready), .used_o(unused_used)
    );
  end else begin : gen_ternary
    logic [31:0] unused_used;
    sl_lpm_table #(
      .KeyBits(PartBits), .Entries(PartEntries), .PrefixOnly(1'b0), .PriorityBits(Kind == LPM ? LengthBits : 16)
    ) u_match (
      .clk_i, .rst_i, .key_valid_i, .key_i(PartBits'(key_i)),
      .result_valid_o(match_valid), .result_hit_o(match_hit), .result_id_o(match_id),
      .op_i(op), .op_valid_i(op_valid), .op_ready_o(op_ready), .op_commit_o(op_commit), .op_done_o(op_done),
      .op_status_o(op_status), .ready_o(part_ready), .used_o(unused_used)
    );
  end

  // Whether the match table has finished its last operation.
  logic op_quiet, op_busy_q;
  assign op_quiet = !op_busy_q || op_done;
  always_ff @(posedge clk_i) begin
    if (op_valid && op_ready) op_busy_q <= 1'b1;
    if (op_done) op_busy_q <= 1'b0;
    if (rst_i) op_busy_q <= 1'b0;
  end

  // The values. A value is written exactly when the key that would have entered with `take_o` would read it, so every key reads the
  // value that its rule had when the key entered; no other key reads in that cycle.
  logic [ValueBits-1:0] value;
  logic [1:0]           result_valid_q, result_hit_q;
  logic                 value_write_q;
  sl_ram_block #(.Width(ValueBits), .Depth(Depth), .Latency(2)) u_values (
    .clk_i,
    .write_valid_i(value_write_q), .write_address_i(id_q), .write_data_i(value_q),
    .read_valid_i(match_valid && match_hit), .read_address_i(match_id[IndexBits-1:0]), .read_data_o(value)
  );
  always_ff @(posedge clk_i) begin
    value_write_q  <= state_q == StSettle && wait_q == WaitBits'(1) && insert_q && !done_q;
    result_valid_q <= {result_valid_q[0], match_valid};
    result_hit_q   <= {result_hit_q[0], match_hit};
    if (rst_i) result_valid_q <= '0;
  end
  assign result_valid_o = result_valid_q[1];
  assign result_o       = result_hit_q[1] ? {1'b1, value} : '0;

  // The rules: the identity of each, and whether it is present. A search reads all of them; the comparison takes two steps. They may be
  // in many block RAMs, so what is written comes from registers.
  logic                 rule_write, rule_write_q, scanning;
  logic [IndexBits-1:0] rule_index_q;
  logic [NameBits:0]    rule_q;
  logic [NameBits:0]    rule;
  logic [3:0]           scan_q;  // [n]: a rule was requested n + 1 cycles ago
  logic                 there_q, there_q2, same_q;
  logic [Slices-1:0]    slices_q;

  if (Kind == EXACT) begin : gen_name_exact
    assign name = key_q;
  end else if (Kind == LPM) begin : gen_name_lpm
    assign name = {number_q[LengthBits-1:0], key_q};
  end else begin : gen_name_ternary
    assign name = number_q;
  end
  sl_ram_block #(.Width(1 + NameBits), .Depth(Depth), .Latency(2)) u_rules (
    .clk_i,
    .write_valid_i(rule_write_q), .write_address_i(rule_index_q), .write_data_i(rule_q),
    .read_valid_i(1'b1), .read_address_i(asked_q[IndexBits-1:0]), .read_data_o(rule)  // `scanning` is too late for many block RAMs
  );
  assign scanning   = state_q == StScan && asked_q != (IndexBits + 1)'(Entries);
  assign rule_write = state_q == StApply && op_commit;

  function automatic logic [Slices-1:0] same_slices(logic [NameBits-1:0] a, logic [NameBits-1:0] b);
    logic [Slices*SliceBits-1:0] difference;
    difference = (Slices * SliceBits)'(a ^ b);
    for (int unsigned slice = 0; slice < Slices; slice++) same_slices[slice] = difference[slice*SliceBits+:SliceBits] == '0;
  endfunction

  always_ff @(posedge clk_i) begin
    rule_write_q <= rule_write || state_q == StClear;
    rule_index_q <= state_q == StClear ? asked_q[IndexBits-1:0] : id_q;
    rule_q       <= state_q == StClear ? '0 : {insert_q, name};
    scan_q   <= {scan_q[2:0], scanning};
    there_q  <= rule[NameBits];
    slices_q <= same_slices(rule[NameBits-1:0], name);
    there_q2 <= there_q;
    same_q   <= there_q && &slices_q;
    if (rst_i) scan_q <= '0;
  end

  // Updates
  assign want_o   = state_q == StWant;
  assign take_o   = (state_q == StApply && (op_commit || (op_done && op_status != STATUS_OK))) || state_q == StRefuse;
  assign status_o = state_q == StRefuse ? refusal_q : op_commit ? 8'(STATUS_OK) : 8'(op_status);

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StClear: begin
        asked_q <= asked_q + 1'b1;
        if (asked_q == (IndexBits + 1)'(Depth - 1)) state_q <= StIdle;
      end
      StIdle: begin
        insert_q <= update_insert_i;
        key_q    <= update_key_i;
        mask_q   <= Kind == TERNARY ? update_mask_i : Kind == LPM ? ~({KeyBits{1'b1}} >> update_number_i) : '1;
        number_q <= update_number_i;
        value_q  <= update_value_i;
        bad_q    <= Kind == LPM && update_number_i > 16'(KeyBits);
        asked_q  <= '0;
        seen_q   <= '0;
        found_q  <= 1'b0;
        free_q   <= 1'b0;
        if (update_valid_i && ready_o) state_q <= StMask;
      end
      StMask: begin
        key_q   <= key_q & mask_q;
        state_q <= StScan;
      end
      StScan: begin
        if (scanning) asked_q <= asked_q + 1'b1;
        if (scan_q[3]) begin
          seen_q <= seen_q + 1'b1;
          if (same_q) begin
            found_q       <= 1'b1;
            found_index_q <= seen_q[IndexBits-1:0];
          end
          if (!there_q2) begin
            free_q       <= 1'b1;
            free_index_q <= seen_q[IndexBits-1:0];
          end
        end
        if (seen_q == (IndexBits + 1)'(Entries)) state_q <= StDecide;
      end
      StDecide: begin
        id_q      <= found_q ? found_index_q : free_index_q;
        refusal_q <= 8'(STATUS_OK);
        if (bad_q) refusal_q <= 8'(STATUS_EINVAL);
        else if (!found_q && !insert_q) refusal_q <= 8'(STATUS_ENOENT);
        else if (!found_q && !free_q) refusal_q <= 8'(STATUS_ENOSPC);
        state_q <= StWant;
      end
      StWant: begin
        op_sent_q <= 1'b0;
        done_q    <= 1'b0;
        if (go_i) state_q <= refusal_q == 8'(STATUS_OK) ? StApply : StRefuse;
      end
      StApply: begin
        if (op_ready) op_sent_q <= 1'b1;
        wait_q <= WaitBits'(MatchCycles - 1);
        if (take_o) begin
          done_q  <= !op_commit;
          state_q <= StSettle;
        end
      end
      StRefuse: begin
        wait_q  <= '0;
        done_q  <= 1'b1;
        state_q <= StSettle;
      end
      StSettle: begin  // at least one cycle, in which update_valid_i falls
        if (wait_q != '0) wait_q <= wait_q - 1'b1;
        else begin
          done_q <= 1'b1;
          if (op_quiet) state_q <= StIdle;
        end
      end
      default: state_q <= StIdle;
    endcase
    if (rst_i) begin
      state_q <= StClear;
      asked_q <= '0;
    end
  end

  logic swept_q;
  always_ff @(posedge clk_i) swept_q <= !rst_i && state_q != StClear;
  assign ready_o = swept_q && part_ready;

  logic unused_bits;
  assign unused_bits = &{1'b0, match_id, update_mask_i, update_number_i, mask_q, number_q};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i && key_valid_i) a_no_key_with_a_change : assert (!take_o && ready_o);
  end
`endif
endmodule
