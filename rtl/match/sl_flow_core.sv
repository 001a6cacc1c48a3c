// SPDX-License-Identifier: Apache-2.0
// `sl_flow_place` and `sl_flow_sets` without hash and clear: the pipeline that decides. Meaning and ports: there.
module sl_flow_core #(
  parameter int unsigned KeyBits        = 104,  // at least 3
  parameter int unsigned Sets           = 256,  // a power of two, at least 2
  parameter int unsigned Ways           = 4,    // 1 to 8
  parameter int unsigned GenerationBits = 8,    // at least 2
  parameter bit          TimeJumps      = 1'b0, // time may move by any amount from key to key; 0: by less than the timeout in six cycles
  localparam int unsigned SetBits  = $clog2(Sets),
  localparam int unsigned WayBits  = Ways == 1 ? 1 : $clog2(Ways)
) (
  input  logic                      clk_i,
  input  logic                      rst_i,         // synchronous, active high
  input  logic [31:0]               timeout_i,     // ticks, 0: never; a change reaches keys that entered up to 7 cycles before
  input  logic [31:0]               now_i,         // ticks, modulo 2^32
  input  logic                      evict_i,       // a new key may take the way of another; a change reaches keys that entered 8 cycles before
  input  logic                      clear_i,       // this set is emptied: before any key
  input  logic [SetBits-1:0]        clear_set_i,
  input  logic                      ready_i,       // a key is to be placed, not absent whatever it is
  input  logic                      key_valid_i,
  input  logic [KeyBits-1:0]        key_i,
  input  logic [SetBits-1:0]        set4_i,        // its set, 4 cycles later
  input  logic                      insert_i,      // insert the key if it is not there
  input  logic                      forget_i,      // without insert_i: forget the flow if it is there; found_o says whether it was
  output logic                      result_valid_o,  // 12 cycles after key_valid_i
  output logic                      found_o,       // the flow is there. These four are 0 without result_valid_o: counters may count them
  output logic                      new_o,         // the flow was inserted; found_o and new_o 0: it is absent
  output logic                      evicted_o,     // with new_o: another flow had to go
  output logic                      expired_o,     // with new_o: its way held an expired flow
  output logic [SetBits-1:0]        set_o,
  output logic [WayBits-1:0]        way_o,         // with found_o or new_o
  output logic [GenerationBits-1:0] generation_o,  // with found_o or new_o
  input  logic                      remove_valid_i,  // forget the flow of this place and generation
  input  logic [SetBits-1:0]        remove_set_i,
  input  logic [WayBits-1:0]        remove_way_i,
  input  logic [GenerationBits-1:0] remove_generation_i
);
  localparam int unsigned Parts = (KeyBits + 17) / 18;

  // What accompanies a key; the index is its stage.
  logic [12:1]        valid_q, place_q;  // a key; and the table was ready
  logic [8:1]         insert_q;         // place_q, and the key is to be inserted
  logic [11:1]        forget_q;         // its flow is to be forgotten
  logic [KeyBits-1:0] key_q [1:10];
  logic [31:0]        now_q [1:10];
  logic [SetBits-1:0] set_q [5:12];

  always_ff @(posedge clk_i) begin
    valid_q  <= {valid_q[11:1], key_valid_i};
    place_q  <= {place_q[11:1], key_valid_i && ready_i};
    insert_q <= {insert_q[7:1], key_valid_i && ready_i && insert_i};
    forget_q <= {forget_q[10:1], forget_i && !insert_i};
    key_q[1] <= key_i;
    now_q[1] <= now_i;
    set_q[5] <= set4_i;
    for (int s = 2; s <= 10; s++) key_q[s] <= key_q[s-1];
    for (int s = 2; s <= 10; s++) now_q[s] <= now_q[s-1];
    for (int s = 6; s <= 12; s++) set_q[s] <= set_q[s-1];
    if (rst_i) begin
      valid_q  <= '0;
      place_q  <= '0;
      insert_q <= '0;
    end
  end

  // Comparisons with the keys ahead, by distance.
  logic [5:1][Parts-1:0] equal2_q;
  logic [5:1]            equal_q [3:8];
  logic [6:1]            same_q [5:9];
  logic [9:5]            same;   // of each stage with stage 10: the set,
  logic [8:5]            equal;  // and the key
  logic [6:1]            stale_q [5:9];  // what the key ahead used is expired for this one
  logic [9:5]            stale;  // of each stage with stage 10

  function automatic logic [Parts-1:0] equal_parts(logic [KeyBits-1:0] a, logic [KeyBits-1:0] b);
    logic [18*Parts-1:0] difference;
    difference = (18 * Parts)'(a ^ b);
    for (int unsigned i = 0; i < Parts; i++) equal_parts[i] = difference[18*i +: 18] == '0;
  endfunction

  always_ff @(posedge clk_i) begin
    for (int d = 1; d <= 5; d++) begin
      equal2_q[d]   <= equal_parts(key_q[1], key_q[1+d]);
      equal_q[3][d] <= equal2_q[d] == '1;
    end
    same_q[5][1] <= place_q[4] && place_q[5] && set4_i == set_q[5];
    for (int d = 2; d <= 6; d++) same_q[5][d] <= place_q[4] && place_q[4+d] && set4_i == set_q[4+d];
    for (int s = 4; s <= 8; s++) equal_q[s] <= equal_q[s-1];
    for (int s = 6; s <= 9; s++) same_q[s] <= same_q[s-1];
  end
  for (genvar s = 5; s <= 9; s++) begin : gen_with_stage_10
    assign same[s] = same_q[s][10-s];
    if (s <= 8) begin : gen_equal
      assign equal[s] = equal_q[s][10-s];
    end
  end

  if (TimeJumps) begin : gen_stale
    logic [31:0] apart_q [1:6];
    logic [6:1]  stale4_q;
    always_ff @(posedge clk_i) begin
      for (int d = 1; d <= 6; d++) apart_q[d] <= now_q[2] - now_q[2+d];
      for (int d = 1; d <= 6; d++) stale4_q[d] <= apart_q[d] >= timeout_i && timeout_i != '0;
      stale_q[5] <= stale4_q;
      for (int s = 6; s <= 9; s++) stale_q[s] <= stale_q[s-1];
    end
  end else begin : gen_never_stale
    for (genvar s = 5; s <= 9; s++) begin : gen_stage
      assign stale_q[s] = '0;
    end
  end
  for (genvar s = 5; s <= 9; s++) begin : gen_stale_with_stage_10
    assign stale[s] = stale_q[s][10-s];
  end

  logic                      remove_q;
  logic [SetBits-1:0]        remove_set_q;
  logic [WayBits-1:0]        remove_way_q;
  logic [GenerationBits-1:0] remove_generation_q;

  always_ff @(posedge clk_i) begin
    remove_q            <= remove_valid_i && !rst_i;
    remove_set_q        <= remove_set_i;
    remove_way_q        <= remove_way_i;
    remove_generation_q <= remove_generation_i;
  end

  logic [Ways-1:0] match, renew, usable, expired10;
  logic [Ways-1:0] touched_q, taken_q, touched11_q;  // decided; without a suffix in stage 10
  logic [Ways-1:0][GenerationBits-1:0] generation11;

  for (genvar way = 0; way < Ways; way++) begin : gen_way
    sl_flow_way #(.KeyBits(KeyBits), .Sets(Sets), .GenerationBits(GenerationBits)) u_way (
      .clk_i, .rst_i, .clear_i, .clear_set_i, .timeout_i,
      .set4_i, .set5_i(set_q[5]), .now6_i(now_q[6]), .key7_i(key_q[7]), .place8_i(place_q[8]), .insert8_i(insert_q[8]),
      .same_i(same), .equal_i(equal), .same11_i(same_q[5][6]), .same_next_i(same_q[8][1]), .equal_next_i(equal_q[8][1]),
      .stale_i(stale), .stale11_i(stale_q[5][6]), .stale_next_i(stale_q[8][1]),
      .forget_next_i(forget_q[9]), .forget10_i(forget_q[10]), .forget11_i(forget_q[11]),
      .match_o(match[way]), .renew_o(renew[way]), .usable_o(usable[way]),
      .touched10_i(touched_q[way]), .taken10_i(taken_q[way]), .touched11_i(touched11_q[way]),
      .set10_i(set_q[10]), .key10_i(key_q[10]), .now10_i(now_q[10]),
      .expired10_o(expired10[way]), .generation11_o(generation11[way]),
      .remove_i(remove_q && remove_way_q == WayBits'(way)), .remove_set_i(remove_set_q),
      .remove_generation_i(remove_generation_q)
    );
  end

  // The decision, stage 9: the loop from one key to the next is from `touched_q` and `taken_q` to themselves.
  logic [Ways-1:0] victim, first, touched_d, taken_d;
  logic            evict_d, evict_q;

  for (genvar way = 0; way < Ways; way++) begin : gen_decision
    assign first[way]     = usable[way] && (usable & Ways'((1 << way) - 1)) == '0;
    assign touched_d[way] = match != '0 ? match[way] : usable != '0 ? first[way] : victim[way];
    assign taken_d[way]   = match != '0 ? renew[way] : usable != '0 ? first[way] : victim[way];
  end
  assign evict_d = match == '0 && usable == '0 && victim != '0;

  sl_flow_hand #(.Sets(Sets), .Ways(Ways)) u_hand (
    .clk_i, .rst_i, .clear_i, .clear_set_i, .set5_i(set_q[5]), .insert8_i(insert_q[8] && evict_i),
    .same_i(same[8:5]), .same11_i(same_q[5][6]), .same_next_i(same_q[8][1]), .victim_o(victim), .taken10_i(taken_q), .set11_i(set_q[11]), .place11_i(place_q[11])
  );

  always_ff @(posedge clk_i) begin
    touched_q   <= touched_d;
    taken_q     <= taken_d;
    evict_q     <= evict_d;
    touched11_q <= touched_q;
    if (rst_i) begin
      touched_q <= '0;
      taken_q   <= '0;
    end
  end

  // The result: flags from stage 10, registered twice; the generation of the way from stage 11.
  logic                      found11_q, new11_q, evicted11_q, expired11_q;
  logic [WayBits-1:0]        way11;
  logic [GenerationBits-1:0] chosen11;

  always_comb begin
    way11    = '0;
    chosen11 = '0;
    for (int unsigned way = 0; way < Ways; way++) begin
      if (touched11_q[way]) way11 |= WayBits'(way);
      if (touched11_q[way]) chosen11 |= generation11[way];
    end
  end

  always_ff @(posedge clk_i) begin
    found11_q    <= (touched_q & ~taken_q) != '0;
    new11_q      <= taken_q != '0;
    evicted11_q  <= evict_q;
    expired11_q  <= expired10 != '0;
    found_o      <= found11_q && place_q[11] && !rst_i;
    new_o        <= new11_q && place_q[11] && !rst_i;
    evicted_o    <= evicted11_q && place_q[11] && !rst_i;
    expired_o    <= expired11_q && place_q[11] && !rst_i;
    way_o        <= way11;
    generation_o <= chosen11;
  end
  assign result_valid_o = valid_q[12];
  assign set_o          = set_q[12];
endmodule
