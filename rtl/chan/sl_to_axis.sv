// SPDX-License-Identifier: Apache-2.0
// Converts a packet channel to AXI4-Stream: byte 0 of the packet in tdata 7:0, tkeep ones over the valid bytes, tuser at tlast: the
// packet is bad. Metadata is discarded. One beat per cycle, latency 1.
module sl_to_axis
  import sluice_pkg::*;
(
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // AXI4-Stream has no signals for sop and metadata
  input  flit_t                   in_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                    in_valid_i,
  output logic                    in_ready_o,     // registered
  output logic [8*DATA_BYTES-1:0] axis_tdata_o,
  output logic [DATA_BYTES-1:0]   axis_tkeep_o,   // all ones except at tlast, never a gap
  output logic                    axis_tlast_o,
  output logic                    axis_tuser_o,   // 0 except at tlast
  output logic                    axis_tvalid_o,
  input  logic                    axis_tready_i
);
  logic [DATA_BYTES-1:0] keep;

  assign keep = '1 >> (in_data_i.eop ? in_data_i.empty : '0);

  sl_skid #(.Width(9 * DATA_BYTES + 2)) u_skid (
    .clk_i, .rst_i, .in_data_i({in_data_i.data, keep, in_data_i.eop, in_data_i.eop && in_data_i.error}), .in_valid_i, .in_ready_o,
    .out_data_o({axis_tdata_o, axis_tkeep_o, axis_tlast_o, axis_tuser_o}), .out_valid_o(axis_tvalid_o),
    .out_ready_i(axis_tready_i)
  );
endmodule
