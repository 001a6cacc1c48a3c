// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

namespace sluice {

namespace {

constexpr size_t LONGEST_FLIT = 256; // bytes

// Bytes of a packet that came as a vector.
struct Owned : Buffer {
    Bytes bytes;
    explicit Owned(const Bytes &packet)
        : Buffer{1, [](Buffer *buffer) { delete static_cast<Owned *>(buffer); }}, bytes(packet) {}
};

// Of the counter that DPDK's cycles are of.
uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return 0;
#endif
}

} // namespace

void Graph::start(uint64_t) {
    for (auto &[name, element] : instances)
        element->start();
}

bool Graph::send(unsigned lane, const Bytes &packet, uint64_t time) {
    auto *buffer = new Owned(packet);
    buffer->bytes.resize(std::max(packet.size(), LONGEST_FLIT) + 8);
    const Arriving arriving{buffer->bytes.data(), packet.size(), buffer, time};
    if (send(lane, &arriving, 1))
        return true;
    delete buffer;
    return false;
}

bool Graph::send(unsigned lane, const Arriving *packets, size_t count) {
    if (lane >= inlets_.size() || !inlets_[lane])
        return false;
    inlets_[lane](packets, count);
    return true;
}

bool Graph::run(uint64_t rounds) {
    for (auto &[name, element] : instances)
        element->serve();
    for (const auto &stage : stages_) {
        const uint64_t begin = ticks();
        if (!stage->run(rounds))
            return false;
        stage->ticks += ticks() - begin;
    }
    for (const auto &outlet : outlets_)
        outlet->flush();
    return true;
}

} // namespace sluice
