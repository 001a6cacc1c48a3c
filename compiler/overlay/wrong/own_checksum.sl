import "own/updated.sl";
.element Program (packet in -> packet out, packet other) {
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        if (x.sop) {
            ushort before = ip->ttl << 8 | ip->protocol;
            ip->ttl -= 1;
            ip->checksum = checksum_updated(ip->checksum, before, ip->ttl << 8 | ip->protocol);
        }
        write(out, x);
    }
}
Program :: program
host PktLogger :: logger
from_tor -> program
program.out -> to_tor
program.other -> logger
