// SPDX-License-Identifier: Apache-2.0
#include "graph.h"
#include "owned.h"

namespace sluice {

namespace {

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

Graph::Graph(Deliver deliver, Exit *exit) : Instances(std::move(deliver)), exit_(exit) {
    static OwnedFrames owned;
    Done::owner = exit ? exit : &owned;
}

bool Graph::send(unsigned lane, const Bytes &packet, uint64_t time) {
    auto owned = std::make_unique<OwnedFrame>(packet);
    Frame *frame = owned.get();
    const bool is_sent = send(lane, &frame, 1, time);
    if (is_sent)
        (void)owned.release();
    return is_sent;
}

bool Graph::send(unsigned lane, Frame **frames, size_t count, uint64_t time) {
    if (lane >= inlets_.size() || !inlets_[lane])
        return false;
    inlets_[lane](frames, count, time);
    return true;
}

bool Graph::run(uint64_t rounds) {
    for (auto &[name, element] : instances)
        element->serve();
    uint64_t before = ticks();
    for (const auto &stage : stages_) {
        if (!stage->run(rounds))
            return false;
        const uint64_t now = ticks();
        stage->ticks += now - before;
        before = now;
    }
    for (const auto &outlet : outlets_)
        outlet->flush();
    Done::flush();
    return true;
}

} // namespace sluice
