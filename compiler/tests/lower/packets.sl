// Views of packet bytes, broken framing behind the guard, fields of the flit.
.element Ttl (packet in -> packet out, packet expired) {
    .state { bool drop; uint<32> sum; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
            drop = ip->ttl <= 1;
            ip->ttl -= 1;
            ip->checksum = ip->checksum + ip->total_length;
        }
        ushort *p = (ushort *) &x.fd.data;
        for (uint i = 0; i < 8; i++) sum += p[i];
        p[sum & 63] = 0x1234;
        if (drop) write(expired, x); else write(out, x);
    }
}
.element Ragged (packet in -> packet out) {
    .state { uint<4> n; }
    .handler {
        flit x = read(in);
        n += 1;
        if (n == 5) x.sop = !x.sop;
        if (n == 9) x.eop = 0;
        if (n != 12) write(out, x);
    }
}
