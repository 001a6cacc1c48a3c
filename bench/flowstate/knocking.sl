// SPDX-License-Identifier: Apache-2.0
/// Port knocking: a host that has sent packets to three ports, in this order and to no other between, reaches port 22. Knocks are
/// dropped; packets to other ports pass.

import "record.sl";

constexpr ushort GUARDED = 22;
constexpr ushort KNOCK_1 = 1111;
constexpr ushort KNOCK_2 = 2222;
constexpr ushort KNOCK_3 = 3333;

enum stage_t : uint<2> { CLOSED = 0, FIRST = 1, SECOND = 2, OPEN = 3 }
struct answer_t { bool passes; stage_t stage; }

.element Knocking <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<uint<32>, stage_t> hosts[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        ushort port = packet.flow.destination_port;
        stage_t stage;
        hosts.find(packet.flow.source, stage, time);
        answer_t answer;
        bool is_knock = port == KNOCK_1 || port == KNOCK_2 || port == KNOCK_3;
        answer.passes = !is_knock && (port != GUARDED || stage == OPEN);
        if (stage != OPEN) {
            stage_t next = CLOSED;
            if (port == KNOCK_1) next = FIRST;
            if (port == KNOCK_2 && stage == FIRST) next = SECOND;
            if (port == KNOCK_3 && stage == SECOND) next = OPEN;
            stage = next;
        }
        hosts.insert(packet.flow.source, stage, time);
        answer.stage = stage;
        write(out, answer);
    }
}
