// SPDX-License-Identifier: Apache-2.0
// Sends records to stateful_harness (Verilated) and judges each result by running all records one after the other.
// Without stalls a record is offered and a result taken in every cycle. Arguments: composed (0 or 1), overall order (0
// or 1), stalls (percent), seed, file of the addresses (32 bits each). Prints one JSON object.
#include "harness.h"
#include "Vstateful_harness.h"

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
        : composed(composed), ordered(ordered), stalls(stalls), random(seed) {}

    void draw(uint32_t address) {
        Record record{address, (random() & 0xffffffff) << 32 | records.size(), new_update(), states[address]};
        states[address] = next_state(record);
        records.push_back(record);
        results_of_flow[address].pending.push_back(static_cast<uint32_t>(records.size() - 1));
    }

    void run() {
        reset();
        std::vector<bool> done(records.size());
        size_t sent = 0;
        bool waiting = false;
        for (uint64_t limit = 1'000'000 + 50 * records.size(); out < records.size() && now < limit;) {
            top.in_valid_i = sent < records.size() && (waiting || !stall());
            if (top.in_valid_i)
                offer(records[sent]);
            top.out_ready_i = !stall();
            top.eval();
            waiting = top.in_valid_i && !top.in_ready_o;
            if (top.issue_valid_o)
                note_issue(top.issue_address_o);
            if (top.out_valid_o && top.out_ready_i)
                judge(done);
            sent += top.in_valid_i && top.in_ready_o;
            edge();
        }
        missing = records.size() - std::min<size_t>(out, records.size());
    }

    void print() const {
        double cycles = records.size() > 1 ? double(last - first) / double(records.size() - 1) : 0;
        harness::print("phvs", records.size(), "cycles_per_phv", cycles, "shortest_loop", shortest, "misordered",
                       misordered, "lost_updates", lost, "missing", missing);
    }

    bool wrong() const {
        return misordered || lost || missing;
    }

  private:
    struct Flow {
        std::vector<uint32_t> pending; // records in the order of arrival
        size_t next = 0;
    };

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

    void note_issue(uint32_t address) {
        auto [place, first_issue] = issued.try_emplace(address, now);
        if (!first_issue && (!shortest || now - place->second < shortest))
            shortest = now - place->second;
        place->second = now;
    }

    void judge(std::vector<bool> &done) {
        auto number = static_cast<uint32_t>(top.out_payload_o);
        first = out ? first : now;
        last = now;
        out++;
        if (number >= records.size() || done[number] || records[number].payload != top.out_payload_o) {
            lost++;
            return;
        }
        done[number] = true;
        Flow &flow = results_of_flow[records[number].address];
        misordered += flow.pending[flow.next++] != number || (ordered && number != out - 1);
        lost += records[number].seen != top.out_state_o;
    }

    bool composed, ordered;
    unsigned stalls;
    std::mt19937_64 random;
    std::vector<Record> records;
    std::unordered_map<uint32_t, uint32_t> states;
    std::unordered_map<uint32_t, Flow> results_of_flow;
    std::unordered_map<uint32_t, uint64_t> issued;
    uint64_t first = 0, last = 0, out = 0, shortest = 0, misordered = 0, lost = 0, missing = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s composed ordered stalls seed addresses\n", argv[0]);
        return 2;
    }
    Bench bench(std::atoi(argv[1]), std::atoi(argv[2]), static_cast<unsigned>(std::atoi(argv[3])),
                static_cast<uint64_t>(std::atoll(argv[4])));
    std::FILE *file = std::fopen(argv[5], "rb");
    if (!file) {
        std::perror(argv[5]);
        return 2;
    }
    for (uint32_t address; std::fread(&address, sizeof address, 1, file) == 1;)
        bench.draw(address);
    std::fclose(file);
    bench.run();
    bench.print();
    return bench.wrong();
}
