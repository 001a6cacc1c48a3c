// SPDX-License-Identifier: Apache-2.0
// What both engines share: `exact` (each flit a token, every choice open: the oracle of the tests) and `packets` (whole
// packets in batches). A generated program compiles against either; the include path chooses.
#ifndef SLUICE_CPU_COMMON_H
#define SLUICE_CPU_COMMON_H

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "values.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

// Thrown where an iteration waits for a token.
struct Blocked {};

// Iterations in which an element takes and writes nothing, after which it is at rest.
constexpr unsigned IDLE_ITERATIONS = 64;

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

// What is known of an output port without its type.
class OutputPort {
  public:
    explicit OutputPort(const char *name) : name(name) {}
    virtual ~OutputPort() = default;
    OutputPort(const OutputPort &) = delete;
    OutputPort &operator=(const OutputPort &) = delete;
    // Forgets a packet that has begun and not ended.
    virtual void drop() {}

    const char *name;
    uint64_t discarded = 0, mended = 0; // flits, at the guard of a packet port
    // Where words of a token go too, beside the channel.
    std::function<void(const uint64_t *words, size_t count)> tap;

  protected:
    template <class T> void show(const T &token) const {
        const auto words = to_words(token);
        tap(words.data(), words.size());
    }
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

// What an element has in either engine, but for its ports.
class ElementBase {
  public:
    ElementBase(const char *name, bool numbered, uint32_t seed) : name(name), numbered_(numbered), random_(seed) {}
    virtual ~ElementBase() = default;
    ElementBase(const ElementBase &) = delete;
    ElementBase &operator=(const ElementBase &) = delete;

    bool signals_pending() const {
        return next_signal_ < signals.size();
    }
    // Name and hex bits of every state.
    virtual std::vector<std::pair<std::string, std::string>> dump() const = 0;

    const char *name;
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
    // Runs a signal; its answer as hex, nothing of a timer.
    virtual std::string signal(const SignalCall &call) = 0;
    void note_answer(const std::string &answer) {
        if (!answer.empty())
            answers.push_back(answer);
    }

    // Of the numbered form: the ports that the next iteration waits for.
    template <class T> void wait_for(const T &mask) {
        next_mask_ = mask.extended(0);
    }
    // The built-in `random()`: xorshift32.
    Uint<32> random() {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        return Uint<32>(random_);
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
        Rounds(ElementBase &owner, uint64_t bound, const char *text) : owner_(owner), left_(bound), text_(text) {}
        bool more() {
            if (left_-- > 0)
                return true;
            owner_.fail(text_);
            return false;
        }

      private:
        ElementBase &owner_;
        uint64_t left_;
        const char *text_;
    };

    bool numbered_;
    uint32_t random_;
    uint64_t mask_ = 0, next_mask_ = 0; // of input ports, by index
    size_t next_signal_ = 0;
};

// The instances of a configuration, of either engine's Element.
template <class Element> class Instances {
  public:
    using Deliver = std::function<void(unsigned lane, const Bytes &packet, uint64_t time, bool error)>;
    static constexpr unsigned LOGS = 256; // the lane of the first logger

    explicit Instances(Deliver deliver) : deliver_(std::move(deliver)) {}

    template <class T> T &add(const std::string &name) {
        auto element = std::make_unique<T>();
        T &added = *element;
        instances.emplace_back(name, std::move(element));
        return added;
    }
    // Tokens that nobody has taken.
    uint64_t unread() const {
        uint64_t count = 0;
        for (const auto &[name, element] : instances)
            for (const auto *port : element->inputs)
                count += port->waiting();
        return count;
    }

    std::vector<std::pair<std::string, std::unique_ptr<Element>>> instances;
    std::vector<std::string> logs; // names of loggers

  protected:
    Deliver deliver_;
};

// An iteration as docs/design/compiler.md describes a line of the log. `choices`: what timing decided, by name.
std::string log_line(uint64_t iteration, const SignalCall *call, const std::map<std::string, uint64_t> &choices);

} // namespace sluice

#endif
