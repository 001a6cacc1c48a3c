// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_composed, for all records, updates and stalls (bounded): of one freely chosen flow, results leave once and
// in order, each with the state that sequential execution leaves to it (fv_watch), in integers that cannot overflow. A record is
// taken in every cycle while fewer than Window are inside, so none waits for a state; a result is offered in time.
module fv_composed #(
  parameter int unsigned Lag = 2
) (
  input logic        clk_i,
  input logic        watched_i,    // constant
  input logic [9:0]  in_data_i,
  input logic        in_valid_i,
  input logic        out_ready_i,
  input logic        choose_i
);
  localparam int unsigned StateWidth = 2, Latency = 1, Window = 4;
  localparam int unsigned Bound = Lag + Latency + 6;

  typedef struct packed {
    logic signed [StateWidth:0] add;
    logic [StateWidth-1:0]      low;
    logic [StateWidth-1:0]      high;
    logic                       address;
    logic [1:0]                 payload;
  } record_t;

  function automatic logic [StateWidth-1:0] changed(
    logic [StateWidth-1:0] state, logic signed [StateWidth:0] add, logic [StateWidth-1:0] low, logic [StateWidth-1:0] high
  );
    automatic int sum = int'(state) + int'(add);
    if (sum < int'(low)) sum = int'(low);
    if (sum > int'(high)) sum = int'(high);
    return StateWidth'(unsigned'(sum));
  endfunction

  record_t               in;
  logic                  rst_q = 1'b1, started_q = 1'b0, in_ready, issue_valid, out_valid, enter, leave, of_flow, leaves_flow, watched_q;
  logic [2:0]            issued;
  logic [StateWidth-1:0] issue_state, expected_q;
  logic [4:0]            result_q, out;
  logic [3:0]            inside_q = '0, inside_of_flow, ahead, word;
  logic [4:0]            waits_q  = '0;
  logic                  watching, unused;

  sl_composed #(
    .AddressBits(1), .PayloadWidth(2), .StateWidth(StateWidth), .ResultWidth(5), .Latency(Latency), .Lag(Lag), .Window(Window)
  ) u_composed (
    .clk_i, .rst_i(rst_q), .in_data_i, .in_valid_i, .in_ready_o(in_ready), .issue_valid_o(issue_valid), .issue_data_o(issued),
    .issue_state_o(issue_state), .done_result_i(result_q), .out_data_o(out), .out_valid_o(out_valid), .out_ready_i
  );

  assign in          = in_data_i;
  assign enter       = in_valid_i && in_ready && !rst_q;
  assign leave       = out_valid && out_ready_i && !rst_q;
  assign of_flow     = in.address == watched_q;
  assign leaves_flow = out[4] == watched_q;

  fv_watch #(.Width(4), .Most(15)) u_watch (
    .clk_i, .rst_i(rst_q), .choose_i, .enter_i(enter && of_flow), .enter_data_i({in.payload, expected_q}),
    .leave_i(leave && leaves_flow), .out_valid_i(out_valid && leaves_flow), .out_data_i(out[3:0]),
    .watching_o(watching), .word_o(word), .ahead_o(ahead), .held_o(inside_of_flow)
  );

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    started_q <= 1'b1;
    watched_q <= watched_i;
    if (started_q) m_one_flow : assume (watched_i == watched_q);
    result_q <= {issued, issue_state};
    if (rst_q) expected_q <= '0;
    else if (enter && of_flow) expected_q <= changed(expected_q, in.add, in.low, in.high);
    inside_q <= inside_q + 4'(enter) - 4'(leave);
    waits_q  <= rst_q || inside_q == '0 || out_valid ? '0 : waits_q + 1'b1;

    if (!rst_q) begin
      a_is_offered_in_time : assert (32'(waits_q) < Bound);
      a_takes_while_there_is_room : assert (in_ready == (32'(inside_q) < Window && u_composed.ram_ready));
      c_three_of_a_flow_back_to_back : cover (watching && leave && leaves_flow && ahead == 4'd2 && out[1:0] == 2'd3);
      c_waits_for_room : cover (in_valid_i && !in_ready && inside_q != '0 && inside_of_flow == inside_q);
    end
  end

  assign unused = &{1'b0, word, issue_valid};

  sl_channel_check #(.Width(10), .Assume(1'b1)) u_in (
    .clk_i, .rst_i(rst_q), .data_i(in_data_i), .valid_i(in_valid_i), .ready_i(in_ready)
  );
endmodule
