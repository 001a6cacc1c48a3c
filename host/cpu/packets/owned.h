// SPDX-License-Identifier: Apache-2.0
// Frames in memory of the process, for runs without ports.
#ifndef SLUICE_CPU_PACKETS_OWNED_H
#define SLUICE_CPU_PACKETS_OWNED_H

#include <algorithm>

#include "common.h"
#include "program.h"

namespace sluice {

struct OwnedFrame : Frame {
    static constexpr size_t ROOM = 128, LONGEST_FLIT = 256; // bytes; before the packet as in DPDK's mbufs

    Bytes content;
    explicit OwnedFrame(const Bytes &packet) : OwnedFrame(packet.size()) {
        std::copy(packet.begin(), packet.end(), bytes());
    }
    explicit OwnedFrame(size_t size) : Frame{}, content(ROOM + std::max(size, LONGEST_FLIT) + 8) {
        memory = content.data();
        start = ROOM;
        users = segments = 1;
        resize(size);
    }
};

class OwnedFrames : public Exit {
  public:
    std::function<void(unsigned lane, const Bytes &packet)> left; // is told every packet that leaves

    void leave(unsigned lane, Frame **frames, size_t count) override {
        for (size_t i = 0; i < count && left; i++)
            left(lane, Bytes(frames[i]->bytes(), frames[i]->bytes() + frames[i]->size));
        give_back(frames, count);
    }
    void give_back(Frame **frames, size_t count) override {
        for (size_t i = 0; i < count; i++)
            delete static_cast<OwnedFrame *>(frames[i]);
    }
    Frame *allocate(unsigned, size_t size) override {
        return new OwnedFrame(size);
    }
    void count_error(unsigned) override {}
};

} // namespace sluice

#endif
