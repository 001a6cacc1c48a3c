.element Count (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.sop) {
            write(out, x);
    }
