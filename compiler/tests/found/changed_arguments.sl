struct pair {
    uint<8> a;
    uint<16> b;
};

void split(uint<8> x, uint<8> *low, uint<8> *high) {
    *low = x & 15;
    if (x == 0) return;
    high[0] = *high + (x >> 4);
}

void swap(pair * p) {
    uint<16> a = p->a;
    p->a = p->b;
    p->b = a;
}

.element ChangedArguments (uint<8> in -> uint<32> out) {
    .state {
        uint<8> sums[4];
        uint<8> turn;
    }
    void next(uint<8> *t) {
        turn = turn + 1;
        *t = turn & 3;
    }
    .handler {
        uint<8> x = read(in);
        pair p = {x, 0x1234};
        uint<8> at = 0;
        next(&at);
        split(x, &p.a, &sums[at]);
        swap(&p);
        split(x, &at, &at);
        write(out, p.a ^ p.b ^ (sums[at & 3] << 16) ^ (at << 24));
    }
}
