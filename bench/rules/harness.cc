// SPDX-License-Identifier: Apache-2.0
// Feeds rules_harness (Verilated) instructions back to back through its FIFO, with a lookup in both tables in every
// cycle, and counts the cycles from response to response: a table filled from empty, rules updated, rules deleted with
// a new one populated behind each, all rules deleted. A response that is not OK is counted as refused. Arguments: exact
// (0, 1), table (0, 1), key bits, rules, updates, seed. Prints one JSON object.
#include "harness.h"
#include "Vrules_harness.h"

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

using harness::Key, harness::Rate;

struct Rule {
    Key value{}, mask{};
    uint16_t priority = 0;
};

class Bench : harness::Clocked<Vrules_harness> {
  public:
    Bench(bool exact, uint8_t table, unsigned bits, uint32_t rules, uint64_t seed)
        : exact(exact), table(table), bits(bits), rules(rules), random(seed) {
        reset();
        while (!top.ready_o)
            edge();
    }

    // Feeds `count` instructions and waits for their responses: cycles from response to response. `next` sets the rule
    // and gives kind and id.
    Rate run(uint64_t count, const std::function<uint8_t(uint64_t, uint32_t &)> &next) {
        Rate rate;
        uint64_t given = 0, answered = 0, last = 0;
        bool offered = false;
        while (answered < count) {
            if (!offered && given < count) {
                uint32_t id = 0;
                uint8_t kind = next(given, id);
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
                if (answered++ > 0)
                    rate.add(now - last);
                last = now;
            }
            edge();
        }
        return rate;
    }

    void all(uint64_t updates) {
        Rate populate = run(rules.size(), [&](uint64_t n, uint32_t &id) {
            id = static_cast<uint32_t>(n);
            rules[id] = new_rule();
            return SLUICE_INSTRUCTION_POPULATE;
        });
        Rate update = run(updates, [&](uint64_t, uint32_t &id) {
            id = static_cast<uint32_t>(random() % rules.size());
            if (!exact)
                rules[id] = new_rule();
            return SLUICE_INSTRUCTION_UPDATE;
        });
        Rate replace = run(updates, [&](uint64_t n, uint32_t &id) {
            if (n % 2 == 0)
                gone = static_cast<uint32_t>(random() % rules.size());
            else
                rules[gone] = new_rule();
            id = gone;
            return n % 2 == 0 ? SLUICE_INSTRUCTION_DELETE : SLUICE_INSTRUCTION_POPULATE;
        });
        Rate remove = run(rules.size(), [&](uint64_t n, uint32_t &id) {
            id = static_cast<uint32_t>(n);
            return SLUICE_INSTRUCTION_DELETE;
        });
        harness::print("key_bits", bits, "rules", rules.size(), "refused", refused, "lookups", looked, "lookup_hits",
                       hits, "populate_cycles", populate, "update_cycles", update, "delete_cycles", remove,
                       "delete_or_populate_cycles", replace);
    }

    uint64_t refused = 0;

  private:
    Key random_key() {
        Key key{};
        for (unsigned i = 0; i < key.size(); i++) {
            unsigned rest = 32 * i < bits ? bits - 32 * i : 0;
            key[i] = static_cast<uint32_t>(random()) & (rest >= 32 ? ~0U : (1U << rest) - 1);
        }
        return key;
    }

    Rule new_rule() {
        for (;;) {
            Rule rule;
            rule.value = random_key();
            rule.priority = static_cast<uint16_t>(exact ? 0 : 1 + random() % bits);
            unsigned lowest = exact ? 0 : bits - rule.priority;
            for (unsigned bit = lowest; bit < bits; bit++)
                rule.mask[bit / 32] |= 1U << bit % 32;
            for (unsigned i = 0; i < rule.value.size(); i++)
                rule.value[i] &= rule.mask[i];
            if (exact || taken.insert({rule.value, rule.priority}).second)
                return rule;
        }
    }

    void give(uint8_t kind, uint32_t id) {
        const Rule &rule = rules[id];
        sluice_instruction instruction{.rule_id = id, .rule_priority = rule.priority, .table_id = table, .kind = kind};
        for (sluice_action &action : instruction.actions.slots)
            action.operand = static_cast<uint32_t>(random()); // ACTION_NONE: nothing here executes
        harness::set_instruction(top.instruction_i, instruction, rule.value, rule.mask);
    }

    void look() {
        const Key &key = rules[random() % rules.size()].value;
        std::memcpy(&top.key_i[0], key.data(), sizeof key);
        top.key_valid_i = 1;
        looked++;
        hits += top.hit_o >> table & 1;
    }

    bool exact;
    uint8_t table;
    unsigned bits;
    std::vector<Rule> rules;
    std::mt19937_64 random;
    std::set<std::pair<Key, uint16_t>> taken;
    uint32_t gone = 0;
    uint64_t looked = 0, hits = 0;
};

} // namespace

int main(int count, char **arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: rules EXACT TABLE KEY_BITS RULES UPDATES SEED\n");
        return 2;
    }
    auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(arguments[i], nullptr, 0)); };
    Bench bench(number(1) != 0, uint8_t(number(2)), number(3), number(4), number(6));
    bench.all(number(5));
    return bench.refused ? 1 : 0;
}
