// SPDX-License-Identifier: Apache-2.0
/// Passes packets (IPv4, UDP or TCP) whose first rule of addresses, ports and protocol under masks says so.

struct flow_t {
    uint<32> source;
    uint<32> destination;
    uint<16> source_port;
    uint<16> destination_port;
    uint<8>  protocol;
}

.element Firewall (packet in -> packet out) {
    table ternary<flow_t, bool> rules[8192];
    .state { bool is_dropped; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *udp = (udp_t *) (&x.data + 34);
            bool passes;
            flow_t key = {ip->source, ip->destination, udp->source_port, udp->destination_port, ip->protocol};
            is_dropped = eth->ethertype != ETHERTYPE_IPV4 || ip->ihl != 5;
            if (!is_dropped) is_dropped = !rules.lookup(key, passes) || !passes;
            if (is_dropped) dropped += 1;
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_dropped() { return dropped; }
}

Firewall :: firewall @

from_tor -> firewall -> to_tor
