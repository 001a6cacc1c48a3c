// SPDX-License-Identifier: Apache-2.0
/// Finds the headers of each packet: Ethernet, up to two VLAN tags, IPv4 with options or IPv6, TCP or UDP. One token per packet.

/// The headers of a packet; fields of absent headers are 0. Offsets in bytes.
struct headers_t {
    bool      is_ipv4;      /// a whole IPv4 header
    bool      is_ipv6;
    bool      has_ports;    /// whole TCP or UDP header, not of a later fragment
    bool      truncated;    /// a header ends after the end of the first flit
    uint<12>  vlan_id;      /// of the outer tag
    uint<16>  ethertype;    /// after the tags
    uint<7>   l3_offset;
    uint<7>   l4_offset;
    uint<8>   protocol;
    uint<128> source;       /// address; IPv4 in the low 32 bits
    uint<128> destination;
    uint<16>  source_port;
    uint<16>  destination_port;
    uint<32>  sequence_number;
    uint<8>   tcp_flags;
}

.element L4Parser (packet in -> packet out, headers_t headers) {
    .handler {
        flit x = read(in);
        write(out, x);
        if (x.sop) {
            headers_t h;
            uint<7> size = x.eop ? DATA_BYTES - x.empty : DATA_BYTES;
            .state_machine (x.data) {
                ethernet: {
                    ethernet_t *eth = take(ethernet_t);
                    h.ethertype = eth->ethertype;
                    h.l3_offset = offset();
                    switch (eth->ethertype) {
                    case ETHERTYPE_VLAN, ETHERTYPE_QINQ: goto_state outer;
                    case ETHERTYPE_IPV4: goto_state ipv4;
                    case ETHERTYPE_IPV6: goto_state ipv6;
                    }
                }
                outer: {
                    vlan_t *tag = take(vlan_t);
                    h.vlan_id = tag->vlan_id;
                    h.ethertype = tag->ethertype;
                    h.l3_offset = offset();
                    switch (tag->ethertype) {
                    case ETHERTYPE_VLAN: goto_state inner;
                    case ETHERTYPE_IPV4: goto_state ipv4;
                    case ETHERTYPE_IPV6: goto_state ipv6;
                    }
                }
                inner: {
                    vlan_t *tag = take(vlan_t);
                    h.ethertype = tag->ethertype;
                    h.l3_offset = offset();
                    switch (tag->ethertype) {
                    case ETHERTYPE_IPV4: goto_state ipv4;
                    case ETHERTYPE_IPV6: goto_state ipv6;
                    }
                }
                ipv4: {
                    ipv4_t *ip = take(ipv4_t);
                    h.truncated = offset() > size;
                    h.is_ipv4 = !h.truncated && ip->version == 4 && ip->ihl >= 5;
                    if (h.is_ipv4) {
                        h.protocol = ip->protocol;
                        h.source = ip->source;
                        h.destination = ip->destination;
                        if (ip->fragment_offset == 0) {
                            .repeat (words, 5, 16) {
                                if (ip->ihl == words) {
                                    skip(4 * words - 20);
                                    goto_state transport;
                                }
                            }
                        }
                    }
                }
                ipv6: {
                    ipv6_t *ip = take(ipv6_t);
                    h.truncated = offset() > size;
                    h.is_ipv6 = !h.truncated && ip->version == 6;
                    if (h.is_ipv6) {
                        h.protocol = ip->next_header;
                        h.source = ip->source;
                        h.destination = ip->destination;
                        goto_state transport;
                    }
                }
                transport: {
                    h.l4_offset = offset();
                    if (h.protocol == IP_PROTOCOL_TCP) goto_state tcp;
                    if (h.protocol == IP_PROTOCOL_UDP) goto_state udp;
                }
                tcp: {
                    tcp_t *tcp = take(tcp_t);
                    h.has_ports = offset() <= size;
                    h.truncated = !h.has_ports;
                    if (h.has_ports) {
                        h.source_port = tcp->source_port;
                        h.destination_port = tcp->destination_port;
                        h.sequence_number = tcp->sequence_number;
                        h.tcp_flags = tcp->flags;
                    }
                }
                udp: {
                    udp_t *udp = take(udp_t);
                    h.has_ports = offset() <= size;
                    h.truncated = !h.has_ports;
                    if (h.has_ports) {
                        h.source_port = udp->source_port;
                        h.destination_port = udp->destination_port;
                    }
                }
                outside: { h.truncated = true; }
            }
            write(headers, h);
        }
    }
}
