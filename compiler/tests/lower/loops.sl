// Loops with break, continue, return in functions, bounds that are reached, random, time.
uint<16> find(uint<16> key, uint<16> step) {
    uint<16> at = key;
    for (uint i = 0; i < 6; i++) {
        if (at == 0) return i;
        if (at & 1) { at >>= 1; continue; }
        for (uint j = 0; j < 3; j++) { if (at > 100 * j) break; at = at - step; if (at == 77) return at; }
        at >>= 2;
    }
    return at + 1;
}
.element Loops (uint<16> in -> uint<16> out, uint<32> dice) {
    .state { register uint<8> marks[12]; uint<64> first; }
    .handler {
        uint<16> x = read(in);
        uint<16> steps = 0;
        .unroll(5) while (x != 0) { x >>= 3; steps += 1; marks[x] += steps; }
        write(out, find(x + steps * 37, steps) + marks[3]);
        if (steps == 2) { write(dice, random() + random()); }
        if (steps == 3) first = now();
        switch (steps) { case 1: marks[1] = 0; break; case 2: case 4: marks[2] ^= x; break; default: marks[0] += 1; }
    }
    .signal uint<64> since(uint<8> at) { marks[at] = 1; return now() - first + random(); }
}
// A function that returns early, called on one path: what follows the branch is not left by it.
.element Calls (uint<16> in -> uint<16> out) {
    .handler {
        uint<16> x = read(in);
        if (x & 1) { x = find(x, 3); } else if (x & 2) { x += find(x, 1) + 1; }
        if (x > 3) write(out, x);
    }
}
