// SPDX-License-Identifier: Apache-2.0
// The key of the flow table, from a packet's header record and its first bytes: the packet as Open vSwitch sees it, see flow_key_t.
// Combinational. Not usable (the packet matches no rule) on a parser fault, if the record describes the inside of a tunnel, and for
// 802.2 SNAP (Open vSwitch parses beyond it, the parser does not).
module sl_flow_key
  import sluice_pkg::*;
(
  /* verilator lint_off UNUSEDSIGNAL */  // only some fields of the record are keys, and not the time
  input  phv_record_t record_i,
  input  link_info_t  link_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output flow_key_t   key_o,
  output logic        usable_o
);
  flow_fragment_t fragment;
  logic           two_tags;

  assign two_tags = record_i.info.tags == 2'd2;
  assign usable_o = record_i.fault == FAULT_NONE && record_i.info.outer_length == '0 && !link_i.is_snap;

  always_comb begin
    if (record_i.phv.ip_fragment[12:3] != '0)      fragment = FRAGMENT_LATER;
    else if (record_i.phv.ip_fragment[2:0] != '0)  fragment = FRAGMENT_EARLY;
    else if (record_i.phv.ip_fragment[13])         fragment = FRAGMENT_FIRST;
    else                                           fragment = FRAGMENT_WHOLE;
  end

  always_comb begin
    key_o              = '0;
    key_o.ingress_port = record_i.ingress_port;
    key_o.eth_dst      = record_i.phv.eth_dst;
    key_o.eth_src      = record_i.phv.eth_src;
    key_o.eth_type     = two_tags ? link_i.second_type : record_i.phv.eth_type;
    key_o.has_vlan     = record_i.info.tags != '0;
    if (key_o.has_vlan) begin
      key_o.vlan_tpid  = link_i.first_type;
      key_o.vlan_tci   = record_i.phv.vlan0_tci;
    end
    if (!two_tags) begin
      key_o.ip_src      = record_i.phv.ip_src;
      key_o.ip_dst      = record_i.phv.ip_dst;
      key_o.ip_protocol = record_i.phv.ip_protocol;
      key_o.ip_tos      = record_i.phv.ip_tos;
      key_o.ip_ttl      = record_i.phv.ip_ttl;
      key_o.l4_src      = record_i.phv.l4_src;
      key_o.l4_dst      = record_i.phv.l4_dst;
      key_o.tcp_flags   = {4'd0, record_i.phv.tcp_flags};
      key_o.l4_kind     = record_i.info.l4_kind;
      key_o.fragment    = fragment;
    end
  end
endmodule
