// SPDX-License-Identifier: Apache-2.0
// The scheduler that the FlowBlaze paper describes (its published RTL has none): a record joins the queue of its tag; queues are
// served in turn, and a queue rests from the selection of a record until its tag is woken. The turn passes over queues that are
// empty or rest, so no cycle is lost by polling. A record whose queue is full holds up all behind it.
module sl_schedule_turns #(
  parameter int unsigned Width     = 64,  // bits of a record
  parameter int unsigned QueueBits = 3,   // 2^QueueBits queues
  parameter int unsigned Depth     = 16   // records in a queue, a power of two, at least 2
) (
  input  logic                 clk_i,
  input  logic                 rst_i,           // synchronous, active high
  input  logic [Width-1:0]     in_data_i,
  input  logic [QueueBits-1:0] in_tag_i,        // the queue
  input  logic                 in_valid_i,
  output logic                 in_ready_o,      // combinational from in_tag_i
  output logic [Width-1:0]     select_data_o,
  output logic                 select_valid_o,  // already includes select_ready_i
  input  logic                 select_ready_i,
  input  logic                 wake_valid_i,    // the next record of this tag may be selected in the next cycle
  input  logic [QueueBits-1:0] wake_tag_i
);
  localparam int unsigned Queues       = 2 ** QueueBits;
  localparam int unsigned PositionBits = $clog2(Depth);

  // Pointers have one bit more than positions: equal means empty, equal but for that bit means full.
  logic [Queues-1:0][PositionBits:0] write_q, read_q;
  logic [Queues-1:0]                 resting_q, eligible;
  logic [QueueBits-1:0]              last_q, choice;
  logic                              enter, any;

  assign in_ready_o     = write_q[in_tag_i] != (read_q[in_tag_i] ^ {1'b1, {PositionBits{1'b0}}});
  assign enter          = in_valid_i && in_ready_o;
  assign select_valid_o = any && select_ready_i;

  always_comb begin
    any    = 1'b0;
    choice = last_q;
    for (int unsigned i = 0; i < Queues; i++) eligible[i] = write_q[i] != read_q[i] && !resting_q[i];
    for (int unsigned i = 1; i <= Queues; i++) begin
      automatic logic [QueueBits-1:0] queue = last_q + QueueBits'(i);
      if (!any && eligible[queue]) begin
        any    = 1'b1;
        choice = queue;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (enter) write_q[in_tag_i] <= write_q[in_tag_i] + 1'b1;
    if (select_valid_o) begin
      read_q[choice]    <= read_q[choice] + 1'b1;
      resting_q[choice] <= 1'b1;
      last_q            <= choice;
    end
    if (wake_valid_i) resting_q[wake_tag_i] <= 1'b0;
    if (rst_i) begin
      write_q   <= '0;
      read_q    <= '0;
      resting_q <= '0;
      last_q    <= '0;
    end
  end

  sl_ram_lut #(.Width(Width), .Depth(Queues * Depth)) u_records (
    .clk_i, .write_valid_i(enter), .write_address_i({in_tag_i, write_q[in_tag_i][PositionBits-1:0]}), .write_data_i(in_data_i),
    .read_address_i({choice, read_q[choice][PositionBits-1:0]}), .read_data_o(select_data_o)
  );
endmodule
