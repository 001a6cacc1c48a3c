// SPDX-License-Identifier: Apache-2.0
// The native body of Tee (`compiler/native.py`): a token moves when all outputs have room.
module el_tee_native #(
  parameter int unsigned T = 32,  // bits per token
  parameter int unsigned N = 2    // outputs
) (
  input  logic           clk_i,
  input  logic           rst_i,       // synchronous, active high
  input  logic [T-1:0]   in_data_i,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  output logic [N*T-1:0] out_data_o,  // output 0 lowest
  output logic [N-1:0]   out_valid_o,
  input  logic [N-1:0]   out_ready_i
);
  assign in_ready_o  = &out_ready_i;
  assign out_data_o  = {N{in_data_i}};
  assign out_valid_o = {N{in_valid_i && in_ready_o}};

  logic unused;
  assign unused = &{1'b0, clk_i, rst_i};
endmodule
