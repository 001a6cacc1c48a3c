// A field of 16 bits is never negative, although the stateful unit compares it in the high bytes of a word.
header Positive_h0_t {
    uint<16> f0;
}
struct Positive_key_t {
    uint<16> k0;
}
struct Positive_state_t {
    uint<16> w0;
}
.element Positive (packet in -> packet out[4]) {
    .state { uint<4> lanes; }
    flow<Positive_key_t, Positive_state_t> flows0[1024] (timeout = 2000);
    .handler {
        flit x = read(in);
        if (x.sop) {
            lanes = 0;
            
            Positive_h0_t *h1 = (Positive_h0_t *) (&x.data + 12);
            Positive_key_t key = {h1->f0};
            Positive_state_t s;
            if (s.w0 >= h1->f0 || s.w0 >= h1->f0) {
                    flows0.insert(key, s, x.meta.timestamp);
            }
            else {
                    lanes = 10;
                    flows0.insert(key, s, x.meta.timestamp);
            }
        }
        .repeat (lane, 0, 4) { if (lanes >> lane & 1) write(out[lane], x); }
        
    }
}
Positive :: main
Mux<N = 4> :: mux0
from_lane[0] -> [1] mux0
from_lane[1] -> [2] mux0
from_lane[2] -> [3] mux0
from_lane[3] -> [4] mux0
mux0 -> main
main.out[0] -> to_lane[1]
main.out[1] -> to_lane[3]
main.out[2] -> to_lane[0]
main.out[3] -> to_lane[2]
//> 1 2f00292145c3813afd594725800057100800457b006c35ff0000022f6de40a0000030a00000320006558678de607ebfa27e371bc6098 101
