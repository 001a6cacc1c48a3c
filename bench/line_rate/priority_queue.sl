// SPDX-License-Identifier: Apache-2.0
/// A priority queue of 32 places, ordered at all times: a token is a push, a pop or both; a pop gives the least before the push.
/// A place that is free has a rank behind all others. A request changes the items when the next one comes, with comparisons that
/// its own iteration made: a comparison and the choice among neighbours that depends on it never stand behind one another.

constexpr uint<17> FREE = 0x10000;

struct request_t { bool push; bool pop; uint<16> rank; uint<16> value; }
struct item_t { uint<17> rank; uint<16> value; }
struct least_t { bool used; uint<16> rank; uint<16> value; }

.element PriorityQueue (request_t in -> least_t out) {
    .state {
        item_t items[32];  // before the last request
        request_t last;
        bool stays[32];    // this item is in front of what the last request pushes
    }
    .init { .repeat (n, 0, 32) { items[n].rank = FREE; } }
    .handler {
        request_t r = read(in);
        item_t fresh;
        fresh.rank = last.rank;
        fresh.value = last.value;
        bool fresh_stays = last.rank <= r.rank;
        item_t left[33];  // behind the last pop
        bool kept[33];    // is in front of what the last request pushes
        bool before[33];  // is in front of what this request pushes
        .repeat (n, 0, 32) {
            left[n] = items[n];
            kept[n] = stays[n];
            before[n] = items[n].rank <= r.rank;
        }
        left[32].rank = FREE;
        if (last.pop) {
            .repeat (n, 0, 32) { left[n] = left[n + 1]; kept[n] = kept[n + 1]; before[n] = before[n + 1]; }
        }
        items[0] = !last.push || kept[0] ? left[0] : fresh;
        stays[0] = !last.push || kept[0] ? before[0] : fresh_stays;
        .repeat (n, 1, 32) {
            items[n] = !last.push || kept[n] ? left[n] : kept[n - 1] ? fresh : left[n - 1];
            stays[n] = !last.push || kept[n] ? before[n] : kept[n - 1] ? fresh_stays : before[n - 1];
        }
        last = r;
        least_t least;
        least.used = items[0].rank != FREE;
        least.rank = (uint<16>) items[0].rank;
        least.value = items[0].value;
        if (r.pop) write(out, least);
    }
}
