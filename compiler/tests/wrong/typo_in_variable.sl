.element Count (packet in -> packet out) {
    .state { ulong count; }
    .handler {
        flit x = read(in);
        if (x.sop) cuont += 1;
        write(out, x);
    }
}
