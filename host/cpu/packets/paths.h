// SPDX-License-Identifier: Apache-2.0
// Paths: elements that see first flits alone, one behind the other, as one loop. Each packet goes all the way before
// the next one comes, and what is between two elements is a call that the compiler sees through. A path begins at a
// lane or at a queue, branches where an element has several outputs, and ends at lanes and queues.
#ifndef SLUICE_CPU_PACKETS_PATHS_H
#define SLUICE_CPU_PACKETS_PATHS_H

#include <algorithm>
#include <tuple>

#include "element.h"

namespace sluice {

// Something that runs in its turn, over all that waits for it; false where it does not come to rest.
class Stage {
  public:
    explicit Stage(std::string name) : name(std::move(name)) {}
    virtual ~Stage() = default;
    virtual bool run(uint64_t rounds) = 0;

    const std::string name; // its instances
    uint64_t ticks = 0;     // of `run`
};

// What there is to begin and to end around a burst that goes along a path. A path is copied onto the stack for a burst:
// what nobody else can reach is in registers.
struct NoBurst {
    static constexpr size_t DATA_READ = 0;
    void begin() {}
    void end() {}
};

// The end of a path: an output that nothing is connected to.
struct Nowhere : NoBurst {
    template <class AnyPacket> [[gnu::always_inline]] inline void operator()(AnyPacket *packet) {
        packet->release();
    }
};

// The end of a path: an input whose element runs later.
template <class Port> class Into : public NoBurst {
  public:
    static constexpr size_t DATA_READ = ALL_DATA; // in the end
    explicit Into(Port &port) : port_(port) {}
    template <class AnyPacket> [[gnu::always_inline]] inline void operator()(AnyPacket *packet) {
        port_.packets.push(packet->kept());
    }

  private:
    Port &port_;
};

// The end of a path: where packets leave (graph.h).
template <class Outlet> class Out {
  public:
    static constexpr size_t DATA_READ = 0;
    explicit Out(Outlet &outlet) : outlet_(outlet) {}
    template <class AnyPacket> [[gnu::always_inline]] inline void operator()(AnyPacket *packet) {
        end_ = outlet_.take(packet, end_);
    }
    void begin() {
        end_ = outlet_.end;
    }
    void end() {
        outlet_.end = end_;
    }

  private:
    Outlet &outlet_;
    decltype(Outlet::end) end_{};
};

// An element, and for each of its outputs of packets what comes behind it.
template <class Element, class... Nexts> class Step {
  public:
    static constexpr bool LOOKS_AHEAD = Element::LOOKS_AHEAD;
    static constexpr size_t DATA_READ = LOGGED ? ALL_DATA : std::max({Element::DATA_READ, Nexts::DATA_READ...});
    explicit Step(Element &element, Nexts... nexts) : element_(element), nexts_(nexts...) {}
    template <class AnyPacket> [[gnu::always_inline]] inline void operator()(AnyPacket *packet) {
        element_.pass(packet, nexts_, burst_);
    }
    void begin() {
        burst_ = {};
        std::apply([](auto &...next) { (next.begin(), ...); }, nexts_);
    }
    void end() {
        element_.note(burst_);
        std::apply([](auto &...next) { (next.end(), ...); }, nexts_);
    }
    // As many packets, the first of which is `at(0)`, will come in this order.
    template <class At> void look_ahead(At at, size_t count) {
        if constexpr (Element::LOOKS_AHEAD)
            element_.look_ahead(at, count);
    }

  private:
    Element &element_;
    std::tuple<Nexts...> nexts_;
    StepBurst burst_;
};

// Packets whose data are on the way while one is looked at. All of a burst at once would push each other, and the heads
// of packets, out of the first cache.
constexpr size_t AHEAD = 8;

inline void prefetch(Frame *const *frames, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        __builtin_prefetch(frames[i]->bytes());
}

// A path from a lane. What arrives stays where it is until its turn.
template <class Flit, class First> class FromLane final : public Stage {
  public:
    FromLane(const char *name, unsigned lane, First first) : Stage(name), lane_(lane), first_(first) {}

    void arrive(Frame **frames, size_t count, uint64_t time) {
        arrived_.insert(arrived_.end(), frames, frames + count);
        times_.resize(arrived_.size(), time);
    }
    bool run(uint64_t) override {
        for (size_t begin = 0; begin < arrived_.size(); begin += BURST)
            pass(begin, std::min(BURST, arrived_.size() - begin));
        arrived_.clear();
        times_.clear();
        return true;
    }

  private:
    // Twice where a path looks ahead: that costs less than memory for a burst of them. `DataRead`: bytes that are
    // looked at, as far as they are not 0 behind the packet yet.
    template <size_t DataRead> [[gnu::always_inline]] inline Arrived<Flit> arrived(Frame *frame, uint64_t time) const {
        Arrived<Flit> packet;
        packet.template arrive<DataRead>(frame, time, lane_);
        return packet;
    }
    void pass(size_t begin, size_t count) {
        Frame *const *const frames = arrived_.data() + begin;
        const uint64_t *const times = times_.data() + begin;
        First first = first_;
        first.begin();
        if (First::DATA_READ)
            prefetch(frames, 0, std::min(count, AHEAD));
        const auto look = [=, this](size_t i) {
            if (First::DATA_READ && i + AHEAD < count)
                prefetch(frames, i + AHEAD, i + AHEAD + 1);
            return arrived<First::DATA_READ>(frames[i], times[i]);
        };
        first.look_ahead([&](size_t i) { return look(i).first; }, count);
        for (size_t i = 0; i < count; i++) {
            Arrived<Flit> packet = First::LOOKS_AHEAD ? arrived<0>(frames[i], times[i]) : look(i);
            first(&packet);
        }
        first.end();
    }

    unsigned lane_;
    First first_;
    std::vector<Frame *> arrived_;
    std::vector<uint64_t> times_;
};

// A path from a queue of packets.
template <class Port, class First> class FromQueue final : public Stage {
  public:
    FromQueue(const char *name, Port &port, First first) : Stage(name), queue_(port.packets), first_(first) {}

    bool run(uint64_t) override {
        while (!queue_.empty()) {
            const size_t count = std::min(BURST, queue_.size());
            First first = first_;
            first.begin();
            first.look_ahead(
                [this](size_t i) -> auto & { return queue_.at(i)->first; }, count);
            for (size_t i = 0; i < count; i++) {
                auto *packet = queue_.front();
                queue_.pop();
                first(packet);
            }
            first.end();
        }
        return true;
    }

  private:
    decltype(Port::packets) &queue_;
    First first_;
};

// An element that is in no path.
class Alone final : public Stage {
  public:
    Alone(const char *name, Element &element) : Stage(name), element_(element) {}
    bool run(uint64_t rounds) override {
        return element_.run(rounds);
    }

  private:
    Element &element_;
};

} // namespace sluice

#endif
