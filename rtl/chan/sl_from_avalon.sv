// SPDX-License-Identifier: Apache-2.0
// Converts Avalon-ST (packets, ready latency 0) to a packet channel: the first byte is the high-order symbol; channel at
// startofpacket becomes the ingress port. A packet is marked bad if error is 1 in any of its beats; unused symbols become 0. One
// beat per cycle, latency 1.
module sl_from_avalon
  import sluice_pkg::*;
(
  input  logic                          clk_i,
  input  logic                          rst_i,                   // synchronous, active high
  input  logic [8*DATA_BYTES-1:0]       avalon_data_i,
  input  logic [$clog2(DATA_BYTES)-1:0] avalon_empty_i,          // valid at endofpacket only
  input  logic [7:0]                    avalon_channel_i,        // valid at startofpacket only
  input  logic                          avalon_error_i,          // the packet is bad
  input  logic                          avalon_startofpacket_i,
  input  logic                          avalon_endofpacket_i,
  input  logic                          avalon_valid_i,
  output logic                          avalon_ready_o,          // registered
  output flit_t                         out_data_o,              // registered
  output logic                          out_valid_o,             // registered
  input  logic                          out_ready_i
);
  logic                  bad_q, bad;
  logic [DATA_BYTES-1:0] keep;
  flit_t                 flit;

  assign bad  = avalon_error_i || (!avalon_startofpacket_i && bad_q);
  assign keep = '1 >> (avalon_endofpacket_i ? avalon_empty_i : '0);

  always_comb begin
    flit       = '0;
    flit.sop   = avalon_startofpacket_i;
    flit.eop   = avalon_endofpacket_i;
    flit.error = avalon_endofpacket_i && bad;
    if (avalon_endofpacket_i) flit.empty = avalon_empty_i;
    if (avalon_startofpacket_i) flit.meta.ingress_port = avalon_channel_i;
    for (int unsigned i = 0; i < DATA_BYTES; i++) begin
      flit.data[8*i +: 8] = keep[i] ? avalon_data_i[8*(DATA_BYTES-1-i) +: 8] : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (avalon_valid_i && avalon_ready_o) bad_q <= bad;
  end

  sl_skid #(.Width(FLIT_BITS)) u_skid (
    .clk_i, .rst_i, .in_data_i(flit), .in_valid_i(avalon_valid_i), .in_ready_o(avalon_ready_o),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
