.element Flows (packet in -> packet out) {
    flow<uint, uint> hosts[64];
    flow<uint, uint> servers[64];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            uint n;
            hosts.find(ip->source, n);
            hosts.insert(ip->source, n + 1);
            servers.insert(ip->destination, n);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
