// g++ took the condition for the declaration of a function with two parameters t0.
.element Declaration (uint<200> a -> uint<200> out) {
    uint<65> f0(uint<32> a0, int<63> a1) {
        if (a0 > 5) return (uint<65>) a1;
        return (uint<65>) a0;
    }
    .handler {
        uint<200> t0 = read(a);
        if ((int<127>) f0((uint<32>) f0((uint<32>) t0, (int<63>) t0), (int<63>) t0) != (int<127>) 7) t0 = 1;
        write(out, t0);
    }
}
