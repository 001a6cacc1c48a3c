// SPDX-License-Identifier: Apache-2.0
// Judges when and in which order the results of records come: those of a flow in the order of arrival, of all flows
// where a scheduler promises it. Used by the harnesses of all schedulers.
#ifndef BENCH_STATEFUL_ORDER_H
#define BENCH_STATEFUL_ORDER_H

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

class Order {
  public:
    explicit Order(bool ordered) : ordered(ordered) {}

    // The next record, of the flow with this address.
    void arrive(uint32_t address) {
        flows[address].pending.push_back(static_cast<uint32_t>(addresses.size()));
        addresses.push_back(address);
        done.push_back(false);
    }

    void issue(uint32_t address, uint64_t now) {
        auto [place, is_first] = issued.try_emplace(address, now);
        if (!is_first && (!shortest || now - place->second < shortest))
            shortest = now - place->second;
        place->second = now;
    }

    // A result leaves. False: of no record, or of one that has left.
    bool leave(uint32_t number, uint64_t now) {
        first = left ? first : now;
        last = now;
        left++;
        if (number >= done.size() || done[number])
            return false;
        done[number] = true;
        Flow &flow = flows[addresses[number]];
        misordered += flow.pending[flow.next++] != number || (ordered && number != left - 1);
        return true;
    }

    double cycles() const {
        return done.size() > 1 ? double(last - first) / double(done.size() - 1) : 0;
    }

    uint64_t missing() const {
        return done.size() - std::min<size_t>(left, done.size());
    }

    uint64_t left = 0, shortest = 0,
             misordered = 0; // results; cycles between two records of a flow; results out of order

  private:
    struct Flow {
        std::vector<uint32_t> pending; // records in the order of arrival
        size_t next = 0;
    };

    bool ordered;
    std::vector<uint32_t> addresses; // of records
    std::vector<bool> done;
    std::unordered_map<uint32_t, Flow> flows;
    std::unordered_map<uint32_t, uint64_t> issued;
    uint64_t first = 0, last = 0;
};

#endif
