// SPDX-License-Identifier: Apache-2.0
// The instances of a configuration and what connects them to lanes. No channel leads back: in the order of the
// channels, each instance runs once over all that waits for it, and then nothing moves.
#ifndef SLUICE_CPU_PACKETS_GRAPH_H
#define SLUICE_CPU_PACKETS_GRAPH_H

#include "paths.h"

namespace sluice {

class Graph;

// Where the packets of an output leave by a lane.
class OutletBase {
  public:
    virtual ~OutletBase() = default;
    // What has not left yet.
    virtual void flush() = 0;
};

template <class Flit> class Outlet final : public OutletBase {
  public:
    Outlet(Graph &graph, unsigned lane) : graph_(graph), lane_(lane) {}

    void take(Packet<Flit> *packet);
    [[gnu::always_inline]] inline void take(Arrived<Flit> *packet);
    void flush() override;

    Queue<Packet<Flit> *> packets; // of an element that is in no path

  private:
    void leave();

    Graph &graph_;
    unsigned lane_;
    size_t count_ = 0;
    std::array<Leaving, BURST> leaving_;
    std::array<Packet<Flit> *, BURST> kept_; // whose bytes leave, or none
    std::array<Bytes, BURST> made_;          // of packets that elements made
};

class Graph : public Instances<Element> {
  public:
    using Leave = std::function<void(unsigned lane, const Leaving *packets, size_t count)>;

    // With `leave`, packets leave as they are in memory, up to BURST at once; `deliver` gets those of loggers alone.
    explicit Graph(Deliver deliver, Leave leave = {}) : Instances(std::move(deliver)), leave_(std::move(leave)) {}

    // Elements and paths in the order in which they run; `name`: of their instances.
    void alone(const char *name, Element &element) {
        stages_.push_back(std::make_unique<Alone>(name, element));
    }
    template <class Flit, class First> void path_from_lane(const char *name, unsigned lane, First first) {
        auto path = std::make_unique<FromLane<Flit, First>>(name, lane, first);
        inlet(lane) = [to = path.get()](const Arriving *packets, size_t count) { to->arrive(packets, count); };
        stages_.push_back(std::move(path));
    }
    template <class Port, class First> void path_from(const char *name, Port &port, First first) {
        stages_.push_back(std::make_unique<FromQueue<Port, First>>(name, port, first));
    }

    template <class Flit, bool Whole> void from_lane(unsigned lane, PacketInput<Flit, Whole> &to) {
        inlet(lane) = [lane, &to](const Arriving *packets, size_t count) {
            for (size_t i = 0; i < count; i++)
                to.packets.push(Packet<Flit>::arrived(packets[i], lane));
        };
    }
    template <class Flit> Outlet<Flit> &outlet(unsigned lane) {
        auto made = std::make_unique<Outlet<Flit>>(*this, lane);
        Outlet<Flit> &found = *made;
        outlets_.push_back(std::move(made));
        return found;
    }
    template <class Flit, bool Whole> void to_lane(unsigned lane, PacketOutput<Flit, Whole> &from) {
        from.connect(outlet<Flit>(lane).packets);
    }
    // Delivers every packet that an input takes, as lane LOGS + its place in `logs`.
    template <class Flit, bool Whole> void log(const std::string &name, PacketInput<Flit, Whole> &input) {
        const unsigned lane = LOGS + unsigned(logs.size());
        logs.push_back(name);
        input.seen = [this, lane](const Packet<Flit> &packet) { hand_over(lane, packet); };
    }
    // A lane that is connected to a lane.
    void through(unsigned from, unsigned to) {
        inlet(from) = [this, to](const Arriving *packets, size_t count) {
            for (size_t i = 0; i < count; i++) {
                const Arriving &packet = packets[i];
                const Leaving leaving{packet.bytes, packet.size, 0, packet.time, false, nullptr};
                if (leave_)
                    leave_(to, &leaving, 1);
                else
                    deliver_(to, Bytes(packet.bytes, packet.bytes + packet.size), packet.time, false);
                if (--packet.buffer->users == 0)
                    packet.buffer->give_back(packet.buffer);
            }
        };
    }

    // There are no other choices than those of the plain run.
    void start(uint64_t seed);
    // False where nothing is connected to the lane: the packet is lost. Nothing moves before `run`.
    bool send(unsigned lane, const Bytes &packet, uint64_t time);
    // The same of packets in memory.
    bool send(unsigned lane, const Arriving *packets, size_t count);
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    bool run(uint64_t rounds);

    const std::vector<std::unique_ptr<Stage>> &stages() const {
        return stages_;
    }

  private:
    template <class Flit> friend class Outlet;
    using Inlet = std::function<void(const Arriving *packets, size_t count)>;
    Inlet &inlet(unsigned lane) {
        if (inlets_.size() <= lane)
            inlets_.resize(lane + 1);
        return inlets_[lane];
    }
    template <class Flit> void hand_over(unsigned lane, const Packet<Flit> &packet) {
        bytes_.clear();
        packet.write(bytes_);
        deliver_(lane, bytes_, packet.time(), packet.is_bad());
    }

    Leave leave_;
    Bytes bytes_;
    std::vector<Inlet> inlets_; // by lane
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<std::unique_ptr<OutletBase>> outlets_;
};

template <class Flit> void Outlet<Flit>::take(Packet<Flit> *packet) {
    if (!graph_.leave_) {
        graph_.hand_over(lane_, *packet);
        packet->release();
        return;
    }
    leaving_[count_] = packet->leave(made_[count_]);
    kept_[count_] = packet;
    if (++count_ == BURST)
        leave();
}

// Nobody else gets its address, so that it need not be in memory.
template <class Flit> void Outlet<Flit>::take(Arrived<Flit> *packet) {
    if (!graph_.leave_)
        return take(packet->kept());
    leaving_[count_] = packet->leave();
    kept_[count_] = nullptr;
    if (++count_ == BURST)
        leave();
}

template <class Flit> void Outlet<Flit>::flush() {
    while (!packets.empty()) {
        Packet<Flit> *packet = packets.front();
        packets.pop();
        take(packet);
    }
    leave();
}

template <class Flit> void Outlet<Flit>::leave() {
    const size_t count = std::exchange(count_, 0);
    if (count == 0)
        return;
    graph_.leave_(lane_, leaving_.data(), count);
    for (size_t i = 0; i < count; i++)
        if (kept_[i])
            kept_[i]->release();
}

// Defined by the generated code: the instances, in an order in which channels lead forward, and the channels.
void build(Graph &graph);

} // namespace sluice

#endif
