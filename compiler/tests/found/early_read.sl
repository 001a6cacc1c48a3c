// Whether an iteration begins depends on words whose indices are known: they were asked for in a stage that is not there.
struct EarlyRead_t { int<100> f0[2]; int<65> f1; uint<7> f2; }
.element EarlyRead (int<256> in0, int<9> in1 -> uint<9> out0) {
    .state { int<17> s0 = 0x3c97; EarlyRead_t s1[100]; }
    .handler {
        int<256> t0 = read(in0);
        int<9> t1;
        if ((((int<1>) s1[76].f2 >= (int<1>) s1[76].f0[(uint<1>) s0]) ? ((int<65>) t0 == (int<65>) s0) : ((int<32>) s1[76].f0[(uint<2>) s0] == (int<32>) t0))) {
            t1 = read(in1);
        }
        write(out0, (uint<9>) s1[(uint<4>) s0].f0[0]);
        s1[(uint<4>) s0].f0[0] = (int<100>) (t0 + t1);
        if (t0 > 0) s1[76].f0[(uint<1>) s0] = (int<100>) t0;
    }
}
