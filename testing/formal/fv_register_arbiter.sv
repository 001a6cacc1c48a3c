// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_register_arbiter, for all masters that hold their requests, all buses that answer each request once, and
// runs of any length (induction): one access is in flight at a time; a request on the bus is a master's and holds until it is taken;
// it is taken from that master, who gets its answer, and nobody else; a master that waits is passed over by each other once at most.
module fv_register_arbiter
  import sluice_pkg::*;
#(
  parameter int unsigned Masters = 3,
  localparam int unsigned MasterBits = $clog2(Masters)
) (
  input logic                            clk_i,
  input register_request_t [Masters-1:0] master_request_i,
  input logic [Masters-1:0]              master_request_valid_i,
  input logic                            request_ready_i,
  input register_response_t              response_i,
  input logic                            response_valid_i
);
  logic                            rst_q = 1'b1;
  logic [Masters-1:0]              master_ready, answered, taken, same;
  logic                            request_valid, in_flight_q = 1'b0, waited_q = 1'b0;
  logic [MasterBits-1:0]           owner, owner_q, taken_from;
  logic [Masters-1:0]              waiting_q = '0;
  logic [Masters-1:0][Masters-1:0] passed_q = '0;  // [m][o]: a request of o was taken while m waited
  register_request_t               request, request_q;
  register_request_t [Masters-1:0] master_q;
  register_response_t              response;

  sl_register_arbiter #(.Masters(Masters)) u_arbiter (
    .clk_i, .rst_i(rst_q), .master_request_i, .master_request_valid_i, .master_request_ready_o(master_ready),
    .master_response_o(response), .master_response_valid_o(answered), .request_o(request), .owner_o(owner),
    .request_valid_o(request_valid), .request_ready_i, .response_i, .response_valid_i
  );

  assign taken = master_request_valid_i & master_ready;

  always_comb begin
    taken_from = '0;
    for (int unsigned m = 0; m < Masters; m++) begin
      same[m] = master_request_i[m] == master_q[m];
      if (taken[m]) taken_from = MasterBits'(m);
    end
  end

  // Turns from the one to the other; all of them from a master to itself.
  function automatic int unsigned turns(int unsigned from, int unsigned to);
    return to > from ? to - from : to + Masters - from;
  endfunction

  logic [Masters-1:0] passed_again, not_waiting, out_of_turn;

  always_comb begin
    out_of_turn = '0;
    for (int unsigned m = 0; m < Masters; m++) begin
      passed_again[m] = (passed_q[m] & taken) != '0;
      not_waiting[m]  = !waiting_q[m] && passed_q[m] != '0;
      for (int unsigned o = 0; o < Masters; o++) begin
        if (passed_q[m][o] && (o == m || !(waited_q ? 32'(u_arbiter.owner_q) == m || turns(32'(u_arbiter.owner_q), m) < turns(o, m)
                                                    : turns(32'(u_arbiter.owner_q), m) <= turns(o, m)))) out_of_turn[m] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    master_q  <= master_request_i;
    request_q <= request;
    waiting_q <= rst_q ? '0 : master_request_valid_i & ~master_ready;
    waited_q  <= !rst_q && request_valid && !request_ready_i;
    if (!rst_q && response_valid_i) in_flight_q <= 1'b0;
    if (!rst_q && request_valid && request_ready_i) begin
      in_flight_q <= 1'b1;
      owner_q     <= taken_from;
    end
    for (int m = 0; m < Masters; m++) begin
      if (rst_q || taken[m] || !master_request_valid_i[m]) passed_q[m] <= '0;
      else passed_q[m] <= passed_q[m] | taken;
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
      a_request_is_the_masters : assert (taken == '0 || (request == master_request_i[taken_from] && owner == taken_from));
      a_somebody_is_offered : assert (in_flight_q || request_valid == (master_request_valid_i != '0));
      a_answer_to_its_master : assert (response_valid_i ? answered == (Masters'(1) << owner_q) && response == response_i && owner == owner_q
                                                        : answered == '0);
      a_passed_over_once : assert (passed_again == '0);
      // What the induction needs: the arbiter's state is that of the harness, and who passed a master lies before it in the round.
      a_state : assert (u_arbiter.busy_q == in_flight_q && (!in_flight_q || u_arbiter.owner_q == owner_q)
                        && u_arbiter.offered_q == waited_q && (!waited_q || waiting_q[u_arbiter.owner_q])
                        && 32'(u_arbiter.owner_q) < Masters);
      a_state_waits : assert (not_waiting == '0);
      a_state_passed : assert (out_of_turn == '0);

      c_all_wait : cover (request_valid && request_ready_i && master_request_valid_i == '1);
      c_last_answered : cover (answered[Masters-1] && response.error);
      c_passed_by_all : cover (passed_q[0] == ('1 << 1) && taken[0]);
    end
  end
endmodule
