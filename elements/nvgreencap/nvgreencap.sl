// SPDX-License-Identifier: Apache-2.0
/// Encapsulates each packet in NVGRE (RFC 7637) over IPv4: prepends 42 bytes from the tunnel given by `meta.mark`. A packet without
/// a tunnel or of unknown length is dropped and counted. A packet may grow by one flit, which takes one more cycle.

header nvgre_packet_t {
    ethernet_t  ethernet;
    ipv4_t      ip;
    nvgre_t     nvgre;
}

.element NVGREEncap <Tunnels = 256> (packet in -> packet out) {
    constexpr uint ADDED = 42;
    constexpr uint ROOM = DATA_BYTES - ADDED;   /// bytes of a flit that fit in the output flit with the same number
    .state {
        struct tunnel_t { bool valid; uint<48> mac; uint<32> ip; uint<24> subnet; } tunnels[Tunnels];
        uint<48> own_mac;
        uint<32> own_ip;
        uint<8 * ADDED> rest;           /// the end of the previous flit
        bool has_more;                  /// the packet ends with only `rest`
        bool dropping;
        uint<clog2(DATA_BYTES)> empty;  /// of the flit with `rest`
        uint<1> error;
        ulong dropped;
    }
    ushort folded(uint sum) {
        uint once = (sum & 0xffff) + (sum >> 16);
        return ~(ushort) ((once & 0xffff) + (once >> 16));
    }
    .handler {
        flit y;
        if (has_more) {
            y.data = rest;
            y.eop = 1;
            y.empty = empty;
            y.error = error;
            has_more = false;
        } else {
            flit x = read(in);
            y = x;
            y.data = (uint<8 * DATA_BYTES>) x.data << 8 * ADDED | rest;
            if (x.sop) {
                tunnel_t tunnel;
                if (x.meta.mark < Tunnels) tunnel = tunnels[(uint<clog2(Tunnels)>) x.meta.mark];
                dropping = !tunnel.valid || x.meta.length == 0;
                if (dropping) dropped += 1;
                ushort length = x.meta.length + ADDED - 14;
                nvgre_packet_t *outer = (nvgre_packet_t *) &y.data;
                outer->ethernet.destination = tunnel.mac;
                outer->ethernet.source = own_mac;
                outer->ethernet.ethertype = ETHERTYPE_IPV4;
                outer->ip.version = 4;
                outer->ip.ihl = 5;
                outer->ip.tos = 0;
                outer->ip.total_length = length;
                outer->ip.identification = 0;
                outer->ip.reserved = 0;
                outer->ip.dont_fragment = 1;
                outer->ip.more_fragments = 0;
                outer->ip.fragment_offset = 0;
                outer->ip.ttl = 64;
                outer->ip.protocol = IP_PROTOCOL_GRE;
                outer->ip.checksum = folded((uint) 0x4500 + 0x4000 + 0x402f + length + (own_ip >> 16) + (own_ip & 0xffff)
                    + (tunnel.ip >> 16) + (tunnel.ip & 0xffff));
                outer->ip.source = own_ip;
                outer->ip.destination = tunnel.ip;
                outer->nvgre.flags = 0x2000;
                outer->nvgre.protocol = ETHERTYPE_TEB;
                outer->nvgre.subnet_id = tunnel.subnet;
                outer->nvgre.flow_id = 0;
                y.meta.length = x.meta.length + ADDED;
            }
            rest = x.data >> 8 * ROOM;
            if (x.eop) {
                has_more = x.empty < ADDED;
                empty = (uint<clog2(DATA_BYTES)>) (x.empty + ROOM);
                error = x.error;
                y.empty = x.empty < ADDED ? 0 : x.empty - ADDED;
                y.eop = x.empty >= ADDED;
                if (!y.eop) y.error = 0;
            }
        }
        if (!dropping) write(out, y);
    }
    .signal void set_own(uint<48> mac, uint<32> ip) {
        own_mac = mac;
        own_ip = ip;
    }
    .signal void set_tunnel(uint<clog2(Tunnels)> mark, bool valid, uint<48> mac, uint<32> ip, uint<24> subnet) {
        tunnel_t tunnel = {valid, mac, ip, subnet};
        tunnels[mark] = tunnel;
    }
    .signal ulong get_dropped() { return dropped; }
    .native packet "nvgreencap_packet.h"
}
