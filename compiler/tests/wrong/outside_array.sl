.element Table (packet in -> packet out) {
    .state { uint counts[16]; }
    .handler {
        flit x = read(in);
        counts[16] += 1;
        ushort *p = (ushort *) &x.data;
        counts[0] = p[32] + counts[-1];
        write(out, x);
    }
}
