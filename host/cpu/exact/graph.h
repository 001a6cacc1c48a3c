// SPDX-License-Identifier: Apache-2.0
// The instances of a configuration and what connects them to lanes: packets become flits, and flits packets again. One
// thread; every instance in turn, one iteration each, until nothing moves.
#ifndef SLUICE_CPU_GRAPH_H
#define SLUICE_CPU_GRAPH_H

#include "element.h"

namespace sluice {

// The flits of a packet; the timestamp is its time of arrival in microseconds.
template <class Flit> void to_flits(const Bytes &packet, unsigned lane, uint64_t time, std::deque<Flit> &to) {
    constexpr size_t size = decltype(Flit::data)::width / 8;
    for (size_t start = 0; start < packet.size(); start += size) {
        const size_t used = std::min(size, packet.size() - start);
        Words<decltype(Flit::data)> words{};
        std::memcpy(words.data(), packet.data() + start, used);
        Flit flit{};
        flit.data = from_words<decltype(Flit::data)>(words);
        flit.empty = decltype(Flit::empty)(size - used);
        flit.eop = Uint<1>(start + used == packet.size());
        if (start == 0) {
            flit.sop = Uint<1>(1);
            flit.meta.ingress_port = decltype(flit.meta.ingress_port)(lane);
            flit.meta.timestamp = decltype(flit.meta.timestamp)(time);
            flit.meta.length = decltype(flit.meta.length)(packet.size());
        }
        to.push_back(flit);
    }
}

// Takes well-formed flits; calls `deliver` with each packet.
template <class Flit> class Assembler {
  public:
    using Deliver = std::function<void(const Bytes &packet, uint64_t time, bool error)>;
    explicit Assembler(Deliver deliver) : deliver_(std::move(deliver)) {}
    void operator()(const Flit &flit) {
        constexpr size_t size = decltype(Flit::data)::width / 8;
        if (flit.sop) {
            packet_.clear();
            time_ = flit.meta.timestamp.saturated();
        }
        const auto words = to_words(flit.data);
        const auto *bytes = reinterpret_cast<const uint8_t *>(words.data());
        packet_.insert(packet_.end(), bytes, bytes + (size - flit.empty.saturated()));
        if (flit.eop)
            deliver_(packet_, time_, bool(flit.error));
    }

  private:
    Deliver deliver_;
    Bytes packet_;
    uint64_t time_ = 0;
};

class Graph : public Instances<Element> {
  public:
    using Instances::Instances;

    template <class Flit> void from_lane(unsigned lane, Input<Flit> &to) {
        inlets_[lane] = [lane, &to](const Bytes &packet, uint64_t time) { to_flits(packet, lane, time, to.tokens); };
    }
    template <class Flit> void to_lane(unsigned lane, PacketOutput<Flit> &from) {
        from.connect(std::function<void(const Flit &)>(
            Assembler<Flit>([this, lane](const Bytes &p, uint64_t t, bool error) { deliver_(lane, p, t, error); })));
    }
    // Delivers every packet that an input takes, as lane LOGS + its place in `logs`.
    template <class Flit> void log(const std::string &name, Input<Flit> &input) {
        const unsigned lane = LOGS + unsigned(logs.size());
        logs.push_back(name);
        input.seen =
            Assembler<Flit>([this, lane](const Bytes &p, uint64_t t, bool error) { deliver_(lane, p, t, error); });
    }
    // A lane that is connected to a lane.
    void through(unsigned from, unsigned to) {
        inlets_[from] = [this, to](const Bytes &packet, uint64_t time) { deliver_(to, packet, time, false); };
    }

    void start(uint64_t seed);
    // False where nothing is connected to the lane: the packet is lost.
    bool send(unsigned lane, const Bytes &packet, uint64_t time);
    // Until nothing moves; false where it still does after `rounds` (an element that writes without reading never
    // ends).
    bool run(uint64_t rounds);

  private:
    std::map<unsigned, std::function<void(const Bytes &, uint64_t)>> inlets_;
};

// Defined by the generated code: the instances and channels of the configuration.
void build(Graph &graph);

} // namespace sluice

#endif
