// SPDX-License-Identifier: Apache-2.0
/// Multi-path by flowlets: a flow keeps its lane until it pauses for longer than GAP, then takes the next one. Its first lane
/// depends on its source port.

import "record.sl";

constexpr uint GAP = 500;               /// microseconds

struct path_t { uint<2> lane; uint<32> end; }   /// `end`: of the flowlet, if no packet comes
struct answer_t { uint<2> lane; bool is_known; }

.element Flowlet <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<flow_t, path_t> flows[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        answer_t answer;
        path_t path;
        answer.is_known = flows.find(packet.flow, path, time);
        if (!answer.is_known) path.lane = (uint<2>) packet.flow.source_port;
        else if ((int) (path.end - time) < 0) path.lane = (uint<2>) (path.lane + 1);
        path.end = time + GAP;
        flows.insert(packet.flow, path, time);
        answer.lane = path.lane;
        write(out, answer);
    }
}
