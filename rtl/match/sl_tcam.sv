// SPDX-License-Identifier: Apache-2.0
// Ternary match: takes a key every cycle and returns the matching entries Latency cycles later. A transposed RAM: the key is cut
// into chunks, and each value of a chunk has a RAM word with one bit per entry. In LUT RAM, or in block RAM with wider chunks:
// fewer LUTs, slower writes.
//
// A write never stalls or disturbs a lookup: it goes to an entry that is not valid, sweeps the 2**ChunkBits words of all chunks at
// once, and rewrites the other entries of the same group unchanged from a shadow. `switch_i` then makes the entry valid and another
// invalid in one cycle. There is one write enable per group of entries, because RAMs are built that way; one per entry would cost
// GroupEntries times as much. From one write to the next: 2**ChunkBits + GroupEntries cycles.
//
// Rules for the user: write only invalid entries; do not make an entry valid before `written_o`; a write may immediately follow the
// switch that cleared its entry (the write arrives after in-flight lookups have read).
module sl_tcam #(
  parameter int unsigned KeyBits      = 32,   // internally padded to a multiple of ChunkBits
  parameter int unsigned Entries      = 513,  // physical entries, one more than rules; Entries - 1 a multiple of GroupEntries is cheapest
  parameter bit          BlockRam     = 1'b0,
  parameter int unsigned ChunkBits    = BlockRam ? 8 : 4,  // address bits of a RAM: 4 (ECP5), 4 to 6 (xcup); block RAM: up to 9
  parameter int unsigned GroupEntries = BlockRam ? 8 : 4,  // entries of a RAM: 4 (ECP5), 8 (xcup); block RAM: at most a RAM byte; power of two
  parameter int unsigned BankEntries  = 64,   // LUT RAM: entries that share a copy of the key; power of two, GroupEntries or more
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned BankSize  = sl_match_pkg::tcam_bank(BlockRam, Entries, BankEntries),
  localparam int unsigned Banks     = (Entries + BankSize - 1) / BankSize
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  output logic [Banks-1:0]     match_valid_o,   // Latency cycles after key_valid_i; same for every bank, from registers there
  output logic [Entries-1:0]   match_o,         // stable until the next
  input  logic                 target_valid_i,  // the entry of the next write, see sl_tcam_shadow
  input  logic [IndexBits-1:0] target_index_i,
  input  logic                 reload_i,
  input  logic                 write_valid_i,
  output logic                 write_ready_o,
  input  logic [KeyBits-1:0]   write_value_i,
  input  logic [KeyBits-1:0]   write_mask_i,    // 1: the bit must match
  output logic                 written_o,       // pulse: the entry may be made valid from this cycle on
  input  logic                 switch_i,        // keys that enter from this cycle on see the new valid bits
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
  localparam int unsigned BankGroups = (BankSize + GroupEntries - 1) / GroupEntries;

  logic                           sweep_valid, sweep_last, data_valid_q, last_q;
  logic [GroupBits-1:0]           sweep_group;
  logic [ChunkBits-1:0]           sweep_word, word_q;
  logic [2*KeyBits-1:0]           lanes [GroupEntries];
  logic [Chunks*GroupEntries-1:0] data_q;
  logic [Groups-1:0]              group_q;

  sl_tcam_shadow #(
    .Width(2 * KeyBits), .Entries(Entries), .GroupEntries(GroupEntries), .WordBits(ChunkBits)
  ) u_shadow (
    .clk_i, .rst_i, .target_valid_i, .target_index_i, .reload_i, .write_valid_i, .write_ready_o,
    .write_data_i({write_mask_i, write_value_i}),
    .sweep_valid_o(sweep_valid), .sweep_last_o(sweep_last), .sweep_group_o(sweep_group), .sweep_word_o(sweep_word),
    .lanes_o(lanes)
  );

  always_ff @(posedge clk_i) begin
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
    if (rst_i) begin
      data_valid_q <= 1'b0;
      last_q       <= 1'b0;
      written_o    <= 1'b0;
    end
  end

  // Signals reach the banks through a spine, a register that serves four banks: the table may fill a chip.
  localparam int unsigned BanksPerSpine = 4;
  localparam int unsigned Spines        = (Banks + BanksPerSpine - 1) / BanksPerSpine;
  localparam int unsigned WriteBits     = Groups + ChunkBits + Chunks * GroupEntries;

  typedef struct packed {
    logic                 set_valid;
    logic                 clear_valid;
    logic                 clear_all;
    logic [IndexBits-1:0] set_index;
    logic [IndexBits-1:0] clear_index;
  } switch_t;

  logic [Spines-1:0]                          spine_rst, spine_key_valid, spine_write_valid;
  logic [Spines-1:0][PaddedBits-1:0]          spine_key;
  logic [Spines-1:0][Groups-1:0]              spine_group;
  logic [Spines-1:0][ChunkBits-1:0]           spine_word;
  logic [Spines-1:0][Chunks*GroupEntries-1:0] spine_data;
  switch_t                                    switch_now;
  switch_t [Spines-1:0]                       spine_switch;

  assign switch_now = '{switch_i && set_valid_i, switch_i && clear_valid_i, switch_i && clear_all_i, set_index_i, clear_index_i};

  for (genvar s = 0; s < Spines; s++) begin : gen_spine
    sl_copy #(.Width(3 + $bits(switch_t))) u_control_copy (
      .clk_i, .enable_i(1'b1), .data_i({rst_i, key_valid_i && !rst_i, data_valid_q, rst_i ? switch_t'('0) : switch_now}),
      .data_o({spine_rst[s], spine_key_valid[s], spine_write_valid[s], spine_switch[s]})
    );
    sl_copy #(.Width(PaddedBits)) u_key_copy (
      .clk_i, .enable_i(key_valid_i), .data_i(PaddedBits'(key_i)), .data_o(spine_key[s])
    );
    sl_copy #(.Width(WriteBits)) u_write_copy (
      .clk_i, .enable_i(data_valid_q), .data_i({group_q, word_q, data_q}),
      .data_o({spine_group[s], spine_word[s], spine_data[s]})
    );
  end

  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    localparam int unsigned First    = b * BankSize;
    localparam int unsigned Count    = b == Banks - 1 ? Entries - First : BankSize;
    localparam int unsigned Own      = (Count + GroupEntries - 1) / GroupEntries;
    localparam int unsigned IndexOwn = Count > 1 ? $clog2(Count) : 1;
    localparam int unsigned S        = b / BanksPerSpine;

    sl_tcam_bank #(
      .KeyBits(PaddedBits), .Entries(Count), .BlockRam(BlockRam), .ChunkBits(ChunkBits), .GroupEntries(GroupEntries)
    ) u_bank (
      .clk_i, .rst_i(spine_rst[S]), .key_valid_i(spine_key_valid[S]), .key_i(spine_key[S]),
      .write_valid_i(spine_write_valid[S]), .write_group_i(spine_group[S][b*BankGroups+:Own]),
      .write_word_i(spine_word[S]), .write_data_i(spine_data[S]),
      .set_valid_i(spine_switch[S].set_valid && 32'(spine_switch[S].set_index) / BankSize == b),
      .set_index_i(IndexOwn'(32'(spine_switch[S].set_index) - First)),
      .clear_valid_i(spine_switch[S].clear_valid && 32'(spine_switch[S].clear_index) / BankSize == b),
      .clear_index_i(IndexOwn'(32'(spine_switch[S].clear_index) - First)), .clear_all_i(spine_switch[S].clear_all),
      .match_valid_o(match_valid_o[b]), .match_o(match_o[First+:Count])
    );
  end
endmodule
