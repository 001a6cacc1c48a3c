.element Classify (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        switch (ip->protocol) {
        case 6: x.meta.queue = 1;
        case 17: x.meta.queue = 2; break;
        case IP_PROTOCOL_TCP: break;
        case x.sop: break;
        }
        write(out, x);
    }
}
