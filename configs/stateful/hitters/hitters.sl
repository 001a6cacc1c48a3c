// SPDX-License-Identifier: Apache-2.0
/// Heavy hitters: packets of a flow that has sent more than LIMIT bytes in this window of time are marked, and leave by lane 1 and
/// queue 1. Windows are of 2^17 microseconds and begin at the same time for all flows.

import "../plain.sl";

constexpr uint LANES = 4;
constexpr uint LIMIT = 20000;
constexpr uint WINDOW = 17;

struct flow_t { uint<32> source; uint<32> destination; uint<16> source_port; uint<16> destination_port; uint<8> protocol; }
struct sent_t { uint<16> window; uint<32> bytes; }

.element HeavyHitters (packet in -> packet out, packet heavy) {
    flow<flow_t, sent_t> flows[1024];
    .state { bool is_heavy; }           // the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *l4 = (udp_t *) (&x.data + 34);
            is_heavy = false;
            if (is_plain(*eth, *ip) && (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP)) {
                flow_t key = {ip->source, ip->destination, l4->source_port, l4->destination_port, ip->protocol};
                uint now = (uint) x.meta.timestamp;
                uint<16> window = (uint<16>) (now >> WINDOW);
                sent_t sent;
                flows.find(key, sent);
                if (sent.window == window) {
                    is_heavy = sent.bytes > LIMIT;
                    sent.bytes += x.meta.length;
                } else {
                    sent.bytes = x.meta.length;
                }
                sent.window = window;
                flows.insert(key, sent);
                if (is_heavy) {
                    x.meta.mark = 1;
                    x.meta.queue = 1;
                }
            }
        }
        if (is_heavy) write(heavy, x);
        else write(out, x);
    }
}

Mux<N = LANES> :: lanes
HeavyHitters :: hitters

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> hitters
hitters.out -> to_lane[0]
hitters.heavy -> to_lane[1]
