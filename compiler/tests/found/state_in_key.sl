// The fuzzer asked a flow table about a key of a state of few values, which the answer changes: it is asked once, not for each value.
.element StateInKey (uint<16> in -> uint<16> out) {
    .state { uint<2> turn; uint<16> sum; }
    flow<uint<2>, uint<16>> flows[8] (ways = 2, evict = true);
    .handler {
        uint<16> x = read(in);
        uint<16> v;
        bool is_there = flows.find(turn, v);
        if (!is_there) flows.insert(turn, x);
        turn = is_there ? (uint<2>) (turn + 1) : (uint<2>) (v % 3);
        sum = (uint<16>) (sum * 5 + v);
        write(out, sum);
    }
}
