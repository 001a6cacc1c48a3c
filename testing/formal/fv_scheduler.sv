// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_scheduler, for all records and stalls (bounded): of one freely chosen flow, results leave once and
// in the order of arrival, each with the state that sequential execution leaves to it (fv_watch); with Reorder all results leave
// in the order of arrival. A result is offered within `Bound` cycles of the one before while any record is inside. A record is
// taken when nothing is inside. The process block is one whose updates do not commute.
module fv_scheduler #(
  parameter int unsigned AddressBits = 2,
  parameter int unsigned Latency     = 2,
  parameter bit          Forward     = 1'b1,
  parameter bit          Turns       = 1'b0,
  parameter int unsigned Depth       = 2,
  parameter int unsigned TagBits     = 1,
  parameter int unsigned Window      = 4,
  parameter bit          Reorder     = 1'b1
) (
  input logic                   clk_i,
  input logic [AddressBits-1:0] watched_i,   // constant
  input logic [AddressBits+1:0] in_data_i,
  input logic                   in_valid_i,
  input logic                   out_ready_i,
  input logic                   choose_i
);
  localparam int unsigned Bound = Latency + 7;
  localparam int unsigned Most  = 15;  // records inside; the watch asserts that there are no more

  typedef struct packed {
    logic [AddressBits-1:0] address;
    logic [1:0]             payload;
    logic [1:0]             state;
  } result_t;

  function automatic logic [1:0] changed(logic [1:0] state, logic [1:0] payload);
    return {state[0], state[1] ^ state[0]} + payload;
  endfunction

  logic                      rst_q = 1'b1, started_q = 1'b0, in_ready, issue_valid, out_valid, enter, leave, of_flow, leaves_flow;
  logic [AddressBits-1:0]    watched_q;
  logic [AddressBits+1:0]    issued;
  logic [1:0]                issue_state, expected_q;
  logic [Latency:1][1:0]     state_q;  // of the process block
  result_t [Latency:1]       result_q;
  result_t                   out;
  logic [3:0]                inside_q = '0, inside_of_flow, ahead;
  logic [4:0]                waits_q  = '0;
  logic                      watching, unused;
  logic [3:0]                word;
  logic                      unused_ahead_valid;
  logic [1:0]                unused_ahead;

  sl_scheduler #(
    .AddressBits(AddressBits), .PayloadWidth(2), .StateWidth(2), .ResultWidth(AddressBits + 4), .Latency(Latency),
    .Forward(Forward), .Turns(Turns), .Depth(Depth), .TagBits(TagBits), .Window(Window), .Reorder(Reorder)
  ) u_scheduler (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .ahead_valid_o(unused_ahead_valid), .ahead_data_o(unused_ahead), .issue_valid_o(issue_valid), .issue_data_o(issued),
    .issue_state_o(issue_state), .done_state_i(state_q[Latency]), .done_result_i(result_q[Latency]),
    .out_data_o(out), .out_valid_o(out_valid), .out_ready_i
  );

  assign enter       = in_valid_i && in_ready && !rst_q;
  assign leave       = out_valid && out_ready_i && !rst_q;
  assign of_flow     = in_data_i[2+:AddressBits] == watched_q;
  assign leaves_flow = out.address == watched_q;

  fv_watch #(.Width(4), .Most(Most)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter && of_flow), .enter_data_i({in_data_i[1:0], expected_q}),
    .leave_i(leave && leaves_flow), .out_valid_i(out_valid && leaves_flow), .out_data_i({out.payload, out.state}),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(inside_of_flow)
  );

  // The order of all flows, for Reorder: addresses of what is inside, the oldest first.
  logic [Most-1:0][AddressBits-1:0] order_q;

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    watched_q <= watched_i;
    if (started_q) m_one_flow : assume (watched_i == watched_q);
    state_q[1]  <= changed(issue_state, issued[1:0]);
    result_q[1] <= {issued, issue_state};
    for (int unsigned n = 2; n <= Latency; n++) begin
      state_q[n]  <= state_q[n-1];
      result_q[n] <= result_q[n-1];
    end
    if (rst_q) expected_q <= '0;
    else if (enter && of_flow) expected_q <= changed(expected_q, in_data_i[1:0]);
    inside_q <= inside_q + 4'(enter) - 4'(leave);
    if (leave) order_q <= order_q >> AddressBits;
    if (enter) order_q[inside_q-4'(leave)] <= in_data_i[2+:AddressBits];
    waits_q <= rst_q || inside_q == '0 || out_valid ? '0 : waits_q + 1'b1;

    if (!rst_q) begin
      a_is_offered_in_time : assert (32'(waits_q) < Bound);
      a_takes_when_empty : assert (in_ready || inside_q != '0 || !u_scheduler.ram_ready);
      if (out_valid) a_nothing_comes_that_is_not_inside : assert (inside_q != '0);
      if (Reorder && out_valid) a_all_in_the_order_of_arrival : assert (out.address == order_q[0]);
      c_two_of_a_flow_behind_each_other : cover (watching && leave && leaves_flow && ahead == 4'd1 && out.state != '0);
      c_a_result_of_the_flow_waits : cover (inside_of_flow >= 4'd2 && out_valid && !out_ready_i && leaves_flow);
      c_a_record_waits : cover (in_valid_i && !in_ready && inside_q != '0);
    end
  end

  assign unused    = &{1'b0, word, issue_valid};

  sl_channel_check #(.Width(AddressBits + 2), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i(in_data_i), .valid_i(in_valid_i), .ready_i(in_ready)
  );
  sl_channel_check #(.Width(AddressBits + 4)) u_out (
    .clk_i, .rst_i(rst_q), .data_i(out), .valid_i(out_valid), .ready_i(out_ready_i)
  );
endmodule
