// SPDX-License-Identifier: Apache-2.0
// Last part of a row of the parser: TCP, UDP, ICMP, ICMPv6 or SCTP. Latency 2, never stalls: the first cycle selects the header's
// words, the second checks them and completes the record. A header that fails sets the record's fault and no field. The window is
// passed on only if it may contain a tunnel.
module sl_parse_transport
  import sluice_pkg::*;
  import sl_packet_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,     // synchronous, active high
  input  logic         valid_i,
  input  window_t      window_i,
  input  parse_state_t state_i,
  output logic         valid_o,   // TRANSPORT_LATENCY cycles after valid_i
  output window_t      window_o,  // valid if state_o.own
  output parse_state_t state_o    // the pointer is still at the transport header
);
  logic         valid_q, overlong_q;
  window_t      window_q;
  parse_state_t state_q;
  l4_kind_t     kind_q;
  logic [31:0]  word_q [5];   // of the header; word 2 is not read
  logic [15:0]  remaining_q;  // bytes from the pointer to the end of the IP packet

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the header are read
  function automatic l4_kind_t kind(phv_record_t r);
    if (r.phv.ip_fragment[12:0] != '0) return L4_NONE;
    case (r.phv.ip_protocol)
      IP_PROTOCOL_TCP:    return L4_TCP;
      IP_PROTOCOL_UDP:    return L4_UDP;
      IP_PROTOCOL_ICMP:   return r.info.l3_kind == L3_IPV4 ? L4_ICMP : L4_NONE;
      IP_PROTOCOL_ICMPV6: return r.info.l3_kind == L3_IPV6 ? L4_ICMPV6 : L4_NONE;
      IP_PROTOCOL_SCTP:   return L4_SCTP;
      default:            return L4_NONE;
    endcase
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the header are read
  function automatic phv_record_t parse(
    phv_record_t record, l4_kind_t l4_kind, pointer_t window_words, pointer_t pointer, logic [15:0] remaining,
    logic [31:0] first, logic [31:0] second, logic [31:0] fourth, logic [31:0] fifth
  );
    phv_record_t r;
    fault_t      fault, fault_whole;
    logic [9:0]  least, words;
    logic [15:0] checksum;
    r        = record;
    least    = 10'd1;
    checksum = '0;
    case (l4_kind)
      L4_TCP:  begin least = 10'd5; checksum = fifth[31:16]; end
      L4_UDP:  begin least = 10'd2; checksum = second[15:0]; end
      L4_SCTP: least = 10'd3;
      default: checksum = first[15:0];
    endcase
    words       = l4_kind == L4_TCP ? 10'(fourth[31:28]) : least;
    fault       = header_fault(remaining, window_words, pointer, least);
    fault_whole = header_fault(remaining, window_words, pointer, words);
    if (fault == FAULT_NONE && l4_kind == L4_TCP) fault = words < least ? FAULT_HEADER_SIZE : fault_whole;
    if (fault == FAULT_NONE && l4_kind == L4_UDP &&
        (second[31:16] < 16'd8 || (!r.info.is_fragment && second[31:16] > remaining))) fault = FAULT_LENGTH;
    r.fault = fault;
    if (fault == FAULT_NONE) begin
      r.info.l4_kind       = l4_kind;
      r.info.l4_offset     = 8'({pointer, 2'b10});
      r.info.header_length = 8'({pointer, 2'b10}) + {words[5:0], 2'd0};
      r.info.l4_checksum   = checksum;
      r.phv.l4_length      = remaining;
      if (l4_kind == L4_ICMP || l4_kind == L4_ICMPV6) begin
        r.phv.l4_src = {8'd0, first[31:24]};
        r.phv.l4_dst = {8'd0, first[23:16]};
      end else begin
        r.phv.l4_src = first[31:16];
        r.phv.l4_dst = first[15:0];
      end
      if (l4_kind == L4_TCP) r.phv.tcp_flags = fourth[23:16];
    end
    return r;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // One block per cycle: if one block reads and writes a register, a simulator copies the whole register every cycle.
  always_ff @(posedge clk_i) begin
    valid_q <= valid_i && !rst_i;
    if (valid_i) begin
      if (state_i.own) window_q <= window_i;
      state_q     <= state_i;
      remaining_q <= state_i.limit - {8'd0, 8'({state_i.pointer, 2'b10})};
      kind_q      <= state_i.done || state_i.record.fault != FAULT_NONE ? L4_NONE : kind(state_i.record);
      overlong_q  <= state_i.chain && state_i.record.fault == FAULT_NONE && is_extension(state_i.record.phv.ip_protocol);
      for (int unsigned i = 0; i < 5; i++) word_q[i] <= window_word(window_i, state_i.pointer + pointer_t'(i));
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= valid_q && !rst_i;
    if (valid_q) begin
      if (state_q.own) window_o <= window_q;
      state_o <= state_q;
      if (overlong_q) state_o.record.fault <= FAULT_CHAIN;
      else if (kind_q != L4_NONE) begin
        state_o.record <= parse(state_q.record, kind_q, state_q.words, state_q.pointer, remaining_q,
                                word_q[0], word_q[1], word_q[3], word_q[4]);
      end
    end
  end
endmodule
