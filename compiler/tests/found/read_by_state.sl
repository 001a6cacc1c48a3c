// Composing the updates of s took an entry of m, whose index is s, for s itself.
.element ReadByState (uint<8> a -> uint<8> out) {
    .state {
        uint<8> s;
        int<3> m[16];
    }
    .handler {
        uint<8> x = read(a);
        bool found;
        if (m[(uint<4>) s] < (int<3>) (x & 1)) m[(uint<4>) s]++;
        else s = x;
        write(out, s);
    }
}
