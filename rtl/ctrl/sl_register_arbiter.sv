// SPDX-License-Identifier: Apache-2.0
// Several masters of one register bus: one access at a time, and turns when several ask. A master that asks waits for one access of
// each other at most.
module sl_register_arbiter #(
  parameter int unsigned Masters = 2,          // 1 or more
  localparam int unsigned MasterBits = Masters > 1 ? $clog2(Masters) : 1
) (
  input  logic                                 clk_i,
  input  logic                                 rst_i,               // synchronous, active high; an access in flight is answered by the bus
  input  sluice_pkg::register_request_t  [Masters-1:0] master_request_i,
  input  logic [Masters-1:0]                   master_request_valid_i,
  output logic [Masters-1:0]                   master_request_ready_o,
  output sluice_pkg::register_response_t       master_response_o,   // to all
  output logic [Masters-1:0]                   master_response_valid_o,
  output sluice_pkg::register_request_t        request_o,
  output logic [MasterBits-1:0]                owner_o,             // whose request that is; until it is answered
  output logic                                 request_valid_o,
  input  logic                                 request_ready_i,
  input  sluice_pkg::register_response_t       response_i,
  input  logic                                 response_valid_i
);
  logic [MasterBits-1:0] owner_q, owner, turn;  // owner: of the access in flight, else of the next one
  logic [Masters-1:0]    behind, asking;
  logic                  busy_q, offered_q;

  // The next master that asks, behind the last owner and round; a request that waits keeps its turn.
  always_comb begin
    for (int unsigned m = 0; m < Masters; m++) behind[m] = m > 32'(owner_q) && master_request_valid_i[m];
    asking = behind != '0 ? behind : master_request_valid_i;
    turn   = owner_q;
    for (int unsigned m = Masters; m > 0; m--) if (asking[m-1]) turn = MasterBits'(m - 1);
  end

  assign owner             = busy_q || offered_q ? owner_q : turn;
  assign owner_o           = owner;
  assign request_o         = master_request_i[owner];
  assign request_valid_o   = master_request_valid_i[owner] && !busy_q;
  assign master_response_o = response_i;

  always_comb begin
    for (int unsigned m = 0; m < Masters; m++) begin
      master_request_ready_o[m]  = m == 32'(owner) && request_ready_i && !busy_q;
      master_response_valid_o[m] = m == 32'(owner_q) && response_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    owner_q   <= owner;
    offered_q <= request_valid_o && !request_ready_i;
    if (request_valid_o && request_ready_i) busy_q <= 1'b1;
    else if (response_valid_i) busy_q <= 1'b0;
    if (rst_i) begin
      owner_q   <= '0;
      busy_q    <= 1'b0;
      offered_q <= 1'b0;
    end
  end
endmodule
