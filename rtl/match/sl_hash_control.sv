// SPDX-License-Identifier: Apache-2.0
// The maintenance half of hashed tables, of one group or of several: one operation at a time, through port B of the ways,
// concurrent with lookups. A key goes into one of its free slots. If it has none, a breadth-first search over the slots to which the
// occupants could move finds a shortest path to a free slot. Only then are keys moved, from its end backwards: each is copied to
// the next slot before its old slot is overwritten, so every key is in the table at all times. A shortest path has no slot twice,
// so every move is to a slot of that key. If there is no path within MaxNodes slots: ENOSPC, and nothing changes; every other
// failure is detected before anything is written. A rule id is in the table when the slot in its map entry holds it, so the map
// needs no clearing.
//
// Each group is a table by itself; all groups share the rule ids. `op_same_mask_i` says whether the mask of an operation is that of
// its group (sl_mask_groups); the first rule of a group needs none.
module sl_hash_control #(
  parameter int unsigned KeyBits      = 104,
  parameter int unsigned Groups       = 1,
  parameter int unsigned Slots        = 1024,                   // slots per way of a group
  parameter int unsigned Ways         = 4,
  parameter int unsigned PriorityBits = 0,                      // 0: rules have none, and an UPDATE writes nothing
  parameter int unsigned EnterCycles  = 0,                      // from the entry of a key to its lookup
  parameter int unsigned MaxNodes     = 512,                    // slots that a search expands; a power of two
  parameter logic [63:0] Seed         = 64'h243f6a8885a308d3,   // of the hash, until an INITIALIZE replaces it
  localparam int unsigned Rules       = Groups * Ways * Slots,
  localparam int unsigned IdBits      = $clog2(Rules),
  localparam int unsigned PayloadBits = PriorityBits + IdBits,
  localparam int unsigned IndexBits   = $clog2(Slots),
  localparam int unsigned GroupBits   = Groups > 1 ? $clog2(Groups) : 1,
  localparam int unsigned CountBits   = $clog2(Ways * Slots + 1),
  localparam int unsigned WordBits    = 1 + PayloadBits + KeyBits
) (
  input  logic                             clk_i,
  input  logic                             rst_i,           // synchronous, active high
  input  sluice_pkg::instruction_t         op_i,            // its kind, rule id and priority
  input  logic [KeyBits-1:0]               op_key_i,
  input  logic [GroupBits-1:0]             op_group_i,
  input  logic                             op_legal_i,      // else EINVAL, of a POPULATE or UPDATE
  input  logic                             op_same_mask_i,  // stable until op_done_o
  input  logic [63:0]                      op_seed_i,       // of an INITIALIZE: changes Seed
  input  logic                             op_valid_i,
  output logic                             op_ready_o,
  output logic                             op_commit_o,
  output logic                             op_done_o,
  output sluice_pkg::status_t              op_status_o,
  output logic                             ready_o,         // memories are clear; lookups that enter from now on may hit
  output logic [31:0]                      used_o,          // rules of all groups
  output logic [Groups-1:0][CountBits-1:0] group_used_o,    // rules of each
  output logic [63:0]                      seed_o,
  output logic [Groups-1:0]                first_o,         // pulse, one-hot: the group gets its first rule
  output logic [Groups-1:0]                select_o,        // one-hot: the group whose port B is read
  output logic [Groups-1:0][Ways-1:0]      write_o,         // port B of each way of each group
  output logic [Ways-1:0][IndexBits-1:0]   index_o,         // of every group
  output logic [WordBits-1:0]              word_o,          // {valid, priority, id, key}; stable in the cycle after a write
  input  logic [Ways-1:0][WordBits-1:0]    read_word_i      // of select_o, one cycle after index_o
);
  import sluice_pkg::*;
  localparam int unsigned HashLatency = Slots == 2 ** $clog2(Slots) ? 3 : 4;
  localparam int unsigned WayBits     = Ways == 1 ? 1 : $clog2(Ways);
  localparam int unsigned NodeBits    = $clog2(MaxNodes);
  localparam int unsigned MapBits     = $clog2(Groups) + WayBits + IndexBits;
  localparam int unsigned WordWait    = 3;  // cycles after index_o is set until word_q holds the slot
  localparam int unsigned MatchWait   = 4;  // until match_q classifies the slots

  typedef struct packed {
    logic [WayBits-1:0]   way;
    logic [IndexBits-1:0] index;
  } slot_t;
  typedef enum logic [3:0] {
    StSettle, StSweep, StIdle, StMap, StSlot, StCheck, StProbe, StChoose, StEnqueue, StNext, StExpand,
    StMove, StBack, StCommit, StWrite, StDone
  } state_e;

  state_e                         state_q;
  logic [3:0]                     wait_q;      // cycles until the state acts
  instruction_kind_t              kind_q;
  logic                           valid_op_q;  // rule id and operation are legal
  logic                           first_q;     // the rule would be the first of its group
  logic [GroupBits-1:0]           op_group_q;  // group in the operation
  logic [GroupBits-1:0]           group_q;     // group being worked on
  logic [PayloadBits-1:0]         payload_q;   // priority and rule id
  logic [IdBits-1:0]              id;
  logic [KeyBits-1:0]             key_q;       // key of the operation
  logic [KeyBits-1:0]             hash_key_q;  // key whose slots are read
  logic                           hash_valid_q;
  logic [Ways-1:0][IndexBits-1:0] hash_index;
  logic [Ways-1:0][WordBits-1:0]  raw_q;
  logic [WordBits-1:0]            word_q;      // slot source_q
  slot_t                          source_q, target_q;
  logic [Ways-1:0]                free_q, match_q;
  logic [NodeBits:0]              node_q;      // being expanded or moved
  logic [NodeBits:0]              tail_q;      // nodes in the queue
  logic [WayBits-1:0]             way_q;
  logic                           expanding_q; // the queue grows from node_q, not from the slots of the new key
  logic [IndexBits-1:0]           sweep_q;
  logic [63:0]                    new_seed_q;
  logic                           answer_q;    // an operation is in progress, not the clearing after reset
  status_t                        status_q;
  logic [CountBits-1:0]           group_used_q [Groups];

  assign op_status_o = status_q;
  assign op_ready_o  = state_q == StIdle;
  assign id          = payload_q[IdBits-1:0];
  for (genvar g = 0; g < Groups; g++) begin : gen_used
    assign group_used_o[g] = group_used_q[g];
  end

  function automatic logic [Groups-1:0] one_hot(logic [GroupBits-1:0] group);
    for (int unsigned g = 0; g < Groups; g++) one_hot[g] = 32'(group) == g;
  endfunction

  // The slots that the search has found, each with the node whose occupant could move there.
  logic [NodeBits-1:0] node_parent;
  slot_t               node_slot;
  logic                enqueue;
  assign enqueue = state_q == StEnqueue && !tail_q[NodeBits] && !(expanding_q && way_q == source_q.way);
  sl_ram_block #(.Width(NodeBits + WayBits + IndexBits), .Depth(MaxNodes), .Latency(2)) u_nodes (
    .clk_i, .write_valid_i(enqueue), .write_address_i(tail_q[NodeBits-1:0]),
    .write_data_i({node_q[NodeBits-1:0], way_q, hash_index[way_q]}),
    .read_valid_i(1'b1), .read_address_i(node_q[NodeBits-1:0]), .read_data_o({node_parent, node_slot})
  );

  // Rule id to group and slot; a single group takes no bit.
  logic [GroupBits-1:0] map_group;
  slot_t                map_slot;
  logic                 map_write;
  logic [IdBits-1:0]    map_id;
  logic [MapBits-1:0]   map_word;
  assign map_write = (state_q == StMove || (state_q == StWrite && kind_q == INSTRUCTION_POPULATE)) && wait_q == 0;
  assign map_id    = state_q == StMove ? word_q[KeyBits+:IdBits] : id;
  sl_ram_block #(.Width(MapBits), .Depth(Rules), .Latency(2)) u_map (
    .clk_i, .write_valid_i(map_write), .write_address_i(map_id), .write_data_i(MapBits'({group_q, target_q})),
    .read_valid_i(state_q == StMap), .read_address_i(id), .read_data_o(map_word)
  );
  assign {map_group, map_slot} = (GroupBits + WayBits + IndexBits)'(map_word);

  sl_hash_function #(.KeyBits(KeyBits), .Slots(Slots), .Ways(Ways)) u_hash (
    .clk_i, .valid_i(hash_valid_q), .key_i(hash_key_q), .seed_i(seed_o), .index_o(hash_index)
  );

  // Reads of port B, in three steps: the words, which of them hold the key of the operation, the answer.
  localparam int unsigned PartBits = 8;
  localparam int unsigned Parts    = (KeyBits + PartBits - 1) / PartBits;
  logic [Ways-1:0]            part_valid_q;
  logic [Ways-1:0][Parts-1:0] part_q;
  logic                       present_q;  // the rule is in the table: its slot exists, is used, and holds this rule

  function automatic logic [Parts-1:0] equal_parts(logic [KeyBits-1:0] a, logic [KeyBits-1:0] b);
    logic [Parts*PartBits-1:0] difference;
    difference = (Parts * PartBits)'(a ^ b);
    for (int unsigned part = 0; part < Parts; part++) begin
      equal_parts[part] = difference[part*PartBits+:PartBits] == '0;
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (wait_q == 4'd3 || wait_q == 4'd2) raw_q <= read_word_i;
    if (wait_q == 4'd2 || wait_q == 4'd1) begin
      word_q <= raw_q[source_q.way];
      for (int unsigned way = 0; way < Ways; way++) begin
        part_valid_q[way] <= raw_q[way][WordBits-1];
        part_q[way]       <= equal_parts(raw_q[way][KeyBits-1:0], key_q);
      end
    end
    if (wait_q == 4'd1) begin
      present_q <= word_q[WordBits-1] && word_q[KeyBits+:IdBits] == id && 32'(group_q) < Groups
                   && 32'(source_q.way) < Ways && 32'(source_q.index) < Slots;
      free_q <= ~part_valid_q;
      for (int unsigned way = 0; way < Ways; way++) match_q[way] <= part_valid_q[way] && &part_q[way];
    end
  end

  // A free slot, other than the one that its occupant is in already.
  logic [Ways-1:0]    usable;
  logic [WayBits-1:0] usable_way;
  always_comb begin
    usable     = free_q;
    usable_way = '0;
    if (expanding_q) usable[source_q.way] = 1'b0;
    for (int unsigned way = Ways; way > 0; way--) begin
      if (usable[way-1]) usable_way = WayBits'(way - 1);
    end
  end

  always_ff @(posedge clk_i) begin
    op_commit_o  <= 1'b0;
    op_done_o    <= 1'b0;
    hash_valid_q <= 1'b0;
    first_o      <= '0;
    write_o      <= '0;
    if (wait_q != 0) wait_q <= wait_q - 1'b1;
    else begin
      unique case (state_q)
        StSettle: begin  // every key that entered while the table was live has passed the RAM
          seed_o  <= Seed ^ new_seed_q;
          sweep_q <= '0;
          word_o  <= '0;
          state_q <= StSweep;
        end
        StSweep: begin
          write_o <= '1;
          index_o <= {Ways{sweep_q}};
          sweep_q <= sweep_q + 1'b1;
          if (32'(sweep_q) == Slots - 1) begin
            used_o   <= '0;
            status_q <= STATUS_OK;
            state_q  <= StDone;
            for (int unsigned g = 0; g < Groups; g++) group_used_q[g] <= '0;
          end
        end
        StIdle: begin
          if (op_valid_i) begin
            kind_q       <= op_i.kind;
            payload_q    <= PayloadBits'({op_i.rule_priority, op_i.rule_id[IdBits-1:0]});
            op_group_q   <= op_group_i;
            key_q        <= op_key_i;
            new_seed_q   <= op_seed_i;
            valid_op_q   <= op_i.rule_id < Rules && (op_i.kind == INSTRUCTION_DELETE || op_legal_i);
            first_q      <= group_used_q[op_group_i] == '0;
            hash_key_q   <= op_key_i;
            hash_valid_q <= op_i.kind == INSTRUCTION_POPULATE;
            expanding_q  <= 1'b0;
            answer_q     <= 1'b1;
            tail_q       <= '0;
            node_q       <= '0;
            state_q      <= StMap;
          end
        end
        StMap: begin
          wait_q  <= 4'd1;  // the map is being read
          state_q <= StSlot;
          if (kind_q == INSTRUCTION_INITIALIZE) begin
            op_commit_o <= 1'b1;
            ready_o     <= 1'b0;
            wait_q      <= 4'(EnterCycles + HashLatency + 2);
            state_q     <= StSettle;
          end else if (!valid_op_q || !(kind_q inside {INSTRUCTION_POPULATE, INSTRUCTION_DELETE, INSTRUCTION_UPDATE}))
          begin
            status_q <= STATUS_EINVAL;
            state_q  <= StDone;
          end
        end
        StSlot: begin
          group_q  <= map_group;
          select_o <= one_hot(map_group);
          source_q <= map_slot;
          target_q <= map_slot;
          index_o  <= {Ways{map_slot.index}};
          wait_q   <= 4'(MatchWait);
          state_q  <= StCheck;
        end
        StCheck: begin
          if (kind_q == INSTRUCTION_POPULATE) begin
            status_q <= present_q ? STATUS_EEXIST : STATUS_EINVAL;
            state_q  <= present_q || !(first_q || op_same_mask_i) ? StDone : StProbe;
            group_q  <= op_group_q;
            select_o <= one_hot(op_group_q);
          end else if (!present_q) begin
            status_q <= STATUS_ENOENT;
            state_q  <= StDone;
          end else begin
            status_q <= STATUS_EINVAL;
            state_q  <= kind_q == INSTRUCTION_UPDATE && !(match_q[source_q.way] && op_same_mask_i && group_q == op_group_q)
                        ? StDone : StCommit;
          end
        end
        StProbe: begin  // read the slots of hash_key_q, whose hash is ready
          index_o <= hash_index;
          wait_q  <= 4'(MatchWait);
          state_q <= StChoose;
        end
        StChoose: begin
          way_q    <= '0;
          target_q <= '{way: usable_way, index: hash_index[usable_way]};
          if (!expanding_q && |match_q) begin
            status_q <= STATUS_EEXIST;
            state_q  <= StDone;
          end else if (usable == '0) begin
            state_q <= StEnqueue;
          end else begin
            state_q <= expanding_q ? StMove : StCommit;
          end
        end
        StEnqueue: begin
          if (enqueue) tail_q <= tail_q + 1'b1;
          way_q <= way_q + 1'b1;
          if (32'(way_q) == Ways - 1) begin
            expanding_q <= 1'b1;
            if (expanding_q) node_q <= node_q + 1'b1;
            wait_q  <= 4'd2;  // the node is being read
            state_q <= StNext;
          end
        end
        StNext: begin
          source_q <= node_slot;
          index_o  <= {Ways{node_slot.index}};
          wait_q   <= 4'(WordWait);
          state_q  <= StExpand;
          if (node_q == tail_q) begin
            status_q <= STATUS_ENOSPC;
            wait_q   <= '0;
            state_q  <= StDone;
          end
        end
        StExpand: begin
          hash_key_q   <= word_q[KeyBits-1:0];
          hash_valid_q <= 1'b1;
          wait_q       <= 4'(HashLatency);
          state_q      <= StProbe;
        end
        StMove: begin
          write_o[group_q][target_q.way] <= 1'b1;
          index_o[target_q.way]          <= target_q.index;
          word_o                         <= word_q;
          target_q                       <= source_q;
          node_q                         <= {1'b0, node_parent};
          wait_q                         <= 4'd2;
          state_q                        <= 32'(node_q) < Ways ? StCommit : StBack;  // the first nodes are the slots of the new key
        end
        StBack: begin
          source_q <= node_slot;
          index_o  <= {Ways{node_slot.index}};
          wait_q   <= 4'(WordWait);
          state_q  <= StMove;
        end
        StCommit: begin  // a key that enters with the pulse reads the RAM with the write, or after it
          op_commit_o <= 1'b1;
          status_q    <= STATUS_OK;
          wait_q      <= 4'(EnterCycles + HashLatency - 1);
          state_q     <= StWrite;
          if (kind_q == INSTRUCTION_POPULATE) begin
            used_o                <= used_o + 1'b1;
            group_used_q[group_q] <= group_used_q[group_q] + 1'b1;
            if (first_q) first_o <= select_o;  // keys that entered before have passed the RAM before the write
          end
          if (kind_q == INSTRUCTION_DELETE) begin
            used_o                <= used_o - 1'b1;
            group_used_q[group_q] <= group_used_q[group_q] - 1'b1;
          end
          if (kind_q == INSTRUCTION_UPDATE && PriorityBits == 0) begin
            wait_q  <= '0;
            state_q <= StDone;
          end
        end
        StWrite: begin
          write_o[group_q][target_q.way] <= 1'b1;
          index_o[target_q.way]          <= target_q.index;
          word_o                         <= {kind_q != INSTRUCTION_DELETE, payload_q, key_q};
          state_q                        <= StDone;
        end
        StDone: begin
          op_done_o <= answer_q;
          ready_o   <= 1'b1;
          state_q   <= StIdle;
        end
        default: state_q <= StIdle;
      endcase
    end
    if (rst_i) begin
      state_q     <= StSettle;
      wait_q      <= '0;
      answer_q    <= 1'b0;
      ready_o     <= 1'b0;
      used_o      <= '0;
      op_commit_o <= 1'b0;
      op_done_o   <= 1'b0;
      first_o     <= '0;
      write_o     <= '0;
      seed_o      <= Seed;
      new_seed_q  <= '0;
    end
  end

  // Lookups take the written word one cycle after the write.
  logic written_q;
  always_ff @(posedge clk_i) begin
    written_q <= |write_o && ready_o;
`ifndef SYNTHESIS
    if (written_q && !rst_i) a_word_holds : assert ($stable(word_o));
`endif
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, op_i, written_q};
endmodule
