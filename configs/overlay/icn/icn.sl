// SPDX-License-Identifier: Apache-2.0
/// A forwarder of an information-centric network: interests of CCNx (RFC 8609) behind Ethernet, with the experimental EtherType 0x88b5,
/// are forwarded by the first segment of their names, and their hop limit is counted down. Interests whose hops are used up are
/// dropped; everything else, hop-by-hop options included, goes to the controller.

constexpr uint LANES = 4;
constexpr uint<16> ETHERTYPE_CCNX = 0x88b5;

/// An interest from its fixed header (RFC 8609, 3.2) to the first segment of its name (3.6.1).
header interest_t {
    uint<8>  version;
    uint<8>  type;
    uint<16> length;
    uint<8>  hop_limit;
    uint<8>  reserved;
    uint<8>  flags;
    uint<8>  header_length;
    uint<16> t_interest;
    uint<16> interest_length;
    uint<16> t_name;
    uint<16> name_length;
    uint<16> t_segment;
    uint<16> segment_length;
    uint<96> segment;           // its first 12 bytes
}

struct name_t {
    uint<16> length;
    uint<96> segment;
}

.element Forwarder (packet in -> packet out[LANES], packet controller) {
    table ternary<name_t, uint<4>> names[32];   // the lanes towards a name
    .state { uint<4> lanes; bool upload; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            interest_t *interest = (interest_t *) (&x.data + 14);
            bool is_interest = eth->ethertype == ETHERTYPE_CCNX && interest->version == 1 && interest->type == 0
                && interest->header_length == 8 && interest->t_interest == 1 && interest->t_name == 0;
            lanes = 0;
            upload = true;
            if (is_interest) {
                name_t name = {interest->segment_length, interest->segment};
                upload = !names.lookup(name, lanes);
                if (!upload) {
                    if (interest->hop_limit > 1) interest->hop_limit -= 1;
                    else lanes = 0;
                }
            }
            if (upload) x.meta.verdict = VERDICT_TO_CONTROLLER;
        }
        .repeat (lane, 0, LANES) { if (lanes >> lane & 1) write(out[lane], x); }
        if (upload) write(controller, x);
    }
}

Mux<N = LANES> :: lanes
Forwarder :: forwarder @
host PktLogger :: controller

.repeat (lane, 0, LANES) {
    from_lane[lane] -> [lane + 1] lanes
    forwarder.out[lane] -> to_lane[lane]
}
lanes -> forwarder
forwarder.controller -> controller
