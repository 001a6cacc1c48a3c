// SPDX-License-Identifier: Apache-2.0
/// Network address translation: the hosts of INSIDE share the address PUBLIC. A host's end of TCP or UDP gets a port at its first packet,
/// and keeps it until none came for IDLE, whichever hosts it talks to. Ports are given in turn; where the next one is taken still, the
/// packet is dropped, and the one after it tries the port after it. Packets to PUBLIC go to the end that has the port, or are dropped.
/// All other packets pass.

import "../plain.sl";
import "../../../elements/ipchecksum/updated.sl";

constexpr uint LANES = 4;
constexpr ushort INSIDE = 0x0a00;       /// 10.0.0.0/16
constexpr uint PUBLIC = 0xcb007101;     /// 203.0.113.1
constexpr ushort FIRST = 40000;         /// port
constexpr ushort PORTS = 512;
constexpr ulong IDLE = 300000000;       /// microseconds

struct end_t { uint<32> address; uint<16> port; uint<8> protocol; }
struct port_t { uint<16> port; uint<8> protocol; }

ushort with_address(ushort checksum, uint old, uint now) {
    ushort first = checksum_updated(checksum, (ushort) (old >> 16), (ushort) (now >> 16));
    return checksum_updated(first, (ushort) old, (ushort) now);
}

.element Nat (packet in -> packet out) {
    flow<end_t, ushort> ports[8192] (timeout = IDLE, evict = false);
    flow<port_t, end_t> ends[8192] (timeout = IDLE, evict = false);
    .state {
        ushort next;                    // of the ports, the one that was given away last
        bool passes;                    // the packet
    }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            tcp_t *tcp = (tcp_t *) (&x.data + 34);
            udp_t *udp = (udp_t *) (&x.data + 34);
            bool is_tcp = ip->protocol == IP_PROTOCOL_TCP;
            bool from_inside = ip->source >> 16 == INSIDE;
            passes = true;
            if (is_plain(*eth, *ip) && (is_tcp || ip->protocol == IP_PROTOCOL_UDP) && (from_inside || ip->destination == PUBLIC)) {
                end_t end = {ip->source, tcp->source_port, ip->protocol};
                ushort port = tcp->destination_port;
                if (from_inside) {
                    bool has_port = ports.find(end, port, x.meta.timestamp);
                    if (!has_port) {
                        next = next == PORTS - 1 ? 0 : next + 1;
                        port = FIRST + next;
                    }
                }
                port_t key = {port, ip->protocol};
                end_t owner;
                bool is_taken = ends.find(key, owner, x.meta.timestamp);
                if (!from_inside) {
                    passes = is_taken;
                    end = owner;
                } else if (is_taken) {
                    passes = owner == end;
                }
                if (passes) passes = ends.insert(key, end, x.meta.timestamp);
                if (passes) passes = ports.insert(end, port, x.meta.timestamp);

                uint old = from_inside ? ip->source : ip->destination;
                uint now = from_inside ? PUBLIC : end.address;
                ushort old_port = from_inside ? tcp->source_port : tcp->destination_port;
                ushort now_port = from_inside ? port : end.port;
                ip->checksum = with_address(ip->checksum, old, now);
                if (is_tcp) {
                    tcp->checksum = checksum_updated(with_address(tcp->checksum, old, now), old_port, now_port);
                } else if (udp->checksum != 0) {
                    ushort sum = checksum_updated(with_address(udp->checksum, old, now), old_port, now_port);
                    udp->checksum = sum == 0 ? 0xffff : sum;
                }
                if (from_inside) {
                    ip->source = now;
                    tcp->source_port = now_port;
                } else {
                    ip->destination = now;
                    tcp->destination_port = now_port;
                }
            }
        }
        if (passes) write(out, x);
    }
}

Mux<N = LANES> :: lanes
Nat :: nat

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> nat -> to_lane[0]
