.element Send (packet in -> packet out) {
    .state { flit last; }
    .init { write(out, last); }
    .handler {
        last = read(in);
        write(out, last);
    }
    .signal void again() { write(out, last); }
    .signal uint peek_it() { flit x = peek(in); return x.sop; }
}
