// SPDX-License-Identifier: Apache-2.0
// The place of each flow: a key in, its set and way out, one key per cycle, never stalls. New keys are inserted by the data path
// itself; what belongs to a flow stands elsewhere, addressed by set and way. Meaning: `models/flow_place.py`; how it keeps the rate:
// docs/design/flow_place.md.
//
// * Time is that of the cycle in which a key enters. While `timeout_i` is not 0, time must not move by as much as the timeout within
//   six cycles: an entry that was used in the six cycles before is never expired.
// * A removal is seen by keys that enter at most 4 cycles before it, or later. Removals come in the order of their keys, each before its
//   way has been taken 2^(GenerationBits-1) times again, and before `ready_o` rises after a clear.
// * While `ready_o` is 0 keys are absent: after reset, after `flush_i` and after a change of the secret, until every set is empty.
module sl_flow_place #(
  parameter int unsigned KeyBits        = 104,  // at least 3
  parameter int unsigned Sets           = 256,  // a power of two, at least 2
  parameter int unsigned Ways           = 4,    // 1 to 8
  parameter int unsigned GenerationBits = 8,    // at least 2
  localparam int unsigned SetBits  = $clog2(Sets),
  localparam int unsigned WayBits  = Ways == 1 ? 1 : $clog2(Ways)
) (
  input  logic                      clk_i,
  input  logic                      rst_i,         // synchronous, active high
  input  logic [127:0]              secret_i,      // of the hash; a change flushes
  input  logic [31:0]               timeout_i,     // ticks, 0: never; a change reaches keys that entered up to 7 cycles before
  input  logic [31:0]               now_i,         // ticks, modulo 2^32
  input  logic                      evict_i,       // a new key takes the way of another one if its set is full; static
  input  logic                      flush_i,       // forget every flow
  output logic                      ready_o,
  input  logic                      key_valid_i,
  input  logic [KeyBits-1:0]        key_i,
  input  logic                      insert_i,      // insert the key if it is not there
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
  logic [127:0]       secret;
  logic [SetBits-1:0] set4, clear_set;
  logic               clear;

  sl_flow_clear #(.Sets(Sets), .Drain(12)) u_clear (
    .clk_i, .rst_i, .secret_i, .flush_i, .secret_o(secret), .clear_o(clear), .clear_set_o(clear_set), .ready_o
  );
  sl_keyed_hash #(.KeyBits(KeyBits), .Slots(Sets), .Ways(1)) u_hash (
    .clk_i, .valid_i(key_valid_i), .key_i, .secret_i(secret), .index_o(set4)
  );
  sl_flow_core #(.KeyBits(KeyBits), .Sets(Sets), .Ways(Ways), .GenerationBits(GenerationBits)) u_core (
    .clk_i, .rst_i, .timeout_i, .now_i, .evict_i, .clear_i(clear), .clear_set_i(clear_set), .ready_i(ready_o),
    .key_valid_i, .key_i, .set4_i(set4), .insert_i, .forget_i(1'b0), .result_valid_o, .found_o, .new_o, .evicted_o, .expired_o, .set_o, .way_o,
    .generation_o, .remove_valid_i, .remove_set_i, .remove_way_i, .remove_generation_i
  );
endmodule
