// The fuzzer looked for a flow again where it was not found: what asks for both is the first question as it was.
.element FindsAgain (uint<1> key, uint<8> data -> uint<8> out) {
    flow<uint<1>, uint<8>> flows[8] (ways = 1, evict = true);
    .handler {
        uint<1> k = read(key);
        uint<8> v;
        bool is_there = flows.find(k, v);
        if (!is_there) {
            uint<8> w;
            flows.find(k, w);
        }
        write(out, (uint<8>) (read(data) ^ v));
    }
}
