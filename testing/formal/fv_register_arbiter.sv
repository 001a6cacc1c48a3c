// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_register_arbiter, for all masters that hold their requests, all buses that answer each request once, and
// runs of any length (induction): one access is in flight at a time; a request on the bus is a master's and holds until it is taken;
// it is taken from that master, who gets its answer, and nobody else; a master that waits is passed over once at most.
module fv_register_arbiter
  import sluice_pkg::*;
(
  input logic                    clk_i,
  input register_request_t [1:0] master_request_i,
  input logic [1:0]              master_request_valid_i,
  input logic                    request_ready_i,
  input register_response_t      response_i,
  input logic                    response_valid_i
);
  logic                    rst_q = 1'b1;
  logic [1:0]              master_ready, answered, taken, same;
  logic                    request_valid, in_flight_q = 1'b0, owner_q, waited_q = 1'b0;
  logic [1:0]              waiting_q = '0, passed_q = '0;  // passed: another master's request was taken while it waited
  register_request_t       request, request_q;
  register_request_t [1:0] master_q;
  register_response_t      response;

  sl_register_arbiter u_arbiter (
    .clk_i, .rst_i(rst_q), .master_request_i, .master_request_valid_i, .master_request_ready_o(master_ready),
    .master_response_o(response), .master_response_valid_o(answered), .request_o(request), .request_valid_o(request_valid),
    .request_ready_i, .response_i, .response_valid_i
  );

  assign taken = master_request_valid_i & master_ready;
  assign same  = {master_request_i[1] == master_q[1], master_request_i[0] == master_q[0]};

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    master_q  <= master_request_i;
    request_q <= request;
    waiting_q <= rst_q ? '0 : master_request_valid_i & ~master_ready;
    waited_q  <= !rst_q && request_valid && !request_ready_i;
    if (!rst_q && response_valid_i) in_flight_q <= 1'b0;
    if (!rst_q && request_valid && request_ready_i) begin
      in_flight_q <= 1'b1;
      owner_q     <= taken[1];
    end
    for (int m = 0; m < 2; m++) begin
      if (rst_q || taken[m] || !master_request_valid_i[m]) passed_q[m] <= 1'b0;
      else if (taken[1-m]) passed_q[m] <= 1'b1;
    end
  end

  always_comb begin
    // Environment: nothing in reset; a waiting master holds its request; an answer belongs to an access that was taken before.
    if (rst_q) e_begins : assume (master_request_valid_i == '0 && !response_valid_i);
    e_holds : assume ((waiting_q & ~(master_request_valid_i & same)) == '0);
    if (response_valid_i) e_answers : assume (in_flight_q);

    if (!rst_q) begin
      a_one_in_flight : assert (!(request_valid && in_flight_q));
      a_request_holds : assert (!waited_q || (request_valid && request == request_q));
      a_taken_from_one : assert ($onehot0(taken) && (taken != '0) == (request_valid && request_ready_i));
      a_request_is_the_masters : assert (taken == '0 || request == master_request_i[taken[1]]);
      a_somebody_is_offered : assert (in_flight_q || request_valid == (master_request_valid_i != '0));
      a_answer_to_its_master : assert (response_valid_i ? answered == (2'd1 << owner_q) && response == response_i : answered == '0);
      a_passed_over_once : assert (!(passed_q[0] && taken[1]) && !(passed_q[1] && taken[0]));
      // What the induction needs: the arbiter's state is that of the harness.
      a_state : assert (u_arbiter.busy_q == in_flight_q && (!in_flight_q || u_arbiter.owner_q == owner_q)
                        && u_arbiter.offered_q == waited_q && (!waited_q || waiting_q[u_arbiter.owner_q]));
      a_state_passed : assert ((passed_q & ~waiting_q) == '0
                               && (passed_q == '0 || (passed_q != '1 && passed_q[u_arbiter.owner_q] == waited_q)));

      c_both_wait : cover (request_valid && request_ready_i && master_request_valid_i == 2'b11);
      c_second_answered : cover (answered[1] && response.error);
      c_passed : cover (passed_q[0] && taken[0]);
    end
  end
endmodule
