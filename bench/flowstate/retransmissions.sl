// SPDX-License-Identifier: Apache-2.0
/// Algorithm 1 of the stateful paper: counts the packets of each flow whose sequence number is lower than that of the
/// packet before.

import "record.sl";

struct sent_t { uint<24> number; uint<32> sequence; }
struct answer_t { uint<24> number; bool is_again; bool is_known; }

.element Retransmissions <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<flow_t, sent_t> flows[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        answer_t answer;
        sent_t sent;
        answer.is_known = flows.find(packet.flow, sent, time);
        if (packet.sequence < sent.sequence) {
            sent.number += 1;
            answer.is_again = true;
        }
        sent.sequence = packet.sequence;
        flows.insert(packet.flow, sent, time);
        answer.number = sent.number;
        write(out, answer);
    }
}
