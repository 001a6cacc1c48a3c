// SPDX-License-Identifier: Apache-2.0
/// Multi-path by flowlets: a flow of TCP or UDP keeps its lane until it pauses for longer than GAP, then takes the next one. So packets
/// are never overtaken by those of the same flow on a shorter path. Its first lane depends on its source port.

import "../plain.sl";

constexpr uint LANES = 4;
constexpr uint GAP = 500;               /// microseconds

struct flow_t { uint<32> source; uint<32> destination; uint<16> source_port; uint<16> destination_port; uint<8> protocol; }
struct path_t { uint<2> lane; uint<32> end; }   /// `end`: of the flowlet, if no packet comes

.element Flowlets (packet in -> packet out[LANES]) {
    flow<flow_t, path_t> flows[1024];
    .state { uint<2> lane; }            // of the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *l4 = (udp_t *) (&x.data + 34);
            lane = 0;
            if (is_plain(*eth, *ip) && (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP)) {
                flow_t key = {ip->source, ip->destination, l4->source_port, l4->destination_port, ip->protocol};
                uint now = (uint) x.meta.timestamp;
                path_t path;
                if (!flows.find(key, path)) path.lane = (uint<2>) l4->source_port;
                else if ((int) (path.end - now) < 0) path.lane = (uint<2>) (path.lane + 1);
                path.end = now + GAP;
                lane = path.lane;
                flows.insert(key, path);
            }
        }
        .repeat (n, 0, LANES) { if (lane == n) write(out[n], x); }
    }
}

Mux<N = LANES> :: lanes
Flowlets :: flowlets

.repeat (lane, 0, LANES) {
    from_lane[lane] -> [lane + 1] lanes
    flowlets.out[lane] -> to_lane[lane]
}
lanes -> flowlets
