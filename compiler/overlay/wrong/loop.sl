.element Again (packet in -> packet out, packet back) {
    .state { bool once; }
    .handler {
        flit x = read(in);
        if (x.sop) once = x.meta.length < 100;
        if (once) write(back, x);
        if (!once) write(out, x);
    }
}
Again :: again
Mux :: mux
from_tor -> [1] mux
mux -> again
again.back -> [2] mux
again.out -> to_tor
