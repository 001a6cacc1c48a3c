// SPDX-License-Identifier: Apache-2.0
// Two masters of one register bus: one access at a time, and turns when both ask.
module sl_register_arbiter (
  input  logic                                 clk_i,
  input  logic                                 rst_i,               // synchronous, active high; an access in flight is answered by the bus
  input  sluice_pkg::register_request_t [1:0]  master_request_i,
  input  logic [1:0]                           master_request_valid_i,
  output logic [1:0]                           master_request_ready_o,
  output sluice_pkg::register_response_t       master_response_o,   // to both
  output logic [1:0]                           master_response_valid_o,
  output sluice_pkg::register_request_t        request_o,
  output logic                                 request_valid_o,
  input  logic                                 request_ready_i,
  input  sluice_pkg::register_response_t       response_i,
  input  logic                                 response_valid_i
);
  logic owner_q, busy_q, offered_q, owner;  // owner: of the access in flight, else of the next one

  // The other master's turn comes first; a request that waits keeps its turn.
  assign owner             = busy_q || offered_q ? owner_q : master_request_valid_i[!owner_q] ? !owner_q : owner_q;
  assign request_o         = master_request_i[owner];
  assign request_valid_o   = master_request_valid_i[owner] && !busy_q;
  assign master_response_o = response_i;

  always_comb begin
    master_request_ready_o         = '0;
    master_request_ready_o[owner]  = request_ready_i && !busy_q;
    master_response_valid_o        = '0;
    master_response_valid_o[owner_q] = response_valid_i;
  end

  always_ff @(posedge clk_i) begin
    owner_q   <= owner;
    offered_q <= request_valid_o && !request_ready_i;
    if (request_valid_o && request_ready_i) busy_q <= 1'b1;
    else if (response_valid_i) busy_q <= 1'b0;
    if (rst_i) begin
      busy_q    <= 1'b0;
      offered_q <= 1'b0;
    end
  end
endmodule
