// SPDX-License-Identifier: Apache-2.0
// Types that connect the parts of the action pipeline, and its latency.
package sl_action_pkg;
  import sluice_pkg::*;

  /* verilator lint_off UNUSEDPARAM */  // not every user of the package needs all of them
  localparam int unsigned ACTION_LEAD = 3;  // cycles before slot 0: decoding, edit data
  localparam int unsigned ACTION_TAIL = 4;  // cycles after the last slot: sums of the new words
  localparam int unsigned ACTION_LATENCY = ACTION_LEAD + ACTION_SLOTS + 1 + ACTION_TAIL;
  /* verilator lint_on UNUSEDPARAM */

  // An action, decoded as far as possible without the record. At most one bit of each group is set.
  typedef struct packed {
    logic [FIELDS-1:0] set;  // bit n: write field n
    logic              subtract;
    logic              drop_rule;
    logic              drop_port;
    logic              forward;
    logic              to_host;
    logic              to_controller;
    logic              punt;
    logic              checksums;
    logic              insert_tag;
    logic              delete_tag;
    logic              mark;
    logic              to_queue;
    logic              delete_tunnel;
    logic              insert_front;
    logic              write_id;   // with insert_front
    logic [7:0]        mask;  // ports of forward
  } action_unit_t;

  // The header properties that an action needs and no slot changes.
  typedef struct packed {
    logic is_ip;
    logic is_ipv4;
    logic has_ports;  // TCP or UDP
  } action_traits_t;

  // Control state, on which the next action depends. One stage per slot.
  typedef struct packed {
    logic              run;       // rule hit, no final verdict yet
    logic              execute;   // rule hit
    logic              punted;    // the edits were undone
    action_traits_t    traits;
    logic              has_sum;   // TCP, UDP, ICMPv6: the transport checksum covers the addresses
    logic [1:0]        packet_tags;
    logic [7:0]        ip_ttl;
    logic              ttl_last;  // ip_ttl is 0 or 1
    logic [FIELDS-1:0] dirty;
    logic [1:0]        tags;
    logic [1:0]        pushed;
    logic [1:0]        popped;
    logic              checksums;
    logic              opened;     // the packet arrived in a tunnel
    logic              strip_outer;
    logic              encapsulate;
    logic              write_tunnel_id;
    verdict_t          verdict;
    drop_cause_t       drop_cause;
  } action_control_t;

  // Data that slots only write. It follows the control state one cycle later, so that write enables come from flip-flops.
  typedef struct packed {
    logic [47:0]       eth_dst;
    logic [47:0]       eth_src;
    logic [15:0]       eth_type;
    logic [15:0]       vlan0_tci;
    logic [15:0]       vlan1_tci;
    logic [127:0]      ip_src;
    logic [127:0]      ip_dst;
    logic [7:0]        ip_tos;
    logic [15:0]       l4_src;
    logic [15:0]       l4_dst;
    logic [1:0]        service_tag;
    logic [23:0]       tunnel_id;
    logic [7:0]        template_index;
    logic [7:0]        egress_mask;
    logic [3:0]        egress_queue;
    logic [31:0]       mark;
  } action_data_t;

  // The rest of a record: bypasses the slots.
  typedef struct packed {
    logic [63:0]  state;
    header_info_t info;
    logic [7:0]   ip_protocol;
    logic [15:0]  ip_fragment;
    logic [7:0]   tcp_flags;
    logic [15:0]  l4_length;
    tunnel_kind_t tunnel_kind;
    logic [63:0]  outer_src;
    logic [63:0]  outer_dst;
    logic [47:0]  user;
    logic [15:0]  ip_delta;
    logic [15:0]  l4_delta;
    logic [7:0]   ingress_port;
    logic [15:0]  length;
    fault_t       fault;
    logic         eligible;
    logic [TABLE_MASK_BITS-1:0] required;
    logic [TABLE_MASK_BITS-1:0] hits;
  } action_rest_t;

  /* verilator lint_off UNUSEDSIGNAL */  // each function uses its own part of a record
  function automatic action_control_t control_of(phv_record_t record, logic execute);
    action_control_t c;
    c.execute          = execute;
    c.run              = execute && (record.verdict == VERDICT_PASS || record.verdict == VERDICT_FORWARD);
    c.punted           = 1'b0;
    c.traits.is_ip     = record.info.l3_kind == L3_IPV4 || record.info.l3_kind == L3_IPV6;
    c.traits.is_ipv4   = record.info.l3_kind == L3_IPV4;
    c.traits.has_ports = record.info.l4_kind == L4_TCP || record.info.l4_kind == L4_UDP;
    c.has_sum          = c.traits.has_ports || record.info.l4_kind == L4_ICMPV6;
    c.packet_tags      = record.info.tags;
    c.ip_ttl           = record.phv.ip_ttl;
    c.ttl_last         = record.phv.ip_ttl[7:1] == '0;
    c.dirty            = record.edits.dirty;
    c.tags             = record.edits.tags;
    c.pushed           = record.edits.pushed;
    c.popped           = record.edits.popped;
    c.checksums        = record.edits.checksums;
    c.opened           = record.info.outer_length != '0;
    c.strip_outer      = record.edits.strip_outer;
    c.encapsulate      = record.edits.encapsulate;
    c.write_tunnel_id  = record.edits.write_tunnel_id;
    c.verdict          = record.verdict;
    c.drop_cause       = record.drop_cause;
    return c;
  endfunction

  function automatic action_data_t data_of(phv_record_t record);
    action_data_t d;
    d.eth_dst      = record.phv.eth_dst;
    d.eth_src      = record.phv.eth_src;
    d.eth_type     = record.phv.eth_type;
    d.vlan0_tci    = record.phv.vlan0_tci;
    d.vlan1_tci    = record.phv.vlan1_tci;
    d.ip_src       = record.phv.ip_src;
    d.ip_dst       = record.phv.ip_dst;
    d.ip_tos       = record.phv.ip_tos;
    d.l4_src       = record.phv.l4_src;
    d.l4_dst       = record.phv.l4_dst;
    d.service_tag  = record.edits.service_tag;
    d.tunnel_id      = record.phv.tunnel_id;
    d.template_index = record.edits.template_index;
    d.egress_mask  = record.egress_mask;
    d.egress_queue = record.queue;
    d.mark         = record.mark;
    return d;
  endfunction

  function automatic action_rest_t rest_of(phv_record_t record);
    action_rest_t r;
    r.state        = record.state;
    r.info         = record.info;
    r.ip_protocol  = record.phv.ip_protocol;
    r.ip_fragment  = record.phv.ip_fragment;
    r.tcp_flags    = record.phv.tcp_flags;
    r.l4_length    = record.phv.l4_length;
    r.tunnel_kind  = record.phv.tunnel_kind;
    r.outer_src    = record.phv.outer_src;
    r.outer_dst    = record.phv.outer_dst;
    r.user         = record.phv.user;
    r.ip_delta     = record.edits.ip_delta;
    r.l4_delta     = record.edits.l4_delta;
    r.ingress_port = record.ingress_port;
    r.length       = record.length;
    r.fault        = record.fault;
    r.eligible     = record.eligible;
    r.required     = record.required;
    r.hits         = record.hits;
    return r;
  endfunction

  function automatic phv_record_t record_of(action_control_t c, action_data_t d, action_rest_t r,
                                             logic [15:0] ip_sum, logic [15:0] l4_sum);
    phv_record_t record;
    logic under_address, under_ip, under_l4;
    under_address = c.dirty[FIELD_IP_SRC] || c.dirty[FIELD_IP_DST];
    under_ip = c.execute && c.traits.is_ipv4 && (under_address || c.dirty[FIELD_IP_TOS] || c.dirty[FIELD_IP_TTL]);
    under_l4 = c.execute && c.has_sum && (under_address || c.dirty[FIELD_L4_SRC] || c.dirty[FIELD_L4_DST]);
    record.phv.eth_dst       = d.eth_dst;
    record.phv.eth_src       = d.eth_src;
    record.phv.eth_type      = d.eth_type;
    record.phv.vlan0_tci     = d.vlan0_tci;
    record.phv.vlan1_tci     = d.vlan1_tci;
    record.phv.ip_src        = d.ip_src;
    record.phv.ip_dst        = d.ip_dst;
    record.phv.ip_protocol   = r.ip_protocol;
    record.phv.ip_tos        = d.ip_tos;
    record.phv.ip_ttl        = c.ip_ttl;
    record.phv.ip_fragment   = r.ip_fragment;
    record.phv.l4_src        = d.l4_src;
    record.phv.l4_dst        = d.l4_dst;
    record.phv.tcp_flags     = r.tcp_flags;
    record.phv.l4_length     = r.l4_length;
    record.phv.tunnel_kind   = r.tunnel_kind;
    record.phv.tunnel_id     = d.tunnel_id;
    record.phv.outer_src     = r.outer_src;
    record.phv.outer_dst     = r.outer_dst;
    record.phv.user          = r.user;
    record.state             = r.state;
    record.info              = r.info;
    record.edits.dirty       = c.dirty;
    record.edits.tags        = c.tags;
    record.edits.pushed      = c.pushed;
    record.edits.popped      = c.popped;
    record.edits.service_tag = c.punted ? '0 : d.service_tag;
    record.edits.strip_outer     = c.strip_outer;
    record.edits.encapsulate     = c.encapsulate;
    record.edits.write_tunnel_id = c.write_tunnel_id;
    record.edits.template_index  = c.punted ? '0 : d.template_index;
    record.edits.checksums   = c.checksums;
    record.edits.ip_delta    = c.punted ? '0 : under_ip ? ip_sum : r.ip_delta;
    record.edits.l4_delta    = c.punted ? '0 : under_l4 ? l4_sum : r.l4_delta;
    record.ingress_port      = r.ingress_port;
    record.length            = r.length;
    record.fault             = r.fault;
    record.eligible          = r.eligible;
    record.required          = r.required;
    record.hits              = r.hits;
    record.verdict           = c.verdict;
    record.drop_cause        = c.drop_cause;
    record.egress_mask       = d.egress_mask;
    record.queue             = d.egress_queue;
    record.mark              = d.mark;
    return record;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
endpackage
