.element Bits (uint<32> in -> uint<32> out) {
    .state { uint seen; }
    .handler {
        uint x = read(in);
        uint<7> a = x[6:0];
        int<9> s = (int<9>) x;
        x[31:24] = popcount(x[23:4]);
        x[23:16] = clz(x);
        x[15:8] = clz(a) + popcount(a);
        uint<8> five = 5;
        x[7:0] = max(min(five, a), x[3:0], 2);
        seen = max(seen, x);
        write(out, x + min(s, -3) + seen[31:31]);
    }
    .signal uint get() { return min(seen, 9); }
}
