// SPDX-License-Identifier: Apache-2.0
/// Packets and bytes of each flow.

import "record.sl";

struct count_t { uint<32> packets; uint<48> bytes; }
struct answer_t { count_t count; bool is_kept; }

.element Counters <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<flow_t, count_t> flows[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        answer_t answer;
        flows.find(packet.flow, answer.count, time);
        answer.count.packets += 1;
        answer.count.bytes += packet.length;
        answer.is_kept = flows.insert(packet.flow, answer.count, time);
        write(out, answer);
    }
}
