// SPDX-License-Identifier: Apache-2.0
// A node of the priority encoder: of two candidates, selects the present one with the higher priority (the left one if equal).
// Registered under `valid_i`, or combinational.
module sl_priority_node #(
  parameter int unsigned PriorityBits = 6,
  parameter int unsigned TagBits      = 4,     // bits that identify the entry
  parameter int unsigned TagWeight    = 4,     // added to the tag if the right candidate wins; a power of two
  parameter bit          Registered   = 1'b1
) (
  input  logic                    clk_i,
  input  logic                    valid_i,  // if Registered: take the inputs
  input  logic                    left_any_i,
  input  logic [PriorityBits-1:0] left_priority_i,
  input  logic [TagBits-1:0]      left_tag_i,
  input  logic                    right_any_i,
  input  logic [PriorityBits-1:0] right_priority_i,
  input  logic [TagBits-1:0]      right_tag_i,
  output logic                    any_o,
  output logic [PriorityBits-1:0] priority_o,
  output logic [TagBits-1:0]      tag_o
);
  typedef struct packed {
    logic                    any;
    logic [PriorityBits-1:0] rank;
    logic [TagBits-1:0]      tag;
  } candidate_t;

  // The comparison is the borrow of a subtraction: a carry chain with nothing after it, whereas `>` would also test for equality.
  // The weight is added outside the selection: a constant inside it becomes a synchronous reset with its own path.
  function automatic candidate_t better(candidate_t left, candidate_t right);
    logic                  wins;
    logic [PriorityBits:0] unused;
    candidate_t            winner;
    {wins, unused} = {1'b0, left.any, left.rank} - {1'b0, right.any, right.rank};
    winner = wins ? right : left;
    winner.any = left.any || right.any;
    winner.tag = winner.tag | (TagBits'(wins) << $clog2(TagWeight));
    return winner;
  endfunction

  if (Registered) begin : gen_registered
    always_ff @(posedge clk_i) begin
      if (valid_i) begin
        {any_o, priority_o, tag_o} <= better(
          {left_any_i, left_priority_i, left_tag_i}, {right_any_i, right_priority_i, right_tag_i});
      end
    end
  end else begin : gen_through
    logic unused;
    assign unused = ^{clk_i, valid_i};
    assign {any_o, priority_o, tag_o} = better(
      {left_any_i, left_priority_i, left_tag_i}, {right_any_i, right_priority_i, right_tag_i});
  end
endmodule
