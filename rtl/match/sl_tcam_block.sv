// SPDX-License-Identifier: Apache-2.0
// Ternary match in block RAM: as sl_tcam_lut, with wider chunks, so fewer LUTs and slower writes: 2**ChunkBits +
// GroupEntries cycles from write to write. Same ports, same rules; nothing live is disturbed and no lookup stalls. A lookup
// may read the very word that a sweep rewrites: it gets the old word, by the collision behaviour of the RAM or by the
// logic that synthesis adds where the RAM gives none (so the memories here do not carry `no_rw_check`).
module sl_tcam_block #(
  parameter int unsigned KeyBits      = 32,   // padded to a multiple of ChunkBits inside
  parameter int unsigned Entries      = 513,  // physical entries, one more than rules
  parameter int unsigned ChunkBits    = 8,    // address bits of a RAM, 2 to 9
  parameter int unsigned GroupEntries = 8,    // entries that share a write enable: at most the 9 bits of a RAM byte; power of two
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned Latency   = sl_match_pkg::tcam_latency(1'b1)
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 key_valid_i,
  input  logic [KeyBits-1:0]   key_i,
  output logic                 match_valid_o,   // Latency cycles after key_valid_i
  output logic [Entries-1:0]   match_o,         // combinational from registers
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
  localparam int unsigned AndChunks  = 4;  // chunks that are combined behind the RAMs, before the register
  localparam int unsigned Chunks     = (KeyBits + ChunkBits - 1) / ChunkBits;
  localparam int unsigned PaddedBits = Chunks * ChunkBits;
  localparam int unsigned Partials   = (Chunks + AndChunks - 1) / AndChunks;
  localparam int unsigned Groups     = (Entries + GroupEntries - 1) / GroupEntries;
  localparam int unsigned GroupBits  = Groups > 1 ? $clog2(Groups) : 1;

  logic                           sweep_valid, sweep_last, write_q, last_q;
  logic [GroupBits-1:0]           sweep_group;
  logic [ChunkBits-1:0]           sweep_word, word_q;
  logic [2*KeyBits-1:0]           lanes [GroupEntries];
  logic [Chunks*GroupEntries-1:0] data_q;
  logic [Groups-1:0]              group_q;
  logic [PaddedBits-1:0]          key_q;
  logic [Entries-1:0]             accept_q [Chunks];
  logic [Entries-1:0]             partial_q [Partials];
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
    key_valid_q <= {key_valid_q[Latency-2:0], key_valid_i};
    write_q     <= sweep_valid;
    last_q      <= sweep_last;
    written_o   <= last_q;
    if (key_valid_i) key_q <= PaddedBits'(key_i);
    if (sweep_valid || write_q) begin
      for (int g = 0; g < Groups; g++) group_q[g] <= sweep_valid && 32'(sweep_group) == g;
    end
    if (sweep_valid) begin
      word_q <= sweep_word;
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
      key_valid_q <= '0;
      write_q     <= 1'b0;
      group_q     <= '0;
      last_q      <= 1'b0;
      written_o   <= 1'b0;
    end
  end

  for (genvar c = 0; c < Chunks; c++) begin : gen_chunk
    (* ram_style = "block", syn_ramstyle = "block_ram" *)
    logic [Groups*GroupEntries-1:0] memory [2**ChunkBits];

    always_ff @(posedge clk_i) begin
      if (key_valid_q[0]) accept_q[c] <= Entries'(memory[key_q[c*ChunkBits+:ChunkBits]]);
    end

`ifdef SYNTHESIS
    always_ff @(posedge clk_i) begin
      for (int g = 0; g < Groups; g++) begin
        if (group_q[g]) begin
          memory[word_q][g*GroupEntries+:GroupEntries] <= data_q[c*GroupEntries+:GroupEntries];
        end
      end
    end
`else
    // The same as one assignment: the simulator looks at each assignment to a memory in every cycle.
    always_ff @(posedge clk_i) begin
      if (write_q) begin
        logic [Groups*GroupEntries-1:0] enable;
        for (int g = 0; g < Groups; g++) enable[g*GroupEntries+:GroupEntries] = {GroupEntries{group_q[g]}};
        memory[word_q] <= (memory[word_q] & ~enable) |
                                ({Groups{data_q[c*GroupEntries+:GroupEntries]}} & enable);
      end
    end
`endif
  end

  always_ff @(posedge clk_i) begin
    if (key_valid_q[1]) begin
      for (int p = 0; p < Partials; p++) begin
        logic [Entries-1:0] all;
        all = '1;
        for (int c = p * AndChunks; c < (p + 1) * AndChunks && c < Chunks; c++) all &= accept_q[c];
        partial_q[p] <= all;
      end
    end
  end

  always_comb begin
    accept = '1;
    for (int p = 0; p < Partials; p++) accept &= partial_q[p];
  end

  sl_tcam_valid #(.Entries(Entries), .Delay(Latency)) u_valid (
    .clk_i, .rst_i, .switch_i, .set_valid_i, .set_index_i, .clear_valid_i, .clear_index_i, .clear_all_i, .valid_o(valid)
  );

  assign match_valid_o = key_valid_q[Latency-1];
  assign match_o       = accept & valid;
endmodule
