// SPDX-License-Identifier: Apache-2.0
/// A priority queue of 32 places, ordered at all times: a token is a push, a pop or both; a pop gives the least before the push.
/// A place that is free has a rank behind all others.

constexpr uint<17> FREE = 0x10000;

struct request_t { bool push; bool pop; uint<16> rank; uint<16> value; }
struct item_t { uint<17> rank; uint<16> value; }
struct least_t { bool used; uint<16> rank; uint<16> value; }

.element PriorityQueue (request_t in -> least_t out) {
    .state { item_t items[32]; }
    .init { .repeat (n, 0, 32) { items[n].rank = FREE; } }
    .handler {
        request_t r = read(in);
        least_t least;
        least.used = items[0].rank != FREE;
        least.rank = (uint<16>) items[0].rank;
        least.value = items[0].value;
        if (r.pop) write(out, least);
        item_t fresh;
        fresh.rank = r.rank;
        fresh.value = r.value;
        item_t left[33];  // behind the pop
        bool stays[33];   // is in front of what is pushed
        .repeat (n, 0, 32) {
            left[n] = items[n];
            stays[n] = items[n].rank <= r.rank;
        }
        left[32].rank = FREE;
        if (r.pop) {
            .repeat (n, 0, 32) { left[n] = left[n + 1]; stays[n] = stays[n + 1]; }
        }
        items[0] = !r.push || stays[0] ? left[0] : fresh;
        .repeat (n, 1, 32) { items[n] = !r.push || stays[n] ? left[n] : stays[n - 1] ? fresh : left[n - 1]; }
    }
}
