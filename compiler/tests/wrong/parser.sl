.element Parse (packet in -> packet out) {
    .handler {
        flit x = read(in);
        .state_machine (x.data) {
            ethernet: {
                ethernet_t *eth = take(ethernet_t);
                if (eth->ethertype == ETHERTYPE_VLAN) take(vlan_t);
                if (eth->ethertype == ETHERTYPE_IPV4) goto_state ipv5;
                goto_state ipv4;
                x.meta.mark = 1;
            }
            ipv4: {
                ipv4_t *ip = take(ipv4_t);
                skip(4 * ip->ihl - 20);
                goto_state again;
            }
            again: { if (x.sop) goto_state again; }
        }
        write(out, x);
    }
}
