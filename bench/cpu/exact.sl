// SPDX-License-Identifier: Apache-2.0
/// Gives packets of known flows (IPv4, UDP or TCP) the MAC address of their flow; drops all others.

struct flow_t {
    uint<32> source;
    uint<32> destination;
    uint<16> source_port;
    uint<16> destination_port;
    uint<8>  protocol;
}

.element Flows (packet in -> packet out) {
    table exact<flow_t, uint<48>> flows[131072];
    .state { bool is_dropped; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *udp = (udp_t *) (&x.data + 34);
            uint<48> address;
            flow_t key = {ip->source, ip->destination, udp->source_port, udp->destination_port, ip->protocol};
            is_dropped = eth->ethertype != ETHERTYPE_IPV4 || ip->ihl != 5;
            if (!is_dropped) is_dropped = !flows.lookup(key, address);
            if (is_dropped) dropped += 1;
            else eth->destination = address;
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_dropped() { return dropped; }
}

Flows :: known @

from_tor -> known -> to_tor
