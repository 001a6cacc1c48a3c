.element Program (packet in -> packet out, packet other) {
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        if (ip->ttl == 1) write(other, x);
        write(out, x);
    }
}
Program :: program
host PktLogger :: logger
from_tor -> program
program.out -> to_tor
program.other -> logger
