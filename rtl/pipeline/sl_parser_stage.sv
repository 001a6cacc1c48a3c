// SPDX-License-Identifier: Apache-2.0
// A stage of the programmable parser: looks up the state and two words of the current header, extracts words of the header into
// containers, and moves on to the next header, all as the entry says that was loaded (`parser_step_t`). A packet that is done, or
// has a fault, passes unchanged. Latency PARSER_STAGE_LATENCY, never stalls.
//
// cycle 1: key; 2 to 5: match; 6: step; 7, 8: length field; 9: length of the step; 10: may it be done, the words of the slots, and
// the first half of the move; 11: containers, and the second half.
module sl_parser_stage
  import sluice_pkg::*;
  import sl_pipeline_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_i,          // synchronous, active high
  input  logic          write_valid_i,  // to a memory of this stage
  input  parser_write_t write_i,        // registered
  input  logic          valid_i,
  input  parser_walk_t  walk_i,         // registered
  input  parser_words_t words_i,        // registered; what is beyond the packet's end reads 0
  output logic          valid_o,        // PARSER_STAGE_LATENCY cycles later
  output parser_walk_t  walk_o,
  output parser_words_t words_o
);
  localparam int unsigned Latency   = PARSER_STAGE_LATENCY;
  localparam int unsigned EntryBits = $clog2(PARSER_ENTRIES);
  localparam int unsigned StepBits  = PARSER_STEP_BITS;

  logic [Latency:0]     valid;  // valid[n]: the packet is in cycle n
  parser_key_t          key_q;
  logic                 hit;
  logic [EntryBits-1:0] entry;
  logic [StepBits-1:0]  step_word;

  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  always_ff @(posedge clk_i) valid[Latency:1] <= rst_i ? '0 : valid[Latency-1:0];

  // Cycles 1 to 6: the step.
  always_ff @(posedge clk_i) begin
    if (valid[0]) begin
      key_q.version <= walk_i.record.version;
      key_q.state   <= walk_i.record.state;
      for (int i = 0; i < PARSER_LOOKUPS; i++) key_q.words[i] <= words_i[walk_i.lookups[i]];
    end
  end

  sl_program_match #(.KeyBits(PARSER_KEY_BITS), .Entries(PARSER_ENTRIES)) u_match (
    .clk_i, .rst_i, .key_valid_i(valid[1]), .key_i(key_q),
    .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_MATCH),
    .write_group_i(write_i.address[7:4]), .write_nibble_i(write_i.address[3:0]), .write_data_i(write_i.data[PARSER_KEY_BITS-1:0]),
    .hit_o(hit), .index_o(entry)
  );

  sl_ram_lut #(.Width(StepBits), .Depth(PARSER_ENTRIES)) u_steps (
    .clk_i, .write_valid_i(write_valid_i && write_i.memory == PARSER_MEMORY_STEP),
    .write_address_i(write_i.address[EntryBits-1:0]), .write_data_i(write_i.data[StepBits-1:0]),
    .read_address_i(entry), .read_data_o(step_word)
  );

  // The words are needed twice: those that can hold the length field early, all of them at the end.
  logic [PARSER_REACH-1:0][15:0] reach;
  parser_walk_t                  walk;
  parser_words_t                 words;
  logic [21:0]                   where;
  logic [3:0]                    beside;

  sl_delay #(.Width(16 * PARSER_REACH), .Cycles(6)) u_reach (
    .clk_i, .rst_i, .valid_i, .data_i(words_i[PARSER_REACH-1:0]), .valid_o(beside[0]), .data_o(reach)
  );
  sl_delay #(.Width(22), .Cycles(8)) u_where (
    .clk_i, .rst_i, .valid_i, .data_i({walk_i.record.length[15:1], walk_i.record.position}), .valid_o(beside[3]), .data_o(where)
  );
  sl_delay #(.Width($bits(parser_walk_t)), .Cycles(9)) u_walk (
    .clk_i, .rst_i, .valid_i, .data_i(walk_i), .valid_o(beside[1]), .data_o(walk)
  );
  sl_delay #(.Width($bits(parser_words_t)), .Cycles(9)) u_words (
    .clk_i, .rst_i, .valid_i, .data_i(words_i), .valid_o(beside[2]), .data_o(words)
  );

  // Cycles 7 to 10. The length field counts at most 255 words: more is beyond every window.
  localparam int unsigned Copies = 8;  // of what chooses among the words, which are many
  localparam int unsigned Own    = PARSER_WORDS / Copies;
  localparam int unsigned CoarseReach = 56, FineReach = 7;  // words of the longest move

  parser_step_t [10:6] step_q;
  logic         [9:6]  hit_q;
  logic [15:0]        field_q;
  logic [7:0]         length_q;
  logic [8:0]         advance, advance_9_q, advance_q;
  logic [8:0]         left_q;         // words to the end of the packet
  logic [6:0]         window_left_q;  // and of the window
  parser_walk_t       walk_q;
  logic               takes_q;  // the step is done
  fault_t             fault_q;

  logic [PARSER_SLOTS-1:0][15:0] slot_q;
  logic [Copies-1:0][2:0]        coarse_q, fine_9_q, fine_q;  // the move: times 8 words, and the rest
  parser_words_t                 moved_q;                       // by the first

  function automatic logic [7:0] length_of(logic [4:0] scale, logic [15:0] field);
    logic [30:0] length;
    length = 31'((47'(field) << scale) >> 16);
    return length[30:8] != '0 ? 8'd255 : length[7:0];
  endfunction

  // Words from here to the end of the packet, at most 511: no step is that long.
  function automatic logic [8:0] left_of(logic [14:0] words_in_all, logic [6:0] position);
    logic [14:0] left;
    left = words_in_all - 15'(position);
    return left[14:9] != '0 ? 9'd511 : left[8:0];
  endfunction

  logic [16*(PARSER_WORDS+CoarseReach)-1:0] words_ahead;
  logic [16*(PARSER_WORDS+FineReach)-1:0]   moved_ahead;

  assign words_ahead  = {(16 * CoarseReach)'(0), words};
  assign moved_ahead = {(16 * FineReach)'(0), moved_q};

  assign advance = 9'(step_q[8].advance) + 9'(length_q);
  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    sl_copy #(.Width(6)) u_move (
      .clk_i, .enable_i(valid[8]), .data_i(advance[5:0]), .data_o({coarse_q[c], fine_9_q[c]})
    );
    sl_copy #(.Width(3)) u_rest (.clk_i, .enable_i(valid[9]), .data_i(fine_9_q[c]), .data_o(fine_q[c]));
  end

  always_ff @(posedge clk_i) begin
    if (valid[5]) {hit_q[6], step_q[6]} <= {hit, step_word};
    if (valid[6]) {hit_q[7], step_q[7], field_q} <= {hit_q[6], step_q[6], reach[step_q[6].length_word] & step_q[6].length_mask};
    if (valid[7]) {hit_q[8], step_q[8], length_q} <= {hit_q[7], step_q[7], length_of(step_q[7].length_scale, field_q)};
    if (valid[8]) begin
      {hit_q[9], step_q[9], advance_9_q} <= {hit_q[8], step_q[8], advance};
      left_q        <= left_of(where[21:7], where[6:0]);
      window_left_q <= 7'(PARSER_WORDS) - where[6:0];
    end
    if (valid[9]) begin
      logic       active;
      logic [8:0] needs;
      fault_t     fault;
      active = walk.record.state != 7'(PARSER_DONE) && walk.record.fault == FAULT_NONE;
      needs  = 9'(step_q[9].needs);
      fault  = walk.record.fault;
      if (active) begin
        if (!hit_q[9])                                                                      fault = FAULT_PROGRAM;
        else if (step_q[9].fault != FAULT_NONE)                                             fault = step_q[9].fault;
        else if (advance_9_q > left_q || needs > left_q)                                    fault = FAULT_TRUNCATED;
        else if (advance_9_q > 9'(window_left_q) || needs > 9'(window_left_q)
                 || advance_9_q > 9'(PARSER_FARTHEST))                                      fault = FAULT_WINDOW;
      end
      step_q[10] <= step_q[9];
      advance_q <= advance_9_q;
      walk_q    <= walk;
      fault_q   <= fault;
      takes_q   <= active && fault == FAULT_NONE;
      for (int n = 0; n < PARSER_SLOTS; n++) slot_q[n] <= words[step_q[9].extracts[n].word];
      for (int c = 0; c < Copies; c++) begin
        moved_q[Own*c +: Own] <= (16 * Own)'(words_ahead[16*Own*c +: 16*(Own+CoarseReach)] >> {coarse_q[c], 7'd0});
      end
    end
  end

  // Cycle 11. Slot n writes a container whose number is n modulo PARSER_SLOTS.
  always_ff @(posedge clk_i) begin
    if (valid[10]) begin
      for (int c = 0; c < Copies; c++) begin
        words_o[Own*c +: Own] <= (16 * Own)'(moved_ahead[16*Own*c +: 16*(Own+FineReach)] >> {fine_q[c], 4'd0});
      end
      walk_o              <= walk_q;
      walk_o.record.fault <= fault_q;
      if (takes_q) begin
        for (int c = 0; c < PIPELINE_CONTAINERS; c++) begin
          if (step_q[10].extracts[c%PARSER_SLOTS].enable && 32'(step_q[10].extracts[c%PARSER_SLOTS].row) == c / PARSER_SLOTS) begin
            walk_o.record.containers[c] <= slot_q[c%PARSER_SLOTS];
          end
        end
        if (step_q[10].has_base) walk_o.record.bases[step_q[10].base] <= '{valid: 1'b1, position: walk_q.record.position};
        walk_o.record.position <= walk_q.record.position + 7'(advance_q);
        walk_o.record.state    <= step_q[10].state;
        walk_o.lookups         <= step_q[10].lookups;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, beside, write_i, step_q[10], advance_q};
endmodule
