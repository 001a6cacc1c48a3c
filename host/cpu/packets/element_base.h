// SPDX-License-Identifier: Apache-2.0
// What the packet engine knows of an element without its type.
#ifndef SLUICE_CPU_PACKETS_ELEMENT_BASE_H
#define SLUICE_CPU_PACKETS_ELEMENT_BASE_H

#include "tables.h"
#include "whole_packet.h"

namespace sluice {

#ifdef SLUICE_CHOICES
constexpr bool LOGGED = true;
#else
constexpr bool LOGGED = false;
#endif

constexpr size_t ALL_DATA = ~size_t{0}; // bytes of a flit that an element may look at

class Element;

class InputPort {
  public:
    InputPort(Element &owner, const char *name);
    virtual ~InputPort() = default;
    InputPort(const InputPort &) = delete;
    InputPort &operator=(const InputPort &) = delete;

    // Tokens, flits of a packet among them.
    virtual size_t waiting() const = 0;
    // Releases the packets that wait; how many.
    virtual size_t drop() {
        return 0;
    }

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
    // Iterations until it waits; false where it has written for `rounds` iterations and taken nothing.
    virtual bool run(uint64_t rounds) = 0;
    // What another element of the same instance can take over.
    virtual std::vector<Lasting> lasting() {
        return {};
    }
    // Signals that wait.
    void serve() {
        for (; signals_pending(); next_signal_++) {
            const SignalCall &call = signals[next_signal_];
            choices_.clear();
            note_answer(signal(call));
            if constexpr (LOGGED)
                log.push_back(log_line(iterations, &call, choices_));
            forget_kept();
            iterations++;
        }
        signals.clear();
        next_signal_ = 0;
    }

    std::vector<InputPort *> inputs;
    std::vector<OutputPort *> outputs;

  protected:
    template <class T> static Lasting lasts(const char *name, const char *type, bool is_table, T &place) {
        return {name, type, is_table, &place,
                [](void *to, void *from) { *static_cast<T *>(to) = std::move(*static_cast<T *>(from)); }};
    }

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

inline InputPort::InputPort(Element &owner, const char *name)
    : name(name), index(unsigned(owner.inputs.size())), owner_(owner) {
    owner.inputs.push_back(this);
}

} // namespace sluice

#endif
