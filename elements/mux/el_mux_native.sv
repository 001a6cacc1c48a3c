// SPDX-License-Identifier: Apache-2.0
// The native body of Mux (`compiler/native.py`): round robin over inputs with a token; a packet keeps its input to its end.
module el_mux_native #(
  parameter int unsigned T         = 32,    // bits per token
  parameter bit          TIsPacket = 1'b0,
  parameter int unsigned N         = 2,     // inputs
  localparam int unsigned Bits     = N > 1 ? $clog2(N) : 1
) (
  input  logic           clk_i,
  input  logic           rst_i,      // synchronous, active high
  input  logic [N*T-1:0] in_data_i,  // input 0 lowest
  input  logic [N-1:0]   in_valid_i,
  output logic [N-1:0]   in_ready_o,
  output logic [T-1:0]   out_data_o,
  output logic           out_valid_o,
  input  logic           out_ready_i
);
  logic [Bits-1:0]     last_q, choice;  // the last input taken
  logic                locked_q, any, ends;
  logic [N-1:0][T-1:0] tokens;

  assign tokens      = in_data_i;
  assign out_data_o  = tokens[choice];
  assign out_valid_o = any;

  always_comb begin
    choice = last_q;
    any    = in_valid_i[last_q] && locked_q;
    for (int unsigned i = 1; i <= N; i++) begin
      automatic logic [Bits-1:0] port = Bits'((32'(last_q) + i) % N);
      if (!locked_q && !any && in_valid_i[port]) begin
        choice = port;
        any    = 1'b1;
      end
    end
    in_ready_o         = '0;
    in_ready_o[choice] = any && out_ready_i;
  end

  if (TIsPacket) begin : gen_packet
    sluice_pkg::flit_t flit;
    logic              unused;
    assign flit   = tokens[choice];
    assign ends   = flit.eop;
    assign unused = &{1'b0, flit};
  end else begin : gen_token
    assign ends = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (any && out_ready_i) begin
      last_q   <= choice;
      locked_q <= !ends;
    end
    if (rst_i) begin
      last_q   <= Bits'(N - 1);
      locked_q <= 1'b0;
    end
  end
endmodule
