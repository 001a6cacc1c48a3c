.element H (packet in -> packet out) {
    .handler {
        flit x = read(in);
        case 3: x.sop = 1;
        else x.eop = 1;
        for (int i = 10; i > 0; i++) { }
        uint<0> none;
        x.meta = 5;
        now() = 3;
        write(out, x);
    }
    .signal uint get() { }
    .signal uint get(uint q) { return; }
}
