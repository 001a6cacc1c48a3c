// SPDX-License-Identifier: Apache-2.0
// The inverse of sh_graph_pack: turns packets from the host, each as many whole flits as a record needs, into records.
module sh_graph_unpack #(
  parameter int unsigned Width = 32  // bits of a record, 1 or more
) (
  input  logic              clk_i,
  input  logic              rst_i,        // synchronous, active high
  input  sluice_pkg::flit_t in_data_i,    // packets of the right length
  input  logic              in_valid_i,
  output logic              in_ready_o,   // combinational from out_ready_i
  output logic [Width-1:0]  out_data_o,
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  import sluice_pkg::*;

  localparam int unsigned FlitBits = 8 * DATA_BYTES;
  localparam int unsigned Flits = (Width + FlitBits - 1) / FlitBits;

  logic [Flits-1:0][FlitBits-1:0] words;

  assign out_data_o  = Width'(words);
  assign out_valid_o = in_valid_i && in_data_i.eop;
  assign in_ready_o  = out_ready_i || !in_data_i.eop;

  if (Flits == 1) begin : gen_one
    logic unused_clk;

    assign words      = in_data_i.data;
    assign unused_clk = &{1'b0, clk_i, rst_i};
  end else begin : gen_more
    logic [Flits-2:0][FlitBits-1:0] before_q;
    logic                           unused_rst;

    assign words      = {in_data_i.data, before_q};
    assign unused_rst = rst_i;

    always_ff @(posedge clk_i) begin
      if (in_valid_i && !in_data_i.eop) before_q <= (Flits * FlitBits - FlitBits)'({in_data_i.data, before_q} >> FlitBits);
    end
  end

  logic unused;
  assign unused = &{1'b0, in_data_i, words};
endmodule
