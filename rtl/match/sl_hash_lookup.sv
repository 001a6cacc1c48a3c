// SPDX-License-Identifier: Apache-2.0
// The lookup half of a hashed table: takes a key, reads port A of every way in one cycle, compares, returns the rule id; one key
// per cycle, never stalls. A slot that is written in the cycle in which it is read counts as written: its RAM word is ignored and
// the written word is compared instead. A key exists in two slots for a while; both carry the same rule id, so the ids of all
// matching slots are ORed.
module sl_hash_lookup #(
  parameter int unsigned KeyBits = 104,
  parameter int unsigned Slots   = 1024,  // slots per way
  parameter int unsigned Ways    = 4,
  parameter int unsigned IdBits  = 12,
  localparam int unsigned IndexBits = $clog2(Slots),
  localparam int unsigned WordBits  = 1 + IdBits + KeyBits
) (
  input  logic                           clk_i,
  input  logic                           rst_i,          // synchronous, active high
  input  logic [63:0]                    seed_i,
  input  logic                           live_i,         // 0: a key that enters in this cycle misses
  input  logic                           key_valid_i,
  input  logic [KeyBits-1:0]             key_i,
  output logic                           read_valid_o,   // port A of every way
  output logic [Ways-1:0][IndexBits-1:0] read_index_o,
  input  logic [Ways-1:0][WordBits-1:0]  read_word_i,    // {valid, id, key}, one cycle later
  input  logic [Ways-1:0]                write_i,        // port B writes; one way at a time while live
  input  logic [Ways-1:0][IndexBits-1:0] write_index_i,
  input  logic [WordBits-1:0]            write_word_i,   // stable in the cycle after a write
  output logic                           result_valid_o,
  output logic                           result_hit_o,
  output logic [31:0]                    result_id_o     // 0 on a miss
);
  localparam int unsigned HashLatency = Slots == 2 ** $clog2(Slots) ? 3 : 4;
  localparam int unsigned Latency     = HashLatency + 5;
  localparam int unsigned KeyDelay    = HashLatency + 2;
  localparam int unsigned PartBits    = 8;  // key bits compared in the first step
  localparam int unsigned Parts       = (KeyBits + PartBits - 1) / PartBits;
  localparam int unsigned NearBits    = 4;  // index bits compared in the first step
  localparam int unsigned Nears       = (IndexBits + NearBits - 1) / NearBits;
  localparam int unsigned Words       = Ways + 1;  // the last is the word that is being written

  logic [Latency-1:0]              valid_q;            // [n]: the key that entered n + 1 cycles ago
  logic [Latency-2:0]              live_q;
  logic [KeyDelay-1:0][KeyBits-1:0] key_q;
  logic [Ways-1:0][Nears-1:0]      near_q;             // parts of the index in which the written and the read slot agree
  logic [Ways-1:0]                 collide;
  logic [Words-1:0][WordBits-1:0]  raw_q;
  logic [Words-1:0]                part_valid_q, match_q;
  logic [Words-1:0][Parts-1:0]     part_q;
  logic [Words-1:0][IdBits-1:0]    part_id_q, match_id_q;

  sl_hash_function #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways)) u_hash (
    .clk_i, .valid_i(key_valid_i), .key_i, .seed_i, .index_o(read_index_o)
  );
  assign read_valid_o = valid_q[HashLatency-1];

  function automatic logic [Parts-1:0] equal_parts(logic [KeyBits-1:0] a, logic [KeyBits-1:0] b);
    logic [Parts*PartBits-1:0] difference;
    difference = (Parts * PartBits)'(a ^ b);
    for (int unsigned part = 0; part < Parts; part++) begin
      equal_parts[part] = difference[part*PartBits+:PartBits] == '0;
    end
  endfunction

  function automatic logic [Nears-1:0] equal_nears(logic [IndexBits-1:0] a, logic [IndexBits-1:0] b);
    logic [Nears*NearBits-1:0] difference;
    difference = (Nears * NearBits)'(a ^ b);
    for (int unsigned part = 0; part < Nears; part++) begin
      equal_nears[part] = difference[part*NearBits+:NearBits] == '0;
    end
  endfunction

  always_comb begin
    for (int unsigned way = 0; way < Ways; way++) collide[way] = &near_q[way];
  end

  function automatic logic [IdBits-1:0] any_id(logic [Words-1:0] match, logic [Words-1:0][IdBits-1:0] id);
    any_id = '0;
    for (int unsigned word = 0; word < Words; word++) begin
      if (match[word]) any_id |= id[word];
    end
  endfunction

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[Latency-2:0], key_valid_i};
    live_q  <= {live_q[Latency-3:0], live_i};
    if (key_valid_i) key_q[0] <= key_i;
    for (int unsigned stage = 1; stage < KeyDelay; stage++) begin
      if (valid_q[stage-1]) key_q[stage] <= key_q[stage-1];
    end

    if (valid_q[HashLatency-1]) begin
      for (int unsigned way = 0; way < Ways; way++) begin
        near_q[way] <= write_i[way] ? equal_nears(write_index_i[way], read_index_o[way]) : '0;
      end
    end
    if (valid_q[HashLatency]) begin
      for (int unsigned way = 0; way < Ways; way++) begin
        raw_q[way] <= read_word_i[way];
        if (collide[way]) raw_q[way][WordBits-1] <= 1'b0;
      end
      raw_q[Ways]             <= write_word_i;
      raw_q[Ways][WordBits-1] <= |collide && write_word_i[WordBits-1];
    end
    if (valid_q[HashLatency+1]) begin
      for (int unsigned word = 0; word < Words; word++) begin
        part_valid_q[word] <= raw_q[word][WordBits-1];
        part_id_q[word]    <= raw_q[word][KeyBits+:IdBits];
        part_q[word]       <= equal_parts(raw_q[word][KeyBits-1:0], key_q[KeyDelay-1]);
      end
    end
    if (valid_q[HashLatency+2]) begin
      for (int unsigned word = 0; word < Words; word++) begin
        match_q[word] <= part_valid_q[word] && &part_q[word];
      end
      match_id_q <= part_id_q;
    end
    if (valid_q[HashLatency+3]) begin
      result_hit_o <= |match_q && live_q[HashLatency+3];
      result_id_o  <= 32'(any_id(match_q, match_id_q));
    end
    if (rst_i) valid_q <= '0;
  end
  assign result_valid_o = valid_q[Latency-1];
endmodule
