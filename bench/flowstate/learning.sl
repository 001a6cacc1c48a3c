// SPDX-License-Identifier: Apache-2.0
/// A learning switch of 16 lanes: the source of a packet says where that address is; a packet to an address that is not known is
/// flooded. An address is known as long as packets come from it or go to it.

import "record.sl";

struct answer_t { uint<16> lanes; bool has_moved; }

.element Learning <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<uint<48>, uint<4>> hosts[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        uint<4> lane;
        bool is_known = hosts.find(packet.source_mac, lane, time);
        answer_t answer;
        answer.has_moved = is_known && lane != packet.lane;
        hosts.insert(packet.source_mac, packet.lane, time);
        is_known = hosts.find(packet.destination_mac, lane, time);
        ushort own = (ushort) (1 << packet.lane);
        answer.lanes = (is_known ? (ushort) (1 << lane) : (ushort) 0xffff) & ~own;
        write(out, answer);
    }
}
