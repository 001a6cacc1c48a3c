// SPDX-License-Identifier: Apache-2.0
// A stage of the programmable parser: looks up the state and two words of the current header, extracts words of the header into
// containers, and moves on to the next header, all as the entry says that was loaded (`parser_step_t`). A packet that is done, or
// has a fault, passes unchanged. Latency PARSER_STAGE_LATENCY, never stalls.
//
// cycle 1: key; 2 to 6: match; 7, 8: step; 9: its choices, one-hot; 10: length field and words of the slots; 11: length; 12: length of
// the step; 13: position of the next header; 14: may the step be done; 17: containers. The words of the next header are selected from
// cycle 14 on (sl_parser_reach).
module sl_parser_stage
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_i,             // synchronous, active high
  input  logic            write_valid_i,     // to a memory of this stage
  input  pipeline_write_t write_i,           // registered
  input  logic            valid_i,
  input  parser_walk_t    walk_i,            // registered
  input  parser_reach_t   reach_i,           // registered: words of the header; what is beyond the packet's end reads 0
  output logic            position_valid_o,  // PARSER_REACH_LATENCY cycles before valid_o
  output logic [6:0]      position_o,        // of the next header, if there is one
  output logic            valid_o,           // PARSER_STAGE_LATENCY cycles later
  output parser_walk_t    walk_o
);
  localparam int unsigned Latency   = PARSER_STAGE_LATENCY;
  localparam int unsigned EntryBits = $clog2(PARSER_ENTRIES);
  localparam int unsigned StepBits  = PARSER_STEP_BITS;

  logic [Latency:0]     valid;   // valid[n]: the packet is in cycle n
  logic [5:0]           beside;  // valid bits of the delay lines, equal to those of `valid`
  parser_key_t          key_q;
  logic                 hit;
  logic [EntryBits-1:0] entry;
  parser_step_t         step;    // in cycle 8

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  // Cycles 1 to 8: the step.
  always_ff @(posedge clk_i) begin
    if (valid[0]) begin
      key_q.version <= walk_i.record.version;
      key_q.state   <= walk_i.record.state;
      for (int n = 0; n < PARSER_LOOKUPS; n++) key_q.words[n] <= parser_chosen(reach_i, walk_i.lookups[n]);
    end
  end

  sl_program_match #(.KeyBits(PARSER_KEY_BITS), .Entries(PARSER_ENTRIES)) u_match (
    .clk_i, .rst_i, .key_valid_i(valid[1]), .key_i(key_q),
    .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_MATCH),
    .write_group_i((PARSER_ENTRIES / 4)'(1) << write_i.address[7:4]), .write_nibble_i(write_i.address[3:0]),
    .write_data_i(write_i.data[PARSER_KEY_BITS-1:0]),
    .hit_o(hit), .index_o(entry)
  );
  sl_ram_block #(.Width(StepBits), .Depth(PARSER_ENTRIES), .Latency(2)) u_steps (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_STEP),
    .write_address_i(write_i.address[EntryBits-1:0]), .write_data_i(write_i.data[StepBits-1:0]),
    .read_valid_i(valid[6]), .read_address_i(entry), .read_data_o(step)
  );

  // Cycles 9 and 10: the words of the header that it asks for.
  parser_reach_t                               reach;  // in cycle 9
  parser_step_t [13:9]                         step_q;
  logic [13:7]                                 hit_q;
  logic [PARSER_REACH-1:0]                     field_chosen_q;
  logic [PARSER_SLOTS-1:0][15:0]               slot_q;
  logic [15:0]                                 field_q;

  sl_delay #(.Width($bits(parser_reach_t)), .Cycles(9)) u_reach (
    .clk_i, .rst_i, .valid_i, .data_i(reach_i), .valid_o(beside[0]), .data_o(reach)
  );

  always_ff @(posedge clk_i) begin
    if (valid[6]) hit_q[7] <= hit;
    for (int n = 8; n <= 13; n++) if (valid[n-1]) hit_q[n] <= hit_q[n-1];
    if (valid[8]) step_q[9] <= step;
    for (int n = 10; n <= 13; n++) if (valid[n-1]) step_q[n] <= step_q[n-1];
    if (valid[8]) field_chosen_q <= parser_one_hot(step.length_word);
    if (valid[9]) begin
      field_q <= parser_chosen(reach, field_chosen_q) & step_q[9].length_mask;
    end
  end

  for (genvar n = 0; n < PARSER_SLOTS; n++) begin : gen_slot
    logic [PARSER_REACH/16-1:0][15:0] words;
    for (genvar h = 0; h < PARSER_REACH / 16; h++) begin : gen_half
      sl_words_mux u_word (.words_i(reach[16*h +: 16]), .number_i(step_q[9].extracts[n].word[3:0]), .word_o(words[h]));
    end
    always_ff @(posedge clk_i) if (valid[9]) slot_q[n] <= words[step_q[9].extracts[n].word[4]];
  end

  // Cycles 11 to 14: whether the step may be done, and where the next header is. The length field counts at most 255 words: more is
  // beyond every window.
  logic         active_1_q, active, active_13_q;
  fault_t       fault_1_q, fault_12, fault_13_q, fault_q;
  logic [6:0]   position_1_q, position_12, position_q;
  logic [8:0]   left_1_q, left;                // words to the end of the packet
  logic [6:0]   window_left_1_q, window_left;  // and of the window
  logic [30:0]  length_q;
  logic [8:0]   advance_q;
  logic         too_long_q, too_far_q;         // for the packet, for the window
  logic         takes_q;                       // the step is done

  function automatic logic [7:0] at_most_255(logic [30:0] length);
    return length[30:8] != '0 ? 8'd255 : length[7:0];
  endfunction

  // Words from here to the end of the packet, at most 511: no step is that long.
  function automatic logic [8:0] left_of(logic [14:0] words_in_all, logic [6:0] position);
    logic [14:0] left_in_all;
    left_in_all = words_in_all - 15'(position);
    return left_in_all[14:9] != '0 ? 9'd511 : left_in_all[8:0];
  endfunction

  sl_delay #(.Width(1 + $bits(fault_t) + 7 + 9 + 7), .Cycles(11)) u_left (
    .clk_i, .rst_i, .valid_i(valid[1]), .data_i({active_1_q, fault_1_q, position_1_q, left_1_q, window_left_1_q}),
    .valid_o(beside[1]), .data_o({active, fault_12, position_12, left, window_left})
  );

  assign position_valid_o = valid[Latency-PARSER_REACH_LATENCY];
  assign position_o       = position_q;
  always_ff @(posedge clk_i) begin
    if (valid[0]) begin
      active_1_q      <= walk_i.record.state != 7'(PARSER_DONE) && walk_i.record.fault == FAULT_NONE;
      fault_1_q       <= walk_i.record.fault;
      position_1_q    <= walk_i.record.position;
      left_1_q        <= left_of(walk_i.record.length[15:1], walk_i.record.position);
      window_left_1_q <= 7'(PARSER_WORDS) - walk_i.record.position;
    end
    if (valid[10]) length_q <= 31'((47'(field_q) << step_q[10].length_scale) >> 16);
    if (valid[11]) advance_q <= 9'(step_q[11].advance) + 9'(at_most_255(length_q));
    if (valid[12]) begin
      too_long_q  <= advance_q > left || 9'(step_q[12].needs) > left;
      too_far_q   <= advance_q > 9'(window_left) || 9'(step_q[12].needs) > 9'(window_left) || advance_q > 9'(PARSER_FARTHEST);
      position_q  <= position_12 + 7'(advance_q);
      active_13_q <= active;
      fault_13_q  <= fault_12;
    end
    if (valid[13]) begin
      fault_t fault;
      fault = fault_13_q;
      if (active_13_q) begin
        if (!hit_q[13])                            fault = FAULT_PROGRAM;
        else if (step_q[13].fault != FAULT_NONE)   fault = step_q[13].fault;
        else if (too_long_q)                       fault = FAULT_TRUNCATED;
        else if (too_far_q)                        fault = FAULT_WINDOW;
      end
      fault_q <= fault;
      takes_q <= active_13_q && fault == FAULT_NONE;
    end
  end

  // Cycle 17. Slot n writes a container whose number is n modulo PARSER_SLOTS.
  parser_step_t                  step_16;
  logic [PARSER_SLOTS-1:0][15:0] slots;
  parser_walk_t                  walk;
  logic [6:0]                    position;
  logic                          takes;
  fault_t                        fault_16;

  sl_delay #(.Width(StepBits + $bits(slots)), .Cycles(Latency - 11)) u_slots (
    .clk_i, .rst_i, .valid_i(valid[10]), .data_i({step_q[10], slot_q}), .valid_o(beside[2]), .data_o({step_16, slots})
  );
  sl_delay #(.Width($bits(parser_walk_t)), .Cycles(Latency - 1)) u_walk (
    .clk_i, .rst_i, .valid_i, .data_i(walk_i), .valid_o(beside[3]), .data_o(walk)
  );
  sl_delay #(.Width(7), .Cycles(Latency - 14)) u_position (
    .clk_i, .rst_i, .valid_i(valid[13]), .data_i(position_q), .valid_o(beside[4]), .data_o(position)
  );
  sl_delay #(.Width(1 + $bits(fault_t)), .Cycles(Latency - 15)) u_takes (
    .clk_i, .rst_i, .valid_i(valid[14]), .data_i({takes_q, fault_q}), .valid_o(beside[5]), .data_o({takes, fault_16})
  );

  always_ff @(posedge clk_i) begin
    if (valid[Latency-1]) begin
      walk_o.record       <= walk.record;
      walk_o.record.fault <= fault_16;
      if (takes) begin
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
          if (32'(step_16.extracts[c%PARSER_SLOTS].row) == 1 + c / PARSER_SLOTS) walk_o.record.containers[c] <= slots[c%PARSER_SLOTS];
        end
        if (step_16.has_base) begin
          walk_o.record.bases[step_16.base] <= '{valid: 1'b1, kind: step_16.kind, position: walk.record.position};
        end
        walk_o.record.position <= position;
        walk_o.record.state    <= step_16.state;
      end
      for (int n = 0; n < PARSER_LOOKUPS; n++) walk_o.lookups[n] <= parser_one_hot(step_16.lookups[n]);
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_i, step_q[13], step_16, walk.lookups};
endmodule
