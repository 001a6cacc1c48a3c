// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_timers, for all runs of bounded length in which the tick stands still or goes on: every period of every
// timer is given to exactly one iteration, at once where nothing is in its way; what is pending stays until it is taken; the
// handler has its share between two timers; takes and results of signals, and of nothing else, reach the signal node.
module fv_timers #(
  parameter int unsigned Share = 3
) (
  input logic        clk_i,
  input logic [31:0] first_tick_i,
  input logic        goes_on_i,
  input logic        may_begin_i,
  input logic        signal_pending_i,
  input logic [7:0]  signal_kind_i,
  input logic [15:0] signal_arguments_i,
  input logic        take_i,
  input logic        result_valid_i
);
  localparam int unsigned Signals = 2;
  localparam int unsigned Late    = 10;  // cycles from a period's end to the request, of a timer that nothing keeps waiting

  logic        rst_q = 1'b1;
  logic [2:0]  reset_q = '0;
  logic [31:0] tick_q, passed_q;
  logic [1:0]  since_tick_q;                   // cycles, 3 at most
  logic        pending, signal_take, signal_result;
  logic [7:0]  kind, kind_q;
  logic [15:0] arguments, arguments_q;
  logic        waits_q, running_q, signal_runs_q, timer_ran_q, node_waits_q, node_runs_q;
  logic [7:0]  began_q;                        // iterations of the handler behind the last timer
  logic [1:0][31:0] given_q;                   // periods, by timer
  logic [7:0]  idle_q;                         // cycles in which nothing was pending or in flight, a timer could have begun, and time stood still
  logic        timer_taken, signal_taken;
  logic [1:0][31:0] ended;

  sl_timers #(.Timers(2), .Signals(Signals), .ArgumentBits(16), .Share(Share), .Every({32'd3, 32'd1})) u_timers (
    .clk_i, .rst_i(rst_q), .tick_i(tick_q), .may_begin_i, .signal_pending_i, .signal_kind_i, .signal_arguments_i,
    .signal_take_o(signal_take), .signal_result_valid_o(signal_result), .pending_o(pending), .kind_o(kind),
    .arguments_o(arguments), .take_i, .result_valid_i
  );

  assign timer_taken  = take_i && 32'(kind) >= Signals;
  assign signal_taken = take_i && 32'(kind) < Signals;
  assign ended        = {passed_q / 3, passed_q};

  always_ff @(posedge clk_i) begin
    reset_q <= reset_q + 3'(reset_q != '1);
    rst_q   <= reset_q < 3'd2;
    if (rst_q) {tick_q, passed_q, since_tick_q} <= {first_tick_i, 34'd0};
    else if (goes_on_i) {tick_q, passed_q, since_tick_q} <= {tick_q + 32'd1, passed_q + 32'd1, 2'd0};
    else since_tick_q <= since_tick_q + 2'(since_tick_q != '1);

    {kind_q, arguments_q} <= {kind, arguments};
    waits_q       <= pending && !take_i && !rst_q;
    running_q     <= !rst_q && (running_q || take_i) && !result_valid_i;
    signal_runs_q <= !rst_q && (signal_runs_q || signal_taken) && !result_valid_i;
    node_waits_q  <= signal_pending_i && !signal_take && !rst_q;
    node_runs_q   <= !rst_q && (node_runs_q || signal_take) && !signal_result;
    if (timer_taken) begin
      timer_ran_q <= 1'b1;
      began_q     <= '0;
      given_q[kind[0]] <= given_q[kind[0]] + 32'(arguments);
    end else if (may_begin_i && !pending && began_q != '1) began_q <= began_q + 8'd1;
    idle_q <= rst_q || pending || running_q || goes_on_i || !may_begin_i ? '0 : idle_q + 8'(idle_q != '1);
    if (rst_q) {timer_ran_q, began_q, given_q} <= '0;

    // Environment: the tick, slower than the comparison; an element with one iteration of this kind at a time; a signal node.
    if (goes_on_i) m_slow : assume (since_tick_q == '1 && !rst_q && reset_q == '1);
    m_takes : assume (!take_i || pending);
    m_results : assume (!result_valid_i || running_q || take_i);
    m_runs : assume (!(rst_q && (take_i || result_valid_i || signal_pending_i)));
    m_kind : assume (32'(signal_kind_i) < Signals);
    if (node_waits_q) m_node_waits : assume (signal_pending_i && $stable(signal_kind_i));
    if (node_waits_q || node_runs_q) m_node_keeps : assume ($stable(signal_kind_i) && $stable(signal_arguments_i));
    if (node_runs_q) m_node_runs : assume (!signal_pending_i);

    if (!rst_q) begin
      if (waits_q) a_stays : assert (pending && kind == kind_q && arguments == arguments_q);
      if (running_q) a_one_at_a_time : assert (!pending && kind == kind_q && arguments == arguments_q);
      if (pending) a_known : assert (32'(kind) < Signals + 2 && (32'(kind) < Signals || arguments != '0));
      if (pending && 32'(kind) < Signals) a_signal : assert (signal_pending_i && kind == signal_kind_i && arguments == signal_arguments_i);
      a_takes : assert (signal_take == signal_taken);
      a_answers : assert (signal_result == (result_valid_i && (signal_runs_q || signal_taken)));
      if (timer_taken && timer_ran_q) a_share : assert (32'(began_q) >= Share - 1);
      c_collapsed : cover (timer_taken && 32'(kind) == Signals && arguments == 16'd3);
      c_slow_timer : cover (timer_taken && 32'(kind) == Signals + 1);
      c_signal_behind_a_timer : cover (signal_result && timer_ran_q);
    end
  end

  for (genvar n = 0; n < 2; n++) begin : g_timer
    always_ff @(posedge clk_i) if (!rst_q) begin
      if (timer_taken && 32'(kind) == Signals + n) a_counted_once : assert (given_q[n] + 32'(arguments) <= ended[n]);
      if (32'(idle_q) > Late) a_nothing_is_left : assert (given_q[n] == ended[n]);
    end
  end
endmodule
