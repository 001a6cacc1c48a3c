// SPDX-License-Identifier: Apache-2.0
// Second part of the parser: the IPv4 header (without options), the IPv6 header, or ARP. Latency 2, never stalls: the first cycle
// moves the header to a fixed position, the second checks it. A header that fails sets the record's fault and no field. Also
// detects packets that were sent to one of the device's own addresses.
module sl_parse_network
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,     // synchronous, active high
  input  logic           valid_i,
  input  window_t        window_i,
  input  parse_state_t   state_i,
  input  own_addresses_t own_i,
  output logic           valid_o,   // NETWORK_LATENCY cycles after valid_i
  output window_t        window_o,
  output parse_state_t   state_o
);
  logic         valid_q;
  window_t      window_q;
  parse_state_t state_q;
  logic [319:0] header_q;     // the 40 bytes at l3_offset, byte 0 highest
  logic         own_mac_q;    // the destination is the lane's own address
  logic [15:0]  available_q;  // bytes from l3_offset to the end of the packet

  /* verilator lint_off UNUSEDSIGNAL */  // only the offsets where the header can start
  function automatic logic [319:0] align(window_t window, logic [1:0] tags);
    unique case (tags)
      2'd0:    return swap320(window[8 * 14 +: 320]);
      2'd1:    return swap320(window[8 * 18 +: 320]);
      default: return swap320(window[8 * 22 +: 320]);
    endcase
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the header are read
  function automatic parse_state_t parse_ipv4(parse_state_t state, ipv4_t h, logic [15:0] available);
    parse_state_t s;
    logic [15:0]  size;
    s    = state;
    size = {10'd0, h.ihl, 2'd0};
    if (available < 16'd20)          s.record.fault = FAULT_TRUNCATED;
    else if (h.version != 4'd4)      s.record.fault = FAULT_VERSION;
    else if (h.ihl < 4'd5)           s.record.fault = FAULT_HEADER_SIZE;
    else if (size > available)       s.record.fault = FAULT_TRUNCATED;
    else if (7'(s.pointer) + 7'(h.ihl) > 7'(s.words)) s.record.fault = FAULT_WINDOW;
    else if (h.total_length < size || h.total_length > available) s.record.fault = FAULT_LENGTH;
    else begin
      s.record.info.l3_kind       = L3_IPV4;
      s.record.info.ip_options    = h.ihl != 4'd5;
      s.record.info.is_fragment   = h.more_fragments || h.fragment_offset != '0;
      s.record.info.ip_checksum   = h.checksum;
      s.record.info.header_length = s.record.info.l3_offset + size[7:0];
      s.record.phv.ip_src         = 128'(h.source);
      s.record.phv.ip_dst         = 128'(h.destination);
      s.record.phv.ip_protocol    = h.protocol;
      s.record.phv.ip_tos         = h.tos;
      s.record.phv.ip_ttl         = h.ttl;
      s.record.phv.ip_fragment    = {2'd0, h.more_fragments, h.fragment_offset};
      s.limit                     = 16'(s.record.info.l3_offset) + h.total_length;
      s.pointer                   = s.pointer + pointer_t'(h.ihl);
    end
    return s;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the header are read
  function automatic parse_state_t parse_ipv6(parse_state_t state, ipv6_t h, logic [15:0] available);
    parse_state_t s;
    s = state;
    if (available < 16'd40)     s.record.fault = FAULT_TRUNCATED;
    else if (h.version != 4'd6) s.record.fault = FAULT_VERSION;
    else if (17'(h.payload_length) + 17'd40 > 17'(available)) s.record.fault = FAULT_LENGTH;
    else begin
      s.record.info.l3_kind       = L3_IPV6;
      s.record.info.header_length = s.record.info.l3_offset + 8'd40;
      s.record.phv.ip_src         = h.source;
      s.record.phv.ip_dst         = h.destination;
      s.record.phv.ip_protocol    = h.next_header;
      s.record.phv.ip_tos         = h.traffic_class;
      s.record.phv.ip_ttl         = h.hop_limit;
      s.limit                     = 16'(s.record.info.l3_offset) + 16'd40 + h.payload_length;
      s.pointer                   = s.pointer + pointer_t'(10);
      s.chain                     = 1'b1;
    end
    return s;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  function automatic parse_state_t parse(parse_state_t state, logic [319:0] header, logic [15:0] available);
    parse_state_t s;
    s = state;
    if (s.record.fault != FAULT_NONE) return s;
    case (s.record.phv.eth_type)
      ETHERTYPE_IPV4: return parse_ipv4(s, ipv4_t'(header[319 -: 160]), available);
      ETHERTYPE_IPV6: return parse_ipv6(s, ipv6_t'(header), available);
      ETHERTYPE_ARP: begin
        s.done = 1'b1;
        if (available < 16'd28) s.record.fault = FAULT_TRUNCATED;
        else begin
          s.record.info.l3_kind       = L3_ARP;
          s.record.info.header_length = s.record.info.l3_offset + 8'd28;
        end
      end
      default: s.done = 1'b1;
    endcase
    return s;
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */  // only the destination addresses
  function automatic logic is_own(own_addresses_t own, logic [15:0] eth_type, logic [319:0] header);
    ipv4_t h4;
    ipv6_t h6;
    h4 = ipv4_t'(header[319 -: 160]);
    h6 = ipv6_t'(header);
    return (own.open_ipv4 && eth_type == ETHERTYPE_IPV4 && h4.destination == own.ipv4) ||
           (own.open_ipv6 && eth_type == ETHERTYPE_IPV6 && h6.destination == own.ipv6);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic [7:0] port;  // ingress port
  assign port = state_i.record.ingress_port;

  // One block per cycle: if one block reads and writes a register, a simulator copies the whole register every cycle.
  always_ff @(posedge clk_i) begin
    valid_q <= valid_i && !rst_i;
    if (valid_i) begin
      window_q    <= window_i;
      state_q     <= state_i;
      header_q    <= align(window_i, state_i.record.info.tags);
      own_mac_q   <= state_i.record.phv.eth_dst != '0 && port < 8'($size(own_i.lane_mac)) &&
                     state_i.record.phv.eth_dst == own_i.lane_mac[port[$clog2($size(own_i.lane_mac))-1:0]];
      available_q <= state_i.limit - 16'(state_i.record.info.l3_offset);
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= valid_q && !rst_i;
    if (valid_q) begin
      window_o <= window_q;
      state_o  <= parse(state_q, header_q, available_q);
      state_o.own <= own_mac_q && is_own(own_i, state_q.record.phv.eth_type, header_q);
    end
  end
endmodule
