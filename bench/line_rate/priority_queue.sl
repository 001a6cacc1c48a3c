// SPDX-License-Identifier: Apache-2.0
/// A priority queue of 32 places, ordered at all times: a token is a push, a pop or both; a pop gives the least before the push.

struct request_t { bool push; bool pop; uint<16> rank; uint<16> value; }
struct item_t { bool used; uint<16> rank; uint<16> value; }

.element PriorityQueue (request_t in -> item_t out) {
    .state { item_t items[32]; }
    .handler {
        request_t r = read(in);
        if (r.pop) write(out, items[0]);
        item_t fresh;
        fresh.used = true;
        fresh.rank = r.rank;
        fresh.value = r.value;
        item_t left[33];  // behind the pop
        bool stays[33];   // in front of what is pushed
        .repeat (n, 0, 32) {
            left[n] = items[n];
            stays[n] = items[n].used && items[n].rank <= r.rank;
        }
        if (r.pop) {
            .repeat (n, 0, 32) { left[n] = left[n + 1]; stays[n] = stays[n + 1]; }
        }
        items[0] = !r.push || stays[0] ? left[0] : fresh;
        .repeat (n, 1, 32) { items[n] = !r.push || stays[n] ? left[n] : stays[n - 1] ? fresh : left[n - 1]; }
    }
}
