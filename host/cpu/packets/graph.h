// SPDX-License-Identifier: Apache-2.0
// The instances of a configuration and what connects them to lanes. No channel leads back: in the order of the
// channels, each instance runs once over all that waits for it, and then nothing moves.
#ifndef SLUICE_CPU_PACKETS_GRAPH_H
#define SLUICE_CPU_PACKETS_GRAPH_H

#include "paths.h"
#include "timers.h"

namespace sluice {

class Graph;

// In a library, packets always leave as frames.
#ifdef SLUICE_LIBRARY
constexpr bool IS_LIBRARY = true;
#else
constexpr bool IS_LIBRARY = false;
#endif

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

    // Behind `end`; the new end.
    Frame **take(Packet<Flit> *packet, Frame **end);
    [[gnu::always_inline]] inline Frame **take(Arrived<Flit> *packet, Frame **end);
    void flush() override;

    Queue<Packet<Flit> *> packets; // of an element that is in no path

  private:
    std::array<Frame *, BURST> leaving_;

  public:
    Frame **end = leaving_.data(); // of those that wait to leave

  private:
    template <class AnyPacket> [[gnu::always_inline]] inline Frame **hand_over(AnyPacket *packet, Frame **end);
    // Up to `end`; where the next one waits.
    Frame **leave(Frame **end);

    Graph &graph_;
    unsigned lane_;
};

class Graph : public Instances<Element> {
  public:
    // With `exit`, packets leave as frames, up to BURST at once; `deliver` gets those of loggers alone.
    explicit Graph(Deliver deliver, Exit *exit = nullptr);

    // Elements and paths in the order in which they run; `name`: of their instances.
    void alone(const char *name, Element &element) {
        stages_.push_back(std::make_unique<Alone>(name, element));
    }
    template <class Flit, class First> void path_from_lane(const char *name, unsigned lane, First first) {
        auto path = std::make_unique<FromLane<Flit, First>>(name, lane, first);
        inlet(lane) = [to = path.get()](Frame **frames, size_t count, uint64_t time) {
            to->arrive(frames, count, time);
        };
        stages_.push_back(std::move(path));
    }
    template <class Port, class First> void path_from(const char *name, Port &port, First first) {
        stages_.push_back(std::make_unique<FromQueue<Port, First>>(name, port, first));
    }

    template <class Flit, bool Whole> void from_lane(unsigned lane, PacketInput<Flit, Whole> &to) {
        inlet(lane) = [lane, &to](Frame **frames, size_t count, uint64_t time) {
            prefetch(frames, 0, count);
            for (size_t i = 0; i < count; i++)
                to.packets.push(Packet<Flit>::arrived(frames[i], time, lane));
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
        inlet(from) = [this, to](Frame **frames, size_t count, uint64_t time) {
            if (exit_)
                return exit_->leave(to, frames, count);
            for (size_t i = 0; i < count; i++) {
                deliver_(to, Bytes(frames[i]->bytes(), frames[i]->bytes() + frames[i]->size), time, false);
                Done::put(frames[i]);
            }
        };
    }

    // There are no other choices than those of the plain run.
    void start(uint64_t seed);
    // False where nothing is connected to the lane: the packet is lost. Nothing moves before `run`.
    bool send(unsigned lane, const Bytes &packet, uint64_t time);
    // The same of packets in memory.
    bool send(unsigned lane, Frame **frames, size_t count, uint64_t time);
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    bool run(uint64_t rounds);

    Timers timers;

    const std::vector<std::unique_ptr<Stage>> &stages() const {
        return stages_;
    }

  private:
    template <class Flit> friend class Outlet;
    using Inlet = std::function<void(Frame **frames, size_t count, uint64_t time)>;
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

    Exit *exit_;
    Bytes bytes_;
    std::vector<Inlet> inlets_; // by lane
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<std::unique_ptr<OutletBase>> outlets_;
};

template <class Flit>
template <class AnyPacket>
inline Frame **Outlet<Flit>::hand_over(AnyPacket *packet, Frame **end) {
    Frame *frame = nullptr;
    if (packet->is_bad())
        graph_.exit_->count_error(lane_);
    else
        frame = packet->leave(lane_);
    packet->release();
    if (frame)
        *end++ = frame;
    return end == leaving_.data() + BURST ? leave(end) : end;
}

template <class Flit> Frame **Outlet<Flit>::take(Packet<Flit> *packet, Frame **end) {
    if (IS_LIBRARY || graph_.exit_)
        return hand_over(packet, end);
    graph_.hand_over(lane_, *packet);
    packet->release();
    return end;
}

// Nobody else gets its address, so that it need not be in memory.
template <class Flit> inline Frame **Outlet<Flit>::take(Arrived<Flit> *packet, Frame **end) {
    return IS_LIBRARY || graph_.exit_ ? hand_over(packet, end) : take(packet->kept(), end);
}

template <class Flit> void Outlet<Flit>::flush() {
    for (; !packets.empty(); packets.pop())
        end = take(packets.front(), end);
    end = leave(end);
}

template <class Flit> Frame **Outlet<Flit>::leave(Frame **end) {
    if (end != leaving_.data())
        graph_.exit_->leave(lane_, leaving_.data(), size_t(end - leaving_.data()));
    return leaving_.data();
}

// Defined by the generated code: the instances, in an order in which channels lead forward, and the channels.
void build(Graph &graph);

} // namespace sluice

#endif
