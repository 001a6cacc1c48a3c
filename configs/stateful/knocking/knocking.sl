// SPDX-License-Identifier: Apache-2.0
/// Port knocking: a host that has sent packets to three ports, in this order and to no other between, reaches port 22. Knocks are
/// dropped; packets to other ports pass. Hosts that send nothing for a minute must knock again.

import "../plain.sl";

constexpr uint LANES = 4;
constexpr ushort GUARDED = 22;
constexpr ushort KNOCK_1 = 1111;
constexpr ushort KNOCK_2 = 2222;
constexpr ushort KNOCK_3 = 3333;
constexpr ulong FORGET = 60000000;      /// microseconds

enum stage_t : uint<2> { CLOSED = 0, FIRST = 1, SECOND = 2, OPEN = 3 }

.element PortKnocking (packet in -> packet out) {
    flow<uint<32>, stage_t> hosts[1024] (timeout = FORGET);
    .state { bool is_dropped; }         // the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            udp_t *l4 = (udp_t *) (&x.data + 34);
            is_dropped = false;
            if (is_plain(*eth, *ip) && (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP)) {
                stage_t stage;
                hosts.find(ip->source, stage, x.meta.timestamp);
                ushort port = l4->destination_port;
                bool is_knock = port == KNOCK_1 || port == KNOCK_2 || port == KNOCK_3;
                is_dropped = is_knock || (port == GUARDED && stage != OPEN);
                if (stage != OPEN) {
                    stage_t next = CLOSED;
                    if (port == KNOCK_1) next = FIRST;
                    if (port == KNOCK_2 && stage == FIRST) next = SECOND;
                    if (port == KNOCK_3 && stage == SECOND) next = OPEN;
                    stage = next;
                }
                hosts.insert(ip->source, stage, x.meta.timestamp);
            }
        }
        if (!is_dropped) write(out, x);
    }
}

Mux<N = LANES> :: lanes
PortKnocking :: knocking

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> knocking -> to_lane[0]
