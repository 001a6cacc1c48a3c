.element Counter (packet in -> packet out) {
    .state { ulong count; }
    .handler {
        flit x = read(in);
        if (x.sop) count += 1;
        write(out, x);
    }
}
from_tor -> Counter -> to_tor
