// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_tcam, for one arbitrary entry of a tiny TCAM under arbitrary keys, writes and switches of all entries:
// while the entry is valid it matches exactly the keys that its value and mask select, whatever is written to its neighbours, and a
// switch applies to exactly the keys that enter with it or later.
module fv_tcam #(
  parameter int unsigned KeyBits      = 3,
  parameter int unsigned Entries      = 3,
  parameter int unsigned ChunkBits    = 2,
  parameter int unsigned GroupEntries = 2,
  parameter bit          BlockRam     = 1'b0,
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned Latency   = sl_match_pkg::tcam_latency(BlockRam)
) (
  input logic                 clk_i,
  input logic                 key_valid_i,
  input logic [KeyBits-1:0]   key_i,
  input logic                 target_valid_i,
  input logic [IndexBits-1:0] target_index_i,
  input logic                 write_valid_i,
  input logic [KeyBits-1:0]   write_value_i,
  input logic [KeyBits-1:0]   write_mask_i,
  input logic                 switch_i,
  input logic                 set_valid_i,
  input logic [IndexBits-1:0] set_index_i,
  input logic                 clear_valid_i,
  input logic [IndexBits-1:0] clear_index_i,
  input logic                 clear_all_i,
  input logic [IndexBits-1:0] entry_i  // the watched entry; constant
);
  localparam int unsigned BankSize = sl_match_pkg::tcam_bank(BlockRam, Entries, GroupEntries);
  localparam int unsigned Banks    = (Entries + BankSize - 1) / BankSize;

  logic [Banks-1:0]   match_valids;
  logic               match_valid, write_ready, written;
  logic [Entries-1:0] match;
  logic [3:0]         rst_left_q = '1;  // a reset of 4 cycles
  logic               rst_q;

  sl_tcam #(
    .KeyBits(KeyBits), .Entries(Entries), .BlockRam(BlockRam), .ChunkBits(ChunkBits), .GroupEntries(GroupEntries),
    .BankEntries(GroupEntries)
  ) u_tcam (
    .clk_i, .rst_i(rst_q), .key_valid_i, .key_i, .match_valid_o(match_valids), .match_o(match),
    .target_valid_i, .target_index_i, .reload_i(1'b0), .write_valid_i, .write_ready_o(write_ready),
    .write_value_i, .write_mask_i, .written_o(written),
    .switch_i, .set_valid_i, .set_index_i, .clear_valid_i, .clear_index_i, .clear_all_i
  );

  assign match_valid = &match_valids;
  assign rst_q       = rst_left_q[0];

  // Contents of the watched entry, as seen at the ports.
  logic                 valid_q = 1'b0, stored_q = 1'b0, writing_q = 1'b0;
  logic [KeyBits-1:0]   value_q, mask_q;
  logic [IndexBits-1:0] entry_q, target_q;
  logic                 target_held_q = 1'b0, started_q = 1'b0;
  logic                 other_q = 1'b0, other_done_q = 1'b0;  // another entry was written while this one was live
  logic                 write, write_here, set_here, clear_here, visible;
  logic [Latency-1:0]   expect_valid_q = '0, expect_q;

  assign write      = write_valid_i && write_ready;
  assign write_here = write && target_index_i == entry_i;
  assign set_here   = switch_i && set_valid_i && set_index_i == entry_i;
  assign clear_here = switch_i && ((clear_valid_i && clear_index_i == entry_i) || clear_all_i);
  assign visible    = set_here || (valid_q && !clear_here);

  always_ff @(posedge clk_i) begin
    rst_left_q    <= rst_left_q >> 1;
    started_q     <= 1'b1;
    entry_q       <= entry_i;
    target_q      <= target_index_i;
    target_held_q <= target_valid_i && !write;
    if (write) writing_q <= write_here;
    if (write_here) begin
      stored_q <= 1'b0;
      value_q  <= write_value_i;
      mask_q   <= write_mask_i;
    end else if (written && writing_q) begin
      stored_q <= 1'b1;
    end
    if (set_here) valid_q <= 1'b1;
    if (valid_q && write && target_index_i[IndexBits-1:1] == entry_i[IndexBits-1:1]) other_q <= 1'b1;
    if (other_q && written) other_done_q <= 1'b1;
    if (clear_here) valid_q <= 1'b0;
    expect_q       <= {expect_q[Latency-2:0], visible && ((key_i ^ value_q) & mask_q) == '0};
    expect_valid_q <= {expect_valid_q[Latency-2:0], key_valid_i && !rst_q};

    // The rules for the user that concern the watched entry.
    if (started_q) assume (entry_i == entry_q);
    assume (32'(entry_i) < Entries && 32'(target_index_i) < Entries);
    assume (!rst_q || (!switch_i && !write_valid_i && !key_valid_i && !target_valid_i));
    if (target_held_q) assume (target_valid_i && target_index_i == target_q);
    assume (!write_valid_i || target_valid_i);
    assume (!write_here || (!valid_q && !set_here));
    assume (!set_here || (!valid_q && !clear_here && (stored_q || (written && writing_q))));
    assume (!(switch_i && clear_valid_i && clear_index_i == entry_i) || valid_q);
    assume (!(clear_all_i && (set_valid_i || clear_valid_i)));

    if (!rst_q) begin
      a_answers_on_time : assert (match_valids == {Banks{expect_valid_q[Latency-1]}});
      if (match_valid) a_matches_what_it_holds : assert (match[entry_i] == expect_q[Latency-1]);
      // It matches after a whole write of its neighbour in the same RAM words, and so does the neighbour.
      c_hits_beside_a_new_neighbour : cover (match_valid && match == Entries'(3) && mask_q == '1 && other_done_q);
    end
  end
endmodule
