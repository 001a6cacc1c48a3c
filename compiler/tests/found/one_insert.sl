// A question that is the only one enters without a choice of its set, and that it does is not carried to there.
.element OneInsert (uint<2> key, uint<32> data -> uint<32> out) {
    flow<uint<2>, uint<5>> flows[8] (ways = 1, evict = true);
    .handler {
        uint<2> k = read(key);
        uint<32> d = read(data);
        write(out, flows.insert(k, 1, 0) ? d : 0);
    }
    .signal uint<8> ask(uint<8> x) {
        return x;
    }
}
