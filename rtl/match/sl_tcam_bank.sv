// SPDX-License-Identifier: Apache-2.0
// A bank of a TCAM: about 64 entries (block RAM: all of them) with their logic, behind its own registers, so that signals have one
// clock cycle to reach the banks of a large table, and the next to reach the slices in a bank.
module sl_tcam_bank #(
  parameter int unsigned KeyBits      = 32,  // multiple of ChunkBits
  parameter int unsigned Entries      = 64,  // entries per bank, at least 1
  parameter bit          BlockRam     = 1'b0,
  parameter int unsigned ChunkBits    = 4,   // address bits of a RAM
  parameter int unsigned GroupEntries = 4,   // entries that share a write enable
  parameter int unsigned SliceChunks  = 8,   // LUT RAM: chunks of a slice
  localparam int unsigned Chunks    = KeyBits / ChunkBits,
  localparam int unsigned Groups    = (Entries + GroupEntries - 1) / GroupEntries,
  localparam int unsigned IndexBits = Entries > 1 ? $clog2(Entries) : 1,
  localparam int unsigned Latency   = sl_match_pkg::tcam_latency(BlockRam) - 1  // the table has one more, before the banks
) (
  input  logic                           clk_i,
  input  logic                           rst_i,
  input  logic                           key_valid_i,
  input  logic [KeyBits-1:0]             key_i,
  input  logic                           write_valid_i,  // one word of one group
  input  logic [Groups-1:0]              write_group_i,  // one-hot, or none
  input  logic [ChunkBits-1:0]           write_word_i,
  input  logic [Chunks*GroupEntries-1:0] write_data_i,   // chunk after chunk
  input  logic                           set_valid_i,    // valid bits, see sl_tcam_valid
  input  logic [IndexBits-1:0]           set_index_i,
  input  logic                           clear_valid_i,
  input  logic [IndexBits-1:0]           clear_index_i,
  input  logic                           clear_all_i,
  output logic                           match_valid_o,  // Latency cycles after key_valid_i
  output logic [Entries-1:0]             match_o         // stable until the next
);
  localparam int unsigned PerSlice = BlockRam ? Chunks : SliceChunks;
  localparam int unsigned Slices   = (Chunks + PerSlice - 1) / PerSlice;

  logic [Latency-1:0]             key_valid_q;
  logic [KeyBits-1:0]             key_q;
  logic                           write_valid_q;
  logic [Groups-1:0]              write_group_q;
  logic [ChunkBits-1:0]           write_word_q;
  logic [Chunks*GroupEntries-1:0] write_data_q;
  logic [Slices-1:0][Entries-1:0]            accept;
  logic [Entries-1:0]                        accept_all, valid;

  sl_copy #(.Width(2)) u_valid_copy (
    .clk_i, .enable_i(1'b1), .data_i({key_valid_i && !rst_i, write_valid_i && |write_group_i}),
    .data_o({key_valid_q[0], write_valid_q})
  );
  sl_copy #(.Width(KeyBits)) u_key_copy (.clk_i, .enable_i(key_valid_i), .data_i(key_i), .data_o(key_q));
  sl_copy #(.Width(Groups + ChunkBits + Chunks * GroupEntries)) u_write_copy (
    .clk_i, .enable_i(write_valid_i), .data_i({write_group_i, write_word_i, write_data_i}),
    .data_o({write_group_q, write_word_q, write_data_q})
  );

  always_ff @(posedge clk_i) begin
    key_valid_q[Latency-1:1] <= key_valid_q[Latency-2:0];
    // The matches of all slices and the valid bits are combined before this register, which addresses a RAM.
    if (key_valid_q[Latency-2]) match_o <= accept_all & valid;
    if (rst_i) key_valid_q[Latency-1:1] <= '0;
  end
  assign match_valid_o = key_valid_q[Latency-1];

  for (genvar s = 0; s < Slices; s++) begin : gen_slice
    localparam int unsigned First    = s * PerSlice;
    localparam int unsigned Count    = s == Slices - 1 ? Chunks - First : PerSlice;
    localparam int unsigned Partials = (Count + 3) / 4;
    logic [Partials-1:0][Entries-1:0] partial;

    sl_tcam_slice #(
      .KeyBits(Count * ChunkBits), .Entries(Entries), .BlockRam(BlockRam), .ChunkBits(ChunkBits), .GroupEntries(GroupEntries),
      .AndChunks(4)
    ) u_slice (
      .clk_i, .key_valid_i(key_valid_q[0]), .key_i(key_q[First*ChunkBits+:Count*ChunkBits]),
      .write_valid_i(write_valid_q), .write_group_i(write_group_q), .write_word_i(write_word_q),
      .write_data_i(write_data_q[First*GroupEntries+:Count*GroupEntries]), .match_o(partial)
    );

    always_comb begin
      accept[s] = '1;
      for (int p = 0; p < Partials; p++) accept[s] &= partial[p];
    end
  end

  always_comb begin
    accept_all = '1;
    for (int s = 0; s < Slices; s++) accept_all &= accept[s];
  end

  sl_tcam_valid #(.Entries(Entries), .Delay(Latency - 1)) u_valid (
    .clk_i, .rst_i, .set_valid_i, .set_index_i, .clear_valid_i, .clear_index_i, .clear_all_i, .valid_o(valid)
  );
endmodule
