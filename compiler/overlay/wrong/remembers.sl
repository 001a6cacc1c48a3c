.element Remembers (packet in -> packet out) {
    .state { uint<8> last; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        bool is_same = ip->ttl == last;
        if (x.sop) last = ip->ttl;
        if (!is_same) write(out, x);
    }
}
from_tor -> Remembers -> to_tor
