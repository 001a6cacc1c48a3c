// SPDX-License-Identifier: Apache-2.0
/// Routes IPv4: longest prefix, TTL, checksum, MAC addresses. Drops what has options, no route, or a TTL that ends.

import "../../elements/ipchecksum/updated.sl";

struct route_t {
    uint<48> source;        /// the router's address
    uint<48> next_hop;
}

.element Router (packet in -> packet out) {
    table lpm<uint<32>, route_t> routes[1024];
    .state { bool is_dropped; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            route_t route;
            is_dropped = eth->ethertype != ETHERTYPE_IPV4 || ip->version != 4 || ip->ihl != 5 || ip->ttl <= 1;
            if (!is_dropped) is_dropped = !routes.lookup(ip->destination, route);
            if (is_dropped) {
                dropped += 1;
            } else {
                ushort before = ip->ttl << 8 | ip->protocol;
                ip->ttl -= 1;
                ip->checksum = checksum_updated(ip->checksum, before, ip->ttl << 8 | ip->protocol);
                eth->destination = route.next_hop;
                eth->source = route.source;
            }
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_dropped() { return dropped; }
}

Router :: router @

from_tor -> router -> to_tor
