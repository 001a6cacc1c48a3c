// SPDX-License-Identifier: Apache-2.0
// NVGREEncap on whole packets: writes the header in front of the packet, where it lies.
#include <cstdint>

template <class Element> struct nvgreencap_packet {
    static constexpr unsigned ADDED = 42; // Ethernet, IPv4, NVGRE

    static bool handle(Element &element, auto &packet) {
        auto &state = element.state;
        const uint64_t mark = packet.meta().mark.saturated(), length = packet.meta().length.saturated();
        const auto *tunnel = mark < Element::Parameters::Tunnels ? &state.tunnels.items[mark] : nullptr;
        if (!tunnel || !tunnel->valid || length == 0) {
            state.dropped = state.dropped + Uint<64>(1);
            return false;
        }
        uint8_t *header = packet.prepend(ADDED);
        if (!header)
            return false;
        const uint64_t own = state.own_ip.saturated(), other = tunnel->ip.saturated();
        const uint16_t ip_length = uint16_t(length + ADDED - 14);
        put_number(header, tunnel->mac.saturated(), 6);
        put_number(header + 6, state.own_mac.saturated(), 6);
        put_number(header + 12, 0x08004500, 4); // IPv4; version, header of 20 bytes, TOS
        put_number(header + 16, uint64_t{ip_length} << 48 | 0x0000'4000'402f, 8); // length, do not fragment, TTL, GRE
        put_number(header + 24, checksum(ip_length, own, other), 2);
        put_number(header + 26, own << 32 | other, 8);
        put_number(header + 34, 0x2000'6558, 4); // a key; Ethernet
        put_number(header + 38, tunnel->subnet.saturated() << 8, 4);
        packet.meta().length = decltype(packet.meta().length)(length + ADDED);
        return true;
    }
    static uint16_t checksum(uint16_t length, uint64_t own, uint64_t other) {
        uint64_t sum = 0x4500 + 0x4000 + 0x402f + uint64_t{length} + (own >> 16) + (own & 0xffff) + (other >> 16) +
                       (other & 0xffff);
        sum = (sum & 0xffff) + (sum >> 16);
        return uint16_t(~((sum & 0xffff) + (sum >> 16)));
    }
};
