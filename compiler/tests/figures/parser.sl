// SPDX-License-Identifier: Apache-2.0
// A parser with tags and options: each header stands at a constant offset in each of its expanded states.

.element L4Ports (packet in -> packet out) {
    .state { uint ports; uint<16> l4; uint truncated; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            l4 = 0;
            ports = 0;
            .state_machine (x.data) {
                ethernet: {
                    ethernet_t *eth = take(ethernet_t);
                    switch (eth->ethertype) {
                    case ETHERTYPE_VLAN, ETHERTYPE_QINQ: goto_state tag;
                    case ETHERTYPE_IPV4: goto_state ipv4;
                    }
                }
                tag: {
                    vlan_t *tag = take(vlan_t);
                    if (tag->ethertype == ETHERTYPE_VLAN) goto_state tag;
                    if (tag->ethertype == ETHERTYPE_IPV4) goto_state ipv4;
                }
                ipv4: {
                    ipv4_t *ip = take(ipv4_t);
                    if (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP) {
                        .repeat (words, 5, 8) {
                            if (ip->ihl == words) {
                                skip(4 * words - 20);
                                goto_state transport;
                            }
                        }
                    }
                }
                transport: {
                    l4 = offset();
                    udp_t *udp = take(udp_t);
                    ports = udp->source_port << 16 | udp->destination_port;
                }
                outside: { truncated += 1; }
            }
            x.meta.mark = ports;
        }
        write(out, x);
    }
    .signal uint<16> get_offset() { return l4; }
}

from_tor -> L4Ports :: parser @ -> to_tor
