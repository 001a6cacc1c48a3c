// SPDX-License-Identifier: Apache-2.0
// A stage of the programmable parser: looks up the state and two words of the current header, extracts words of the header into
// containers, and moves on to the next header, all as the entry says that was loaded (`parser_step_t`). A packet that is done, or
// has a fault, passes unchanged. Latency PARSER_STAGE_LATENCY, never stalls.
//
// cycle 1 to 4: the words from the current position on; 5: key; 6 to 10: match; 11: step; 12, 13: length field; 14: length of the
// step; 14, 15: the words of the slots; 15: may it be done; 16: containers.
module sl_parser_stage
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,          // synchronous, active high
  input  logic          write_valid_i,  // to a memory of this stage
  input  pipeline_write_t write_i,        // registered
  input  logic          valid_i,
  input  parser_walk_t  walk_i,         // registered
  input  parser_words_t words_i,        // registered; what is beyond the packet's end reads 0
  output logic          valid_o,        // PARSER_STAGE_LATENCY cycles later
  output parser_walk_t  walk_o,
  output parser_words_t words_o         // as words_i
);
  localparam int unsigned Latency   = PARSER_STAGE_LATENCY;
  localparam int unsigned EntryBits = $clog2(PARSER_ENTRIES);
  localparam int unsigned StepBits  = PARSER_STEP_BITS;

  logic [Latency:0]     valid;  // valid[n]: the packet is in cycle n
  logic [4:0]           beside; // valid bits of the delay lines, equal to those of `valid`
  parser_reach_t        reach;  // words of the header
  parser_key_t          key_q;
  logic                 hit;
  logic [EntryBits-1:0] entry;
  logic [StepBits-1:0]  step_word;

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  sl_delay #(.Width($bits(parser_words_t)), .Cycles(Latency)) u_words (
    .clk_i, .rst_i, .valid_i, .data_i(words_i), .valid_o(beside[0]), .data_o(words_o)
  );

  // Cycles 1 to 4: the words of the header.
  sl_parser_reach u_reach (.clk_i, .valid_i(valid[3:0]), .position_i(walk_i.record.position), .words_i, .reach_o(reach));

  // Cycles 5 to 11: the step.
  logic [PARSER_LOOKUPS-1:0][4:0] lookups;
  logic [7:0]                     version_state;

  sl_delay #(.Width($bits(lookups) + 8), .Cycles(4)) u_lookups (
    .clk_i, .rst_i, .valid_i, .data_i({walk_i.lookups, walk_i.record.version, walk_i.record.state}),
    .valid_o(beside[1]), .data_o({lookups, version_state})
  );

  always_ff @(posedge clk_i) begin
    if (valid[4]) begin
      {key_q.version, key_q.state} <= version_state;
      for (int i = 0; i < PARSER_LOOKUPS; i++) key_q.words[i] <= reach[lookups[i]];
    end
  end

  sl_program_match #(.KeyBits(PARSER_KEY_BITS), .Entries(PARSER_ENTRIES)) u_match (
    .clk_i, .rst_i, .key_valid_i(valid[5]), .key_i(key_q),
    .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_MATCH),
    .write_group_i(write_i.address[7:4]), .write_nibble_i(write_i.address[3:0]), .write_data_i(write_i.data[PARSER_KEY_BITS-1:0]),
    .hit_o(hit), .index_o(entry)
  );

  sl_ram_lut #(.Width(StepBits), .Depth(PARSER_ENTRIES)) u_steps (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_STEP),
    .write_address_i(write_i.address[EntryBits-1:0]), .write_data_i(write_i.data[StepBits-1:0]),
    .read_address_i(entry), .read_data_o(step_word)
  );

  // The words of the header are needed twice more: for the length field, and for the slots.
  parser_reach_t field_reach, slot_reach;
  parser_walk_t  walk;

  sl_delay #(.Width($bits(parser_reach_t)), .Cycles(7)) u_field_reach (
    .clk_i, .rst_i, .valid_i(valid[4]), .data_i(reach), .valid_o(beside[2]), .data_o(field_reach)
  );
  sl_delay #(.Width($bits(parser_reach_t)), .Cycles(2)) u_slot_reach (
    .clk_i, .rst_i, .valid_i(valid[11]), .data_i(field_reach), .valid_o(beside[3]), .data_o(slot_reach)
  );
  sl_delay #(.Width($bits(parser_walk_t)), .Cycles(13)) u_walk (
    .clk_i, .rst_i, .valid_i, .data_i(walk_i), .valid_o(beside[4]), .data_o(walk)
  );

  // Cycles 12 to 15. The length field counts at most 255 words: more is beyond every window.
  parser_step_t [15:11] step_q;
  logic         [14:11] hit_q;
  logic [15:0]          field_q;
  logic [30:0]          length_q;
  logic [8:0]           advance_14_q, advance_q;
  logic [8:0]           left_q;         // words to the end of the packet
  logic [6:0]           window_left_q;  // and of the window
  parser_walk_t         walk_14_q, walk_q;
  logic                 takes_q;        // the step is done
  fault_t               fault_q;

  localparam int unsigned Eights = PARSER_REACH / 8;

  logic [PARSER_SLOTS-1:0][Eights-1:0][15:0] eighth_q;  // of each eight words of the header one
  logic [PARSER_SLOTS-1:0][15:0]             slot_q;

  function automatic logic [7:0] at_most_255(logic [30:0] length);
    return length[30:8] != '0 ? 8'd255 : length[7:0];
  endfunction

  // Words from here to the end of the packet, at most 511: no step is that long.
  function automatic logic [8:0] left_of(logic [14:0] words_in_all, logic [6:0] position);
    logic [14:0] left;
    left = words_in_all - 15'(position);
    return left[14:9] != '0 ? 9'd511 : left[8:0];
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid[10]) {hit_q[11], step_q[11]} <= {hit, step_word};
    if (valid[11]) {hit_q[12], step_q[12], field_q} <= {hit_q[11], step_q[11], field_reach[step_q[11].length_word] & step_q[11].length_mask};
    if (valid[12]) {hit_q[13], step_q[13], length_q} <= {hit_q[12], step_q[12], 31'((47'(field_q) << step_q[12].length_scale) >> 16)};
    if (valid[13]) begin
      {hit_q[14], step_q[14]} <= {hit_q[13], step_q[13]};
      advance_14_q  <= 9'(step_q[13].advance) + 9'(at_most_255(length_q));
      left_q        <= left_of(walk.record.length[15:1], walk.record.position);
      window_left_q <= 7'(PARSER_WORDS) - walk.record.position;
      walk_14_q     <= walk;
      for (int n = 0; n < PARSER_SLOTS; n++) begin
        for (int e = 0; e < Eights; e++) eighth_q[n][e] <= slot_reach[{2'(e), step_q[13].extracts[n].word[2:0]}];
      end
    end
    if (valid[14]) begin
      logic       active;
      logic [8:0] needs;
      fault_t     fault;
      active = walk_14_q.record.state != 7'(PARSER_DONE) && walk_14_q.record.fault == FAULT_NONE;
      needs  = 9'(step_q[14].needs);
      fault  = walk_14_q.record.fault;
      if (active) begin
        if (!hit_q[14])                                                                     fault = FAULT_PROGRAM;
        else if (step_q[14].fault != FAULT_NONE)                                            fault = step_q[14].fault;
        else if (advance_14_q > left_q || needs > left_q)                                   fault = FAULT_TRUNCATED;
        else if (advance_14_q > 9'(window_left_q) || needs > 9'(window_left_q)
                 || advance_14_q > 9'(PARSER_FARTHEST))                                     fault = FAULT_WINDOW;
      end
      step_q[15] <= step_q[14];
      advance_q  <= advance_14_q;
      walk_q     <= walk_14_q;
      fault_q    <= fault;
      takes_q    <= active && fault == FAULT_NONE;
      for (int n = 0; n < PARSER_SLOTS; n++) slot_q[n] <= eighth_q[n][step_q[14].extracts[n].word[4:3]];
    end
  end

  // Cycle 16. Slot n writes a container whose number is n modulo PARSER_SLOTS.
  always_ff @(posedge clk_i) begin
    if (valid[15]) begin
      walk_o              <= walk_q;
      walk_o.record.fault <= fault_q;
      if (takes_q) begin
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
          if (32'(step_q[15].extracts[c%PARSER_SLOTS].row) == 1 + c / PARSER_SLOTS) begin
            walk_o.record.containers[c] <= slot_q[c%PARSER_SLOTS];
          end
        end
        if (step_q[15].has_base) begin
          walk_o.record.bases[step_q[15].base] <= '{valid: 1'b1, kind: step_q[15].kind, position: walk_q.record.position};
        end
        walk_o.record.position <= walk_q.record.position + 7'(advance_q);
        walk_o.record.state    <= step_q[15].state;
        walk_o.lookups         <= step_q[15].lookups;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_i, step_q[15], advance_q};
endmodule
