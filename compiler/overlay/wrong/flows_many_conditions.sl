.element Flows (packet in -> packet out) {
    flow<uint, uint> hosts[64];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            uint n;
            hosts.find(ip->source, n);
            ushort l = ip->total_length;
            if (n == 1 && l == 40 || n == 2 && l == 41 || n == 3 && l == 42 || n == 4 && l == 43 || n == 5 && l == 44) passes = false;
            hosts.insert(ip->source, n + 1);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
