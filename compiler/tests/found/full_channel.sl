// What had begun and stood still in front of a channel that nobody reads any more was taken for lost.
.element Silent (packet in -> packet out, uint<64> never) {
    .handler {
        flit x = read(in);
        write(out, x);
        if (x.empty == 64) write(never, 0);
    }
}
.element Waits (uint<64> first, packet in -> packet out) {
    .handler {
        ulong n = read(first);
        flit x = read(in);
        x.meta.mark = (uint) n;
        write(out, x);
    }
}
Silent :: silent
Tee<N = 2> :: tee
Waits :: waits
from_lane[0] -> silent.in
silent.out -> tee.in
tee.out[0] -> waits.in
tee.out[1] -> to_lane[1]
silent.never -> waits.first
waits.out -> to_lane[0]
