// SPDX-License-Identifier: Apache-2.0
/// Multi-path by turns: packets of a flow of TCP or UDP leave by lane 0 and lane 1 in turn, as the state of the flow says. It is the
/// application by which the stateful paper measures latency (Table 3).

import "../plain.sl";

constexpr uint LANES = 4;

struct flow_t { uint<32> source; uint<32> destination; uint<16> source_port; uint<16> destination_port; uint<8> protocol; }

enum turn_t : uint<1> { FIRST = 0, SECOND = 1 }

.element Alternating (packet in -> packet out, packet other) {
    flow<flow_t, turn_t> flows[1024];
    .state { bool is_second; }          // the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *l4 = (udp_t *) (&x.data + 34);
            is_second = false;
            if (is_plain(*eth, *ip) && (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP)) {
                flow_t key = {ip->source, ip->destination, l4->source_port, l4->destination_port, ip->protocol};
                turn_t turn;
                flows.find(key, turn);
                is_second = turn == SECOND;
                turn = is_second ? FIRST : SECOND;
                flows.insert(key, turn);
            }
        }
        if (is_second) write(other, x);
        else write(out, x);
    }
}

Mux<N = LANES> :: lanes
Alternating :: alternating

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> alternating
alternating.out -> to_lane[0]
alternating.other -> to_lane[1]
