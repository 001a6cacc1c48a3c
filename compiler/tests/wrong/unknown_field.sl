.element Filter (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        if (ip->time_to_live > 1) write(out, x);
        if (x.start) x.data.first = 1;
    }
}
