// SPDX-License-Identifier: Apache-2.0
// The address table of a learning switch: hashed, two slots per address. For one packet per cycle it looks up the destination and
// learns the source. A new address takes a free slot, or replaces the address in one of its slots. A slot that is written while it
// is read counts as empty for that packet: the packet is flooded and teaches nothing.
module cfg_l2_table #(
  parameter int unsigned Entries = 4096  // addresses, a power of two, 4 or more
) (
  input  logic        clk_i,
  input  logic        rst_i,          // synchronous, active high; then Entries / 2 cycles until ready_o
  output logic        ready_o,        // the memory is clear; no packet may come before
  input  logic        key_valid_i,    // a packet
  input  logic [47:0] destination_i,  // MAC addresses, the first byte of the packet lowest
  input  logic [47:0] source_i,
  input  logic [2:0]  lane_i,         // the packet's ingress lane
  output logic        result_valid_o, // 7 cycles later
  output logic        result_hit_o,   // the destination is known
  output logic [2:0]  result_lane_o   // its lane
);
  localparam int unsigned Ways       = 2;
  localparam int unsigned Slots      = Entries / Ways;
  localparam int unsigned IndexBits  = $clog2(Slots);
  localparam int unsigned Looks      = 2;  // 0: the destination, 1: the source
  localparam int unsigned HashCycles = 3;
  localparam int unsigned RamCycles  = 2;
  localparam logic [63:0] Seed       = 64'h243f6a8885a308d3;

  typedef struct packed {
    logic        is_used;
    logic [2:0]  lane;
    logic [47:0] address;
  } entry_t;

  typedef struct packed {
    logic [2:0]             lane;
    logic [Looks-1:0][47:0] address;
  } key_t;

  // Cycle 0: the packet. 3: its slots are read. 5: their words are compared. 6: the address to learn is chosen. 7: it is written.
  key_t                                        key, key_5, key_6_q;
  logic                                        valid_3, valid_5, valid_6_q;
  logic   [Looks-1:0][Ways-1:0][IndexBits-1:0] index;
  logic              [Ways-1:0][IndexBits-1:0] index_5, index_6_q, index_7_q;
  entry_t [Looks-1:0][Ways-1:0]                entry;
  entry_t            [Ways-1:0]                found_6_q;  // destination
  logic   [Looks-1:0][Ways-1:0]                known_6_q, collides, collides_4_q, collides_5_q;
  logic              [Ways-1:0]                used_6_q, same_6_q, write_7_q;  // for the source
  logic                                        blocked_6_q;
  entry_t                                      word_7_q;
  logic   [IndexBits-1:0]                      clear_q;
  logic   [HashCycles-1:0]                     valid_q;
  logic                                        unused_valid;

  assign key = '{lane: lane_i, address: {source_i, destination_i}};

  sl_delay #(.Width($bits(key_t)), .Cycles(HashCycles + RamCycles)) u_key (
    .clk_i, .rst_i, .valid_i(key_valid_i), .data_i(key), .valid_o(valid_5), .data_o(key_5)
  );
  sl_delay #(.Width(Ways * IndexBits), .Cycles(RamCycles)) u_index (
    .clk_i, .rst_i, .valid_i(valid_3), .data_i(index[1]), .valid_o(unused_valid), .data_o(index_5)
  );
  assign valid_3 = valid_q[HashCycles-1];

  for (genvar look = 0; look < Looks; look++) begin : gen_look
    sl_hash_function #(.KeyBits(48), .Slots(Slots), .Ways(Ways)) u_hash (
      .clk_i, .valid_i(key_valid_i), .key_i(key.address[look]), .seed_i(Seed), .index_o(index[look])
    );
    for (genvar way = 0; way < Ways; way++) begin : gen_way
      sl_ram_block #(.Width($bits(entry_t)), .Depth(Slots), .Latency(RamCycles)) u_ram (
        .clk_i,
        .write_valid_i(!ready_o || write_7_q[way]), .write_address_i(ready_o ? index_7_q[way] : clear_q),
        .write_data_i(ready_o ? word_7_q : '0),
        .read_valid_i(valid_3), .read_address_i(index[look][way]), .read_data_o(entry[look][way])
      );
      assign collides[look][way] = write_7_q[way] && index_7_q[way] == index[look][way];
    end
  end

  // The slot for a new address.
  logic [Ways-1:0] place;
  logic            is_known, is_learnt;

  assign is_known  = known_6_q[1] != '0;
  assign place     = is_known ? (known_6_q[1][0] ? 2'b01 : 2'b10)
                   : !used_6_q[0] ? 2'b01 : !used_6_q[1] ? 2'b10 : index_6_q[0][0] ? 2'b01 : 2'b10;
  assign is_learnt = valid_6_q && !blocked_6_q && (place & known_6_q[1] & same_6_q) == '0
                     && !key_6_q.address[1][0] && key_6_q.address[1] != '0;  // no group address

  always_ff @(posedge clk_i) begin
    collides_4_q <= collides;
    collides_5_q <= collides_4_q;
    for (int unsigned look = 0; look < Looks; look++) begin
      for (int unsigned way = 0; way < Ways; way++) begin
        known_6_q[look][way] <= entry[look][way].is_used && entry[look][way].address == key_5.address[look]
                                && !collides_5_q[look][way];
      end
    end
    for (int unsigned way = 0; way < Ways; way++) begin
      used_6_q[way] <= entry[1][way].is_used;
      same_6_q[way] <= entry[1][way].lane == key_5.lane;
    end
    blocked_6_q   <= collides_5_q[1] != '0;
    found_6_q     <= entry[0];
    key_6_q       <= key_5;
    index_6_q     <= index_5;
    index_7_q     <= index_6_q;
    word_7_q      <= '{is_used: 1'b1, lane: key_6_q.lane, address: key_6_q.address[1]};
    result_hit_o  <= known_6_q[0] != '0;
    result_lane_o <= known_6_q[0][0] ? found_6_q[0].lane : found_6_q[1].lane;
  end

  always_ff @(posedge clk_i) begin
    valid_q        <= {valid_q[HashCycles-2:0], key_valid_i};
    valid_6_q      <= valid_5;
    result_valid_o <= valid_6_q;
    write_7_q      <= is_learnt ? place : '0;
    if (!ready_o) begin
      clear_q <= clear_q + 1'b1;
      ready_o <= clear_q == '1;
    end
    if (rst_i) begin
      valid_q        <= '0;
      valid_6_q      <= 1'b0;
      result_valid_o <= 1'b0;
      write_7_q      <= '0;
      clear_q        <= '0;
      ready_o        <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_valid, found_6_q};
endmodule
