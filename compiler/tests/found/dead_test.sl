// The log of the RTL did not say whether a token was there, where that changed nothing.
.element DeadTest (uint<8> a, uint<8> b -> uint<8> out) {
    .handler {
        uint<8> x = read(b);
        bool there = test(a);
        write(out, there ? x : x);
    }
}
