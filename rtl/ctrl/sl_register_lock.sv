// SPDX-License-Identifier: Apache-2.0
// The lock of windows of several masters of a register bus (`shell_registers.lock`), behind their arbiter: a write to one of these
// windows by a master that does not have the lock is answered with an error, and counted. So a transaction of many writes, and the
// registers that are an index and its data, are one master's until it gives the lock back.
//
// A master that has not used the bus for `Patience` cycles loses the lock. It cannot go on with what it began: it has to take the
// lock again, and then reads in bit 2 whether another had it meanwhile.
module sl_register_lock
  import sluice_pkg::*;
#(
  parameter int unsigned Masters = 3,           // 2 or more
  parameter int unsigned First = 1,             // of the windows
  parameter int unsigned Last = 4,
  parameter int unsigned PatienceBits = 28,     // log2 of Patience
  localparam int unsigned MasterBits = $clog2(Masters)
) (
  input  logic                  clk_i,
  input  logic                  rst_i,               // synchronous, active high
  input  register_request_t     in_request_i,
  input  logic [MasterBits-1:0] in_master_i,         // whose request it is
  input  logic                  in_request_valid_i,
  output logic                  in_request_ready_o,
  output register_response_t    in_response_o,
  output logic                  in_response_valid_o,
  output register_request_t     out_request_o,
  output logic                  out_request_valid_o,
  input  logic                  out_request_ready_i,
  input  register_response_t    out_response_i,
  input  logic                  out_response_valid_i,
  output logic [31:0]           refused_o            // `shell_registers.lock_refused`
);
  localparam int unsigned WindowBits = REGISTER_ADDRESS_BITS - $clog2(WINDOW_SIZE);

  logic [WindowBits-1:0] window;
  logic [MasterBits-1:0] owner_q;
  logic [Masters-1:0]    behind_q;   // another had the lock since this master gave it back
  logic [PatienceBits-1:0] idle_q;   // cycles since the owner's last access
  logic                  locked_q, has, other, writes, is_lock, refuses, here, taken, answered_q;
  register_response_t    answer_q;

  assign window  = in_request_i.address[REGISTER_ADDRESS_BITS-1 -: WindowBits];
  assign writes  = in_request_i.write[0];
  assign has     = locked_q && owner_q == in_master_i;
  assign other   = locked_q && owner_q != in_master_i;
  assign is_lock = in_request_i.address == REGISTER_ADDRESS_BITS'(SHELL_REGISTERS_LOCK);
  assign refuses = writes && (is_lock ? other : !has && 32'(window) >= First && 32'(window) <= Last);
  assign here    = is_lock || refuses;

  assign out_request_o       = in_request_i;
  assign out_request_valid_o = in_request_valid_i && !here;
  assign in_request_ready_o  = here || out_request_ready_i;
  assign taken               = in_request_valid_i && in_request_ready_o;
  assign in_response_o       = answered_q ? answer_q : out_response_i;
  assign in_response_valid_o = answered_q || out_response_valid_i;

  always_ff @(posedge clk_i) begin
    answered_q <= taken && here;
    answer_q   <= '{error: refuses, data: writes ? '0 : {29'd0, behind_q[in_master_i], other, has}};
    idle_q     <= idle_q + 1'b1;
    if (idle_q == '1 && !(taken && has)) locked_q <= 1'b0;
    if (taken && has) idle_q <= '0;
    if (taken && refuses) refused_o <= refused_o + 32'd1;
    if (taken && is_lock && writes && !refuses) begin
      idle_q   <= '0;
      owner_q  <= in_master_i;
      locked_q <= in_request_i.data[0];
      if (in_request_i.data[0]) behind_q <= behind_q | ~(Masters'(1) << in_master_i);
      else if (has) behind_q[in_master_i] <= 1'b0;
    end
    if (rst_i) begin
      answered_q <= 1'b0;
      locked_q   <= 1'b0;
      behind_q   <= '0;
      refused_o  <= '0;
    end
  end
endmodule
