.element Flows (packet in -> packet out) {
    table exact<uint<8>, uint<8>> services[4];
    flow<uint, uint> hosts[64];
    .handler {
        flit x = read(in);
        if (x.sop) {
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            uint<8> service;
            if (services.lookup(5, service)) {
                uint n;
                hosts.find(ip->source, n);
                hosts.insert(ip->source, n + 1);
            }
        }
        write(out, x);
    }
}
Mux<N = 4> :: lanes
.repeat (lane, 0, 4) { from_lane[lane] -> [lane + 1] lanes }
lanes -> Flows -> to_lane[0]
