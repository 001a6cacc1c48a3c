// Two questions became the same, about state that nothing changes: the second lost its turn, and then the first one, too.
.element SameQuestionTwice (uint<8> x -> uint<8> out) {
    .state { uint<8> first; uint<16> second; }
    flow<uint<3>, uint<8>> flows[8] (ways = 8, timeout = 5, evict = true);
    .handler {
        uint<8> v;
        uint<8> w;
        bool a = flows.find((uint<3>) first, v, first);
        bool b = flows.find((uint<3>) second, w, (uint<8>) second);
        write(out, read(x) + w);
    }
    .signal bool insert(uint<3> key, uint<8> value, uint<8> time) { return flows.insert(key, value, time); }
}
