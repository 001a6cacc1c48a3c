// SPDX-License-Identifier: Apache-2.0
// The native body of Count (`compiler/native.py`): a counter on a pass-through channel.
module el_count_native #(
  localparam int unsigned FlitBits = sluice_pkg::FLIT_BITS
) (
  input  logic                clk_i,
  input  logic                rst_i,            // synchronous, active high
  input  logic [FlitBits-1:0] in_data_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  output logic [FlitBits-1:0] out_data_o,
  output logic                out_valid_o,
  input  logic                out_ready_i,
  input  logic                signal_valid_i,   // get_count()
  output logic                signal_take_o,
  output logic                result_valid_o,
  output logic [63:0]         result_o
);
  sluice_pkg::flit_t flit;
  logic [63:0]       count_q;

  assign flit           = in_data_i;
  assign in_ready_o     = out_ready_i && !signal_valid_i;
  assign out_data_o     = in_data_i;
  assign out_valid_o    = in_valid_i && !signal_valid_i;
  assign signal_take_o  = signal_valid_i;
  assign result_valid_o = signal_valid_i;
  assign result_o       = count_q;

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o && flit.sop) count_q <= count_q + 64'd1;
    if (rst_i) count_q <= '0;
  end

  logic unused;
  assign unused = &{1'b0, flit};
endmodule
