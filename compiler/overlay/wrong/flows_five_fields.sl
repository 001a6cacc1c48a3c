struct value_t { uint a; uint b; uint c; uint d; uint e; }
.element Flows (packet in -> packet out) {
    flow<uint, value_t> hosts[64];
    .state { bool passes; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint now = (uint) x.meta.timestamp;
            passes = true;
            value_t v;
            hosts.find(ip->source, v);
            v.a += 1;
            v.b += 2;
            v.c += 3;
            v.d += 4;
            v.e += 5;
            hosts.insert(ip->source, v);
        }
        if (passes) write(out, x);
    }
}
from_tor -> Flows -> to_tor
