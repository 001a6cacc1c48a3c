// SPDX-License-Identifier: Apache-2.0
// Latencies and types of the process block. The formats are in sluice_pkg (layouts/stateful).
/* verilator lint_off UNUSEDPARAM */  // no part uses all of a package
package sl_process_pkg;
  import sluice_pkg::*;

  // Cycles: from a packet to its inputs; from the inputs until the state of the flow is needed; from that state to the new one; from
  // the new state to the packet with its actions.
  localparam int unsigned PROCESS_INPUT_LATENCY  = 7;
  localparam int unsigned PROCESS_AHEAD          = 2;
  localparam int unsigned PROCESS_LOOP           = 3;
  localparam int unsigned PROCESS_ACTION_LATENCY = 4;

  // With composed updates, from the packet to what happens to its state: an update is chosen, in the first stage and in the second;
  // from there until the word that it finds is known; until the process block has inputs whose state is there PROCESS_AHEAD later.
  localparam int unsigned COMPOSED_CHOICE = 5;
  localparam int unsigned COMPOSED_UPDATE = 4;
  localparam int unsigned COMPOSED_SECOND = COMPOSED_CHOICE + COMPOSED_UPDATE - PROCESS_AHEAD + COMPOSED_CHOICE;
  localparam int unsigned COMPOSED_LATENCY = COMPOSED_SECOND + COMPOSED_UPDATE - PROCESS_AHEAD;

  // A unit with its flow table: sizes for a small FPGA, and those of the stateful paper.
  typedef struct packed {
    int unsigned key_words;
    int unsigned sets;
    int unsigned ways;
    int unsigned inputs;
    int unsigned conditions;
    int unsigned words;
    int unsigned updates;
    int unsigned entries;
    int unsigned actions;
    bit          composed;
  } stateful_sizes_t;
  localparam stateful_sizes_t STATEFUL_SMALL = '{
    key_words: 7, sets: 256, ways: 4, inputs: 4, conditions: 4, words: 2, updates: 3, entries: 4, actions: 2,
    composed: 1'b1
  };
  localparam stateful_sizes_t STATEFUL_PAPER = '{
    key_words: FLOW_KEY_WORDS, sets: 1024, ways: 4, inputs: PROCESS_INPUTS, conditions: PROCESS_CONDITIONS, words: PROCESS_WORDS,
    updates: PROCESS_UPDATES, entries: PROCESS_ENTRIES, actions: PROCESS_ACTIONS, composed: 1'b1
  };

  localparam int unsigned PROCESS_PACKET_WORDS = PIPELINE_CONTAINERS / 2;
  localparam int unsigned PROCESS_SHARED       = 2 * PROCESS_SHARED_WORDS;

  typedef logic [PROCESS_PACKET_WORDS-1:0][31:0] process_words_t;

  function automatic logic [31:0] mask_of(logic [3:0] lanes);
    for (int n = 0; n < 4; n++) mask_of[8*n +: 8] = {8{lanes[n]}};
  endfunction

  // An adder computes `x + y + subtracts`: x is a, whose bits of `fill_of` are set, y is b, or its complement. In both the bits of
  // `signs_of` are inverted, so that signed words compare as unsigned ones do.
  function automatic logic subtracts(process_kind_t kind);
    return kind inside {KIND_SUBTRACT, KIND_SUBTRACT_CLAMPED, KIND_AND_NOT, KIND_MINIMUM, KIND_MAXIMUM, KIND_MINIMUM_SIGNED,
                        KIND_MAXIMUM_SIGNED, KIND_LESS, KIND_LESS_SIGNED};
  endfunction

  function automatic logic [31:0] fill_of(process_kind_t kind, logic [3:0] lanes);
    return kind == KIND_ADD_CLAMPED ? mask_of(~lanes) : '0;
  endfunction

  function automatic logic [31:0] signs_of(process_kind_t kind, logic [3:0] lanes);
    signs_of = '0;
    if (kind inside {KIND_MINIMUM_SIGNED, KIND_MAXIMUM_SIGNED, KIND_LESS_SIGNED}) begin
      for (int n = 0; n < 4; n++) signs_of[8*n+7] = lanes[n] && (n == 3 || !lanes[n+1]);
    end
  endfunction

  function automatic logic [31:0] prepared_a(process_kind_t kind, logic [3:0] lanes, logic [31:0] a);
    return (a | fill_of(kind, lanes)) ^ signs_of(kind, lanes);
  endfunction

  function automatic logic [31:0] prepared_b(process_kind_t kind, logic [3:0] lanes, logic [31:0] b);
    return b ^ signs_of(kind, lanes) ^ {32{subtracts(kind)}};
  endfunction

  // What becomes of a bit of a and of b.
  typedef enum logic [2:0] {BITS_B, BITS_AND, BITS_OR, BITS_XOR, BITS_A, BITS_NOT_B, BITS_ONES, BITS_ZERO} process_bits_e;

  // An instruction as sl_process_alu takes it, decoded a cycle before.
  typedef struct packed {
    process_bits_e on_carry;
    process_bits_e on_none;
    logic          sum_on_carry;  // the sum instead
    logic          sum_on_none;
    logic          subtract;
    logic [2:0]    turn;          // rotation of a
    logic [3:0]    signs;         // bit 8n + 7 of `signs_of`
    logic [3:0]    ones;          // bit 8n of the result without a carry is set
    logic [3:0]    lanes;
  } process_alu_t;

  function automatic process_alu_t alu_of(process_kind_t kind, logic [3:0] lanes, logic [2:0] bits);
    logic [31:0] signs;
    signs               = signs_of(kind, lanes);
    alu_of.sum_on_carry = kind inside {KIND_ADD, KIND_SUBTRACT, KIND_SUBTRACT_CLAMPED};
    alu_of.sum_on_none  = kind inside {KIND_ADD, KIND_SUBTRACT, KIND_ADD_CLAMPED};
    alu_of.subtract     = subtracts(kind);
    alu_of.turn         = kind == KIND_ROTATE ? bits : '0;
    alu_of.lanes        = lanes;
    for (int n = 0; n < 4; n++) begin
      alu_of.signs[n] = signs[8*n+7];
      alu_of.ones[n]  = kind inside {KIND_LESS, KIND_LESS_SIGNED} && lanes[n] && (n == 0 || !lanes[n-1]);
    end
    // No case: Yosys would make a ROM of it, which an induction takes for a memory with any content.
    alu_of.on_carry = kind == KIND_SET                                                 ? BITS_B
                    : kind == KIND_OR                                                  ? BITS_OR
                    : kind == KIND_XOR                                                 ? BITS_XOR
                    : kind inside {KIND_MINIMUM, KIND_MINIMUM_SIGNED}                  ? BITS_NOT_B
                    : kind inside {KIND_MAXIMUM, KIND_MAXIMUM_SIGNED}                  ? BITS_A
                    : kind == KIND_ADD_CLAMPED                                         ? BITS_ONES
                    : kind inside {KIND_LESS, KIND_LESS_SIGNED, KIND_SUBTRACT_CLAMPED} ? BITS_ZERO : BITS_AND;
    alu_of.on_none  = kind inside {KIND_MINIMUM, KIND_MINIMUM_SIGNED}                  ? BITS_A
                    : kind inside {KIND_MAXIMUM, KIND_MAXIMUM_SIGNED}                  ? BITS_NOT_B : alu_of.on_carry;
  endfunction

  // Rotated right by so many bytes.
  function automatic logic [31:0] rotated(logic [31:0] word, logic [1:0] bytes);
    return 32'({word, word} >> {bytes, 3'd0});
  endfunction
endpackage
