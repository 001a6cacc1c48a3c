// SPDX-License-Identifier: Apache-2.0
// The packet engine: what a generated element stands on where packets move as a whole. Elements run one after the
// other, each over all that waits for it, and what is between them is known when they are compiled. One thread,
// channels without bound.
//
// An element whose handler only acts on the first flit of a packet (`HEADERS_ONLY`, proved by
// compiler/passes/headers_only.py) sees no other; the rest of the packet follows. Any other element sees flits, which
// become a packet again behind it. An iteration that must wait leaves no trace, as in the exact engine; of the choices
// the plain run is made: all that is there has arrived, `select` goes round, time counts iterations. They are logged
// where SLUICE_CHOICES is defined.
#ifndef SLUICE_CPU_PACKETS_ELEMENT_H
#define SLUICE_CPU_PACKETS_ELEMENT_H

#include "tables.h"
#include "whole_packet.h"

namespace sluice {

#ifdef SLUICE_CHOICES
constexpr bool LOGGED = true;
#else
constexpr bool LOGGED = false;
#endif

class Element;

class InputPort {
  public:
    InputPort(Element &owner, const char *name);
    virtual ~InputPort() = default;
    InputPort(const InputPort &) = delete;
    InputPort &operator=(const InputPort &) = delete;

    // Tokens, flits of a packet among them.
    virtual size_t waiting() const = 0;

    // Its token is taken by this iteration, or not after all.
    void mark() {
        taken_ = true;
    }
    void forget() {
        taken_ = false;
    }

    const char *name;
    unsigned index;

  protected:
    Element &owner_;
    bool taken_ = false;
};

class Element : public ElementBase {
  public:
    Element(const char *name, bool numbered, uint32_t seed) : ElementBase(name, numbered, seed) {}

    // Runs `.init`.
    void start() {
        mask_ = next_mask_ = low_ones(unsigned(inputs.size()));
        init();
        forget_kept();
    }
    // Signals that wait, then iterations until it waits; false where it has written for `rounds` iterations and taken
    // nothing.
    virtual bool run(uint64_t rounds) = 0;

    std::vector<InputPort *> inputs;
    std::vector<OutputPort *> outputs;

  protected:
    template <class T> friend class Input;
    template <class Flit, bool Whole> friend class PacketInput;
    template <class Port, size_t Count> friend class Select;

    // A state that is about to change, in an iteration that may still wait.
    template <class T> T &keep(T &state) {
        const auto *bytes = reinterpret_cast<const char *>(&state);
        kept_.push_back({&state, kept_bytes_.size(), sizeof state});
        kept_bytes_.insert(kept_bytes_.end(), bytes, bytes + sizeof state);
        return state;
    }
    uint64_t ready_mask() {
        return mask_ & arrived_mask_;
    }
    uint64_t now() {
        time_ = std::max(time_, iterations);
        choose("now", time_);
        return time_;
    }
    bool is_masked(const InputPort &port) const {
        return mask_ >> port.index & 1;
    }
    // A token that the handler is to see; throws Blocked where a named form has none.
    bool sees(const InputPort &port, bool has_token) {
        if (numbered_)
            note_arrival(port, has_token);
        else if (!has_token)
            throw Blocked{};
        return has_token;
    }
    Bool tests(const InputPort &port, bool has_token) {
        if (numbered_ && !is_masked(port))
            return Bool{};
        note_arrival(port, has_token);
        return Bool(has_token);
    }
    void note_arrival(const InputPort &port, bool has_token) {
        if (LOGGED && !(numbered_ && mask_ == uint64_t{1} << port.index))
            choices_["available"] |= uint64_t{has_token} << port.index;
    }
    void choose(const char *name, uint64_t value) {
        if constexpr (LOGGED)
            choices_[name] = value;
    }
    void serve() {
        for (; signals_pending(); next_signal_++) {
            const SignalCall &call = signals[next_signal_];
            choices_.clear();
            answers.push_back(signal(call));
            if constexpr (LOGGED)
                log.push_back(log_line(iterations, &call, choices_));
            forget_kept();
            iterations++;
        }
    }
    void forget_kept() {
        kept_.clear();
        kept_bytes_.clear();
    }
    void put_back() {
        for (size_t i = kept_.size(); i-- > 0;)
            std::memcpy(kept_[i].place, kept_bytes_.data() + kept_[i].start, kept_[i].size);
        forget_kept();
    }

