// SPDX-License-Identifier: Apache-2.0
// What a native body for whole packets (`.native packet "FILE.h"`) gets of a packet: its metadata, and its bytes, which
// it changes in place.
#ifndef SLUICE_CPU_PACKETS_PACKET_BODY_H
#define SLUICE_CPU_PACKETS_PACKET_BODY_H

#include "whole_packet.h"

namespace sluice {

template <class AnyPacket> class PacketBody {
  public:
    explicit PacketBody(AnyPacket &packet) : packet_(packet) {}

    // What the first flit has, by the names in the element language; packets leave with it.
    auto &meta() {
        return packet_.first.meta;
    }
    // All bytes of the packet, `size()` of them; null where there is no memory for them. Ask again behind a change.
    uint8_t *bytes() {
        return packet_.own() ? packet_.frame().bytes() : nullptr;
    }
    // Behind `bytes()`.
    size_t size() {
        return packet_.frame().size;
    }
    // Puts so many bytes in front, for the body to write; null where there is no memory for them. The port counts that.
    uint8_t *prepend(size_t count) {
        if (!packet_.own() || (packet_.frame().start < count && !packet_.move(count)))
            return nullptr;
        Frame &frame = packet_.frame();
        frame.start = uint16_t(frame.start - count);
        frame.resize(frame.size + count);
        packet_.reframe();
        return frame.bytes();
    }
    // Takes bytes away in front; false where nothing would be left.
    bool remove(size_t count) {
        if (!packet_.own() || packet_.frame().size <= count)
            return false;
        Frame &frame = packet_.frame();
        frame.start = uint16_t(frame.start + count);
        frame.resize(frame.size - count);
        packet_.reframe();
        return true;
    }

  private:
    AnyPacket &packet_;
};

// Numbers in packets: `size` bytes, the first highest.
inline void put_number(uint8_t *bytes, uint64_t number, unsigned size) {
    number = __builtin_bswap64(number << (64 - 8 * size));
    std::memcpy(bytes, &number, size);
}
inline uint64_t number_at(const uint8_t *bytes, unsigned size) {
    uint64_t number = 0;
    std::memcpy(&number, bytes, size);
    return __builtin_bswap64(number) >> (64 - 8 * size);
}

} // namespace sluice

#endif
