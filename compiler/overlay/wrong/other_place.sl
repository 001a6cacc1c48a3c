.element Program (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        vlan_t *tag = (vlan_t *) (&x.data + 14);
        if (x.sop) {
            eth->ethertype = 0;
            tag->vlan_id = tag->ethertype >> 4;
            x.meta.queue = 0;
        }
        write(out, x);
    }
}
Program :: program
from_tor -> program -> to_tor
