// SPDX-License-Identifier: Apache-2.0
// The native body of Demux (`compiler/native.py`): the queue of a packet's first flit selects the output.
module el_demux_native #(
  parameter int unsigned N = 2,  // outputs, 1 to 16
  localparam int unsigned FlitBits = sluice_pkg::FLIT_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_i,            // synchronous, active high
  input  logic [FlitBits-1:0]   in_data_i,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  output logic [N*FlitBits-1:0] out_data_o,       // output 0 lowest
  output logic [N-1:0]          out_valid_o,
  input  logic [N-1:0]          out_ready_i,
  input  logic                  signal_valid_i,   // get_dropped()
  output logic                  signal_take_o,
  output logic                  result_valid_o,
  output logic [63:0]           result_o
);
  sluice_pkg::flit_t flit;
  logic [3:0]        chosen_q, chosen;
  logic [15:0]       room;  // nonexistent outputs always have room
  logic              move;
  logic [63:0]       dropped_q;

  assign flit           = in_data_i;
  assign chosen         = flit.sop ? flit.meta.queue : chosen_q;
  assign in_ready_o     = room[chosen] && !signal_valid_i;
  assign move           = in_valid_i && in_ready_o;
  assign signal_take_o  = signal_valid_i;
  assign result_valid_o = signal_valid_i;
  assign result_o       = dropped_q;

  always_ff @(posedge clk_i) begin
    if (move) begin
      chosen_q <= chosen;
      if (flit.sop && 32'(chosen) >= N) dropped_q <= dropped_q + 64'd1;
    end
    if (rst_i) begin
      chosen_q  <= '0;
      dropped_q <= '0;
    end
  end

  if (N < 16) begin : gen_absent
    assign room[15:N] = '1;
  end
  assign room[N-1:0] = out_ready_i;
  assign out_data_o  = {N{in_data_i}};
  for (genvar n = 0; n < N; n++) begin : gen_out
    assign out_valid_o[n] = in_valid_i && !signal_valid_i && 32'(chosen) == n;
  end

  logic unused;
  assign unused = &{1'b0, flit};
endmodule
