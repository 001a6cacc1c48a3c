// SPDX-License-Identifier: Apache-2.0
/// Completes the result of an L4Parser for TCP or UDP over IPv6 when the header ends in the second flit, as a TCP header always
/// does. All other headers pass unchanged. A packet's headers leave with its first flit or, if completed, with its second.

import "../l4parser/l4parser.sl";

.element L4Rest (packet in, headers_t headers -> packet out, headers_t whole) {
    constexpr uint FIRST = bytes(ethernet_t) + bytes(ipv6_t);   /// start of the transport header without VLAN tags
    constexpr uint TAIL = DATA_BYTES - FIRST;                   /// bytes of the first flit from FIRST on
    .state {
        bool is_waiting;    /// for the second flit
        headers_t found;
        uint<8 * TAIL> tail;
    }
    .handler {
        flit x = read(in);
        write(out, x);
        if (x.sop) {
            headers_t h = read(headers);
            is_waiting = !x.eop && h.is_ipv6 && h.truncated && (h.protocol == IP_PROTOCOL_TCP || h.protocol == IP_PROTOCOL_UDP);
            found = h;
            tail = x.data >> 8 * FIRST;
            if (!is_waiting) write(whole, h);
        } else if (is_waiting) {
            headers_t h = found;
            flit y;
            y.data = (uint<8 * DATA_BYTES>) x.data << 8 * TAIL | tail;
            uint<8> size = DATA_BYTES + (x.eop ? DATA_BYTES - x.empty : DATA_BYTES);
            bool is_tcp = h.protocol == IP_PROTOCOL_TCP;
            uint<8> end = h.l4_offset + (is_tcp ? bytes(tcp_t) : bytes(udp_t));
            if (end <= size) {
                h.has_ports = true;
                h.truncated = false;
                .repeat (tags, 0, 3) {
                    if (h.l4_offset == FIRST + 4 * tags) {
                        tcp_t *tcp = (tcp_t *) (&y.data + 4 * tags);
                        h.source_port = tcp->source_port;           // UDP has the same fields at the start
                        h.destination_port = tcp->destination_port;
                        if (is_tcp) {
                            h.sequence_number = tcp->sequence_number;
                            h.tcp_flags = tcp->flags;
                        }
                    }
                }
            }
            write(whole, h);
            is_waiting = false;
        }
    }
}
