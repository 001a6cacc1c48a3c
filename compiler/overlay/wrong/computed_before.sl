.element Count (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        if (x.sop) ip->ttl -= 1;
        write(out, x);
    }
}
.element Look (packet in -> packet out) {
    table exact<uint<8>, bool> ttls[4];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        bool found;
        if (x.sop) passes = ttls.lookup(ip->ttl, found) && found;
        if (passes) write(out, x);
    }
}
Look :: look @
from_tor -> Count -> look -> to_tor
