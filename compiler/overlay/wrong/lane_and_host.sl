.element Program (packet in -> packet out, packet other) {
    .state { bool ends; }
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        if (x.sop) ends = ip->ttl == 1;
        if (ends) write(other, x);
        write(out, x);
    }
}
Program :: program
host PktLogger :: logger
from_tor -> program
program.out -> to_tor
program.other -> logger
