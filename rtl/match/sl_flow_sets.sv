// SPDX-License-Identifier: Apache-2.0
// The flow table of a compiled element (`flow<key, value>`): where the flow of a key is. As `sl_flow_place`, but the element hashes
// the key, time may move as it likes, and a flow is forgotten by its key. One key per cycle, never stalls. Meaning:
// `models/flow_place.py`; how it keeps the rate: docs/design/flow_place.md.
module sl_flow_sets #(
  parameter int unsigned KeyBits = 104,  // at least 1
  parameter int unsigned Sets    = 256,  // a power of two, at least 1
  parameter int unsigned Ways    = 4,    // 1 to 8
  parameter int unsigned Timeout = 0,    // ticks without a key after which a flow is expired, 0: never
  parameter bit          Evict   = 1'b1, // a new key takes the way of another one if its set is full
  localparam int unsigned SetBits   = Sets == 1 ? 1 : $clog2(Sets),
  localparam int unsigned WayBits   = $clog2(Ways),
  localparam int unsigned PlaceBits = SetBits + WayBits
) (
  input  logic                 clk_i,
  input  logic                 rst_i,        // synchronous, active high: every flow is forgotten
  output logic                 ready_o,      // every set is empty; no key may enter before
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  input  logic [31:0]          now_i,        // ticks, modulo 2^32
  input  logic                 insert_i,     // insert the key if it is not there
  input  logic                 forget_i,     // without insert_i: forget the flow if it is there; found_o says whether it was
  input  logic [SetBits-1:0]   set4_i,       // of the key, 4 cycles after it; 0 if there is one
  output logic                 found_o,      // 12 cycles after key_valid_i: the flow is there; else 0
  output logic                 new_o,        // likewise: it was inserted
  output logic [PlaceBits-1:0] place_o       // {set, way}, with found_o or new_o
);
  localparam int unsigned CoreKeyBits = KeyBits < 3 ? 3 : KeyBits;
  localparam int unsigned CoreSets    = Sets == 1 ? 2 : Sets;
  localparam int unsigned CoreWayBits = Ways == 1 ? 1 : WayBits;

  logic                   clear;
  logic [SetBits-1:0]     clear_set, set;
  logic [CoreWayBits-1:0] way;
  logic [127:0]           unused_secret;
  logic [7:0]             unused_generation;
  logic                   unused_evicted, unused_expired, unused_valid;

  sl_flow_clear #(.Sets(CoreSets), .Drain(12)) u_clear (
    .clk_i, .rst_i, .secret_i('0), .flush_i(1'b0), .secret_o(unused_secret), .clear_o(clear), .clear_set_o(clear_set), .ready_o
  );
  sl_flow_core #(.KeyBits(CoreKeyBits), .Sets(CoreSets), .Ways(Ways), .TimeJumps(1'b1)) u_core (
    .clk_i, .rst_i, .timeout_i(Timeout), .now_i, .evict_i(Evict), .clear_i(clear), .clear_set_i(clear_set), .ready_i(1'b1),
    .key_valid_i, .key_i(CoreKeyBits'(key_i)), .set4_i, .insert_i, .forget_i, .result_valid_o(unused_valid),
    .found_o, .new_o, .evicted_o(unused_evicted), .expired_o(unused_expired), .set_o(set), .way_o(way),
    .generation_o(unused_generation), .remove_valid_i(1'b0), .remove_set_i('0), .remove_way_i('0), .remove_generation_i('0)
  );

  if (Ways == 1) begin : gen_set
    logic unused_way;
    assign unused_way = way;
    assign place_o = set;
  end else begin : gen_set_and_way
    assign place_o = {set, way};
  end
endmodule
