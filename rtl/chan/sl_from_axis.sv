// SPDX-License-Identifier: Apache-2.0
// Converts AXI4-Stream to a packet channel: byte 0 of the packet is tdata 7:0. A packet is marked bad if tuser is 1 in any of its
// beats, or if tkeep has a gap or is not all ones before tlast; unused bytes become 0. Metadata starts as 0. One beat per cycle,
// latency 1.
module sl_from_axis
  import sluice_pkg::*;
(
  input  logic                    clk_i,
  input  logic                    rst_i,          // synchronous, active high
  input  logic [8*DATA_BYTES-1:0] axis_tdata_i,
  input  logic [DATA_BYTES-1:0]   axis_tkeep_i,
  input  logic                    axis_tlast_i,
  input  logic                    axis_tuser_i,   // the packet is bad
  input  logic                    axis_tvalid_i,
  output logic                    axis_tready_o,  // registered
  output flit_t                   out_data_o,     // registered
  output logic                    out_valid_o,    // registered
  input  logic                    out_ready_i
);
  localparam int unsigned EmptyBits = $clog2(DATA_BYTES);

  logic  inside_q, bad_q, gap, bad;
  flit_t flit;

  // tkeep must be ones from the bottom, at least one: adding 1 clears them all.
  assign gap = (axis_tkeep_i & (axis_tkeep_i + 1'b1)) != '0 || !axis_tkeep_i[0] || (!axis_tlast_i && axis_tkeep_i != '1);
  assign bad = axis_tuser_i || gap || (inside_q && bad_q);

  always_comb begin
    flit       = '0;
    flit.sop   = !inside_q;
    flit.eop   = axis_tlast_i;
    flit.error = axis_tlast_i && bad;
    if (axis_tlast_i && !gap) flit.empty = EmptyBits'(DATA_BYTES - 32'($countones(axis_tkeep_i)));
    for (int unsigned i = 0; i < DATA_BYTES; i++) flit.data[8*i +: 8] = axis_tkeep_i[i] ? axis_tdata_i[8*i +: 8] : '0;
  end

  always_ff @(posedge clk_i) begin
    if (axis_tvalid_i && axis_tready_o) begin
      inside_q <= !axis_tlast_i;
      bad_q    <= bad;
    end
    if (rst_i) inside_q <= 1'b0;
  end

  sl_skid #(.Width(FLIT_BITS)) u_skid (
    .clk_i, .rst_i, .in_data_i(flit), .in_valid_i(axis_tvalid_i), .in_ready_o(axis_tready_o),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
