// SPDX-License-Identifier: Apache-2.0
/// A learning switch of four lanes: the source of a packet says where that address is; an address that is not known, or has
/// not been heard for two to four minutes, is flooded.

struct place_t { uint<48> address; uint<2> lane; uint<2> heard; bool used; }

.element Learning (packet in -> packet out) {
    .state { local place_t places[4096]; uint<2> minutes; }
    uint<12> hash(uint<48> address) { return (uint<12>) (address ^ address >> 12 ^ address >> 24 ^ address >> 36); }
    .handler {
        flit x = read(in);
        ethernet_t *eth = (ethernet_t *) &x.data;
        if (x.sop) {
            place_t found = places[hash(eth->destination)];
            bool is_known = found.used && found.address == eth->destination && (uint<2>) (minutes - found.heard) < 2;
            place_t own;
            own.address = eth->source;
            own.lane = (uint<2>) x.meta.ingress_port;
            own.heard = minutes;
            own.used = true;
            places[hash(eth->source)] = own;
            x.meta.egress_mask = is_known ? 1 << found.lane : 0xf & ~(1 << x.meta.ingress_port);
        }
        write(out, x);
    }
    .timer minute (every = 120000000) { minutes += 1; }
}
