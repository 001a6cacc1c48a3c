// SPDX-License-Identifier: Apache-2.0
/// A router behind an access list, as two elements in a row. What the list denies is dropped; what it holds back, and what the router
/// cannot route, goes to the controller. The list sees no sums and no options: rules say which headers they mean.

import "../../../elements/fivetuple/fivetuple.sl";
import "../../../elements/ipchecksum/updated.sl";

constexpr uint LANES = 4;

struct access_t {
    uint<16> ethertype;
    uint<4>  version;
    uint<4>  ihl;
    uint<8>  ip_protocol;
    uint<32> ip_dst;
    uint<16> l4_dst;
}

struct ruling_t {
    bool deny;
    bool upload;            /// to the controller
}

struct route_t {
    uint<4>  lanes;
    uint<48> source;        /// the router's address on these lanes
    uint<48> next_hop;
}

.element AccessList (packet in -> packet out, packet controller) {
    table ternary<access_t, ruling_t> access[16];
    .state { ruling_t ruling; }     // on the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            ports_t *l4 = (ports_t *) (&x.data + 34);
            access_t key = {eth->ethertype, ip->version, ip->ihl, ip->protocol, ip->destination, l4->destination};
            ruling_t found;
            ruling = {false, false};
            if (access.lookup(key, found)) ruling = found;
            if (ruling.upload) x.meta.verdict = VERDICT_TO_CONTROLLER;
        }
        if (ruling.upload) write(controller, x);
        if (!ruling.upload && !ruling.deny) write(out, x);
    }
}

.element Router (packet in -> packet out[LANES], packet controller) {
    table lpm<uint<32>, route_t> routes[32];
    .state { uint<4> lanes; bool upload; }  // where the packet goes that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            route_t route;
            bool is_plain = eth->ethertype == ETHERTYPE_IPV4 && ip->version == 4 && ip->ihl == 5 && ip->ttl > 1;
            upload = !(is_plain && routes.lookup(ip->destination, route));
            lanes = 0;
            if (upload) {
                x.meta.verdict = VERDICT_TO_CONTROLLER;
            } else {
                ushort before = ip->ttl << 8 | ip->protocol;
                ip->ttl -= 1;
                ip->checksum = checksum_updated(ip->checksum, before, ip->ttl << 8 | ip->protocol);
                eth->destination = route.next_hop;
                eth->source = route.source;
                lanes = route.lanes;
            }
        }
        .repeat (lane, 0, LANES) { if (lanes >> lane & 1) write(out[lane], x); }
        if (upload) write(controller, x);
    }
}

Mux<N = LANES> :: lanes
AccessList :: access @
Router :: router @
Mux :: uploads
host PktLogger :: controller

.repeat (lane, 0, LANES) {
    from_lane[lane] -> [lane + 1] lanes
    router.out[lane] -> to_lane[lane]
}
lanes -> access
access.out -> router
access.controller -> [1] uploads
router.controller -> [2] uploads
uploads -> controller
