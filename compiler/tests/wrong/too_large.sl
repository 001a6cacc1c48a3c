.element Numbers (packet in -> packet out) {
    .state { uint<4> small = 16; }
    .handler {
        flit x = read(in);
        uchar limit = 300;
        ip_protocol_t p = IP_PROTOCOL_TCP;
        x.empty = 64;
        write(out, x);
    }
}
