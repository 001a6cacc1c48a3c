// SPDX-License-Identifier: Apache-2.0
// Ternary match: every cycle a key, Latency cycles later the entries that match it. A transposed RAM: the key is cut into
// chunks, and a RAM word for each value of a chunk has a bit per entry. In LUT RAM, or in block RAM with wider chunks: fewer
// LUTs, slower writes.
//
// A write never stalls or disturbs a lookup: it goes to an entry that is not valid, sweeps the 2**ChunkBits words of all
// chunks at once, and rewrites the entries of the same group from a shadow with what they hold. `switch_i` then makes the
// entry valid and another invalid in one cycle. One write enable per group of entries, because that is what a RAM has: one
// per entry would cost GroupEntries times as much. Written to write: 2**ChunkBits + GroupEntries cycles.
//
// Rules for the user: write only invalid entries; do not switch an entry on before `written_o`; a write may follow a switch
// that cleared its entry at once (it takes longer to reach the RAM than lookups under way take to read it).
module sl_tcam #(
  parameter int unsigned KeyBits      = 32,   // padded to a multiple of ChunkBits inside
  parameter int unsigned Entries      = 513,  // physical entries, one more than rules; Entries - 1 a multiple of GroupEntries is cheapest
  parameter bit          BlockRam     = 1'b0,
  parameter int unsigned ChunkBits    = BlockRam ? 8 : 4,  // address bits of a RAM: 4 (ECP5), 4 to 6 (xcup); block RAM: up to 9
  parameter int unsigned GroupEntries = BlockRam ? 8 : 4,  // entries of a RAM: 4 (ECP5), 8 (xcup); block RAM: at most a RAM byte; power of two
  parameter int unsigned BankEntries  = 64,   // LUT RAM: entries that share a copy of the key; multiple of GroupEntries
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned Latency   = sl_match_pkg::tcam_latency(BlockRam)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  output logic                 match_valid_o,   // Latency cycles after key_valid_i
  output logic [Entries-1:0]   match_o,         // holds until the next
  input  logic                 target_valid_i,  // the entry of the next write, see sl_tcam_shadow
  input  logic [IndexBits-1:0] target_index_i,
  input  logic                 reload_i,
  input  logic                 write_valid_i,
  output logic                 write_ready_o,
  input  logic [KeyBits-1:0]   write_value_i,
  input  logic [KeyBits-1:0]   write_mask_i,    // 1: the bit must agree
  output logic                 written_o,       // pulse: from this cycle on the entry may be switched on
  input  logic                 switch_i,        // a key that enters in this cycle or later sees the new valid bits
  input  logic                 set_valid_i,
  input  logic [IndexBits-1:0] set_index_i,
  input  logic                 clear_valid_i,
  input  logic [IndexBits-1:0] clear_index_i,
  input  logic                 clear_all_i
);
  localparam int unsigned Chunks     = (KeyBits + ChunkBits - 1) / ChunkBits;
  localparam int unsigned PaddedBits = Chunks * ChunkBits;
  localparam int unsigned Groups     = (Entries + GroupEntries - 1) / GroupEntries;
  localparam int unsigned GroupBits  = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned BankGroups = BlockRam ? Groups : BankEntries / GroupEntries;
  localparam int unsigned BankSize   = BankGroups * GroupEntries;
  localparam int unsigned Banks      = (Entries + BankSize - 1) / BankSize;

  logic                           sweep_valid, sweep_last, data_valid_q, last_q;
  logic [GroupBits-1:0]           sweep_group;
  logic [ChunkBits-1:0]           sweep_word, word_q;
  logic [2*KeyBits-1:0]           lanes [GroupEntries];
  logic [Chunks*GroupEntries-1:0] data_q;
  logic [Groups-1:0]              group_q;
  logic [Entries-1:0]             accept, valid;
  logic [Latency-1:0]             key_valid_q;

  sl_tcam_shadow #(
    .Width(2 * KeyBits), .Entries(Entries), .GroupEntries(GroupEntries), .WordBits(ChunkBits)
  ) u_shadow (
    .clk_i, .rst_i, .target_valid_i, .target_index_i, .reload_i, .write_valid_i, .write_ready_o,
    .write_data_i({write_mask_i, write_value_i}),
    .sweep_valid_o(sweep_valid), .sweep_last_o(sweep_last), .sweep_group_o(sweep_group), .sweep_word_o(sweep_word),
    .lanes_o(lanes)
  );

  always_ff @(posedge clk_i) begin
    key_valid_q  <= {key_valid_q[Latency-2:0], key_valid_i};
    data_valid_q <= sweep_valid;
    last_q       <= sweep_last;
    written_o    <= last_q;
    if (sweep_valid) begin
      word_q <= sweep_word;
      for (int g = 0; g < Groups; g++) group_q[g] <= 32'(sweep_group) == g;
      for (int e = 0; e < GroupEntries; e++) begin
        logic [PaddedBits-1:0] value, mask;
        value = PaddedBits'(lanes[e][KeyBits-1:0]);
        mask  = PaddedBits'(lanes[e][KeyBits+:KeyBits]);
        for (int c = 0; c < Chunks; c++) begin
          data_q[c*GroupEntries+e] <= ((value[c*ChunkBits+:ChunkBits] ^ sweep_word) & mask[c*ChunkBits+:ChunkBits]) == '0;
        end
      end
    end
    // The matches of all chunks and the valid bits meet before this register: what follows is a RAM addressed by them.
    if (key_valid_q[Latency-2]) match_o <= accept & valid;
    if (rst_i) begin
      key_valid_q  <= '0;
      data_valid_q <= 1'b0;
      last_q       <= 1'b0;
      written_o    <= 1'b0;
    end
  end

  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    localparam int unsigned First = b * BankSize;
    localparam int unsigned Count = b == Banks - 1 ? Entries - First : BankSize;
    localparam int unsigned Own   = (Count + GroupEntries - 1) / GroupEntries;
    sl_tcam_bank #(
      .KeyBits(PaddedBits), .Entries(Count), .BlockRam(BlockRam), .ChunkBits(ChunkBits), .GroupEntries(GroupEntries)
    ) u_bank (
      .clk_i,
      .key_valid_i,
      .key_i(PaddedBits'(key_i)),
      .write_valid_i(data_valid_q),
      .write_group_i(group_q[b*BankGroups+:Own]),
      .write_word_i(word_q),
      .write_data_i(data_q),
      .match_o(accept[First+:Count])
    );
  end

  sl_tcam_valid #(.Entries(Entries), .Delay(Latency - 1)) u_valid (
    .clk_i, .rst_i, .switch_i, .set_valid_i, .set_index_i, .clear_valid_i, .clear_index_i, .clear_all_i, .valid_o(valid)
  );

  assign match_valid_o = key_valid_q[Latency-1];
endmodule
