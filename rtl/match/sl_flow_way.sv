// SPDX-License-Identifier: Apache-2.0
// One way of `sl_flow_core`: its memories, and what a key knows of it when it decides. Ports and registers are named after the stage
// of the key that they belong to, stage 0 being the cycle in which a key enters.
//
// A key reads the times in stage 4, keys and generations in stage 5; keys decide in stage 9 and write in stage 10. So what up to six
// keys ahead do to the set is in no word that it reads. From stage 5 on it watches each of them in the cycle after its decision.
module sl_flow_way #(
  parameter int unsigned KeyBits        = 104,
  parameter int unsigned Sets           = 256,
  parameter int unsigned GenerationBits = 8,
  localparam int unsigned SetBits   = $clog2(Sets),
  localparam int unsigned CountBits = GenerationBits - 1,
  localparam int unsigned Parts     = (KeyBits + 17) / 18  // 18 bits are compared in a cycle
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  input  logic                      clear_i,         // writes of keys and removals are replaced by this:
  input  logic [SetBits-1:0]        clear_set_i,     // the set is emptied
  input  logic [31:0]               timeout_i,
  // the key that reads
  input  logic [SetBits-1:0]        set4_i,
  input  logic [SetBits-1:0]        set5_i,
  input  logic [31:0]               now6_i,
  input  logic [KeyBits-1:0]        key7_i,
  input  logic                      place8_i,        // this key is to be placed
  input  logic                      insert8_i,       // and inserted if it is not there
  // what the key of a stage has in common with that in stage 10
  input  logic [9:5]                same_i,          // its set
  input  logic [8:5]                equal_i,         // its key
  input  logic                      same11_i,        // of stage 5 with stage 11: its set
  input  logic                      same_next_i,     // of stage 8 with stage 9
  input  logic                      equal_next_i,
  // what the key of stage 10 (11, 9) used is expired for that of a stage, as the other inputs
  input  logic [9:5]                stale_i,
  input  logic                      stale11_i,
  input  logic                      stale_next_i,
  // and it forgot what it found
  input  logic                      forget_next_i,
  input  logic                      forget10_i,
  input  logic                      forget11_i,
  // the decision, in stage 9
  output logic                      match_o,         // this way holds the key, and the key may have it
  output logic                      renew_o,         // with match_o: as a new flow
  output logic                      usable_o,        // a new flow may have this way
  // what was decided for this way, in stages 10 and 11
  input  logic                      touched10_i,     // found, or taken
  input  logic                      taken10_i,       // by a new flow
  input  logic                      touched11_i,
  input  logic [SetBits-1:0]        set10_i,
  input  logic [KeyBits-1:0]        key10_i,
  input  logic [31:0]               now10_i,
  output logic                      expired10_o,     // what was here was expired
  output logic [GenerationBits-1:0] generation11_o,  // of the entry that the key found or made here
  // a removal
  input  logic                      remove_i,
  input  logic [SetBits-1:0]        remove_set_i,
  input  logic [GenerationBits-1:0] remove_generation_i
);
  // A generation counts how often the way was taken, and ends with the inverse of the last bit of the generation that was removed
  // last: so a new entry never looks removed. An entry is dead if its generation is the one that was removed last.
  logic [31:0]               time6, age7_q;
  logic                      forgotten6, forgotten7_q;  // since it was taken, a key forgot it
  logic [KeyBits-1:0]        key7;
  logic [GenerationBits-1:0] generation7, removed7, ram_removed7;
  logic [CountBits-1:0]      count9_q, count10_q;  // the generation that begins if the key takes this way: its count,
  logic                      fresh9_q, fresh10_q;  // and its last bit

  sl_ram_block #(.Width(33), .Depth(Sets), .Latency(2)) u_times (
    .clk_i, .write_valid_i(touched10_i), .write_address_i(set10_i), .write_data_i({forget10_i, now10_i}),
    .read_valid_i(1'b1), .read_address_i(set4_i), .read_data_o({forgotten6, time6})
  );
  sl_ram_block #(.Width(KeyBits + GenerationBits), .Depth(Sets), .Latency(2)) u_keys (
    .clk_i, .write_valid_i(taken10_i || clear_i), .write_address_i(clear_i ? clear_set_i : set10_i),
    .write_data_i({key10_i, clear_i ? GenerationBits'(0) : {count10_q, fresh10_q}}),
    .read_valid_i(1'b1), .read_address_i(set5_i), .read_data_o({key7, generation7})
  );
  sl_ram_block #(.Width(GenerationBits), .Depth(Sets), .Latency(2)) u_removed (
    .clk_i, .write_valid_i(remove_i || clear_i), .write_address_i(clear_i ? clear_set_i : remove_set_i),
    .write_data_i(clear_i ? GenerationBits'(0) : remove_generation_i),
    .read_valid_i(1'b1), .read_address_i(set5_i), .read_data_o(ram_removed7)
  );

  // A removal that is written in the cycle of the read.
  logic                      bypass6_q, bypass7_q;
  logic [GenerationBits-1:0] bypass_generation6_q, bypass_generation7_q;

  assign removed7 = bypass7_q ? bypass_generation7_q : ram_removed7;

  always_ff @(posedge clk_i) begin
    bypass6_q            <= remove_i && remove_set_i == set5_i;
    bypass_generation6_q <= remove_generation_i;
    bypass7_q            <= bypass6_q;
    bypass_generation7_q <= bypass_generation6_q;
  end

  // What the keys ahead did since the read.
  logic [9:5] touch, take;               // the key in stage 10 did, to the set of this stage
  logic [8:6] touched_q, taken_q;        // a key before did
  logic [8:6] stale_q, forgotten_q;      // with touched_q: by the last of them it is expired, or forgotten
  logic [8:6] own_q;                     // with taken_q: for this stage's key
  logic [7:6] last_q;                    // with taken_q: last bit of its generation
  logic [7:6][1:0] takes_q;

  assign touch = same_i & {5{touched10_i}};
  assign take  = same_i & {5{taken10_i}};

  always_ff @(posedge clk_i) begin
    touched_q <= {touched_q[7:6] | touch[7:6], touch[5] || (same11_i && touched11_i)};
    taken_q   <= {taken_q[7:6] | take[7:6], take[5]};
    stale_q   <= {touch[7] ? stale_i[7] : stale_q[7], touch[6] ? stale_i[6] : stale_q[6], touch[5] ? stale_i[5] : stale11_i};
    forgotten_q <= {touch[7] ? forget10_i : forgotten_q[7], touch[6] ? forget10_i : forgotten_q[6],
                    touch[5] ? forget10_i : forget11_i};
    own_q     <= {take[7] ? equal_i[7] : own_q[7], take[6] ? equal_i[6] : own_q[6], equal_i[5]};
    last_q    <= {take[6] ? fresh10_q : last_q[6], fresh10_q};
    takes_q   <= {takes_q[6] + 2'(take[6]), 2'(take[5])};
  end

  // Stage 7: comparisons. Stage 8: the state of the way but for the last key ahead.
  function automatic logic [Parts-1:0] equal_parts(logic [KeyBits-1:0] a, logic [KeyBits-1:0] b);
    logic [18*Parts-1:0] difference;
    difference = (18 * Parts)'(a ^ b);
    for (int unsigned i = 0; i < Parts; i++) equal_parts[i] = difference[18*i +: 18] == '0;
  endfunction

  logic [Parts-1:0]     equal8_q;
  logic                 live8_q, expired8_q, take8_q, last8_q, fresh8_q;
  logic [CountBits-1:0] count8_q;
  logic                 forgotten8_q, forgotten8, own8, free8, old8;

  assign forgotten8 = touch[8] ? forget10_i : touched_q[8] ? forgotten_q[8] : forgotten8_q;
  assign own8  = !forgotten8 && (take[8] ? equal_i[8] : taken_q[8] ? own_q[8] : equal8_q == '1 && live8_q);
  assign free8 = forgotten8 || (!live8_q && !taken_q[8] && !take[8]);
  assign old8  = !free8 && (touch[8] ? stale_i[8] : touched_q[8] ? stale_q[8] : expired8_q);

  always_ff @(posedge clk_i) begin
    age7_q     <= now6_i - time6;
    expired8_q <= age7_q >= timeout_i && timeout_i != '0;
    equal8_q   <= equal_parts(key7_i, key7);
    live8_q    <= generation7 != removed7;
    forgotten7_q <= forgotten6;
    forgotten8_q <= forgotten7_q;
    count8_q   <= generation7[GenerationBits-1:1] + CountBits'(takes_q[7]) + 1'b1;
    take8_q    <= take[7];
    last8_q    <= take[7] ? fresh10_q : taken_q[7] ? last_q[7] : generation7[0];
    fresh8_q   <= !removed7[0];
  end

  // Stage 9, for each of what the key in stage 10 may have done here: nothing, found its key, taken it.
  typedef struct packed {logic match, renew, usable;} choice_t;

  // Of a way that holds the key (`own`) or nothing (`free`), and whose entry is expired (`old`).
  function automatic choice_t choice_of(logic own, logic free, logic old);
    choice_of.match  = own && (insert8_i || (place8_i && !old));
    choice_of.renew  = own && insert8_i && old;
    choice_of.usable = insert8_i && (free || old);
  endfunction

  choice_t              nothing9_q, found9_q, taken9_q, choice;
  logic                 free9_q, old9_q, old10_q, last9_q, last10_q;

  assign choice   = taken10_i ? taken9_q : touched10_i ? found9_q : nothing9_q;
  assign match_o  = choice.match;
  assign renew_o  = choice.renew;
  assign usable_o = choice.usable;

  always_ff @(posedge clk_i) begin
    nothing9_q <= choice_of(own8, free8, old8);
    found9_q   <= choice_of(own8 && !(same_next_i && forget_next_i), free8 || (same_next_i && forget_next_i),
                            same_next_i ? stale_next_i : old8);
    taken9_q   <= choice_of(same_next_i ? equal_next_i : own8, free8 && !same_next_i, same_next_i ? stale_next_i : old8);
    if (rst_i) begin
      nothing9_q <= '0;
      found9_q   <= '0;
      taken9_q   <= '0;
    end
    free9_q   <= free8;  // a key ahead that finds what is free for this one did not see its removal
    old9_q    <= old8;
    old10_q   <= touch[9] ? stale_i[9] && !forget10_i && (take[9] || !free9_q) : old9_q;
    count9_q  <= count8_q + CountBits'(take8_q) + CountBits'(take[8]);
    count10_q <= count9_q + CountBits'(take[9]);
    last9_q   <= take[8] ? fresh10_q : last8_q;
    last10_q  <= take[9] ? fresh10_q : last9_q;
    fresh9_q  <= fresh8_q;
    fresh10_q <= fresh9_q;
    generation11_o <= taken10_i ? {count10_q, fresh10_q} : {count10_q - 1'b1, last10_q};
  end

  assign expired10_o = old10_q && taken10_i;
endmodule
