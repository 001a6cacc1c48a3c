// SPDX-License-Identifier: Apache-2.0
/// Sends packets of known flows (IPv4, UDP or TCP) through the tunnel of their flow (NVGRE); drops all others.

import "../../elements/nvgreencap/nvgreencap.sl";

struct flow_t {
    uint<32> source;
    uint<32> destination;
    uint<16> source_port;
    uint<16> destination_port;
    uint<8>  protocol;
}

.element Balance (packet in -> packet out) {
    table exact<flow_t, uint<8>> flows[65536];
    .state { bool is_dropped; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *udp = (udp_t *) (&x.data + 34);
            uint<8> tunnel;
            flow_t key = {ip->source, ip->destination, udp->source_port, udp->destination_port, ip->protocol};
            is_dropped = eth->ethertype != ETHERTYPE_IPV4 || ip->ihl != 5;
            if (!is_dropped) is_dropped = !flows.lookup(key, tunnel);
            if (is_dropped) dropped += 1;
            x.meta.mark = tunnel;
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_dropped() { return dropped; }
}

Balance :: balance @
NVGREEncap :: tunnels @

from_tor -> balance -> tunnels -> to_tor