    uint64_t arrived_mask_ = 0, time_ = 0;
    std::map<std::string, uint64_t> choices_; // of the iteration, where they are logged

  private:
    struct Kept {
        void *place;
        size_t start, size;
    };
    std::vector<Kept> kept_;
    std::vector<char> kept_bytes_;
};

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

template <class Flit, bool Whole = false> class PacketOutput final : public OutputPort {
  public:
    PacketOutput(Element &owner, const char *name) : OutputPort(name) {
        owner.outputs.push_back(this);
    }
    ~PacketOutput() override {
        if (unfinished_)
            unfinished_->release();
    }
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
    template <bool IsWhole> void connect(PacketInput<Flit, IsWhole> &to) {
        to_ = &to.packets;
    }
    void connect(Queue<Packet<Flit> *> &to) {
        to_ = &to;
    }
    const View *written() const {
        return written_;
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
    // The first flit that the iteration wrote; the others follow.
    void commit(Packet<Flit> *packet) {
        if (written_ != &packet->first)
            packet->first = whole(*written_);
        written_ = nullptr;
        if constexpr (LOGGED)
            if (tap) {
                show(packet->first);
                for (size_t i = 1; i < packet->flits(); i++)
                    show(packet->flit(i));
            }
        hand_on(packet);
    }

  private:
    void hand_on(Packet<Flit> *packet) {
        if (to_)
            to_->push(packet);
        else
            packet->release();
    }

    View view_{};
    uint64_t bytes_[Packet<Flit>::SIZE / 8 + 2];
    View *written_ = nullptr;
    Guard<View> guard_;
    Packet<Flit> *unfinished_ = nullptr;
    Queue<Packet<Flit> *> *to_ = nullptr;
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

// How many packets ahead an element asks its tables for keys, so that cache misses overlap.
constexpr size_t AHEAD = 32;

// The base of a generated class: the loop over its iterations, with its own handler and ports inside.
template <class Self> class ElementOf : public Element {
  public:
    using Element::Element;

    bool run(uint64_t rounds) override {
        serve();
        uint64_t without_token = 0;
        if constexpr (Self::LOOKS_AHEAD)
            for (size_t i = 0; i < std::min(AHEAD, self().waiting().size()); i++)
                self().look_ahead(self().waiting().at(i)->first);
        for (unsigned idle = 0; idle < IDLE_ITERATIONS && fires();) {
            if constexpr (LOGGED)
                choices_.clear();
            if constexpr (Self::LOOKS_AHEAD)
                if (self().waiting().size() > AHEAD)
                    self().look_ahead(self().waiting().at(AHEAD)->first);
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

  private:
    Self &self() {
        return static_cast<Self &>(*this);
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
        if constexpr (LOGGED)
            if (!choices_.empty())
                log.push_back(log_line(iterations, nullptr, choices_));
        iterations++;
        self().each_select([](auto &select) { select.end(true); });
        if constexpr (Self::HEADERS_ONLY) {
            hand_on_packet();
            self().each_input([&took](auto &port) { took |= port.pop(); });
            wrote = took;
        } else {
            self().each_output([&wrote](auto &port) { wrote |= port.commit(); }); // of flits in their inputs, too
            self().each_input([&took](auto &port) { took |= port.pop(); });
        }
    }
    // To each output that it was written to; the last gets the packet itself, others copies of it.
    void hand_on_packet() {
        auto *packet = self().packet();
        unsigned left = 0;
        self().each_output([&left](auto &port) {
            if constexpr (requires { port.written(); })
                left += port.written() != nullptr;
            else
                port.commit();
        });
        if (!packet)
            return;
        for (size_t i = 1; LOGGED && i < packet->flits() && choices_.count("select"); i++)
            log.push_back(log_line(iterations + i - 1, nullptr, {{"select", choices_["select"]}}));
        iterations += packet->flits() - 1;
        if (left == 0)
            packet->release();
        self().each_output([&left, packet](auto &port) {
            if constexpr (requires { port.written(); })
                if (port.written())
                    port.commit(--left ? packet->copied(*port.written()) : packet);
        });
    }
};

inline InputPort::InputPort(Element &owner, const char *name)
    : name(name), index(unsigned(owner.inputs.size())), owner_(owner) {
    owner.inputs.push_back(this);
}

// Defined by the generated code: an element by its name, or nothing.
std::unique_ptr<Element> make_element(const std::string &name);

} // namespace sluice

#endif
