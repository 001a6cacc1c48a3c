// SPDX-License-Identifier: Apache-2.0
// The packet engine: what a generated element stands on where packets move as a whole. Elements run one after the
// other, each over all that waits for it, and what is between them is known when they are compiled. One thread,
// channels without bound.
//
// An element whose handler only acts on the first flit of a packet (`HEADERS_ONLY`, proved by
// compiler/passes/headers_only.py) sees no other; the rest of the packet follows. Where it has no other input, it can
// be a step of a path (paths.h). Any other element sees flits, which become a packet again behind it. An iteration that
// must wait leaves no trace, as in the exact engine; of the choices the plain run is made: all that is there has
// arrived, `select` goes round, time counts iterations. They are logged where SLUICE_CHOICES is defined.
#ifndef SLUICE_CPU_PACKETS_ELEMENT_H
#define SLUICE_CPU_PACKETS_ELEMENT_H

#include "packet_body.h"
#include "ports.h"

namespace sluice {

// What a step counts of a burst.
struct StepBurst {
    uint64_t iterations = 0;
    size_t turn = 0;
};

// The base of a generated class: the loop over its iterations, with its own handler and ports inside.
template <class Self> class ElementOf : public Element {
  public:
    using Element::Element;

    bool run(uint64_t rounds) override {
        uint64_t without_token = 0;
        for (unsigned idle = 0; idle < IDLE_ITERATIONS && fires();) {
            if constexpr (LOGGED)
                choices_.clear();
            if constexpr (Self::NUMBERED)
                next_mask_ = low_ones(unsigned(inputs.size()));
            if constexpr (!Self::MAY_WAIT)
                self().handler();
            else if (!try_handler())
                return true;
            bool took = false, wrote = false;
            end(took, wrote);
            without_token = took ? 0 : without_token + 1;
            if (without_token == rounds)
                return false;
            idle = took || wrote ? 0 : idle + 1;
        }
        return true;
    }
    // One iteration as a step of a path: the packet, or copies of it, go to those of `nexts` whose outputs are written,
    // in the order of the outputs.
    template <class AnyPacket, class Nexts>
    [[gnu::always_inline]] inline void pass(AnyPacket *packet, Nexts &nexts, StepBurst &burst) {
        if constexpr (LOGGED)
            choices_.clear();
        if constexpr (Self::LOOKS_AHEAD)
            self().turn_ = burst.turn++;
        typename Self::template StepInputs<AnyPacket> in{StepInput(packet)};
        auto out = self().step_outputs();
        const auto empty = packet->first.empty;
        self().step(in, out);
        commit_tokens();
        if constexpr (LOGGED || Self::ASKS_TIME) {
            note_end();
            note_later(packet->flits());
            iterations += packet->flits() - 1;
        } else {
            burst.iterations += packet->flits();
        }
        hand_on_step(packet, empty, out, nexts);
    }

    // The same by a body for whole packets (packet_body.h): what it keeps goes to `next`.
    template <class Body, class AnyPacket, class Next, class Port>
    [[gnu::always_inline]] inline void pass_whole(AnyPacket *packet, Next &next, StepBurst &burst, const Port &port) {
        (LOGGED ? iterations : burst.iterations) += packet->flits();
        PacketBody<AnyPacket> body(*packet);
        if (!Body::handle(self(), body))
            return packet->release();
        port.show_all(*packet);
        next(packet);
    }

    void note(const StepBurst &burst) {
        iterations += burst.iterations;
    }

  private:
    Self &self() {
        return static_cast<Self &>(*this);
    }
    // Of a step, before which the packet's flit had `empty`. The calls are inline: the packet is in registers then.
    template <class AnyPacket, class Empty, class Outputs, class Nexts>
    [[gnu::always_inline]] inline void hand_on_step(AnyPacket *packet, Empty empty, Outputs &out, Nexts &nexts) {
        unsigned left = 0;
        self().each_next([&left](auto &port, auto &) { left += port.written() != nullptr; }, out, nexts);
        if (left == 0)
            packet->release();
        const auto visit = [&left, packet, empty ](auto &port, auto &next) __attribute__((always_inline)) {
            if (!port.written())
                return;
            if (--left == 0) {
                port.settle(packet);
                packet->note_empty(empty);
                return next(packet);
            }
            auto *copy = packet->copied(*port.written());
            port.settle(copy);
            next(copy);
        };
        self().each_next(visit, out, nexts);
    }
    // False where it waits; then it has done nothing.
    bool try_handler() {
        const size_t line_count = lines.size(), failure_count = failures.size();
        const uint64_t time_before = time_;
        const uint32_t random_before = random_;
        try {
            self().handler();
        } catch (const Blocked &) {
            lines.resize(line_count);
            failures.resize(failure_count);
            time_ = time_before;
            random_ = random_before;
            roll_back();
            return false;
        }
        forget_kept();
        return true;
    }
    bool fires() {
        if constexpr (!Self::NUMBERED)
            return self().can_begin();
        arrived_mask_ = 0;
        self().each_input([this](auto &port) { arrived_mask_ |= uint64_t{port.has_token()} << port.index; });
        return mask_ == 0 || (mask_ & arrived_mask_);
    }
    void roll_back() {
        put_back();
        self().each_select([](auto &select) { select.end(false); });
        self().each_input([](auto &port) { port.forget(); });
        self().each_output([](auto &port) { port.forget(); });
    }
    void end(bool &took, bool &wrote) {
        if constexpr (Self::NUMBERED)
            mask_ = next_mask_ & low_ones(unsigned(inputs.size()));
        note_end();
        self().each_select([](auto &select) { select.end(true); });
        if constexpr (Self::HEADERS_ONLY) {
            hand_on_packet(self().packet());
            self().each_input([&took](auto &port) { took |= port.pop(); });
            wrote = took;
        } else {
            self().each_output([&wrote](auto &port) { wrote |= port.commit(); }); // of flits in their inputs, too
            self().each_input([&took](auto &port) { took |= port.pop(); });
        }
    }
    void note_end() {
        if constexpr (LOGGED)
            if (!choices_.empty())
                log.push_back(log_line(iterations, nullptr, choices_));
        iterations++;
    }
    // What the flits behind the first would have chosen.
    void note_later([[maybe_unused]] size_t flits) {
        if constexpr (!LOGGED)
            return;
        choices_.erase("available");
        for (size_t i = 1; i < flits && !choices_.empty(); i++)
            log.push_back(log_line(iterations + i - 1, nullptr, choices_));
    }
    void commit_tokens() {
        self().each_output([](auto &port) {
            if constexpr (!requires { port.written(); })
                port.commit();
        });
    }
    // To each output that it was written to; the last gets the packet itself, others copies of it.
    template <class Packet> void hand_on_packet(Packet *packet) {
        commit_tokens();
        if (!packet)
            return;
        note_later(packet->flits());
        iterations += packet->flits() - 1;
        unsigned left = 0;
        self().each_output([&left](auto &port) {
            if constexpr (requires { port.written(); })
                left += port.written() != nullptr;
        });
        if (left == 0)
            packet->release();
        self().each_output([&left, packet](auto &port) {
            if constexpr (requires { port.written(); })
                if (port.written()) {
                    Packet *leaves = --left ? packet->copied(*port.written()) : packet;
                    port.settle(leaves);
                    port.hand_on(leaves);
                }
        });
    }
};

// Defined by the generated code: an element by its name, or nothing.
std::unique_ptr<Element> make_element(const std::string &name);

} // namespace sluice

#endif
