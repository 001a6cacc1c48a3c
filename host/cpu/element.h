// SPDX-License-Identifier: Apache-2.0
// What a generated element stands on: its ports, iterations, choices. One thread, channels without bound.
//
// An iteration that must wait leaves no trace: tokens are taken and written when it ends, and states that it has
// changed (through `keep`) are put back. What timing would decide is chosen from a seed (0: the plain run: all that is
// there has arrived, `select` goes round, time counts iterations) and logged as docs/design/compiler.md says.
#ifndef SLUICE_CPU_ELEMENT_H
#define SLUICE_CPU_ELEMENT_H

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tables.h"
#include "values.h"

namespace sluice {

// Thrown where an iteration waits for a token.
struct Blocked {};

enum class Step {
    ran,     // and took a token, or was a signal
    wrote,   // ran, and wrote a token, but took none
    idle,    // ran, and took and wrote none
    blocked, // waits for a token
    hidden,  // waits, but only because the choices hid a token
};

struct SignalCall {
    std::string name;
    std::vector<std::vector<uint64_t>> arguments; // words, lowest first
};

// As many words as the type has.
template <class Sized> Sized sized(const std::vector<uint64_t> &words) {
    Sized result{};
    std::copy_n(words.begin(), std::min(words.size(), result.size()), result.begin());
    return result;
}

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

class OutputPort {
  public:
    OutputPort(Element &owner, const char *name);
    virtual ~OutputPort() = default;
    OutputPort(const OutputPort &) = delete;
    OutputPort &operator=(const OutputPort &) = delete;

    const char *name;
    uint64_t discarded = 0, mended = 0; // flits, at the guard of a packet port
    // Where words of a token go too, beside the channel.
    std::function<void(const uint64_t *words, size_t count)> tap;

  protected:
    friend class Element;
    // Hands on what the iteration wrote; whether it was anything.
    virtual bool commit() = 0;
    virtual void forget() = 0;
};

// Keeps packets well-formed: a broken one ends with `error`, and the rest is discarded up to the next sop.
template <class Flit> class Guard {
  public:
    bool passes(Flit &flit, OutputPort &port) {
        if (!inside_ && !flit.sop) {
            port.discarded++;
            return false;
        }
        if ((inside_ && flit.sop) || (flit.empty && !flit.eop)) {
            flit.sop = Uint<1>(!inside_);
            flit.eop = flit.error = Uint<1>(1);
            flit.empty = {};
            inside_ = false;
            port.mended++;
            return true;
        }
        inside_ = !flit.eop;
        return true;
    }

  private:
    bool inside_ = false;
};

struct NoGuard {
    template <class T> bool passes(T &, OutputPort &) {
        return true;
    }
};

template <class T, class GuardType = NoGuard> class Output : public OutputPort {
  public:
    using OutputPort::OutputPort;
    void write(const T &token) {
        token_ = token;
        written_ = true;
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
        if (tap) {
            const auto words = to_words(token_);
            tap(words.data(), words.size());
        }
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

template <class Flit> using PacketOutput = Output<Flit, Guard<Flit>>;

class Element {
  public:
    Element(const char *name, bool numbered, uint32_t seed) : name(name), numbered_(numbered), random_(seed) {}
    virtual ~Element() = default;
    Element(const Element &) = delete;
    Element &operator=(const Element &) = delete;

    // Runs `.init`; from here on choices come from the seed.
    void start(uint64_t seed);
    Step step();
    bool signals_pending() const {
        return next_signal_ < signals.size();
    }
    // Name and hex bits of every state.
    virtual std::vector<std::pair<std::string, std::string>> dump() const = 0;

    const char *name;
    std::vector<InputPort *> inputs;
    std::vector<OutputPort *> outputs;
    std::vector<SignalCall> signals; // to be served, in this order
    std::vector<std::string> answers, lines, failures, log;
    uint64_t iterations = 0;

  protected:
    virtual void init() = 0;
    virtual void handler() = 0;
    // False where the handler would wait, as far as is known before; a call costs less than a Blocked.
    virtual bool can_begin() const {
        return true;
    }
    // Runs a signal; its answer as hex.
    virtual std::string signal(const SignalCall &call) = 0;

    // A state that is about to change, in an iteration that may still wait.
    template <class T> T &keep(T &state) {
        const auto *bytes = reinterpret_cast<const char *>(&state);
        kept_.push_back({&state, {bytes, bytes + sizeof state}});
        return state;
    }
    uint64_t ready_mask();
    uint64_t now();
    Uint<32> random();
    template <class T> void wait_for(const T &mask) {
        next_mask_ = mask.extended(0);
    }
    template <class T> static T argument(const SignalCall &call, size_t index) {
        return index < call.arguments.size() ? from_words<T>(sized<Words<T>>(call.arguments[index])) : T{};
    }
    void print(std::string line) {
        lines.push_back(std::move(line));
    }
    void fail(const char *text) {
        failures.push_back(text);
    }
    // For `for (Rounds left(...); condition && left.more(); ...)`: false, and a failure, when the bound is reached.
    class Rounds {
      public:
        Rounds(Element &owner, uint64_t bound, const char *text) : owner_(owner), left_(bound), text_(text) {}
        bool more() {
            if (left_-- > 0)
                return true;
            owner_.fail(text_);
            return false;
        }

      private:
        Element &owner_;
        uint64_t left_;
        const char *text_;
    };

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

    bool numbered_, hidden_ = false;
    uint32_t random_, random_before_ = 0;
    uint64_t mask_ = 0, next_mask_ = 0;
    uint64_t seed_ = 0, time_ = 0, time_before_ = 0;
    size_t next_signal_ = 0;
    std::vector<Kept> kept_;
    std::vector<std::function<void(bool)>> ends_; // of selects: to be told whether the iteration ended
    std::map<std::string, uint64_t> entry_;
};

template <class T> Bool Input<T>::test() {
    return Bool((!owner_.numbered_ || owner_.is_masked(*this)) && owner_.arrived(*this));
}

// `select(...)`: a ready input, round-robin; on packet ports one port from sop to eop.
template <class T, size_t Count> class Select {
  public:
    Select(Element &owner, std::array<Input<T> *, Count> ports, bool packets)
        : owner_(owner), ports_(ports), packets_(packets) {}

    T take(uint64_t &index) {
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
            if constexpr (requires(T token) { token.eop; })
                inside_ = packets_ && !ports_[chosen_]->tokens.front().eop;
        }
        chosen_ = Count;
    }

    Element &owner_;
    std::array<Input<T> *, Count> ports_;
    bool packets_, inside_ = false;
    size_t last_ = ~size_t{0}, chosen_ = Count;
};

// Iterations until the element waits, or has taken nothing for a while, and no signal is to come.
constexpr unsigned IDLE_ITERATIONS = 64;
void run(Element &element);

// Defined by the generated code: an element by its name, or nothing.
std::unique_ptr<Element> make_element(const std::string &name);

} // namespace sluice

#endif
