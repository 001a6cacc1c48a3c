// The compiler failed where composing the updates of a table's ways asked for what an earlier iteration makes of the same state.
.element TwoStates (uint<8> a -> uint<8> out) {
    flow<uint<4>, int<33>> flows[16] (ways = 4, evict = true);
    .handler {
        uint<8> x = read(a);
        int<33> v;
        bool is_new = flows.insert((uint<4>) 14, v);
        write(out, x + is_new);
    }
}
