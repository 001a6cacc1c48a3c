// SPDX-License-Identifier: Apache-2.0
/// Network address translation: the hosts of INSIDE share one address. A host's end gets the next port at its first packet, and
/// keeps it whichever hosts it talks to. A port that is given away again belongs to its new end: packets from the one before are
/// dropped, until it is forgotten. Packets from outside go to the end that has the port, or are dropped.

import "record.sl";

constexpr ushort INSIDE = 0x0a00;       /// 10.0.0.0/16
constexpr ushort FIRST = 32768;         /// port

struct end_t { uint<32> address; uint<16> port; uint<8> protocol; }
struct answer_t { bool passes; end_t end; }     /// of a packet from inside, its port outside; of others, the end inside

.element Nat <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<end_t, uint<15>> ports[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    flow<uint<15>, end_t> ends[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state {
        uint elapsed;                   // counted by a timer, where there is one
        uint<15> next;                  // port
    }
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        bool from_inside = packet.flow.source >> 16 == INSIDE;
        end_t end = {packet.flow.source, packet.flow.source_port, packet.flow.protocol};
        uint<15> port = (uint<15>) packet.flow.destination_port;
        answer_t answer;
        answer.passes = true;
        bool is_new = false;
        if (from_inside) {
            is_new = !ports.find(end, port, time);
            if (is_new) {
                port = next;
                next += 1;
            }
            answer.passes = ports.insert(end, port, time);
        }
        end_t owner;
        bool is_taken = ends.find(port, owner, time);
        if (from_inside) {
            if (is_new || !is_taken) answer.passes = answer.passes && ends.insert(port, end, time);
            else answer.passes = owner == end;
            answer.end.port = FIRST + port;
        } else {
            answer.passes = is_taken && packet.flow.destination_port >= FIRST;
            answer.end = owner;
        }
        write(out, answer);
    }
}
