.element Flows (packet in -> packet out) {
    flow<uint, uint> hosts[64] (timeout = 1000);
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            uint n;
            passes = hosts.find(ip->source, n, x.meta.timestamp);
            if (!passes) hosts.insert(ip->source, 1, x.meta.timestamp);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
