.element Ports (packet in -> packet out) {
    .state { uint offset; }
    .handler {
        flit x = read(in);
        tcp_t *tcp = (tcp_t *) (&x.data + 54);
        udp_t *udp = (udp_t *) (&x.data + offset);
        write(out, x);
    }
}
