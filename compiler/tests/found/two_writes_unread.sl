// Two writes of a memory that nobody reads: at an interval of 1, those of two iterations fall into one cycle.
.element TwoWrites (ushort in -> ushort out) {
    .state {
        ushort first[16];
        ushort second[16];
    }
    .handler {
        ushort x = read(in);
        first[0] = x;
        first[5] = x + 1;
        second[(uint<4>) x] = x;
        second[(uint<4>) (x >> 4)] = x ^ 0xff;
        write(out, x);
    }
}
