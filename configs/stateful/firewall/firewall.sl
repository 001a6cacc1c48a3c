// SPDX-License-Identifier: Apache-2.0
/// A stateful firewall between the hosts of INSIDE and all others: packets from inside open connections, packets from outside pass if
/// they belong to one. TCP follows the handshake and the end of a connection; UDP has a pseudo-state, a request and an answer. Each
/// state has its time-out. Packets that are neither TCP nor UDP pass.

import "../plain.sl";

constexpr uint LANES = 4;
constexpr ushort INSIDE = 0x0a00;       /// 10.0.0.0/16
constexpr uint SECOND = 1000000;        /// microseconds
constexpr uchar FIN = 0x01;
constexpr uchar SYN = 0x02;
constexpr uchar RST = 0x04;
constexpr uchar ACK = 0x10;

enum state_t : uint<3> { NONE = 0, REQUESTED = 1, ESTABLISHED = 2, CLOSING = 3, SENT = 4, ANSWERED = 5 }

struct flow_t {
    uint<32> inside;
    uint<32> outside;
    uint<16> inside_port;
    uint<16> outside_port;
    uint<8>  protocol;
}

struct connection_t {
    state_t  state;
    uint<32> until;                     /// the state ends, if no packet comes
}

.element Firewall (packet in -> packet out) {
    flow<flow_t, connection_t> connections[4096];
    .state { bool passes; }             // the packet
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            tcp_t *l4 = (tcp_t *) (&x.data + 34);
            passes = true;
            if (is_plain(*eth, *ip) && (ip->protocol == IP_PROTOCOL_TCP || ip->protocol == IP_PROTOCOL_UDP)) {
                uint now = (uint) x.meta.timestamp;
                bool from_inside = ip->source >> 16 == INSIDE;
                flow_t key = {ip->source, ip->destination, l4->source_port, l4->destination_port, ip->protocol};
                if (!from_inside) {
                    flow_t reply = {ip->destination, ip->source, l4->destination_port, l4->source_port, ip->protocol};
                    key = reply;
                }
                connection_t c;
                connections.find(key, c, now);
                bool is_live = c.state != NONE && (int) (c.until - now) >= 0;
                uchar flags = l4->flags;
                if (ip->protocol == IP_PROTOCOL_UDP) {
                    if (from_inside && !(is_live && c.state == ANSWERED)) {
                        c.state = SENT;
                        c.until = now + 30 * SECOND;
                    } else if (is_live) {
                        c.state = ANSWERED;
                        c.until = now + 180 * SECOND;
                    } else {
                        passes = false;
                    }
                } else if (from_inside && flags & SYN && !(flags & ACK)) {
                    c.state = REQUESTED;
                    c.until = now + 30 * SECOND;
                } else if (!is_live) {
                    passes = false;
                } else if (flags & RST) {
                    c.state = NONE;
                } else if (c.state == REQUESTED) {
                    if (!from_inside) {
                        passes = flags & SYN && flags & ACK;
                        if (passes) {
                            c.state = ESTABLISHED;
                            c.until = now + 600 * SECOND;
                        }
                    }
                } else if (c.state != CLOSING) {
                    c.state = flags & FIN ? CLOSING : ESTABLISHED;
                    c.until = now + (flags & FIN ? 10 : 600) * SECOND;
                }
                if (passes) connections.insert(key, c, now);
            }
        }
        if (passes) write(out, x);
    }
}

Mux<N = LANES> :: lanes
Firewall :: firewall

.repeat (lane, 0, LANES) { from_lane[lane] -> [lane + 1] lanes }
lanes -> firewall -> to_lane[0]
