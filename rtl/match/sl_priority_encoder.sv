// SPDX-License-Identifier: Apache-2.0
// Finds the matching entry with the highest priority (AccelSDP Fig. 12, 13): a tree whose leaves are priority RAMs of four entries
// and whose nodes keep the better of two. Priorities belong to entries, so a rule goes to any free entry and none is moved for
// another. Among equal priorities an arbitrary entry wins, always the same. One vector per cycle, sl_match_pkg::priority_latency
// cycles. A priority is written by a sweep over the 16 patterns of its leaf, rewritten from a shadow as in the TCAM, with the same
// rules: write only entries that cannot match, and let them match only after `written_o`.
module sl_priority_encoder #(
  parameter int unsigned Entries        = 513,  // at least 5
  parameter int unsigned PriorityBits   = 6,    // at least 1
  parameter int unsigned LevelsPerStage = 1,    // tree levels between registers: at least 1 (fastest clock)
  parameter int unsigned BankEntries    = 64,   // entries with their own valid and write port (sl_tcam); multiple of 4
  localparam int unsigned IndexBits = $clog2(Entries),
  localparam int unsigned Banks     = (Entries + BankEntries - 1) / BankEntries
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic [Banks-1:0]        match_valid_i,   // same for every bank
  input  logic [Entries-1:0]      match_i,
  output logic                    winner_valid_o,  // priority_latency() cycles after match_valid_i
  output logic                    winner_any_o,    // something matched
  output logic [IndexBits-1:0]    winner_index_o,  // valid with winner_any_o
  input  logic                    target_valid_i,  // the entry of the next write, see sl_tcam_shadow
  input  logic [IndexBits-1:0]    target_index_i,
  input  logic                    reload_i,
  input  logic                    write_valid_i,
  output logic                    write_ready_o,
  input  logic [PriorityBits-1:0] write_priority_i,
  output logic                    written_o        // pulse: the entry may match from this cycle on
);
  localparam int unsigned Leaves   = (Entries + 3) / 4;
  localparam int unsigned LeafBits = $clog2(Leaves);
  localparam int unsigned Levels   = $clog2(Leaves);
  localparam int unsigned TagBits  = Levels + 2;

  logic                    sweep_valid, sweep_last, write_q;
  logic                    sweep_q;       // the sweep, one stage later: compared
  logic [1:0]              last_q;
  logic [LeafBits-1:0]     sweep_leaf, leaf_q;
  logic [3:0]              sweep_pattern, sweep_pattern_q, pattern_q;
  logic [PriorityBits-1:0] lanes [4];
  logic [PriorityBits-1:0] lanes_q [4];
  logic [3:0][3:0]         beats_q;       // [i][j]: if both match, i wins over j
  logic [Leaves-1:0]       write_leaf_q, leaf_write;
  logic [PriorityBits+1:0] winner_q;      // {priority, entry}
  logic [3:0]              bank_pattern [Banks];
  logic [PriorityBits+1:0] bank_winner [Banks];

  sl_tcam_shadow #(.Width(PriorityBits), .Entries(Entries), .GroupEntries(4), .WordBits(4)) u_shadow (
    .clk_i, .rst_i, .target_valid_i, .target_index_i, .reload_i, .write_valid_i, .write_ready_o,
    .write_data_i(write_priority_i),
    .sweep_valid_o(sweep_valid), .sweep_last_o(sweep_last), .sweep_group_o(sweep_leaf), .sweep_word_o(sweep_pattern),
    .lanes_o(lanes)
  );

  function automatic logic [PriorityBits+1:0] winner_of(
    logic [3:0] pattern, logic [3:0][3:0] beats, logic [PriorityBits-1:0] priorities [4]
  );
    logic [PriorityBits+1:0] winner = '0;
    for (int i = 0; i < 4; i++) begin
      logic wins = pattern[i];
      for (int j = 0; j < 4; j++) if (j != i) wins &= !pattern[j] || beats[i][j];
      if (wins) winner |= {priorities[i], 2'(i)};
    end
    return winner;
  endfunction

  always_ff @(posedge clk_i) begin
    sweep_q <= sweep_valid;
    write_q    <= sweep_q;
    last_q     <= {last_q[0], sweep_last};
    written_o  <= last_q[1];
    if (sweep_valid) begin
      for (int i = 0; i < 4; i++) begin
        for (int j = 0; j < 4; j++) beats_q[i][j] <= i < j ? lanes[i] >= lanes[j] : !(lanes[j] >= lanes[i]);
      end
      lanes_q         <= lanes;
      sweep_pattern_q <= sweep_pattern;
      leaf_q          <= sweep_leaf;
    end
    if (sweep_q) begin
      winner_q  <= winner_of(sweep_pattern_q, beats_q, lanes_q);
      pattern_q <= sweep_pattern_q;
    end
    if (sweep_q || write_q) begin
      for (int l = 0; l < Leaves; l++) write_leaf_q[l] <= sweep_q && 32'(leaf_q) == l;
    end
    if (rst_i) begin
      sweep_q      <= 1'b0;
      write_q      <= 1'b0;
      write_leaf_q <= '0;
      last_q       <= '0;
      written_o    <= 1'b0;
    end
  end

  // The write port and reset of each bank, two registers closer to its leaves (see sl_tcam); the first serves four banks.
  localparam int unsigned Spines = (Banks + 3) / 4;
  logic [Spines-1:0]                   spine_write, spine_rst;
  logic [Spines-1:0][Leaves-1:0]       spine_leaf;
  logic [Spines-1:0][PriorityBits+5:0] spine_winner;  // {pattern, winner}
  logic [Banks-1:0]                    bank_rst;

  for (genvar s = 0; s < Spines; s++) begin : gen_spine
    sl_copy #(.Width(2 + Leaves)) u_leaf_copy (
      .clk_i, .enable_i(1'b1), .data_i({rst_i, write_q, write_leaf_q}), .data_o({spine_rst[s], spine_write[s], spine_leaf[s]})
    );
    sl_copy #(.Width(PriorityBits + 6)) u_write_copy (
      .clk_i, .enable_i(write_q), .data_i({pattern_q, winner_q}), .data_o(spine_winner[s])
    );
  end

  for (genvar b = 0; b < Banks; b++) begin : gen_write
    localparam int unsigned First = b * BankEntries / 4;
    localparam int unsigned Count = (b == Banks - 1 ? Leaves : (b + 1) * BankEntries / 4) - First;
    sl_copy #(.Width(1 + Count)) u_leaf_copy (
      .clk_i, .enable_i(1'b1), .data_i({spine_rst[b/4], spine_leaf[b/4][First+:Count]}),
      .data_o({bank_rst[b], leaf_write[First+:Count]})
    );
    sl_copy #(.Width(PriorityBits + 6)) u_write_copy (
      .clk_i, .enable_i(spine_write[b/4]), .data_i(spine_winner[b/4]), .data_o({bank_pattern[b], bank_winner[b]})
    );
  end

  // Level 0 are the leaves; level l + 1 keeps the better of each pair of level l. A register stage after every LevelsPerStage
  // levels, and after the last; each has one valid bit per bank.
  logic [Levels:0][Banks-1:0] valid;
  logic [Leaves*4-1:0] match;
  assign match = (Leaves * 4)'(match_i);

  for (genvar l = 0; l <= Levels; l++) begin : gen_level
    localparam int unsigned Nodes = (Leaves + 2 ** l - 1) / 2 ** l;
    logic [Nodes-1:0]        any;
    /* verilator lint_off UNUSEDSIGNAL */  // the root needs no priority
    logic [PriorityBits-1:0] best [Nodes];
    /* verilator lint_on UNUSEDSIGNAL */
    logic [TagBits-1:0]      tag [Nodes];  // the entry, relative to the first entry below the node

    if (l == 0) begin : gen_leaves
      always_ff @(posedge clk_i) valid[0] <= match_valid_i & ~bank_rst;
      for (genvar n = 0; n < Nodes; n++) begin : gen_leaf
        logic [1:0] entry;
        sl_priority_leaf #(.PriorityBits(PriorityBits)) u_leaf (
          .clk_i, .match_valid_i(match_valid_i[4*n/BankEntries]), .match_i(match[4*n+:4]),
          .write_valid_i(leaf_write[n]),
          .write_pattern_i(bank_pattern[4*n/BankEntries]), .write_winner_i(bank_winner[4*n/BankEntries]),
          .any_o(any[n]), .priority_o(best[n]), .entry_o(entry)
        );
        assign tag[n] = TagBits'(entry);
      end
    end else begin : gen_nodes
      localparam int unsigned Children = (Leaves + 2 ** (l - 1) - 1) / 2 ** (l - 1);
      localparam bit Registered = l % LevelsPerStage == 0 || l == Levels;
      for (genvar n = 0; n < Nodes; n++) begin : gen_node
        localparam bit HasRight = 2 * n + 1 < Children;
        localparam int unsigned Right = HasRight ? 2 * n + 1 : 2 * n;
        sl_priority_node #(
          .PriorityBits(PriorityBits), .TagBits(TagBits), .TagWeight(2 ** (l + 1)), .Registered(Registered)
        ) u_node (
          .clk_i, .valid_i(valid[l-1][n*(4*2**l)/BankEntries]),
          .left_any_i(gen_level[l-1].any[2*n]), .left_priority_i(gen_level[l-1].best[2*n]),
          .left_tag_i(gen_level[l-1].tag[2*n]),
          .right_any_i(HasRight && gen_level[l-1].any[Right]), .right_priority_i(gen_level[l-1].best[Right]),
          .right_tag_i(gen_level[l-1].tag[Right]),
          .any_o(any[n]), .priority_o(best[n]), .tag_o(tag[n])
        );
      end
      if (Registered) begin : gen_registered
        always_ff @(posedge clk_i) valid[l] <= valid[l-1] & ~bank_rst;
      end else begin : gen_through
        assign valid[l] = valid[l-1];
      end
    end
  end

  assign winner_valid_o = valid[Levels][0];
  assign winner_any_o   = gen_level[Levels].any[0];
  assign winner_index_o = IndexBits'(gen_level[Levels].tag[0]);
endmodule
