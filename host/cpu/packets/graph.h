// SPDX-License-Identifier: Apache-2.0
// The instances of a configuration and what connects them to lanes. No channel leads back: in the order of the
// channels, each instance runs once over all that waits for it, and then nothing moves.
#ifndef SLUICE_CPU_PACKETS_GRAPH_H
#define SLUICE_CPU_PACKETS_GRAPH_H

#include "element.h"

namespace sluice {

class Graph : public Instances<Element> {
  public:
    using Leave = std::function<void(unsigned lane, const Leaving *packets, size_t count)>;
    static constexpr size_t BURST = 64;

    // With `leave`, packets leave as they are in memory, up to BURST at once; `deliver` gets those of loggers alone.
    explicit Graph(Deliver deliver, Leave leave = {}) : Instances(std::move(deliver)), leave_(std::move(leave)) {}

    template <class Flit, bool Whole> void from_lane(unsigned lane, PacketInput<Flit, Whole> &to) {
        inlet(lane) = [lane, &to](const Arriving *packets, size_t count, uint64_t time) {
            for (size_t i = 0; i < count; i++)
                to.packets.push(Packet<Flit>::arrived(packets[i], lane, time));
        };
    }
    template <class Flit, bool Whole> void to_lane(unsigned lane, PacketOutput<Flit, Whole> &from) {
        auto queue = std::make_shared<Queue<Packet<Flit> *>>();
        from.connect(*queue);
        outlets_.push_back([this, lane, queue] {
            while (!queue->empty())
                leave_ ? leave(lane, *queue) : deliver(lane, *queue);
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
        inlet(from) = [this, to](const Arriving *packets, size_t count, uint64_t time) {
            for (size_t i = 0; i < count; i++) {
                const Arriving &packet = packets[i];
                const Leaving leaving{packet.bytes, packet.size, 0, time, false, nullptr};
                if (leave_)
                    leave_(to, &leaving, 1);
                else
                    deliver_(to, Bytes(packet.bytes, packet.bytes + packet.size), time, false);
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
    bool send(unsigned lane, const Arriving *packets, size_t count, uint64_t time);
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    bool run(uint64_t rounds);

  private:
    using Inlet = std::function<void(const Arriving *packets, size_t count, uint64_t time)>;
    Inlet &inlet(unsigned lane) {
        if (inlets_.size() <= lane)
            inlets_.resize(lane + 1);
        return inlets_[lane];
    }
    template <class Flit> void leave(unsigned lane, Queue<Packet<Flit> *> &queue) {
        Packet<Flit> *packets[BURST];
        Leaving leaving[BURST];
        size_t count = 0;
        for (; count < BURST && !queue.empty(); queue.pop(), count++) {
            packets[count] = queue.front();
            leaving[count] = packets[count]->leave(made_[count]);
        }
        leave_(lane, leaving, count);
        for (size_t i = 0; i < count; i++)
            packets[i]->release();
    }
    template <class Flit> void deliver(unsigned lane, Queue<Packet<Flit> *> &queue) {
        for (; !queue.empty(); queue.pop()) {
            hand_over(lane, *queue.front());
            queue.front()->release();
        }
    }
    template <class Flit> void hand_over(unsigned lane, const Packet<Flit> &packet) {
        bytes_.clear();
        packet.write(bytes_);
        deliver_(lane, bytes_, packet.time(), packet.is_bad());
    }

    Leave leave_;
    Bytes bytes_;
    std::array<Bytes, BURST> made_; // of packets that elements made
    std::vector<Inlet> inlets_;     // by lane
    std::vector<std::function<void()>> outlets_;
};

// Defined by the generated code: the instances, in an order in which channels lead forward, and the channels.
void build(Graph &graph);

} // namespace sluice

#endif
