.element Flows (packet in -> packet out) {
    flow<uint, ulong> hosts[64];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            ulong n;
            hosts.find(ip->source, n);
            hosts.insert(ip->source, n + 1);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
