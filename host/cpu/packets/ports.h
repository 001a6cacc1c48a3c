// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of an element of the packet engine, and `select` over inputs.
#ifndef SLUICE_CPU_PACKETS_PORTS_H
#define SLUICE_CPU_PACKETS_PORTS_H

#include "element_base.h"

namespace sluice {

// An input of anything but packets.
template <class T> class Input final : public InputPort {
  public:
    using InputPort::InputPort;
    using Token = T;
    static constexpr bool IS_WHOLE = false;
    bool has_token() const {
        return !tokens.empty();
    }
    size_t waiting() const override {
        return tokens.size();
    }
    T read() {
        if (!owner_.sees(*this, has_token()))
            return T{};
        taken_ = true;
        return tokens.front();
    }
    T peek() {
        return owner_.sees(*this, has_token()) ? tokens.front() : T{};
    }
    Bool test() {
        return owner_.tests(*this, has_token());
    }
    const T &token() const {
        return tokens.front();
    }
    T take() {
        return read();
    }
    bool pop() {
        if (!taken_)
            return false;
        tokens.pop();
        taken_ = false;
        return true;
    }

    Queue<T> tokens;
};

// An input of packets; `Whole`: only first flits are seen, and `pop` leaves the packet to the element.
template <class Flit, bool Whole = false> class PacketInput final : public InputPort {
  public:
    using InputPort::InputPort;
    using Token = Flit;
    static constexpr bool IS_WHOLE = Whole;
    using View = typename Flit::View;
    bool has_token() const {
        return !packets.empty();
    }
    size_t waiting() const override {
        return packets.size();
    }
    size_t drop() override {
        const size_t count = packets.size();
        for (; !packets.empty(); packets.pop())
            packets.front()->release();
        return count;
    }
    Flit read() {
        if (!owner_.sees(*this, has_token()))
            return Flit{};
        taken_ = true;
        return token();
    }
    Flit peek() {
        return owner_.sees(*this, has_token()) ? token() : Flit{};
    }
    Bool test() {
        return owner_.tests(*this, has_token());
    }
    Flit token() const {
        return Whole || at_ == 0 ? packets.front()->first : view_;
    }
    // The flit itself, which the handler may change and `pass` on.
    View &take() {
        if (!owner_.sees(*this, has_token())) {
            show(Flit{});
            return view_;
        }
        taken_ = true;
        return Whole || at_ == 0 ? packets.front()->first : view_;
    }
    // The packet that is taken, or none.
    Packet<Flit> *packet() {
        return taken_ ? packets.front() : nullptr;
    }
    bool pop() {
        if (!taken_)
            return false;
        taken_ = false;
        Packet<Flit> *packet = packets.front();
        if (!Whole && ++at_ != packet->flits()) {
            show(packet->flit(at_));
            return true;
        }
        at_ = 0;
        if (seen)
            seen(*packet);
        packets.pop();
        if (!Whole)
            packet->release();
        return true;
    }

    Queue<Packet<Flit> *> packets;
    std::function<void(const Packet<Flit> &)> seen; // is told every packet that is taken

  private:
    void show(const Flit &flit) {
        view_.data.point_to(bytes_);
        view_ = flit;
    }

    size_t at_ = 0; // flits of the first packet that are taken
    View view_;     // the next of it, where it is not its first
    uint64_t bytes_[Packet<Flit>::SIZE / 8 + 2];
};

template <class T> class Output final : public OutputPort {
  public:
    Output(Element &owner, const char *name) : OutputPort(name) {
        owner.outputs.push_back(this);
    }
    void write(const T &token) {
        token_ = token;
        written_ = true;
    }
    void connect(Input<T> &to) {
        to_ = &to.tokens;
    }
    void forget() {
        written_ = false;
    }
    // Hands on what the iteration wrote; whether it was anything.
    bool commit() {
        if (!written_)
            return false;
        written_ = false;
        if (to_)
            to_->push(token_);
        if constexpr (LOGGED)
            if (tap)
                show(token_);
        return true;
    }

  private:
    T token_{};
    bool written_ = false;
    Queue<T> *to_ = nullptr;
};

// What an iteration writes to an output of packets: a flit of its own, or one that stays where it is.
template <class Flit> class Written {
  public:
    using View = typename Flit::View;
    void write(const Flit &token) {
        view_.data.point_to(bytes_);
        view_ = token;
        written_ = &view_;
    }
    // What `take` gave, which stays as it is up to the end of the iteration.
    void pass(View &token) {
        written_ = &token;
    }
    const View *written() const {
        return written_;
    }

  protected:
    View view_{};
    uint64_t bytes_[Arrived<Flit>::SIZE / 8 + 2];
    View *written_ = nullptr;
};

template <class Flit, bool Whole = false> class PacketOutput final : public OutputPort, public Written<Flit> {
  public:
    PacketOutput(Element &owner, const char *name) : OutputPort(name) {
        owner.outputs.push_back(this);
    }
    ~PacketOutput() override {
        drop();
    }
    void drop() final {
        if (unfinished_)
            std::exchange(unfinished_, nullptr)->release();
    }
    using View = typename Flit::View;
    template <bool IsWhole> void connect(PacketInput<Flit, IsWhole> &to) {
        to_ = &to.packets;
    }
    void connect(Queue<Packet<Flit> *> &to) {
        to_ = &to;
    }
    void forget() {
        written_ = nullptr;
    }
    // A flit that the iteration wrote.
    bool commit() {
        View *flit = std::exchange(written_, nullptr);
        if (!flit)
            return false;
        if (!guard_.passes(*flit, *this))
            return true;
        if constexpr (LOGGED)
            if (tap)
                show(*flit);
        if (flit->sop)
            unfinished_ = Packet<Flit>::begun(*flit);
        else
            unfinished_->add(*flit);
        if (flit->eop)
            hand_on(std::exchange(unfinished_, nullptr));
        return true;
    }
    // Makes what the iteration wrote the first flit of a packet; the others follow.
    void settle(Packet<Flit> *packet) {
        if (written_ != &packet->first)
            packet->first = whole(*written_);
        written_ = nullptr;
        show_all(*packet);
    }
    template <class AnyPacket> void show_all([[maybe_unused]] const AnyPacket &packet) const {
        if constexpr (LOGGED)
            if (tap) {
                show(packet.first);
                for (size_t i = 1; i < packet.flits(); i++)
                    show(packet.flit(i));
            }
    }
    void hand_on(Packet<Flit> *packet) {
        if (to_)
            to_->push(packet);
        else
            packet->release();
    }

  private:
    using Written<Flit>::written_;

    Guard<View> guard_;
    Packet<Flit> *unfinished_ = nullptr;
    Queue<Packet<Flit> *> *to_ = nullptr;
};

// The input of a step of a path (paths.h): the packet is there, and is taken.
template <class Packet> class StepInput {
  public:
    using View = typename Packet::View;
    explicit StepInput(Packet *packet) : packet_(packet) {}
    typename View::Whole read() const {
        return packet_->first;
    }
    typename View::Whole peek() const {
        return packet_->first;
    }
    View &take() {
        return packet_->first;
    }

  private:
    Packet *packet_;
};

// An output of packets of a step, for one iteration.
template <class Flit> class StepOutput : public Written<Flit> {
  public:
    explicit StepOutput(const PacketOutput<Flit, true> &port) : port_(port) {}
    template <class AnyPacket> void settle(AnyPacket *packet) const {
        if (written_ != &packet->first)
            packet->first = whole(*written_);
        port_.show_all(*packet);
    }

  private:
    using Written<Flit>::written_;

    const PacketOutput<Flit, true> &port_;
};

// `select(...)`: a ready input, round-robin; on packet ports one port from sop to eop.
template <class Port, size_t Count> class Select {
  public:
    using Token = typename Port::Token;
    Select(Element &owner, std::array<Port *, Count> ports, bool packets)
        : owner_(owner), ports_(ports), packets_(packets) {}

    Token take(uint64_t &index) {
        if (chosen_ == Count) {
            size_t after = Count, first = Count;
            for (size_t i = Count; i-- > 0;)
                if (ports_[i]->has_token() && (!inside_ || i == last_)) {
                    first = i;
                    if (last_ + 1 != 0 && i > last_)
                        after = i;
                }
            if (first == Count)
                throw Blocked{};
            chosen_ = after < Count ? after : first;
            owner_.choose("select", chosen_);
            ports_[chosen_]->mark();
        }
        index = chosen_;
        return ports_[chosen_]->token();
    }
    // The iteration ended, or waits.
    void end(bool ended) {
        if (ended && chosen_ != Count) {
            last_ = chosen_;
            if constexpr (!Port::IS_WHOLE && requires(Token token) { token.eop; })
                inside_ = packets_ && !ports_[chosen_]->token().eop;
        }
        chosen_ = Count;
    }

  private:
    Element &owner_;
    std::array<Port *, Count> ports_;
    bool packets_, inside_ = false;
    size_t last_ = ~size_t{0}, chosen_ = Count;
};

} // namespace sluice

#endif
