// SPDX-License-Identifier: Apache-2.0
// The native body of Tee (`compiler/native.py`): one register in the channel, and a bit for every output that has taken its token.
module el_tee_native #(
  parameter int unsigned T = 32,  // bits of a token
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
  logic [T-1:0] token;
  logic         valid;
  logic [N-1:0] done_q, done;  // has taken the token that stands there

  assign done        = done_q | out_ready_i;
  assign out_data_o  = {N{token}};
  assign out_valid_o = {N{valid}} & ~done_q;

  always_ff @(posedge clk_i) begin
    if (valid) done_q <= (&done) ? '0 : done;
    if (rst_i) done_q <= '0;
  end

  sl_skid #(.Width(T)) u_in (
    .clk_i, .rst_i, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o(token), .out_valid_o(valid), .out_ready_i(&done)
  );
endmodule
