// SPDX-License-Identifier: Apache-2.0
// The instances of a configuration and what connects them to lanes. No channel leads back: in the order of the
// channels, each instance runs once over all that waits for it, and then nothing moves.
#ifndef SLUICE_CPU_PACKETS_GRAPH_H
#define SLUICE_CPU_PACKETS_GRAPH_H

#include "element.h"

namespace sluice {

class Graph {
  public:
    using Deliver = std::function<void(unsigned lane, const Bytes &packet, uint64_t time, bool error)>;
    using Leave = std::function<void(unsigned lane, const Leaving &packet)>;
    explicit Graph(Deliver deliver) : deliver_(std::move(deliver)) {}
    // Packets leave as they are in memory; `deliver` gets those of loggers alone.
    Graph(Deliver deliver, Leave leave) : deliver_(std::move(deliver)), leave_(std::move(leave)) {}

    template <class T> T &add(const std::string &name) {
        auto element = std::make_unique<T>();
        T &added = *element;
        instances.emplace_back(name, std::move(element));
        return added;
    }
    template <class Flit, bool Whole> void from_lane(unsigned lane, PacketInput<Flit, Whole> &to) {
        inlet(lane) = [lane, &to](const uint8_t *bytes, size_t size, uint64_t time, Buffer *buffer) {
            to.packets.push(Packet<Flit>::arrived(bytes, size, lane, time, buffer));
        };
    }
    template <class Flit, bool Whole> void to_lane(unsigned lane, PacketOutput<Flit, Whole> &from) {
        auto queue = std::make_shared<Queue<Packet<Flit> *>>();
        from.connect(*queue);
        outlets_.push_back([this, lane, queue] {
            for (; !queue->empty(); queue->pop()) {
                Packet<Flit> *packet = queue->front();
                if (leave_) {
                    packet->leave([this, lane](const Leaving &leaving) { leave_(lane, leaving); });
                    continue;
                }
                hand_over(lane, *packet);
                packet->release();
            }
        });
    }
    // Delivers every packet that an input takes, as lane LOGS + its place in `logs`.
    template <class Flit, bool Whole> void log(const std::string &name, PacketInput<Flit, Whole> &input) {
        const unsigned lane = LOGS + unsigned(logs.size());
        logs.push_back(name);
        input.seen = [this, lane](const Packet<Flit> &packet) { hand_over(lane, packet); };
    }
    // A lane that is connected to a lane.
    void through(unsigned from, unsigned to) {
        inlet(from) = [this, to](const uint8_t *bytes, size_t size, uint64_t time, Buffer *buffer) {
            if (leave_)
                return leave_(to, Leaving{bytes, size, size, 0, time, false, nullptr}), done_with(buffer);
            deliver_(to, Bytes(bytes, bytes + size), time, false);
            done_with(buffer);
        };
    }

    // There are no other choices than those of the plain run.
    void start(uint64_t seed);
    // False where nothing is connected to the lane: the packet is lost. Nothing moves before `run`.
    bool send(unsigned lane, const Bytes &packet, uint64_t time);
    // The same of bytes in a buffer, which the packet holds from here on.
    bool send(unsigned lane, const uint8_t *bytes, size_t size, uint64_t time, Buffer *buffer);
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    bool run(uint64_t rounds);
    // Tokens that nobody has taken.
    uint64_t unread() const;

    static constexpr unsigned LOGS = 256;
    std::vector<std::pair<std::string, std::unique_ptr<Element>>> instances;
    std::vector<std::string> logs;

  private:
    using Inlet = std::function<void(const uint8_t *bytes, size_t size, uint64_t time, Buffer *buffer)>;
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

    static void done_with(Buffer *buffer) {
        if (--buffer->users == 0)
            buffer->give_back(buffer);
    }

    Deliver deliver_;
    Leave leave_;
    Bytes bytes_;
    std::vector<Inlet> inlets_; // by lane
    std::vector<std::function<void()>> outlets_;
};

// Defined by the generated code: the instances, in an order in which channels lead forward, and the channels.
void build(Graph &graph);

} // namespace sluice

#endif
