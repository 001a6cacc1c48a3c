// SPDX-License-Identifier: Apache-2.0
// Before the parser, records for each packet what its header record will lack (link_info_t): the TPIDs, whether it is 802.2 SNAP,
// and its receive time. Packets pass unchanged and without delay (valid and ready pass through); one word per packet leaves on
// `link`, in order. With `Depth` words waiting, the next packet waits: the parser never holds that many packets.
module sl_flow_link
  import sluice_pkg::*;
  import sl_packet_pkg::*;
#(
  parameter int unsigned Depth = 128  // words, at least 2
) (
  input  logic       clk_i,
  input  logic       rst_i,         // synchronous, active high
  input  flit_t      in_data_i,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  output flit_t      out_data_o,
  output logic       out_valid_o,
  input  logic       out_ready_i,
  output link_info_t link_data_o,
  output logic       link_valid_o,
  input  logic       link_ready_i
);
  logic ready, open, first;
  logic [$clog2(Depth+1)-1:0] unused_count;

  assign first       = in_data_i.sop[0];
  assign open        = ready || !first;
  assign out_data_o  = in_data_i;
  assign out_valid_o = in_valid_i && open;
  assign in_ready_o  = out_ready_i && open;

  sl_fifo #(.Width(LINK_INFO_BITS), .Depth(Depth)) u_fifo (
    .clk_i, .rst_i, .in_data_i(link_info(in_data_i.data, in_data_i.meta)), .in_valid_i(in_valid_i && first && out_ready_i), .in_ready_o(ready),
    .out_data_o(link_data_o), .out_valid_o(link_valid_o), .out_ready_i(link_ready_i), .count_o(unused_count)
  );
endmodule
