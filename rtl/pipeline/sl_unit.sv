// SPDX-License-Identifier: Apache-2.0
// A unit of the programmable pipeline: makes a key of any words of the PHV, looks it up in the table that the program chooses, and
// executes the action of the entry, or that of the version for packets without a match. A packet for another unit passes
// unchanged. A packet a cycle, UNIT_LATENCY cycles, never stalls.
//
// All memories must be written once before the first packet; afterwards entries and actions that no packet can find may be written
// at any time.
module sl_unit
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Number         = 0,    // of this unit
  parameter int unsigned ExactEntries   = 256,  // power of two, 8 or more
  parameter int unsigned TernaryEntries = 64,   // multiple of 64
  localparam int unsigned Actions    = ExactEntries + TernaryEntries + 2,
  localparam int unsigned ActionBits = $clog2(Actions)
) (
  input  logic                  clk_i,
  input  logic                  rst_i,          // synchronous, active high
  input  logic                  write_valid_i,  // to a unit, if to this one
  input  pipeline_write_t       write_i,        // effective for packets that enter four cycles later
  input  logic                  valid_i,
  input  pipeline_phv_t         phv_i,
  output logic                  valid_o,        // UNIT_LATENCY cycles after valid_i
  output pipeline_phv_t         phv_o,
  output logic                  looked_up_o,    // pulse: a packet of this unit
  output logic [ActionBits-1:0] action_o,       // its action
  output logic [15:0]           length_o        // its bytes
);
  localparam int unsigned SlotBits  = $clog2(ExactEntries / UNIT_WAYS);
  localparam int unsigned EntryBits = $clog2(TernaryEntries);

  // The write enables are registers of their own: they reach all over the unit.
  logic            writes, write_exact_q, write_ternary_q, write_action_q;
  logic [1:0]      write_selector_q;  // of each version
  pipeline_write_t write_q;

  assign writes = write_valid_i && 32'(write_i.unit) == Number && !rst_i;

  always_ff @(posedge clk_i) begin
    for (int v = 0; v < 2; v++) write_selector_q[v] <= writes && write_i.memory == UNIT_MEMORY_SELECTOR && write_i.address[0] == v[0];
    write_exact_q   <= writes && write_i.memory == UNIT_MEMORY_EXACT;
    write_ternary_q <= writes && write_i.memory == UNIT_MEMORY_TERNARY;
    write_action_q  <= writes && write_i.memory == UNIT_MEMORY_ACTION;
    if (write_valid_i) write_q <= write_i;
  end

  logic [UNIT_ACTION_LATENCY:0] valid;
  assign valid[0] = valid_i;
  always_ff @(posedge clk_i) valid[UNIT_ACTION_LATENCY:1] <= rst_i ? '0 : valid[UNIT_ACTION_LATENCY-1:0];

  // The key: the selector of the version, rows of the sources, words.
  typedef struct packed {
    source_choice_t [UNIT_KEY_WORDS-1:0] words;
    logic [127:0]                        mask;
    logic                                exact;
  } key_choice_t;

  /* verilator lint_off UNUSEDSIGNAL */  // the rest of the word
  function automatic key_choice_t key_choice_of(unit_selector_t selector);
    key_choice_of.mask  = selector.mask;
    key_choice_of.exact = selector.exact;
    for (int w = 0; w < UNIT_KEY_WORDS; w++) key_choice_of.words[w] = choice_of(selector.words[w]);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  key_choice_t [1:0]                selector_q;  // of each version
  key_choice_t                      choice_q;
  pipeline_sources_t                sources_q;
  logic [UNIT_KEY_WORDS-1:0][15:0]  word;
  logic [127:0]                     mask_q, key_q;
  logic [UNIT_KEY_LATENCY:1]        exact_q, version_q;

  sl_source_select #(.Words(UNIT_KEY_WORDS)) u_key (.clk_i, .sources_i(sources_q), .choice_i(choice_q.words), .word_o(word));

  always_ff @(posedge clk_i) begin
    for (int v = 0; v < 2; v++) begin
      if (write_selector_q[v]) selector_q[v] <= key_choice_of(unit_selector_t'(write_q.data[$bits(unit_selector_t)-1:0]));
    end
    choice_q  <= selector_q[phv_i.parsed.version];
    sources_q <= sources_of(phv_i.parsed);
    mask_q    <= choice_q.mask;
    key_q     <= word & mask_q;
    exact_q   <= {exact_q[2:1], selector_q[phv_i.parsed.version].exact};
    version_q <= {version_q[2:1], phv_i.parsed.version};
  end

  // The tables; the ternary one is faster.
  logic                             exact_hit, ternary_hit_early, ternary_hit, exact, version;
  logic [$bits(unit_exact_t)-131:0] exact_action;
  logic [EntryBits-1:0]             entry_early, entry;
  logic [2:0]                       beside;

  sl_unit_exact #(.Entries(ExactEntries)) u_exact (
    .clk_i, .rst_i, .write_valid_i(write_exact_q),
    .write_way_i(write_q.address[15:14]), .write_slot_i(write_q.address[SlotBits-1:0]),
    .write_word_i(write_q.data[$bits(unit_exact_t)-1:0]),
    .key_valid_i(valid[UNIT_KEY_LATENCY]), .key_i(key_q), .version_i(version_q[UNIT_KEY_LATENCY]), .hit_o(exact_hit), .action_o(exact_action)
  );
  sl_unit_ternary #(.Entries(TernaryEntries)) u_ternary (
    .clk_i, .rst_i, .write_valid_i(write_ternary_q),
    .write_group_i(write_q.address[15:4]), .write_nibble_i(write_q.address[3:0]), .write_data_i(write_q.data[UNIT_TERNARY_BITS-1:0]),
    .key_valid_i(valid[UNIT_KEY_LATENCY]), .key_i(key_q), .version_i(version_q[UNIT_KEY_LATENCY]), .hit_o(ternary_hit_early), .entry_o(entry_early)
  );
  sl_delay #(.Width(1 + EntryBits), .Cycles(UNIT_EXACT_LATENCY - UNIT_TERNARY_LATENCY)) u_ternary_result (
    .clk_i, .rst_i, .valid_i(valid[UNIT_KEY_LATENCY+UNIT_TERNARY_LATENCY]), .data_i({ternary_hit_early, entry_early}),
    .valid_o(beside[0]), .data_o({ternary_hit, entry})
  );
  sl_delay #(.Width(2), .Cycles(UNIT_EXACT_LATENCY)) u_kind (
    .clk_i, .rst_i, .valid_i(valid[UNIT_KEY_LATENCY]), .data_i({exact_q[UNIT_KEY_LATENCY], version_q[UNIT_KEY_LATENCY]}), .valid_o(beside[1]), .data_o({exact, version})
  );

  // The action; the packet comes back a cycle later.
  logic [4:1][ActionBits-1:0] number_q;
  unit_action_t               action;
  pipeline_phv_t              phv;
  logic                       mine;

  sl_ram_block #(.Width($bits(unit_action_t)), .Depth(Actions), .Latency(2)) u_actions (
    .clk_i, .write_valid_i(write_action_q),
    .write_address_i(write_q.address[ActionBits-1:0]), .write_data_i(write_q.data),
    .read_valid_i(valid[UNIT_ACTION_LATENCY-2]), .read_address_i(number_q[1]), .read_data_o(action)
  );
  sl_delay #(.Width($bits(pipeline_phv_t)), .Cycles(UNIT_ACTION_LATENCY + 1)) u_phv (
    .clk_i, .rst_i, .valid_i, .data_i(phv_i), .valid_o(beside[2]), .data_o(phv)
  );
  assign mine = 32'(phv.next) == Number && phv.parsed.fault == FAULT_NONE;

  always_ff @(posedge clk_i) begin
    number_q    <= {number_q[3:1], ActionBits'(ExactEntries + TernaryEntries) + ActionBits'(version)};
    if (exact && exact_hit && 32'(exact_action) < ExactEntries) number_q[1] <= ActionBits'(exact_action);
    if (!exact && ternary_hit) number_q[1] <= ActionBits'(ExactEntries) + ActionBits'(entry);
    looked_up_o <= beside[2] && mine && !rst_i;
    action_o    <= number_q[4];
    length_o    <= phv.parsed.length;
  end

  sl_unit_operations u_operations (
    .clk_i, .rst_i, .valid_i(valid[UNIT_ACTION_LATENCY]), .action_i(action), .acts_i(mine), .phv_i(phv), .valid_o, .phv_o
  );

  logic unused;
  assign unused = &{1'b0, beside, write_q, choice_q.exact};
endmodule
