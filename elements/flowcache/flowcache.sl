// SPDX-License-Identifier: Apache-2.0
/// A cache of flows, set-associative with four ways; the least recently used entry of a set is replaced. The reply to a miss says
/// which way to fill; send it back as a request with `fill` when the value is known. So the way is chosen when the order of use is
/// read, and entries are written without being read.

import "../hash/five_tuple.sl";

struct cache_request_t {
    bool           fill;    /// write key and value into `way`; otherwise look up
    uint<2>        way;
    five_tuple4_t  key;
    uint<32>       value;
}
struct cache_reply_t {
    bool           hit;
    uint<2>        way;     /// the way that holds the entry, or the way to fill
    five_tuple4_t  key;
    uint<32>       value;
}

.element FlowCache <Entries = 16384> (cache_request_t in -> cache_reply_t out) {
    constexpr uint SETS = Entries / 4;
    .state {
        struct entry_t { bool valid; five_tuple4_t key; uint<32> value; } ways[SETS][4];
        /// Ways by last use, latest first; each XORed with its position, so that 0 is a valid order.
        struct order_t { uint<2> first; uint<2> second; uint<2> third; uint<2> fourth; } order[SETS];
    }

    uint<clog2(SETS)> set_of(five_tuple4_t key) { return five_tuple_hash(key, 0); }
    /// Moves a way to the front of an order; on a miss, the last one.
    order_t used(order_t old, bool miss, uint<2> way) {
        uint<3> wanted = way;
        if (miss) wanted = 4;   // none: 4 is no way, whatever it is XORed with
        bool is_0 = wanted == old.first;
        bool is_1 = (wanted ^ 1) == old.second;
        bool is_3 = miss || old.fourth == (way ^ 3);
        order_t now;
        now.first = miss ? old.fourth ^ 3 : way;
        now.second = is_0 ? old.second : old.first ^ 1;
        now.third = is_0 || is_1 ? old.third : old.second ^ 3;
        now.fourth = is_3 ? old.third ^ 1 : old.fourth;
        return now;
    }

    .handler {
        cache_request_t request = read(in);
        uint<clog2(SETS)> set = set_of(request.key);
        cache_reply_t reply;
        reply.key = request.key;
        reply.way = request.way;
        .repeat (way, 0, 4) {
            entry_t entry = ways[set][3 - way];
            if (!request.fill && entry.valid && entry.key == request.key) {
                reply.hit = true;
                reply.way = 3 - way;
                reply.value = entry.value;
            }
        }
        bool miss = !request.fill && !reply.hit;
        order_t old = order[set];
        order[set] = used(old, miss, reply.way);
        if (miss) reply.way = old.fourth ^ 3;
        if (request.fill) {
            entry_t entry = {true, request.key, request.value};
            .repeat (way, 0, 4) { if (request.way == way) ways[set][way] = entry; }
        } else {
            write(out, reply);
        }
    }
    /// Empties the slot of an entry.
    .signal void invalidate(uint<2> way, five_tuple4_t key) {
        entry_t empty;
        .repeat (w, 0, 4) { if (way == w) ways[set_of(key)][w] = empty; }
    }
}
