// SPDX-License-Identifier: Apache-2.0
/// A packet filter: rules on the five-tuple of IPv4 packets, with masks, forward a packet to a lane, drop it, or send it to the
/// controller. What matches no rule goes to the controller too: fragments, options and tags, and what is not TCP or UDP over IPv4.

import "../../../elements/fivetuple/fivetuple.sl";

constexpr uint LANES = 4;
constexpr uint TO_CONTROLLER = 7;   /// as `ports` of a rule

/// Where a packet goes: a bit for each lane; 0 drops it.
struct decision_t {
    bool     upload;        /// to the controller
    uint<4>  lanes;
}

.element Filter (packet in -> packet out[LANES], packet controller) {
    table ternary<five_tuple4_t, decision_t> rules[64];
    .state { decision_t to; }   // of the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            ports_t *l4 = (ports_t *) (&x.data + 34);
            bool has_ports = ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP;
            bool is_whole = ip->more_fragments == 0 && ip->fragment_offset == 0 && x.meta.length >= 38;
            to = {true, 0};
            if (eth->ethertype == ETHERTYPE_IPV4 && ip->version == 4 && ip->ihl == 5 && is_whole && has_ports) {
                five_tuple4_t key = {ip->source, ip->destination, ip->protocol, l4->source, l4->destination};
                decision_t decision;
                if (rules.lookup(key, decision)) to = decision;
            }
            if (to.upload) x.meta.verdict = VERDICT_TO_CONTROLLER;
        }
        .repeat (lane, 0, LANES) { if (!to.upload && to.lanes >> lane & 1) write(out[lane], x); }
        if (to.upload) write(controller, x);
    }
}

Mux<N = LANES> :: lanes
Filter :: filter @
host PktLogger :: controller

.repeat (lane, 0, LANES) {
    from_lane[lane] -> [lane + 1] lanes
    filter.out[lane] -> to_lane[lane]
}
lanes -> filter
filter.controller -> controller
