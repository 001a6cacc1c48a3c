// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

namespace sluice {

void Graph::start(uint64_t seed) {
    uint64_t number = 0;
    for (auto &[name, element] : instances)
        element->start(seed ? seed + ++number * 1000003 : 0);
}

bool Graph::send(unsigned lane, const Bytes &packet, uint64_t time) {
    const auto found = inlets_.find(lane);
    if (found == inlets_.end())
        return false;
    found->second(packet, time);
    return true;
}

bool Graph::run(uint64_t rounds) {
    std::vector<unsigned> idle(instances.size(), 0);
    for (bool active = true, is_serving = false; active; rounds -= !is_serving) { // signals come to an end
        if (rounds == 0)
            return false;
        active = is_serving = false;
        for (size_t i = 0; i < instances.size(); i++) {
            Element &element = *instances[i].second;
            const Step step = element.step();
            idle[i] = step == Step::idle ? idle[i] + 1 : 0;
            is_serving |= element.signals_pending();
            active |= (step != Step::blocked && idle[i] < IDLE_ITERATIONS) || is_serving;
        }
    }
    return true;
}

} // namespace sluice
