// SPDX-License-Identifier: Apache-2.0
/// The IPv4 five-tuple of each packet, one token per packet: after up to two VLAN tags, with ports of TCP, UDP and SCTP.

struct flow_id_t {
    bool           valid;   /// a whole IPv4 header
    five_tuple4_t  tuple;   /// ports 0 if absent, and in later fragments; all 0 if not valid
}

/// The start of TCP, UDP and SCTP headers.
header ports_t {
    uint<16> source;
    uint<16> destination;
}

.element FiveTuple (packet in -> flow_id_t out) {
    .handler {
        flit x = read(in);
        if (x.sop) {
            flow_id_t flow;
            uint<7> size = x.eop ? DATA_BYTES - x.empty : DATA_BYTES;
            .state_machine (x.data) {
                ethernet: {
                    ethernet_t *eth = take(ethernet_t);
                    switch (eth->ethertype) {
                    case ETHERTYPE_VLAN, ETHERTYPE_QINQ: goto_state outer;
                    case ETHERTYPE_IPV4: goto_state ipv4;
                    }
                }
                outer: {
                    vlan_t *tag = take(vlan_t);
                    if (tag->ethertype == ETHERTYPE_VLAN) goto_state inner;
                    if (tag->ethertype == ETHERTYPE_IPV4) goto_state ipv4;
                }
                inner: {
                    vlan_t *tag = take(vlan_t);
                    if (tag->ethertype == ETHERTYPE_IPV4) goto_state ipv4;
                }
                ipv4: {
                    ipv4_t *ip = take(ipv4_t);
                    flow.valid = offset() <= size && ip->version == 4 && ip->ihl >= 5;
                    if (flow.valid) {
                        flow.tuple.ip_src = ip->source;
                        flow.tuple.ip_dst = ip->destination;
                        flow.tuple.ip_protocol = ip->protocol;
                        bool has_ports = ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP
                            || ip->protocol == IP_PROTOCOL_SCTP;
                        if (has_ports && ip->fragment_offset == 0) {
                            .repeat (words, 5, 13) {
                                if (ip->ihl == words) {
                                    skip(4 * words - 20);
                                    goto_state ports;
                                }
                            }
                        }
                    }
                }
                ports: {
                    ports_t *first = take(ports_t);
                    if (offset() <= size) {
                        flow.tuple.l4_src = first->source;
                        flow.tuple.l4_dst = first->destination;
                    }
                }
            }
            write(out, flow);
        }
    }
}
