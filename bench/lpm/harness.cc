// SPDX-License-Identifier: Apache-2.0
// Drives sl_lpm_table (Verilated): fills it with prefixes, then sends a key in every cycle while rules are updated,
// deleted and populated back to back, and compares every answer with a model that switches at op_commit_o. Most keys
// fall into prefixes that are there, are being written or were just changed. Arguments: key bits, entries, lookups,
// cycles of the speed run, seed, file for the rules of the full table (a line each: hexadecimal address, length).
// Prints one JSON object.
#include "harness.h"
#include "Vsl_lpm_table.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using Key = unsigned __int128;

struct Rule {
    Key value = 0, mask = 0;
    int length = -1; // -1: not there
};

struct Operation {
    uint8_t kind = SLUICE_INSTRUCTION_NONE;
    uint32_t id = 0;
    Rule rule;
};

struct Expected {
    uint64_t cycle;
    bool hit;
    uint32_t id;
};

template <typename Port> void set_key(Port &port, Key key) {
    if constexpr (std::is_integral_v<Port>) {
        port = static_cast<Port>(key);
    } else {
        for (int i = 0; i < 4; i++)
            port[i] = static_cast<uint32_t>(key >> 32 * i);
    }
}

class Bench : harness::Clocked<Vsl_lpm_table> {
  public:
    Bench(int bits, uint32_t entries, uint64_t seed) : bits(bits), rules(entries), random(seed) {
        reset();
        while (!top.ready_o)
            edge();
    }

    Key random_key() {
        Key key = 0;
        for (int i = 0; i < bits; i += 32)
            key |= Key(static_cast<uint32_t>(random())) << i;
        return key;
    }

    Rule new_rule() {
        for (;;) {
            Rule rule;
            // Half of the prefixes lie in one that is there: nesting is what makes the longest one matter.
            Key near = random_key();
            const Rule &other = rules[random() % rules.size()];
            if (other.length >= 0 && random() % 2)
                near = (near & ~other.mask) | other.value;
            rule.length = 1 + static_cast<int>(random() % bits);
            rule.mask = ~(rule.length == bits ? Key(0) : ~Key(0) >> (128 - bits + rule.length));
            if (bits < 128)
                rule.mask &= (Key(1) << bits) - 1;
            rule.value = near & rule.mask;
            if (taken.insert({rule.value, rule.length}).second)
                return rule;
        }
    }

    Key some_key() {
        uint64_t choice = random();
        if (choice % 8 == 0)
            return random_key();
        const Rule *rule = &rules[(choice >> 8) % rules.size()];
        if (choice % 8 < 4)
            rule = busy ? &operation.rule : &previous;
        Key key = rule->value | (random_key() & ~rule->mask);
        if (bits < 128)
            key &= (Key(1) << bits) - 1;
        if ((choice >> 4) % 8 == 0)
            key ^= Key(1) << (choice >> 40) % bits;
        return key;
    }

    // One cycle: inputs, answers and the model as they stand before the clock edge.
    void cycle(bool look) {
        Key key = look ? some_key() : 0;
        top.key_valid_i = look;
        if (look)
            set_key(top.key_i, key);
        top.op_valid_i = busy && !given;
        top.eval();
        if (top.op_commit_o)
            commit();
        if (top.op_done_o)
            finish();
        if (look)
            expected.push_back(find(key));
        if (top.result_valid_o)
            check();
        else if (!expected.empty() && latency && now - expected.front().cycle >= latency)
            stalls++;
        if (top.op_valid_i && top.op_ready_o)
            given = true;
        edge();
    }

    void start(uint8_t kind, uint32_t id) {
        operation = {kind, id, kind == SLUICE_INSTRUCTION_DELETE ? rules[id] : new_rule()};
        if (!writes.count)
            last_done = now;
        busy = true;
        given = false;
        auto length = static_cast<uint16_t>(operation.rule.length);
        harness::set_instruction(top.op_i, {.rule_id = id, .rule_priority = length, .kind = kind}, operation.rule.value,
                                 operation.rule.mask);
    }

    void fill() {
        for (uint32_t id = 0; id < rules.size(); id++) {
            start(SLUICE_INSTRUCTION_POPULATE, id);
            while (busy)
                cycle(false);
        }
    }

