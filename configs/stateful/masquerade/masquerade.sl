// SPDX-License-Identifier: Apache-2.0
/// Network address translation of TCP that keeps ports: the hosts of INSIDE share the address PUBLIC. The first packet of a connection
/// takes its port for the host, towards this end outside; packets of other hosts with the same ends are dropped until none came for
/// IDLE. Packets to PUBLIC go to the host that has the connection, or are dropped. All other packets pass.

import "../plain.sl";
import "../../../elements/ipchecksum/updated.sl";

constexpr uint LANES = 4;
constexpr ushort INSIDE = 0x0a00;       /// 10.0.0.0/16
constexpr uint PUBLIC = 0xcb007101;     /// 203.0.113.1
constexpr ulong IDLE = 300000000;       /// microseconds

struct flow_t { uint<32> outside; uint<16> outside_port; uint<16> port; }

.element Masquerade (packet in -> packet out) {
    flow<flow_t, uint> hosts[4096] (timeout = IDLE);
    .state { bool passes; }             // the packet
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            tcp_t *tcp = (tcp_t *) (&x.data + 34);
            bool from_inside = ip->source >> 16 == INSIDE;
            passes = true;
            if (is_plain(*eth, *ip) && ip->protocol == IP_PROTOCOL_TCP && (from_inside || ip->destination == PUBLIC)) {
                flow_t key = {ip->destination, tcp->destination_port, tcp->source_port};
                if (!from_inside) {
                    flow_t reply = {ip->source, tcp->source_port, tcp->destination_port};
                    key = reply;
                }
                uint host;
                bool is_taken = hosts.find(key, host, x.meta.timestamp);
                uint old = from_inside ? ip->source : ip->destination;
                uint now = from_inside ? PUBLIC : host;
                passes = from_inside ? !is_taken || host == ip->source : is_taken;
                if (from_inside && !is_taken) host = ip->source;
                if (from_inside || is_taken) hosts.insert(key, host, x.meta.timestamp);
                if (passes) {
                    ip->checksum = checksum_updated(ip->checksum, (ushort) (old >> 16), (ushort) (now >> 16));
                    ip->checksum = checksum_updated(ip->checksum, (ushort) old, (ushort) now);
                    tcp->checksum = checksum_updated(tcp->checksum, (ushort) (old >> 16), (ushort) (now >> 16));
                    tcp->checksum = checksum_updated(tcp->checksum, (ushort) old, (ushort) now);
                    if (from_inside) ip->source = now;
                    else ip->destination = now;
                }
            }
        }
        if (passes) write(out, x);
    }
}

Mux<N = LANES> :: lanes
Masquerade :: masquerade

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> masquerade -> to_lane[0]
