// 27 November: a packet that an element begins and never ends was waited for behind it.
.element Unending (packet in -> packet out) {
    .handler {
        flit x = read(in);
        x.eop = 0;
        write(out, x);
    }
}
Unending :: unending
from_lane[0] -> unending.in
Mux<packet, 2> :: both
unending.out -> both.in[0]
from_lane[1] -> both.in[1]
both.out -> to_lane[0]