    void churn(uint64_t count) {
        uint64_t first = now, before = lookups;
        uint32_t gone = ~0u;
        while (lookups < before + count) {
            if (!busy) {
                uint32_t id = static_cast<uint32_t>(random() % rules.size());
                if (gone != ~0u) {
                    start(SLUICE_INSTRUCTION_POPULATE, gone);
                    gone = ~0u;
                } else if (random() % 4 == 0) {
                    gone = id;
                    start(SLUICE_INSTRUCTION_DELETE, id);
                } else {
                    start(SLUICE_INSTRUCTION_UPDATE, id);
                }
            }
            cycle(true);
        }
        churn_cycles = now - first;
        churn_lookups = lookups - before;
        churn_hits = hits;
        for (int i = 0; i < 64; i++)
            cycle(false);
        lost = expected.size();
    }

    double speed(uint64_t count) {
        std::vector<Key> keys(4096);
        for (Key &key : keys)
            key = some_key();
        auto begin = std::chrono::steady_clock::now();
        top.op_valid_i = 0;
        top.key_valid_i = 1;
        for (uint64_t i = 0; i < count; i++) {
            set_key(top.key_i, keys[i % keys.size()]);
            edge();
        }
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        return double(count) / took.count();
    }

    bool save(const char *path) const {
        FILE *file = std::fopen(path, "w");
        if (!file)
            return false;
        for (const Rule &rule : rules) {
            for (int i = bits - 4; i >= 0; i -= 4)
                std::fprintf(file, "%x", unsigned(rule.value >> i) & 15);
            std::fprintf(file, " %d\n", rule.length);
        }
        return std::fclose(file) == 0;
    }

    void print(double rate) const {
        harness::print("key_bits", bits, "entries", rules.size(), "lookups", churn_lookups, "hits", churn_hits,
                       "searches_per_cycle", double(churn_lookups) / double(churn_cycles - latency), "latency_cycles",
                       latency, "write_cycles", writes.most, "delete_cycles", deletes.most, "writes", writes.count,
                       "deletes", deletes.count, "write_cycles_average", writes.average(), "lookup_stalls_during_write",
                       stalls + lost, "wrong_results", wrong, "refused_operations", refused, "simulated_cycles_per_s",
                       uint64_t(rate));
    }

    bool good() const {
        return !wrong && !refused && !stalls && !lost;
    }

  private:
    void commit() {
        Rule &rule = rules[operation.id];
        previous = rule;
        if (operation.kind != SLUICE_INSTRUCTION_POPULATE)
            taken.erase({rule.value, rule.length});
        rule = operation.rule;
        if (operation.kind == SLUICE_INSTRUCTION_DELETE)
            rule.length = -1;
    }

    void finish() {
        if (top.op_status_o != SLUICE_STATUS_OK)
            refused++;
        // Write to write: from the end of the operation before to the end of this one, there is no gap between them.
        (operation.kind == SLUICE_INSTRUCTION_DELETE ? deletes : writes).add(now - last_done);
        last_done = now;
        busy = false;
    }

    Expected find(Key key) const {
        Expected best{now, false, 0};
        int length = -1;
        for (uint32_t id = 0; id < rules.size(); id++) {
            const Rule &rule = rules[id];
            if (rule.length > length && ((key ^ rule.value) & rule.mask) == 0) {
                length = rule.length;
                best.hit = true;
                best.id = id;
            }
        }
        return best;
    }

    void check() {
        if (expected.empty()) {
            wrong++;
            return;
        }
        Expected answer = expected.front();
        expected.pop_front();
        if (!latency)
            latency = now - answer.cycle;
        bool right = bool(top.result_hit_o) == answer.hit && (!answer.hit || top.result_id_o == answer.id) &&
                     now - answer.cycle == latency;
        if (!right)
            wrong++;
        lookups++;
        hits += answer.hit;
    }

    int bits;
    std::vector<Rule> rules;
    std::mt19937_64 random;
    std::set<std::pair<Key, int>> taken;
    std::deque<Expected> expected;
    Operation operation;
    Rule previous;
    bool busy = false, given = false;
    harness::Rate writes, deletes;
    uint64_t last_done = 0, latency = 0, lookups = 0, hits = 0, wrong = 0, stalls = 0, lost = 0, refused = 0;
    uint64_t churn_cycles = 0, churn_lookups = 0, churn_hits = 0;
};

} // namespace

int main(int count, char **arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: lpm KEY_BITS ENTRIES LOOKUPS SPEED_CYCLES SEED RULES_FILE\n");
        return 2;
    }
    Bench bench(std::atoi(arguments[1]), uint32_t(std::atoi(arguments[2])), std::strtoull(arguments[5], nullptr, 0));
    bench.fill();
    if (!bench.save(arguments[6])) {
        std::perror(arguments[6]);
        return 2;
    }
    bench.churn(std::strtoull(arguments[3], nullptr, 0));
    bench.print(bench.speed(std::strtoull(arguments[4], nullptr, 0)));
    return bench.good() ? 0 : 1;
}
