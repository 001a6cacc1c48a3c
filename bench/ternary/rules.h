// SPDX-License-Identifier: Apache-2.0
// What the contenders of the benchmark share: rules of 5-tuples, headers, and a contender's functions.
#ifndef SLUICE_BENCH_TERNARY_RULES_H
#define SLUICE_BENCH_TERNARY_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum { SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, FIELDS };

struct header {
    uint32_t fields[FIELDS]; // host order
};

// Value and mask of a field; of a port, its first and last value. A rule's number is its place in the file; the first
// rule has the highest priority.
struct rule {
    uint32_t value[FIELDS], mask[FIELDS];
};

static inline bool is_port(unsigned field) {
    return field == SOURCE_PORT || field == DESTINATION_PORT;
}

static inline bool rule_has(const struct rule *rule, const struct header *header) {
    bool has = true;
    for (unsigned i = 0; i < FIELDS; i++) {
        uint32_t field = header->fields[i];
        has &=
            is_port(i) ? field >= rule->value[i] && field <= rule->mask[i] : (field & rule->mask[i]) == rule->value[i];
    }
    return has;
}

static inline unsigned prefix_length(uint32_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

// Tuple space search, our own plain implementation of two published classifiers, as dynamic rivals.
struct tuple_space;

// With `merges`, tables take rules of finer masks too, as in TupleMerge; else one mask a table, as in Open vSwitch.
// Both search tables in descending order of their best priority and stop when no better rule can come; Open vSwitch's
// way also skips tables whose prefixes a trie excludes.
struct tuple_space *tuple_space_new(bool merges, const struct rule *rules, uint32_t count);
void tuple_space_insert(struct tuple_space *space, uint32_t number);
void tuple_space_remove(struct tuple_space *space, uint32_t number);
void tuple_space_lookup(const struct tuple_space *space, const struct header *headers, uint32_t count,
                        int32_t *numbers);
uint32_t tuple_space_tables(const struct tuple_space *space);

#endif
