// SPDX-License-Identifier: Apache-2.0
// The exact table of a unit: four ways of block RAM, a slot of each for a key (cuckoo hashing; who loads the table places the
// entries). An entry is of one version of the program or of both. Takes a key a cycle, answers UNIT_EXACT_LATENCY cycles later,
// never stalls. Nothing is reset: every word must be written once before the first key. A word that is read in the cycle in which
// it is written counts as written. Copies of an entry must have the same action.
module sl_unit_exact
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
#(
  parameter int unsigned Entries = 1024,  // slots of all ways, 8 or more, a power of two
  localparam int unsigned SlotBits   = $clog2(Entries / UNIT_WAYS),
  localparam int unsigned ActionBits = $bits(unit_exact_t) - 130
) (
  input  logic                  clk_i,
  input  logic                  rst_i,          // synchronous, active high
  input  logic                  write_valid_i,
  input  logic [1:0]            write_way_i,
  input  logic [SlotBits-1:0]   write_slot_i,
  input  unit_exact_t           write_word_i,
  input  logic                  key_valid_i,
  input  logic [127:0]          key_i,
  input  logic                  version_i,
  output logic                  hit_o,          // UNIT_EXACT_LATENCY cycles after key_valid_i, stable until the next
  output logic [ActionBits-1:0] action_o        // 0 without a hit
);
  localparam int unsigned PartBits = 8;  // compared in the first step
  localparam int unsigned Parts    = 128 / PartBits;
  localparam int unsigned Words    = UNIT_WAYS + 1;  // that are compared: one a way, and the one that is being written

  logic        [UNIT_EXACT_LATENCY-1:1]      valid_q;
  logic        [UNIT_WAYS-1:0][SlotBits-1:0] slot;
  logic        [127:0]                       key;
  logic                                      version, beside;
  logic        [UNIT_WAYS-1:0]               write_q;  // a way is written, in this cycle
  logic        [SlotBits-1:0]                write_slot_q;
  unit_exact_t                               write_word_q, write_word_q2;
  logic        [6:4][UNIT_WAYS-1:0]          collides_q;  // what was read is undefined; `word[UNIT_WAYS]` replaces it
  unit_exact_t [Words-1:0]                   word;
  logic        [Words-1:0]                   present_q, match_q;
  logic        [Words-1:0][Parts-1:0]        part_q;
  logic        [Words-1:0][ActionBits-1:0]   action_6_q, action_7_q;

  sl_hash_function #(.KeyBits(128), .Slots(Entries / UNIT_WAYS), .Ways(UNIT_WAYS)) u_hash (
    .clk_i, .valid_i(key_valid_i), .key_i, .seed_i(UNIT_SEED), .index_o(slot)
  );
  sl_delay #(.Width(129), .Cycles(5)) u_key (
    .clk_i, .rst_i, .valid_i(key_valid_i), .data_i({version_i, key_i}), .valid_o(beside), .data_o({version, key})
  );

  for (genvar w = 0; w < UNIT_WAYS; w++) begin : gen_way
    sl_ram_block #(.Width($bits(unit_exact_t)), .Depth(Entries / UNIT_WAYS), .Latency(2)) u_words (
      .clk_i, .write_valid_i(write_q[w]), .write_address_i(write_slot_q), .write_data_i(write_word_q),
      .read_valid_i(valid_q[3]), .read_address_i(slot[w]), .read_data_o(word[w])
    );
  end

  always_ff @(posedge clk_i) begin
    valid_q   <= {valid_q[UNIT_EXACT_LATENCY-2:1], key_valid_i};
    if (write_valid_i) {write_slot_q, write_word_q} <= {write_slot_i, write_word_i};
    write_word_q2   <= write_word_q;
    word[UNIT_WAYS] <= write_word_q2;
    for (int w = 0; w < UNIT_WAYS; w++) begin
      write_q[w]       <= write_valid_i && write_way_i == 2'(w) && !rst_i;
      collides_q[4][w] <= write_q[w] && write_slot_q == slot[w];
    end
    collides_q[6:5] <= collides_q[5:4];
    for (int w = 0; w < Words; w++) begin
      present_q[w]  <= word[w].versions[version];
      action_6_q[w] <= word[w].action;
      action_7_q[w] <= action_6_q[w];
      for (int p = 0; p < Parts; p++) part_q[w][p] <= word[w].key[PartBits*p +: PartBits] == key[PartBits*p +: PartBits];
      match_q[w] <= present_q[w] && part_q[w] == '1 && (w < UNIT_WAYS ? !collides_q[6][w % UNIT_WAYS] : collides_q[6] != '0);
    end
    if (valid_q[7]) begin
      logic [ActionBits-1:0] action;
      action = '0;
      for (int w = 0; w < Words; w++) if (match_q[w]) action |= action_7_q[w];
      hit_o    <= match_q != '0;
      action_o <= action;
    end
    if (rst_i) valid_q <= '0;
  end

  logic unused;
  assign unused = beside;
endmodule
