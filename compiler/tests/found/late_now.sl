// The fuzzer asked what an element that has seen the time would do before that time.
.element LateNow (uint<8> a, uint<8> b -> uint<8> out) {
    .handler {
        uint<8> x = read(a);
        uint<8> y = read(b);
        write(out, (uint<8>) (now() + x - y));
    }
}
