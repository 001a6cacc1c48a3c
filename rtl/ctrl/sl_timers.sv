// SPDX-License-Identifier: Apache-2.0
// The timers of an element: each `Every` microseconds of the tick, one becomes an iteration, as a signal does that no host sends.
// Stands between the signal node and the element, and hands on one of both at a time; the element ends one before it gets the next.
//
// Periods that pass while a timer waits collapse into one iteration, which gets their number, up to 65,535. Behind an iteration of
// a timer, the handler may begin `Share - 1` before the next one. A tick that jumps forward by less than 2^31 counts all periods
// in between; one that jumps back begins a period anew.
module sl_timers #(
  parameter int unsigned            Timers       = 1,
  parameter int unsigned            Signals      = 0,   // of the host; timer n has the kind Signals + n
  parameter int unsigned            ArgumentBits = 16,  // of the signal or timer with the most
  parameter int unsigned            Share        = 64,  // at most one iteration in so many is a timer's
  parameter logic [32*Timers-1:0]   Every        = {Timers{32'd1000}}  // microseconds, below 2^31; timer 0 lowest
) (
  input  logic                    clk_i,
  input  logic                    rst_i,                  // synchronous, active high
  input  logic [31:0]             tick_i,                 // microseconds
  input  logic                    may_begin_i,            // a cycle in which an iteration of the handler may begin, if none is pending here
  // From the signal node
  input  logic                    signal_pending_i,       // until it is taken
  input  logic [7:0]              signal_kind_i,
  input  logic [ArgumentBits-1:0] signal_arguments_i,
  output logic                    signal_take_o,
  output logic                    signal_result_valid_o,
  // To the element
  output logic                    pending_o,              // until it is taken; kind and arguments stay until its result
  output logic [7:0]              kind_o,
  output logic [ArgumentBits-1:0] arguments_o,
  input  logic                    take_i,
  input  logic                    result_valid_i
);
  localparam int unsigned NumberBits = Timers > 1 ? $clog2(Timers) : 1;

  typedef enum logic [1:0] {StIdle, StPending, StBusy} state_e;

  state_e                       state_q;
  logic                         is_timer_q, choose, choose_timer, ends;
  logic [NumberBits-1:0]        next_q, after, chosen_q;  // the timer whose turn it is; the one behind it
  logic [15:0]                  periods_q;
  logic [$clog2(Share + 1)-1:0] wait_q;      // iterations of the handler until a timer may begin
  logic [Timers-1:0]            ready;
  logic [Timers-1:0][15:0]      count_q;     // periods that have passed
  logic [Timers-1:0]            some_q;      // whether it is not 0, and below whether it is full: both decide what begins
  logic [31:0]                  tick_q;
  logic [1:0]                   step_q;      // of the comparison with the tick: difference, decision, change
  logic                         started_q;   // the first periods have begun

  always_ff @(posedge clk_i) begin
    tick_q <= tick_i;
    step_q <= rst_i || step_q == 2'd2 ? 2'd0 : step_q + 2'd1;
    if (step_q == 2'd2) started_q <= 1'b1;
    if (rst_i) started_q <= 1'b0;
  end

  for (genvar n = 0; n < int'(Timers); n++) begin : g_timer
    localparam logic [31:0] Period = Every[32*n+:32];
    logic [31:0] due_q, since_q;
    logic        ripe_q, astray_q, settled_q, far, full_q, count, begin_anew;

    assign begin_anew = choose_timer && next_q == NumberBits'(n);

    assign far      = since_q + Period > 32'h7fff_ffff;  // below 0: the end of the period is more than a period away
    assign count    = step_q == 2'd2 && ripe_q && !full_q;
    assign ready[n] = some_q[n] && (settled_q || full_q);

    always_ff @(posedge clk_i) begin
      since_q <= tick_q - due_q;
      if (step_q == 2'd1) begin
        ripe_q   <= started_q && !since_q[31];
        astray_q <= !started_q || (since_q[31] && far);
      end
      if (step_q == 2'd2) begin
        settled_q <= !ripe_q;
        if (count && count_q[n] != 16'hfffe) due_q <= due_q + Period;
        else if (ripe_q || astray_q) due_q <= tick_q + Period;  // what would be counted behind the last one is lost
      end
      count_q[n] <= (begin_anew ? 16'd0 : count_q[n]) + 16'(count);
      some_q[n]  <= count || (some_q[n] && !begin_anew);
      full_q     <= !begin_anew && (full_q || (count && count_q[n] == 16'hfffe));
      if (rst_i) begin
        count_q[n] <= '0;
        some_q[n]  <= 1'b0;
        full_q     <= 1'b0;
        settled_q  <= 1'b0;
      end
    end
  end

  assign after        = next_q == NumberBits'(Timers - 1) ? '0 : next_q + 1'b1;
  assign choose_timer = state_q == StIdle && ready[next_q] && wait_q == '0;
  assign choose       = state_q == StIdle && (choose_timer || signal_pending_i);
  assign ends         = result_valid_i && (state_q == StBusy || (state_q == StPending && take_i));

  always_ff @(posedge clk_i) begin
    if (may_begin_i && !pending_o && wait_q != '0) wait_q <= wait_q - 1'b1;
    if (choose_timer || !some_q[next_q]) next_q <= after;
    if (choose) begin
      state_q    <= StPending;
      is_timer_q <= choose_timer;
      chosen_q   <= next_q;
      periods_q  <= count_q[next_q];
    end
    if (state_q == StPending && take_i) state_q <= StBusy;
    if (ends) begin
      state_q <= StIdle;
      if (is_timer_q) wait_q <= $bits(wait_q)'(Share - 1);
    end
    if (rst_i) begin
      state_q <= StIdle;
      next_q  <= '0;
      wait_q  <= '0;
    end
  end

  assign pending_o             = state_q == StPending;
  assign kind_o                = is_timer_q ? 8'(Signals) + 8'(chosen_q) : signal_kind_i;
  assign arguments_o           = is_timer_q ? ArgumentBits'(periods_q) : signal_arguments_i;
  assign signal_take_o         = take_i && pending_o && !is_timer_q;
  assign signal_result_valid_o = ends && !is_timer_q;
endmodule
