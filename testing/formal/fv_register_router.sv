// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sh_register_router, for all requests, windows that answer at any time or never, resets of windows and of the
// whole at any time, and runs of any length (induction): every request taken is answered exactly once, within Patience + 2 cycles;
// the next one is taken after that, none in a reset; it is offered only to its own window and unchanged; the answer is the window's
// answer to this very request, or an error, never a late answer to an earlier request; if the router or its window is reset, an
// error in the next cycle. Assumed: a reset lasts at least 4 cycles, and a window answers only requests that it took, once.
module fv_register_router
  import sluice_pkg::*;
#(
  parameter int unsigned Windows  = 2,
  parameter int unsigned Patience = 3
) (
  input logic                             clk_i,
  input logic                             reset_i,  // a reset begins, or restarts
  input logic [Windows-1:0]               window_reset_i,
  input register_request_t                request_i,
  input logic                             request_valid_i,
  input logic [Windows-1:0]               window_request_ready_i,
  input register_response_t [Windows-1:0] window_response_i,
  input logic [Windows-1:0]               window_response_valid_i
);
  localparam register_response_t Refused = '{error: 1'b1, data: '0};

  localparam logic [1:0] Idle = 2'd0, Wait = 2'd2;  // states of the router

  logic [3:0]         rst_left_q = '1;   // a reset of 4 cycles
  logic               rst_q, on_q = 1'b0;  // the first reset is over
  logic               request_ready, response_valid;
  register_response_t response;
  register_request_t  window_request;
  logic [Windows-1:0] window_request_valid;

  sh_register_router #(.Windows(Windows), .Patience(Patience)) u_router (
    .clk_i, .rst_i(rst_q), .window_reset_i, .request_i, .request_valid_i, .request_ready_o(request_ready),
    .response_o(response), .response_valid_o(response_valid),
    .window_request_o(window_request), .window_request_valid_o(window_request_valid), .window_request_ready_i,
    .window_response_i, .window_response_valid_i
  );

  logic               pending_q = 1'b0, fresh_q = 1'b0;  // a request is in flight; its window answered in the previous cycle
  register_request_t  request_q;
  register_response_t answer_q;
  logic               reset_q = 1'b0;                    // the router or its window was in reset in the previous cycle
  logic [7:0]         waits_q = '0;                      // cycles that the request has been in flight
  logic [Windows-1:0] owes_q = '0, owes_old_q = '0;      // windows that took this request, or an earlier one, and have not answered
  logic [Windows-1:0] takes, answers_new, answers_old;
  int unsigned        target;

  assign rst_q       = rst_left_q[0];
  assign takes       = rst_q ? '0 : window_request_valid & window_request_ready_i;
  assign answers_new = window_response_valid_i & (owes_q | takes);
  assign answers_old = window_response_valid_i & ~(owes_q | takes);
  assign target      = 32'(request_q.address) / WINDOW_SIZE;

  always_ff @(posedge clk_i) begin
    rst_left_q <= reset_i ? '1 : rst_left_q >> 1;
    on_q       <= on_q || rst_left_q == 4'd1;
    m_answers_what_was_taken : assume ((window_response_valid_i & ~(owes_q | owes_old_q | takes)) == '0);
    m_resets_forget : assume ((window_response_valid_i & window_reset_i) == '0);

    if (request_valid_i && request_ready) begin
      pending_q <= 1'b1;
      request_q <= request_i;
      waits_q   <= '0;
    end else if (response_valid) begin
      pending_q <= 1'b0;
    end else begin
      waits_q <= waits_q + 1'b1;
    end
    owes_q     <= response_valid ? '0 : (owes_q | takes) & ~answers_new & ~window_reset_i;
    owes_old_q <= (owes_old_q | (response_valid ? owes_q | takes : '0)) & ~answers_old & ~(response_valid ? answers_new : '0)
                  & ~window_reset_i;
    reset_q    <= pending_q && !response_valid && (rst_q || (32'(window_reset_i) >> target) % 2 != 0);
    fresh_q    <= answers_new != '0 && !response_valid && !rst_q;
    for (int unsigned i = 0; i < Windows; i++) if (answers_new[i]) answer_q <= window_response_i[i];

    if (!on_q || rst_left_q == 4'd1) begin  // at its end, a reset has reached all of a window
      owes_q     <= '0;
      owes_old_q <= '0;
    end
    if (!on_q) begin
      pending_q <= 1'b0;
      reset_q   <= 1'b0;
      fresh_q   <= 1'b0;
    end

    i_resets_shift : assert ((rst_left_q & (rst_left_q + 4'd1)) == '0);
    if (rst_left_q inside {4'd1, 4'd3}) i_is_reset : assert (u_router.state_q == Idle && !response_valid);
    if (on_q) begin
      a_takes_the_next_after_the_answer : assert (request_ready == (!pending_q && !rst_q));
      if (response_valid) a_answers_only_what_was_asked : assert (pending_q);
      if (pending_q && !response_valid) a_answers_in_time : assert (32'(waits_q) <= Patience);
      if (reset_q) a_answers_in_a_reset : assert (response_valid);
      if (response_valid) a_answer_is_of_this_request : assert (response == (fresh_q ? answer_q : Refused));
      if (fresh_q) a_passes_the_answer_on : assert (response_valid);
      if (window_request_valid != '0) a_offers_it_as_it_came : assert (pending_q && window_request == request_q);
      a_no_offer_in_reset : assert ((window_request_valid & window_reset_i) == '0);
      if (pending_q && (target >= Windows || request_q.address[1:0] != '0)) a_refuses_what_is_nowhere : assert (response_valid && !fresh_q);
      // For the induction.
      i_pending : assert (pending_q == (u_router.state_q != Idle || response_valid));
      if (u_router.state_q != Idle) begin
        i_not_both : assert (!response_valid && u_router.state_q != 2'd3);
        i_patience : assert (32'(waits_q) + 32'(u_router.patience_q) == Patience);
        i_window : assert (32'(u_router.window_q) == target && target < Windows && u_router.request_q == request_q);
        i_not_dead : assert ((u_router.dead_q >> target) % 2 == '0);
      end
      i_in_time : assert (!pending_q || !response_valid || 32'(waits_q) <= Patience + 1);
      if (!rst_q) i_owes : assert ((owes_old_q & ~u_router.dead_q) == '0 && (owes_q & owes_old_q) == '0);
      i_owes_this : assert (owes_q == '0 || (pending_q && owes_q == Windows'(1) << target));
      if (owes_q != '0 && !rst_q) i_took_it : assert (u_router.state_q == Wait || (response_valid && (owes_q & ~u_router.dead_q) == '0));
      if (fresh_q || !pending_q) i_owes_no_more : assert (owes_q == '0);
      c_late_answer : cover (answers_old != '0 && pending_q && !response_valid);
      c_reset_under_way : cover (rst_q && response_valid);
      c_last_chance : cover (fresh_q && 32'(waits_q) == Patience + 1);
    end
  end

  for (genvar i = 0; i < int'(Windows); i++) begin : gen_window
    always_ff @(posedge clk_i) begin
      if (on_q && window_request_valid[i]) a_offers_it_to_its_window : assert (target == i);
    end
  end
endmodule
