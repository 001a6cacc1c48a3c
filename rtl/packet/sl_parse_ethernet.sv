// SPDX-License-Identifier: Apache-2.0
// First part of the parser: Ethernet and up to two VLAN tags. Starts the record of a packet. Latency 1, never stalls. Sets the
// record's fault on a packet that ends inside a header, a third tag, and MPLS.
module sl_parse_ethernet
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,     // synchronous, active high
  input  logic         valid_i,
  input  window_t      window_i,
  input  pointer_t     words_i,   // of the window
  input  meta_t        meta_i,    // of the first flit
  output logic         valid_o,   // ETHERNET_LATENCY cycles after valid_i
  output window_t      window_o,
  output parse_state_t state_o
);
  /* verilator lint_off UNUSEDSIGNAL */  // only some metadata goes into the record
  function automatic parse_state_t parse(window_t window, pointer_t words, meta_t meta);
    parse_state_t s;
    logic [15:0]  ethertype [MAX_TAGS + 1];
    logic [15:0]  last_type;
    logic         more;
    s = '0;
    s.record.ingress_port = meta.ingress_port;
    s.record.length       = meta.length;
    s.record.mark         = meta.mark;
    s.record.queue        = meta.queue;
    s.limit               = meta.length;
    s.words               = words;
    s.pointer             = pointer_t'(3);
    for (int unsigned i = 0; i <= MAX_TAGS; i++) ethertype[i] = swap16(window[8 * (12 + 4 * i) +: 16]);
    if (meta.length < 16'd14) begin
      s.record.fault = FAULT_TRUNCATED;
      return s;
    end
    s.record.phv.eth_dst        = {swap16(window[0 +: 16]), swap32(window[16 +: 32])};
    s.record.phv.eth_src        = {swap16(window[48 +: 16]), swap32(window[64 +: 32])};
    s.record.info.header_length = 8'd14;
    last_type = ethertype[0];
    more      = is_tag(ethertype[0]);
    for (int unsigned i = 0; i < MAX_TAGS; i++) begin
      if (more && meta.length < 16'(18 + 4 * i)) begin
        s.record.fault = FAULT_TRUNCATED;
        more           = 1'b0;
      end
      if (more) begin
        if (i == 0) s.record.phv.vlan0_tci = swap16(window[8 * 14 +: 16]);
        else        s.record.phv.vlan1_tci = swap16(window[8 * 18 +: 16]);
        s.record.info.tags          = 2'(i + 1);
        s.record.info.header_length = 8'(18 + 4 * i);
        s.pointer                   = pointer_t'(4 + i);
        last_type                   = ethertype[i+1];
        more                        = is_tag(ethertype[i+1]);
      end
    end
    if (more) s.record.fault = FAULT_TAGS;
    if (last_type == ETHERTYPE_MPLS || last_type == ETHERTYPE_MPLS_MULTICAST) s.record.fault = FAULT_MPLS;
    s.record.phv.eth_type   = last_type < 16'h0600 ? 16'd0 : last_type;
    s.record.info.l3_offset = s.record.info.header_length;
    s.record.edits.tags     = s.record.info.tags;
    return s;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_ff @(posedge clk_i) begin
    valid_o <= valid_i && !rst_i;
    if (valid_i) begin
      window_o <= window_i;
      state_o  <= parse(window_i, words_i, meta_i);
    end
  end
endmodule
