// SPDX-License-Identifier: Apache-2.0
// The exact engine: what a generated element stands on, its ports, iterations, choices. One thread, channels without
// bound, a flit at a time. It is slow, and the oracle of the differential tests.
//
// An iteration that must wait leaves no trace: tokens are taken and written when it ends, and states that it has
// changed (through `keep`) are put back. What timing would decide is chosen from a seed (0: the plain run: all that is
// there has arrived, `select` goes round, time counts iterations) and logged as docs/design/compiler.md says.
#ifndef SLUICE_CPU_ELEMENT_H
#define SLUICE_CPU_ELEMENT_H

#include <deque>

#include "common.h"
#include "tables.h"

namespace sluice {

enum class Step {
    ran,     // and took a token, or was a signal
    wrote,   // ran, and wrote a token, but took none
    idle,    // ran, and took and wrote none
    blocked, // waits for a token
    hidden,  // waits, but only because the choices hid a token
};

class Element;

class InputPort {
  public:
    InputPort(Element &owner, const char *name);
    virtual ~InputPort() = default;
    InputPort(const InputPort &) = delete;
    InputPort &operator=(const InputPort &) = delete;

    virtual bool has_token() const = 0;
    virtual size_t waiting() const = 0;
    // A token from its words.
    virtual void push(const std::vector<uint64_t> &words) = 0;

    const char *name;
    unsigned index;

  protected:
    friend class Element;
    virtual void pop() = 0;
    // Whether it holds a token that the iteration is to see; throws Blocked where a named form has none.
    bool arrived_for_reading();

    Element &owner_;
    bool sampled_ = false, arrived_ = false, taken_ = false;
};

template <class T> class Input : public InputPort {
  public:
    using InputPort::InputPort;
    using Token = T;
    bool has_token() const override {
        return !tokens.empty();
    }
    size_t waiting() const override {
        return tokens.size();
    }
    void push(const std::vector<uint64_t> &words) override {
        tokens.push_back(from_words<T>(sized<Words<T>>(words)));
    }
    T read() {
        if (!arrived_for_reading())
            return T{};
        taken_ = true;
        return tokens.front();
    }
    T take() {
        return read();
    }
    T peek() {
        return arrived_for_reading() ? tokens.front() : T{};
    }
    Bool test();

    std::deque<T> tokens;
    std::function<void(const T &)> seen; // is told every token that is taken

  private:
    template <class U, size_t Count> friend class Select;
    void pop() override {
        if (seen)
            seen(tokens.front());
        tokens.pop_front();
    }
};

struct NoGuard {
    template <class T> bool passes(T &, OutputPort &) {
        return true;
    }
};

// The end of an iteration, for a port of any type.
class Writer : public OutputPort {
  public:
    Writer(Element &owner, const char *name);

  protected:
    friend class Element;
    // Hands on what the iteration wrote; whether it was anything.
    virtual bool commit() = 0;
    virtual void forget() = 0;
};

template <class T, class GuardType = NoGuard> class Output : public Writer {
  public:
    using Writer::Writer;
    void write(const T &token) {
        token_ = token;
        written_ = true;
    }
    void pass(const T &token) {
        write(token);
    }
    void connect(Input<T> &to) {
        to_ = &to;
    }
    void connect(std::function<void(const T &)> to) {
        sink_ = std::move(to);
    }

  private:
    bool commit() override {
        if (!std::exchange(written_, false))
            return false;
        if (!guard_.passes(token_, *this))
            return true;
        if (to_)
            to_->tokens.push_back(token_);
        if (sink_)
            sink_(token_);
        if (tap)
            show(token_);
        return true;
    }
    void forget() override {
        written_ = false;
    }

    T token_{};
    bool written_ = false;
    GuardType guard_;
    Input<T> *to_ = nullptr;
    std::function<void(const T &)> sink_;
};

// As the other engine names them; a port that only heads of packets go through is like any other here.
template <class Flit, bool = false> using PacketInput = Input<Flit>;
template <class Flit, bool = false> using PacketOutput = Output<Flit, Guard<Flit>>;

class Element : public ElementBase {
  public:
    using ElementBase::ElementBase;

    // Runs `.init`; from here on choices come from the seed.
    void start(uint64_t seed);
    Step step();

    std::vector<InputPort *> inputs;
    std::vector<Writer *> outputs;

  protected:
    // A state that is about to change, in an iteration that may still wait.
    template <class T> T &keep(T &state) {
        const auto *bytes = reinterpret_cast<const char *>(&state);
        kept_.push_back({&state, {bytes, bytes + sizeof state}});
        return state;
    }
    uint64_t ready_mask();
    uint64_t now();

  private:
    friend class InputPort;
    template <class T> friend class Input;
    template <class T, size_t Count> friend class Select;

    struct Kept {
        void *place;
        std::vector<char> bytes;
    };

    void begin();
    void roll_back();
    void commit(const SignalCall *call);
    bool arrived(InputPort &port);
    bool is_masked(const InputPort &port) const {
        return mask_ >> port.index & 1;
    }
    size_t choose(const std::vector<size_t> &ready, size_t last);
    uint64_t chance();
    bool is_signal_next();

    bool hidden_ = false;
    uint32_t random_before_ = 0;
    uint64_t seed_ = 0, time_ = 0, time_before_ = 0;
    std::vector<Kept> kept_;
    std::vector<std::function<void(bool)>> ends_; // of selects: to be told whether the iteration ended
    std::map<std::string, uint64_t> entry_;
};

template <class T> Bool Input<T>::test() {
    return Bool((!owner_.numbered_ || owner_.is_masked(*this)) && owner_.arrived(*this));
}

// `select(...)`: a ready input, round-robin; on packet ports one port from sop to eop.
template <class Port, size_t Count> class Select {
  public:
    using Token = typename Port::Token;
    Select(Element &owner, std::array<Port *, Count> ports, bool packets)
        : owner_(owner), ports_(ports), packets_(packets) {}

    Token take(uint64_t &index) {
        if (chosen_ == Count) {
            std::vector<size_t> ready;
            for (size_t i = 0; i < Count; i++)
                if (ports_[i]->has_token() && (!ports_[i]->sampled_ || ports_[i]->arrived_) && (!inside_ || i == last_))
                    ready.push_back(i);
            if (ready.empty())
                throw Blocked{};
            chosen_ = owner_.choose(ready, last_);
            owner_.ends_.push_back([this](bool ended) { end(ended); });
            ports_[chosen_]->taken_ = true;
        }
        index = chosen_;
        return ports_[chosen_]->tokens.front();
    }

  private:
    void end(bool ended) {
        if (ended) {
            last_ = chosen_;
            if constexpr (requires(Token token) { token.eop; })
                inside_ = packets_ && !ports_[chosen_]->tokens.front().eop;
        }
        chosen_ = Count;
    }

    Element &owner_;
    std::array<Port *, Count> ports_;
    bool packets_, inside_ = false;
    size_t last_ = ~size_t{0}, chosen_ = Count;
};

// The base of a generated class.
template <class> using ElementOf = Element;

// Iterations until the element waits, or has taken nothing for a while, and no signal is to come.
void run(Element &element);

// Defined by the generated code: an element by its name, or nothing.
std::unique_ptr<Element> make_element(const std::string &name);

} // namespace sluice

#endif
