.element Program (packet in -> packet out, packet other) {
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        ipv4_t *ip = (ipv4_t *) (&x.data + 14);
        flit y = x;
        if (x.sop) y.meta.mark = 1;
        write(other, y);
        write(out, x);
    }
}
Program :: program
host PktLogger :: logger
from_tor -> program
program.out -> to_tor
program.other -> logger
