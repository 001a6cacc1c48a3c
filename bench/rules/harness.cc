// SPDX-License-Identifier: Apache-2.0
// Feeds rules_harness (Verilated) instructions back to back through its FIFO, with a lookup in both tables in every
// cycle, and counts the cycles from response to response: a table filled from empty, rules updated, rules deleted with
// a new one populated behind each, all rules deleted. A response that is not OK is counted as refused. Arguments: exact
// (0, 1), table (0, 1), key bits, rules, updates, seed. Prints one JSON object.
#include "Vrules_harness.h"
#include "verilated.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

enum : uint32_t { POPULATE = 2, DELETE = 3, UPDATE = 4 };
constexpr unsigned KEY_WORDS = 10, VALUE_WORD = 2, MASK_WORD = 12, ACTION_WORD = 22, WORDS = 30;

using Key = std::array<uint32_t, KEY_WORDS>;

struct Rule {
    Key value{}, mask{};
    uint32_t priority = 0;
};

struct Phase {
    double average = 0;
    uint64_t most = 0, count = 0;
};

class Bench {
  public:
    Bench(bool exact, uint32_t table, unsigned bits, uint32_t rules, uint64_t seed)
        : exact(exact), table(table), bits(bits), rules(rules), random(seed) {
        top.rst_i = 1;
        for (int i = 0; i < 4; i++)
            edge();
        top.rst_i = 0;
        while (!top.ready_o)
            edge();
    }

    // Feed `count` instructions and wait for their responses. `next` sets the rule and gives kind and id.
    Phase run(uint64_t count, const std::function<uint32_t(uint64_t, uint32_t &)> &next) {
        uint64_t given = 0, answered = 0, first = 0, last = 0, most = 0;
        bool offered = false;
        while (answered < count) {
            if (!offered && given < count) {
                uint32_t id = 0, kind = next(given, id);
                give(kind, id);
                offered = true;
            }
            top.instruction_valid_i = offered;
            look();
            top.eval();
            if (offered && top.instruction_ready_o) {
                offered = false;
                given++;
            }
            if (top.response_valid_o) {
                if ((top.response_o >> 8 & 0xff) != 0)
                    refused++;
                if (answered++ == 0)
                    first = now;
                else if (now - last > most)
                    most = now - last;
                last = now;
            }
            edge();
        }
        return {count > 1 ? double(last - first) / double(count - 1) : 0, most, count};
    }

    void all(uint64_t updates) {
        Phase populate = run(rules.size(), [&](uint64_t n, uint32_t &id) {
            id = static_cast<uint32_t>(n);
            rules[id] = new_rule();
            return POPULATE;
        });
        Phase update = run(updates, [&](uint64_t, uint32_t &id) {
            id = static_cast<uint32_t>(random() % rules.size());
            if (!exact)
                rules[id] = new_rule();
            return UPDATE;
        });
        Phase replace = run(updates, [&](uint64_t n, uint32_t &id) {
            if (n % 2 == 0)
                gone = static_cast<uint32_t>(random() % rules.size());
            else
                rules[gone] = new_rule();
            id = gone;
            return n % 2 == 0 ? DELETE : POPULATE;
        });
        Phase remove = run(rules.size(), [&](uint64_t n, uint32_t &id) {
            id = static_cast<uint32_t>(n);
            return DELETE;
        });
        std::printf("{\"key_bits\": %u, \"rules\": %zu, \"refused\": %llu, \"lookups\": %llu, \"lookup_hits\": %llu, "
                    "%s, %s, %s, %s}\n",
                    bits, rules.size(), (unsigned long long)refused, (unsigned long long)looked,
                    (unsigned long long)hits, text("populate", populate).c_str(), text("update", update).c_str(),
                    text("delete", remove).c_str(), text("delete_or_populate", replace).c_str());
    }

    uint64_t refused = 0;

  private:
    static std::string text(const char *name, const Phase &phase) {
        char line[128];
        std::snprintf(line, sizeof line, "\"%s_cycles\": {\"average\": %.3f, \"max\": %llu, \"count\": %llu}", name,
                      phase.average, (unsigned long long)phase.most, (unsigned long long)phase.count);
        return line;
    }

    void edge() {
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        top.eval();
        now++;
    }

    Key random_key() {
        Key key{};
        for (unsigned i = 0; i < KEY_WORDS; i++) {
            unsigned rest = 32 * i < bits ? bits - 32 * i : 0;
            key[i] = static_cast<uint32_t>(random()) & (rest >= 32 ? ~0U : (1U << rest) - 1);
        }
        return key;
    }

    Rule new_rule() {
        for (;;) {
            Rule rule;
            rule.value = random_key();
            rule.priority = exact ? 0 : 1 + static_cast<uint32_t>(random() % bits);
            unsigned lowest = exact ? 0 : bits - rule.priority;
            for (unsigned bit = lowest; bit < bits; bit++)
                rule.mask[bit / 32] |= 1U << bit % 32;
            for (unsigned i = 0; i < KEY_WORDS; i++)
                rule.value[i] &= rule.mask[i];
            if (exact || taken.insert({rule.value, rule.priority}).second)
                return rule;
        }
    }

    void give(uint32_t kind, uint32_t id) {
        const Rule &rule = rules[id];
        top.instruction_i[0] = kind | table << 8 | rule.priority << 16;
        top.instruction_i[1] = id;
        for (unsigned i = 0; i < KEY_WORDS; i++) {
            top.instruction_i[VALUE_WORD + i] = rule.value[i];
            top.instruction_i[MASK_WORD + i] = rule.mask[i];
        }
        for (unsigned i = ACTION_WORD; i < WORDS; i++)
            top.instruction_i[i] = static_cast<uint32_t>(random());
    }

    void look() {
        const Key &key = rules[random() % rules.size()].value;
        std::memcpy(&top.key_i[0], key.data(), sizeof key);
        top.key_valid_i = 1;
        looked++;
        hits += top.hit_o >> table & 1;
    }

    Vrules_harness top;
    bool exact;
    uint32_t table;
    unsigned bits;
    std::vector<Rule> rules;
    std::mt19937_64 random;
    std::set<std::pair<Key, uint32_t>> taken;
    uint32_t gone = 0;
    uint64_t now = 0, looked = 0, hits = 0;
};

} // namespace

int main(int count, char **arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: rules EXACT TABLE KEY_BITS RULES UPDATES SEED\n");
        return 2;
    }
    auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(arguments[i], nullptr, 0)); };
    Bench bench(number(1) != 0, number(2), number(3), number(4), number(6));
    bench.all(number(5));
    return bench.refused ? 1 : 0;
}
