// SPDX-License-Identifier: Apache-2.0
// NVGREDecap on whole packets: the packet begins behind the headers.
#include <cstdint>

template <class Element> struct nvgredecap_packet {
    static constexpr unsigned REMOVED = 42; // Ethernet, IPv4, NVGRE

    static bool handle(Element &element, auto &packet) {
        const uint8_t *bytes = packet.bytes();
        if (!bytes)
            return false;
        if (!is_nvgre(bytes, packet.size()))
            return true;
        const uint64_t subnet = packet.size() > REMOVED ? number_at(bytes + 38, 3) : 0;
        if (!packet.remove(REMOVED)) {
            element.state.dropped = element.state.dropped + Uint<64>(1);
            return false;
        }
        auto &meta = packet.meta();
        meta.mark = decltype(meta.mark)(subnet);
        if (meta.length.saturated() > REMOVED)
            meta.length = decltype(meta.length)(meta.length.saturated() - REMOVED);
        return true;
    }
    static bool is_nvgre(const uint8_t *bytes, size_t size) {
        return size >= 38 && number_at(bytes + 12, 3) == 0x080045 && (number_at(bytes + 20, 2) & 0x3fff) == 0 &&
               bytes[23] == 47 && number_at(bytes + 34, 4) == 0x20006558;
    }
};
