// SPDX-License-Identifier: Apache-2.0
/// Weighted round robin over four classes: each sends as many tokens in a row as its weight says, if it has so many.
/// Sets of classes are one bit a class. Whether there is more to send is kept beside how much, so that nothing is computed
/// between reading the turn and changing it but who comes next.

.element WeightedRoundRobin (uint<64> in[4] -> uint<64> out) {
    .state {
        uint<4> turn = 1;
        uint<4> left;          // tokens that the class whose turn it is may still send
        bool has_more;         // left != 0
        uint<4> behind[4];     // weight - 1
        uint<4> active = 15;   // weight > 0
        uint<4> several;       // weight > 1
    }
    bool none(uint<4> ready, uint<3> first, uint<3> end) {
        bool found = false;
        .repeat (n, 0, 8) { if (first <= n && n < end) found |= (ready >> (n & 3)) & 1; }
        return !found;
    }
    uint<4> of(uint<4> next, uint<2> n) { return (next >> n) & 1 ? behind[n] : 0; }
    .handler {
        uint<4> ready = 0;
        .repeat (n, 0, 4) { if (test(in[n])) ready[n:n] = 1; }
        ready &= active;
        bool goes_on = has_more && (turn & ready) != 0;
        uint<4> next = 0;
        .repeat (n, 0, 4) {
            .repeat (from, 0, 4) {
                bool is_next = (ready >> n) & 1 && none(ready, from + 1, from < n ? n : n + 4);
                if ((turn >> from) & 1 && is_next) next[n:n] = 1;
            }
        }
        uint<4> chosen = goes_on ? turn : next;
        uint<4> more = (of(next, 0) | of(next, 1)) | (of(next, 2) | of(next, 3));
        if (ready != 0) {
            has_more = goes_on ? left != 1 : (next & several) != 0;
            left = goes_on ? left - 1 : more;
            turn = chosen;
            uint<64> x = 0;
            .repeat (n, 0, 4) { if ((chosen >> n) & 1) x |= read(in[n]); }
            write(out, x);
        }
    }
    .signal void set_weight(uint<2> n, uint<4> weight) {
        behind[n] = weight - 1;
        uint<4> bit = 1 << n;
        active = weight != 0 ? active | bit : active & ~bit;
        several = weight > 1 ? several | bit : several & ~bit;
    }
}
