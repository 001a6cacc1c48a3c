// The simulator (Verilator 5.048) added the amounts of two shifts in the bits of one: 3 + 3 was 2.
.element ShiftOfShift (uint<32> a, uint<2> n -> uint<32> right, uint<32> left) {
    .handler {
        uint<32> x = read(a);
        uint<2> by = read(n);
        uint<32> y = x;
        for (uint i = 0; i < 4; i++) {
            x >>= by;
            y <<= by;
        }
        write(right, x);
        write(left, y);
    }
}
