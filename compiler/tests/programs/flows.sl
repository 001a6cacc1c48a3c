// SPDX-License-Identifier: Apache-2.0
// Flow state: how often each pair was seen in the last 100 tokens.

struct pair_t { uint<32> a; uint<32> b; }
.element Flows (pair_t in -> uint out) {
    flow<pair_t, uint> conn[32] (ways = 2, timeout = 100);
    .state { ulong time; }
    .handler {
        pair_t k = read(in);
        time += 1;
        uint count;
        bool hit = conn.find(k, count, time);
        conn.insert(k, count + 1, time);
        if (k.a == 77) conn.remove(k, time);
        write(out, hit ? count : 0);
    }
}
