// SPDX-License-Identifier: Apache-2.0
// The timers of a configuration on ports. As in hardware (rtl/ctrl/sl_timers.sv), the periods that have passed since a
// timer ran last are one iteration, which gets their number.
#ifndef SLUICE_CPU_PACKETS_TIMERS_H
#define SLUICE_CPU_PACKETS_TIMERS_H

#include "element.h"

namespace sluice {

class Timers {
  public:
    // Its first period begins with the first `tick`.
    void add(Element &element, const char *name, uint64_t every) {
        timers_.push_back({&element, name, every, NEVER});
        next_ = 0;
    }
    // Runs those that are due; nothing else may be under way.
    void tick(uint64_t microseconds) {
        if (microseconds >= next_)
            run_due(microseconds);
    }

  private:
    static constexpr uint64_t NEVER = ~uint64_t{0}, MOST_PERIODS = 0xFFFF;
    struct Timer {
        Element *element;
        const char *name;
        uint64_t every, due;
    };
    void run_due(uint64_t now) {
        next_ = NEVER;
        for (Timer &timer : timers_) {
            if (timer.due == NEVER) {
                timer.due = now + timer.every;
            } else if (now >= timer.due) {
                const uint64_t periods = (now - timer.due) / timer.every + 1;
                timer.due += periods * timer.every;
                timer.element->signals.push_back({timer.name, {{std::min(periods, MOST_PERIODS)}}});
                timer.element->serve();
            }
            next_ = std::min(next_, timer.due);
        }
    }

    std::vector<Timer> timers_;
    uint64_t next_ = NEVER;
};

} // namespace sluice

#endif
