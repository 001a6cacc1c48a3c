// SPDX-License-Identifier: Apache-2.0
/// A switch on layers 2 and 3 (MPSoC paper, 4.2): drops packets whose source address is a group address, bridges by MAC address, and
/// routes IPv4 packets to its own address by the longest prefix: TTL, checksum, MAC addresses. What it does not know goes to the
/// controller, which learns from it: unknown addresses and routes, options, the end of a TTL, other protocols.

import "../../../elements/ipchecksum/updated.sl";

constexpr uint LANES = 4;

/// Who has a MAC address: the router, or what is behind lanes (a bit for each).
struct station_t {
    bool     router;
    uint<4>  lanes;
}

struct route_t {
    uint<4>  lanes;
    uint<48> source;        /// the router's address on these lanes
    uint<48> next_hop;
}

.element Switch (packet in -> packet out[LANES], packet controller) {
    table ternary<uint<48>, station_t> stations[32];
    table lpm<uint<32>, route_t> routes[32];
    .state { uint<4> lanes; bool upload; }  // where the packet goes that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            bool is_group_source = eth->source >> 40 & 1;
            station_t station;
            lanes = 0;
            upload = false;
            if (!is_group_source) {
                if (!stations.lookup(eth->destination, station)) {
                    upload = true;
                } else if (!station.router) {
                    lanes = station.lanes;
                } else {
                    route_t route;
                    bool is_plain = eth->ethertype == ETHERTYPE_IPV4 && ip->version == 4 && ip->ihl == 5 && ip->ttl > 1;
                    if (is_plain && routes.lookup(ip->destination, route)) {
                        ushort before = ip->ttl << 8 | ip->protocol;
                        ip->ttl -= 1;
                        ip->checksum = checksum_updated(ip->checksum, before, ip->ttl << 8 | ip->protocol);
                        eth->destination = route.next_hop;
                        eth->source = route.source;
                        lanes = route.lanes;
                    } else {
                        upload = true;
                    }
                }
            }
            if (upload) x.meta.verdict = VERDICT_TO_CONTROLLER;
        }
        .repeat (lane, 0, LANES) { if (lanes >> lane & 1) write(out[lane], x); }
        if (upload) write(controller, x);
    }
}

Mux<N = LANES> :: lanes
Switch :: switch @
host PktLogger :: controller

.repeat (lane, 0, LANES) {
    from_lane[lane] -> [lane + 1] lanes
    switch.out[lane] -> to_lane[lane]
}
lanes -> switch
switch.controller -> controller
