// SPDX-License-Identifier: Apache-2.0
// Sends records of a channel to the host as packets: one per record, as many whole flits as it needs, low bits first.
module sh_graph_pack #(
  parameter int unsigned Width = 32  // bits of a record, 1 or more
) (
  input  logic              clk_i,
  input  logic              rst_i,       // synchronous, active high
  input  logic [Width-1:0]  in_data_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,  // combinational from out_ready_i
  output sluice_pkg::flit_t out_data_o,
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  import sluice_pkg::*;

  localparam int unsigned FlitBits = 8 * DATA_BYTES;
  localparam int unsigned Flits = (Width + FlitBits - 1) / FlitBits;
  localparam int unsigned CountBits = Flits > 1 ? $clog2(Flits) : 1;

  logic [Flits-1:0][FlitBits-1:0] words;
  logic [CountBits-1:0]           count_q;

  assign words       = (Flits * FlitBits)'(in_data_i);
  assign out_valid_o = in_valid_i;
  assign in_ready_o  = out_ready_i && out_data_o.eop;

  always_comb begin
    out_data_o      = '0;
    out_data_o.data = words[count_q];
    out_data_o.sop  = count_q == '0;
    out_data_o.eop  = count_q == CountBits'(Flits - 1);
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i && out_ready_i) count_q <= out_data_o.eop ? '0 : count_q + 1'b1;
    if (rst_i) count_q <= '0;
  end
endmodule
