.element Memory (packet in -> packet out) {
    .state { uint<8> known[1024]; }
    .handler {
        flit x = read(in);
        if (x.sop) x.meta.mark = known[(uint<10>) x.data];
        write(out, x);
    }
}
from_tor -> Memory -> to_tor
