// SPDX-License-Identifier: Apache-2.0
// Collects the first WINDOW_BYTES of each packet in parallel to the flits: a window leaves one cycle after its last flit (or after
// the end of a shorter packet), with the metadata of the first flit. One window per cycle for packets of one flit. Bytes after the
// end of a packet are undefined in the window. A waiting window stalls the input.
module sl_parse_window
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_i,         // synchronous, active high
  /* verilator lint_off UNUSEDSIGNAL */  // the flit's other fields take another path
  input  flit_t   in_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic    in_valid_i,
  output logic    in_ready_o,    // combinational from window_ready_i
  output window_t window_o,
  output meta_t   meta_o,
  output logic    window_valid_o,
  input  logic    window_ready_i
);
  localparam int unsigned IndexBits = $clog2(WINDOW_FLITS + 1);

  logic [IndexBits-1:0] index_q;  // flits of this packet so far, saturates at WINDOW_FLITS
  logic                 take, in_window, complete;

  assign in_ready_o = !window_valid_o || window_ready_i;
  assign take       = in_valid_i && in_ready_o;
  assign in_window     = index_q != IndexBits'(WINDOW_FLITS);
  assign complete   = take && in_window && (in_data_i.eop || index_q == IndexBits'(WINDOW_FLITS - 1));

  always_ff @(posedge clk_i) begin
    if (take) begin
      if (index_q == '0) meta_o <= in_data_i.meta;
      for (int unsigned i = 0; i < WINDOW_FLITS; i++) begin
        if (index_q == IndexBits'(i)) window_o[8 * DATA_BYTES * i +: 8 * DATA_BYTES] <= in_data_i.data;
      end
      if (in_data_i.eop) index_q <= '0;
      else if (in_window) index_q <= index_q + 1'b1;
    end
    if (in_ready_o) window_valid_o <= complete;
    if (rst_i) begin
      index_q        <= '0;
      window_valid_o <= 1'b0;
    end
  end
endmodule
