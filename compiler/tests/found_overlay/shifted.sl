// Conditions on shifted bits of the packet: one in front of the byte that they are in, and one with bits that are never set.
struct Shifted_key_t {
    uint<8> k0;
}
struct Shifted_state_t {
    uint<16> w0;
}
.element Shifted (packet in -> packet out[2]) {
    .state { uint<2> lanes; }
    flow<Shifted_key_t, Shifted_state_t> flows0[1024];
    .handler {
        flit x = read(in);
        if (x.sop) {
            uchar *p = (uchar *) &x.data;
            Shifted_key_t key = {p[0]};
            Shifted_state_t s;
            flows0.find(key, s);
            uint<12> shifted = ((uint<12>) p[1]) << 4;
            lanes = s.w0 == 0 ? 1 : 0;
            if (shifted == 0xab0) {
                lanes = 2;
                s.w0 += 1;
            }
            if (shifted == 0xab1) lanes = 3;
            flows0.insert(key, s);
        }
        .repeat (lane, 0, 2) { if (lanes >> lane & 1) write(out[lane], x); }
    }
}
Shifted :: main
Mux<N = 4> :: mux0
from_lane[0] -> [1] mux0
from_lane[1] -> [2] mux0
from_lane[2] -> [3] mux0
from_lane[3] -> [4] mux0
mux0 -> main
main.out[0] -> to_lane[0]
main.out[1] -> to_lane[1]
//> 0 01aa000000000000000000000000
//> 0 01ab000000000000000000000000
//> 1 01aa000000000000000000000000
