// The fuzzer asked a flow table twice in one iteration. When the first set enters, it was not known whether that question does.
.element TwoInserts (uint<2> key, uint<32> data -> uint<32> out) {
    flow<uint<2>, uint<5>> flows[8] (ways = 1, evict = true);
    .handler {
        uint<2> k = read(key);
        uint<32> d = read(data);
        bool has_place = flows.insert(k, 1, 0);
        if (has_place && d[0:0] == 1) {
            flows.insert(0, 2, 0);
        }
        write(out, has_place ? d : 0);
    }
    .signal uint<8> ask(uint<8> x) {
        return x;
    }
}
