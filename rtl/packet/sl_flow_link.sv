// SPDX-License-Identifier: Apache-2.0
// Stands before the parser and notes of each packet what its header record will lack (link_info_t): the TPIDs, whether it
// is 802.2 SNAP, and when it came. The packets go through unchanged and without delay (valid and ready pass through); one word a packet leaves on
// `link`, in order. With `Depth` words waiting the next packet waits: more than there can be packets inside the parser.
module sl_flow_link
  import sluice_pkg::*;
  import sl_packet_pkg::*;
#(
  parameter int unsigned Depth = 128  // words, 2 or more
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
  localparam logic [15:0] FirstEthertype = 16'h0600;  // below: a length
  localparam logic [47:0] Snap           = 48'haaaa_0300_0000;

  /* verilator lint_off UNUSEDSIGNAL */  // only the link layer, and of the metadata the timestamp
  function automatic link_info_t info(logic [8*DATA_BYTES-1:0] data, meta_t meta);
    logic        has_tag;
    logic [15:0] length, snap_type;
    logic [47:0] llc;
    info.first_type  = swap16(data[8*12+:16]);
    info.second_type = swap16(data[8*16+:16]);
    has_tag    = is_tag(info.first_type);
    length    = has_tag ? info.second_type : info.first_type;
    llc       = has_tag ? {swap16(data[8*18+:16]), swap16(data[8*20+:16]), swap16(data[8*22+:16])}
                       : {swap16(data[8*14+:16]), swap16(data[8*16+:16]), swap16(data[8*18+:16])};
    snap_type = swap16(has_tag ? data[8*24+:16] : data[8*20+:16]);
    info.is_snap = length < FirstEthertype && llc == Snap && snap_type >= FirstEthertype;
    info.received = meta.timestamp;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic ready, open, first;
  logic [$clog2(Depth+1)-1:0] unused_count;

  assign first       = in_data_i.sop[0];
  assign open        = ready || !first;
  assign out_data_o  = in_data_i;
  assign out_valid_o = in_valid_i && open;
  assign in_ready_o  = out_ready_i && open;

  sl_fifo #(.Width(LINK_INFO_BITS), .Depth(Depth)) u_fifo (
    .clk_i, .rst_i, .in_data_i(info(in_data_i.data, in_data_i.meta)), .in_valid_i(in_valid_i && first && out_ready_i), .in_ready_o(ready),
    .out_data_o(link_data_o), .out_valid_o(link_valid_o), .out_ready_i(link_ready_i), .count_o(unused_count)
  );
endmodule
