// SPDX-License-Identifier: Apache-2.0
// Sends records to stateful_harness (Verilated) and judges each result by running all records one after the other.
// Without stalls a record is offered and a result taken in every cycle. Arguments: composed (0 or 1), overall order (0
// or 1), stalls (percent), seed, file of the addresses (32 bits each). Prints one JSON object.
#include "harness.h"
#include "Vstateful_harness.h"
#include "files.h"
#include "order.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

struct Update {
    int64_t add;
    uint32_t low, high;
};

struct Record {
    uint32_t address;
    uint64_t payload; // its place in the order of arrival, below a random word
    Update update;
    uint32_t seen; // the state before it
};

class Bench : harness::Clocked<Vstateful_harness> {
  public:
    Bench(bool composed, bool ordered, unsigned stalls, uint64_t seed)
        : composed(composed), stalls(stalls), random(seed), order(ordered) {}

    void draw(uint32_t address) {
        Record record{address, (random() & 0xffffffff) << 32 | records.size(), new_update(), states[address]};
        states[address] = next_state(record);
        records.push_back(record);
        order.arrive(address);
    }

    void run() {
        reset();
        size_t sent = 0;
        bool waiting = false;
        for (uint64_t limit = 1'000'000 + 50 * records.size(); order.left < records.size() && now < limit;) {
            top.in_valid_i = sent < records.size() && (waiting || !stall());
            if (top.in_valid_i)
                offer(records[sent]);
            top.out_ready_i = !stall();
            top.eval();
            waiting = top.in_valid_i && !top.in_ready_o;
            if (top.issue_valid_o)
                order.issue(top.issue_address_o, now);
            if (top.out_valid_o && top.out_ready_i)
                judge();
            sent += top.in_valid_i && top.in_ready_o;
            edge();
        }
    }

    void print() const {
        harness::print("phvs", records.size(), "cycles_per_phv", order.cycles(), "shortest_loop", order.shortest,
                       "misordered", order.misordered, "lost_updates", lost, "missing", order.missing());
    }

    bool wrong() const {
        return order.misordered || lost || order.missing();
    }

  private:
    bool stall() {
        return stalls && random() % 100 < stalls;
    }

    uint32_t next_state(const Record &record) const {
        uint32_t state = record.seen;
        if (!composed)
            return (state << 5 | state >> 27) + static_cast<uint32_t>(record.payload);
        int64_t sum = std::max<int64_t>(int64_t(state) + record.update.add, record.update.low);
        return static_cast<uint32_t>(std::min<int64_t>(sum, record.update.high));
    }

    // Counters up and down, sets, maxima, minima, and anything.
    Update new_update() {
        auto value = static_cast<uint32_t>(random());
        switch (random() % 6) {
        case 0:
            return {1, 0, UINT32_MAX};
        case 1:
            return {-int64_t(value), 0, UINT32_MAX};
        case 2:
            return {0, value, value};
        case 3:
            return {0, value, UINT32_MAX};
        case 4:
            return {0, 0, value};
        default:
            return {int64_t(random() >> 31) - (int64_t(1) << 32), value, static_cast<uint32_t>(random())};
        }
    }

    void offer(const Record &record) {
        top.in_address_i = record.address;
        top.in_payload_i = record.payload;
        top.in_add_i = static_cast<uint64_t>(record.update.add) & 0x1ffffffff;
        top.in_low_i = record.update.low;
        top.in_high_i = record.update.high;
    }

    void judge() {
        auto number = static_cast<uint32_t>(top.out_payload_o);
        bool is_record = order.leave(number, now) && records[number].payload == top.out_payload_o;
        lost += !is_record || records[number].seen != top.out_state_o;
    }

    bool composed;
    unsigned stalls;
    std::mt19937_64 random;
    std::vector<Record> records;
    std::unordered_map<uint32_t, uint32_t> states;
    Order order;
    uint64_t lost = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s composed ordered stalls seed addresses\n", argv[0]);
        return 2;
    }
    Bench bench(std::atoi(argv[1]), std::atoi(argv[2]), static_cast<unsigned>(std::atoi(argv[3])),
                static_cast<uint64_t>(std::atoll(argv[4])));
    for (uint32_t address : read_all<uint32_t>(argv[5]))
        bench.draw(address);
    bench.run();
    bench.print();
    return bench.wrong();
}
