// SPDX-License-Identifier: Apache-2.0
#include "element.h"

namespace sluice {

InputPort::InputPort(Element &owner, const char *name)
    : name(name), index(unsigned(owner.inputs.size())), owner_(owner) {
    owner.inputs.push_back(this);
}

Writer::Writer(Element &owner, const char *name) : OutputPort(name) {
    owner.outputs.push_back(this);
}

bool InputPort::arrived_for_reading() {
    if (owner_.numbered_)
        return owner_.arrived(*this);
    if (!has_token() || (sampled_ && !arrived_))
        throw Blocked{};
    return true;
}

void Element::start(uint64_t seed) {
    seed_ = 0;
    mask_ = next_mask_ = low_ones(unsigned(inputs.size()));
    init();
    kept_.clear();
    seed_ = seed ? seed * 0x9E3779B97F4A7C15U | 1 : 0;
}

// xorshift64; only asked where the seed is not 0.
uint64_t Element::chance() {
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return seed_ >> 11;
}

// The same all through the iteration.
bool Element::arrived(InputPort &port) {
    if (port.sampled_)
        return port.arrived_;
    if (numbered_ && mask_ == uint64_t{1} << port.index)
        return true;
    bool must = numbered_ && is_masked(port); // no other port can have begun the iteration
    for (const InputPort *other : inputs)
        must &= other == &port || !is_masked(*other) || !other->has_token() || (other->sampled_ && !other->arrived_);
    port.sampled_ = true;
    port.arrived_ = port.has_token() && (must || seed_ == 0 || chance() % 10 < 7);
    hidden_ |= port.has_token() && !port.arrived_;
    entry_["available"] |= uint64_t{port.arrived_} << port.index;
    return port.arrived_;
}

uint64_t Element::ready_mask() {
    uint64_t ready = 0;
    for (InputPort *port : inputs)
        if (is_masked(*port))
            ready |= uint64_t{arrived(*port)} << port->index;
    return ready;
}

size_t Element::choose(const std::vector<size_t> &ready, size_t last) {
    size_t chosen = ready[0];
    if (seed_) {
        chosen = ready[chance() % ready.size()];
    } else {
        const auto next =
            std::find_if(ready.begin(), ready.end(), [last](size_t i) { return i > last && last + 1 != 0; });
        if (next != ready.end())
            chosen = *next;
    }
    return entry_["select"] = chosen;
}

uint64_t Element::now() {
    if (!entry_.count("now")) {
        time_ = seed_ ? time_ + chance() % 4 : std::max(time_, iterations);
        entry_["now"] = time_;
    }
    return time_;
}

bool Element::is_signal_next() {
    return signals_pending() && (seed_ == 0 || chance() % 10 < 3);
}

void Element::begin() {
    entry_.clear();
    hidden_ = false;
    random_before_ = random_;
    time_before_ = time_;
    next_mask_ = low_ones(unsigned(inputs.size()));
    for (InputPort *port : inputs)
        port->sampled_ = port->arrived_ = port->taken_ = false;
}

void Element::roll_back() {
    for (size_t i = kept_.size(); i-- > 0;)
        std::memcpy(kept_[i].place, kept_[i].bytes.data(), kept_[i].bytes.size());
    kept_.clear();
    for (auto &end : ends_)
        end(false);
    ends_.clear();
    for (Writer *port : outputs)
        port->forget();
    random_ = random_before_;
    time_ = time_before_;
}

void Element::commit(const SignalCall *call) {
    for (auto &end : ends_)
        end(true);
    ends_.clear();
    kept_.clear();
    if (call || !entry_.empty())
        log.push_back(log_line(iterations, call, entry_));
    iterations++;
}

Step Element::step() {
    begin();
    if (is_signal_next()) {
        const SignalCall &call = signals[next_signal_];
        note_answer(signal(call));
        next_signal_++;
        commit(&call);
        return Step::ran;
    }
    bool fires = !numbered_ || mask_ == 0;
    for (const InputPort *port : inputs)
        fires |= is_masked(*port) && port->has_token();
    if (!fires || !can_begin())
        return Step::blocked;
    const size_t line_count = lines.size(), failure_count = failures.size();
    try {
        handler();
    } catch (const Blocked &) {
        lines.resize(line_count);
        failures.resize(failure_count);
        roll_back();
        return hidden_ ? Step::hidden : Step::blocked;
    }
    mask_ = next_mask_ & low_ones(unsigned(inputs.size()));
    commit(nullptr);
    bool took = false, wrote = false;
    for (InputPort *port : inputs)
        if (port->taken_) {
            port->pop();
            took = true;
        }
    for (Writer *port : outputs)
        wrote |= port->commit();
    return took ? Step::ran : wrote ? Step::wrote : Step::idle;
}

void run(Element &element) {
    for (unsigned idle = 0; idle < IDLE_ITERATIONS || element.signals_pending();) {
        const Step step = element.step();
        if (step == Step::blocked && !element.signals_pending())
            return;
        idle = step == Step::wrote || step == Step::idle ? idle + 1 : 0;
    }
}

} // namespace sluice
