// SPDX-License-Identifier: Apache-2.0
// Proof obligations of sl_register_lock, for all masters with one access in flight, all buses that answer, and runs of any length
// (induction): what passes is unchanged; a write to the windows passes if and only if it is the owner's; another master gets the lock
// only when it was given back, or the owner has been silent for so long; each access is answered once, by the lock or by the bus.
module fv_register_lock
  import sluice_pkg::*;
#(
  parameter int unsigned Masters = 3,
  parameter int unsigned PatienceBits = 2
) (
  input logic               clk_i,
  input register_request_t  request_i,
  input logic [1:0]         master_i,
  input logic               request_valid_i,
  input logic               out_ready_i,
  input register_response_t out_response_i,
  input logic               out_response_valid_i
);
  localparam int unsigned Patience = 1 << PatienceBits;

  logic               rst_q = 1'b1;
  logic               ready, answered, out_valid, taken, moved;
  logic               waiting_q = 1'b0, here_q = 1'b0, passed_q = 1'b0;  // here, passed: the access in flight is the lock's, the bus's
  register_request_t  out_request, request_q;
  logic [1:0]         master_q;
  register_response_t response, expected_q;
  logic [31:0]        refused;

  // The lock as it is described: its owner, how long that one has been silent, who was passed over.
  logic               has_q = 1'b0, mine, others, in_windows, is_lock, refuses;
  logic [1:0]         owner_q;
  logic [Masters-1:0] behind_q = '0;
  int unsigned        silent_q;

  sl_register_lock #(.Masters(Masters), .First(1), .Last(2), .PatienceBits(PatienceBits)) u_lock (
    .clk_i, .rst_i(rst_q), .in_request_i(request_i), .in_master_i(master_i), .in_request_valid_i(request_valid_i),
    .in_request_ready_o(ready), .in_response_o(response), .in_response_valid_o(answered), .out_request_o(out_request),
    .out_request_valid_o(out_valid), .out_request_ready_i(out_ready_i), .out_response_i(out_response_i),
    .out_response_valid_i(out_response_valid_i), .refused_o(refused)
  );

  assign taken      = request_valid_i && ready && !rst_q;
  assign moved      = out_valid && out_ready_i && !rst_q;
  assign mine       = has_q && owner_q == master_i && silent_q < Patience;
  assign others     = has_q && owner_q != master_i && silent_q < Patience;
  assign in_windows = request_i.address >= 20'(WINDOW_SIZE) && request_i.address < 20'(3 * WINDOW_SIZE);
  assign is_lock    = request_i.address == 20'(SHELL_REGISTERS_LOCK);
  assign refuses    = request_i.write[0] && (is_lock ? others : in_windows && !mine);

  always_ff @(posedge clk_i) begin
    rst_q     <= 1'b0;
    request_q <= request_i;
    master_q  <= master_i;
    waiting_q <= request_valid_i && !ready && !rst_q;
    if (answered) {here_q, passed_q} <= '0;
    if (taken) begin
      here_q     <= !moved;
      passed_q   <= moved;
      expected_q <= '{error: refuses, data: request_i.write[0] ? '0 : {29'd0, behind_q[master_i], others, mine}};
    end
    if (silent_q < Patience) silent_q <= silent_q + 1;
    if (taken && mine) silent_q <= 0;
    if (taken && is_lock && request_i.write[0] && !refuses) begin
      has_q    <= request_i.data[0];
      owner_q  <= master_i;
      silent_q <= 0;
      for (int m = 0; m < Masters; m++) if (request_i.data[0] && m != 32'(master_i)) behind_q[m] <= 1'b1;
      if (!request_i.data[0] && mine) behind_q[master_i] <= 1'b0;
    end
    if (rst_q) begin
      has_q    <= 1'b0;
      behind_q <= '0;
      {here_q, passed_q} <= '0;
    end
  end

  always_comb begin
    // Environment: masters that exist; a request holds and is alone; the bus answers what it has taken.
    e_master : assume (32'(master_i) < Masters);
    if (rst_q) e_begins : assume (!request_valid_i && !out_response_valid_i);
    if (waiting_q) e_holds : assume (request_valid_i && request_i == request_q && master_i == master_q);
    if (here_q || passed_q) e_one : assume (!request_valid_i);
    if (out_response_valid_i) e_answers : assume (passed_q);

    if (!rst_q) begin
      a_unchanged : assert (!out_valid || out_request == request_i);
      a_writes_are_the_owners : assert (!request_valid_i || out_valid == !(is_lock || refuses));
      a_taken_where_it_goes : assert (!request_valid_i || ready == (!out_valid || out_ready_i));
      a_answered_here : assert (!here_q || (answered && response == expected_q));
      a_answered_by_the_bus : assert (!passed_q || (answered == out_response_valid_i && (!answered || response == out_response_i)));
      a_answered_once : assert (here_q || passed_q || !answered);
      // What the induction needs: the lock's state is that of the harness.
      a_state : assert (u_lock.answered_q == here_q && u_lock.behind_q == behind_q && !(here_q && passed_q)
                        && u_lock.locked_q == (has_q && silent_q < Patience)
                        && (!u_lock.locked_q || (u_lock.owner_q == owner_q && 32'(u_lock.idle_q) == silent_q)));
      a_state_silent : assert (!has_q || (silent_q <= Patience && 32'(owner_q) < Masters));
      a_state_answer : assert (!here_q || u_lock.answer_q == expected_q);

      c_refused : cover (here_q && answered && response.error && refused != '0);
      c_owner_writes : cover (moved && in_windows && request_i.write[0]);
      c_lost : cover (taken && is_lock && request_i.write[0] && request_i.data[0] && has_q && owner_q != master_i && !refuses);
      c_meanwhile : cover (here_q && response.data == 32'd5);
    end
  end
endmodule
