.element Program (packet in -> packet out, packet seen, packet other) {
    .state { uint<2> to; }
    .handler {
        flit x = read(in);
        if (x.sop) to = x.meta.length < 100 ? 1 : 2;
        if (to == 1) write(seen, x);
        if (to == 2) write(other, x);
    }
}
Program :: program
host PktLogger :: seen
host PktLogger :: other
from_tor -> program
program.out -> to_tor
program.seen -> seen
program.other -> other
