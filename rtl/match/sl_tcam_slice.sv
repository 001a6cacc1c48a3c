// SPDX-License-Identifier: Apache-2.0
// A slice of a TCAM: some chunks of the key for about 64 entries in LUT RAM, with its own key and write port registers, so that no
// signal reaches more RAMs than one slice holds; in block RAM the whole table. Each chunk has a RAM, addressed by the chunk, with
// one bit per entry: whether the entry accepts that value. Entries are written in groups, one write enable each. Nothing is reset:
// an entry is undefined until its group is written.
//
// A lookup may read the very word that a sweep rewrites: it gets the old word, by the collision behaviour of the RAM or by logic
// that synthesis adds (so the memories here do not carry `no_rw_check`).
module sl_tcam_slice #(
  parameter int unsigned KeyBits      = 32,  // multiple of ChunkBits
  parameter int unsigned Entries      = 64,  // at least 1
  parameter bit          BlockRam     = 1'b0,
  parameter int unsigned ChunkBits    = 4,   // address bits of a RAM: 4 (ECP5), 4 to 6 (xcup)
  parameter int unsigned GroupEntries = 4,   // entries that share a write enable
  parameter int unsigned AndChunks    = 4,   // chunks combined after the RAMs, before the register
  localparam int unsigned Chunks   = KeyBits / ChunkBits,
  localparam int unsigned Groups   = (Entries + GroupEntries - 1) / GroupEntries,
  localparam int unsigned Partials = (Chunks + AndChunks - 1) / AndChunks
) (
  input  logic                           clk_i,
  input  logic                           key_valid_i,
  input  logic [KeyBits-1:0]             key_i,
  input  logic                           write_valid_i,  // one word of one group, two cycles before a lookup may need it
  input  logic [Groups-1:0]              write_group_i,  // one-hot, or none
  input  logic [ChunkBits-1:0]           write_word_i,
  input  logic [Chunks*GroupEntries-1:0] write_data_i,   // chunk after chunk
  output logic [Partials-1:0][Entries-1:0] match_o       // 2 (block RAM: 3) cycles after the key: an entry matches if all agree
);
  logic                           key_valid_q, accept_valid;
  logic [KeyBits-1:0]             key_q;
  logic                           write_valid_q;
  logic [Groups-1:0]              write_group_q;
  logic [ChunkBits-1:0]           write_word_q;
  logic [Chunks*GroupEntries-1:0] write_data_q;
  logic [Entries-1:0]             accept [Chunks];

  sl_copy #(.Width(2 + Groups)) u_valid_copy (
    .clk_i, .enable_i(1'b1), .data_i({key_valid_i, write_valid_i, write_group_i & {Groups{write_valid_i}}}),
    .data_o({key_valid_q, write_valid_q, write_group_q})
  );
  if (BlockRam) begin : gen_address  // becomes the RAM's own register
    always_ff @(posedge clk_i) if (key_valid_i) key_q <= key_i;
  end else begin : gen_copy
    sl_copy #(.Width(KeyBits)) u_key_copy (.clk_i, .enable_i(key_valid_i), .data_i(key_i), .data_o(key_q));
  end
  sl_copy #(.Width(ChunkBits + Chunks * GroupEntries)) u_write_copy (
    .clk_i, .enable_i(write_valid_i), .data_i({write_word_i, write_data_i}), .data_o({write_word_q, write_data_q})
  );

  for (genvar c = 0; c < Chunks; c++) begin : gen_chunk
    (* ram_style = BlockRam ? "block" : "distributed", syn_ramstyle = BlockRam ? "block_ram" : "distributed" *)
    logic [Groups*GroupEntries-1:0] memory [2**ChunkBits];

    if (BlockRam) begin : gen_block
      always_ff @(posedge clk_i) begin
        if (key_valid_q) accept[c] <= Entries'(memory[key_q[c*ChunkBits+:ChunkBits]]);
      end
    end else begin : gen_lut
      assign accept[c] = Entries'(memory[key_q[c*ChunkBits+:ChunkBits]]);
    end

`ifdef SYNTHESIS
    always_ff @(posedge clk_i) begin
      for (int g = 0; g < Groups; g++) begin
        if (write_group_q[g]) begin
          memory[write_word_q][g*GroupEntries+:GroupEntries] <= write_data_q[c*GroupEntries+:GroupEntries];
        end
      end
    end
`else
    // The same as one assignment, because the simulator evaluates every assignment to a memory in every cycle.
    always_ff @(posedge clk_i) begin
      if (write_valid_q) begin
        logic [Groups*GroupEntries-1:0] enable;
        for (int g = 0; g < Groups; g++) enable[g*GroupEntries+:GroupEntries] = {GroupEntries{write_group_q[g]}};
        memory[write_word_q] <= (memory[write_word_q] & ~enable) |
                                ({Groups{write_data_q[c*GroupEntries+:GroupEntries]}} & enable);
      end
    end
`endif
  end

  if (BlockRam) begin : gen_read_register
    always_ff @(posedge clk_i) accept_valid <= key_valid_q;
  end else begin : gen_through
    assign accept_valid = key_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (accept_valid) begin
      for (int p = 0; p < Partials; p++) begin
        logic [Entries-1:0] all;
        all = '1;
        for (int c = p * AndChunks; c < (p + 1) * AndChunks && c < Chunks; c++) all &= accept[c];
        match_o[p] <= all;
      end
    end
  end
endmodule
