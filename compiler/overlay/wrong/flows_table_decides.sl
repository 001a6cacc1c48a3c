.element Flows (packet in -> packet out) {
    table exact<uint, uint> limits[16];
    flow<uint, uint> hosts[64];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            uint n;
            uint limit;
            limits.lookup(ip->destination, limit);
            hosts.find(ip->source, n);
            passes = n < limit;
            hosts.insert(ip->source, n + 1);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
