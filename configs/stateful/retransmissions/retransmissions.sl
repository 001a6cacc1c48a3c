// SPDX-License-Identifier: Apache-2.0
/// Counts the packets of each TCP flow whose sequence number is lower than that of the packet before: Algorithm 1 of the stateful
/// paper. Such packets leave by lane 1, all others by lane 0; the mark is the count of the flow.

import "../plain.sl";

constexpr uint LANES = 4;

struct flow_t { uint<32> source; uint<32> destination; uint<16> source_port; uint<16> destination_port; }
struct sent_t { uint<24> number; uint<32> sequence; }

.element Retransmissions (packet in -> packet out, packet again) {
    flow<flow_t, sent_t> flows[1024];
    .state { bool is_again; }           // the packet that passes
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            tcp_t *tcp = (tcp_t *) (&x.data + 34);
            is_again = false;
            if (is_plain(*eth, *ip) && ip->protocol == IP_PROTOCOL_TCP) {
                flow_t key = {ip->source, ip->destination, tcp->source_port, tcp->destination_port};
                sent_t sent;
                flows.find(key, sent);
                if (tcp->sequence_number < sent.sequence) {
                    sent.number += 1;
                    is_again = true;
                }
                sent.sequence = tcp->sequence_number;
                x.meta.mark = sent.number;
                flows.insert(key, sent);
            }
        }
        if (is_again) write(again, x);
        else write(out, x);
    }
}

Mux<N = LANES> :: lanes
Retransmissions :: counter

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> counter
counter.out -> to_lane[0]
counter.again -> to_lane[1]
