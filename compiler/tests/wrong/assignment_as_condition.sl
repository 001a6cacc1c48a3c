.element Filter (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.sop = 1) write(out, x);
        x.eop == 1;
    }
}
