// SPDX-License-Identifier: Apache-2.0
// Where the rules of the flow table are: what the rule manager (flow_rules.c) keeps of each, and the choice of its
// place (flow_places.c).
#ifndef SLUICE_FLOW_PLACES_H
#define SLUICE_FLOW_PLACES_H

#include "flow_table.h"
#include "flow_words.h"
#include "hash_index.h"

enum { NONE = -1, KEY = SLUICE_FLOW_KEY_BYTES, WORDS = SLUICE_FLOW_WORDS, LINE = 64 };

// Two cache lines: with tens of thousands of rules nearly all of what a change costs is memory that no cache holds.
struct rule {
    uint64_t value[WORDS];                 // masked
    uint32_t actions[SLUICE_ACTION_SLOTS]; // folded
    uint32_t hash, rule_id;
    int32_t mask;           // NONE: there is no such rule
    int32_t before, behind; // in the list of its place
    uint16_t rule_priority;
    uint8_t table_id, group;
    bool has_moved;   // it has counted at earlier places
    uint32_t version; // odd while it changes; for threads that read places meanwhile
};
_Static_assert(sizeof(struct rule) == 2 * LINE, "two cache lines");
_Static_assert((int)SLUICE_FLOW_WORDS == (int)SLUICE_HASH_WORDS, "keys are hashed whole");

struct mask {
    uint64_t bits[WORDS];
    uint32_t hash, rules, ternary;
};

struct place { // a group, or the TCAM
    int32_t first, mask;
    uint32_t rules;
    bool is_full; // it refused a rule, and none has left it since
};

struct ids { // a stack of free numbers
    uint32_t *free;
    uint32_t count;
};

struct sluice_flow_rules {
    struct sluice_flow_table table;
    uint32_t limit, masks;             // that there can be
    uint64_t unread[WORDS];            // bits of a key that the device does not read
    struct rule *rules;                // by handle
    struct sluice_rule_counters *base; // by handle: counted at earlier places
    struct mask *mask;
    int32_t recent;                 // mask of the last new rule
    struct place *places;           // the groups, then the TCAM
    struct sluice_hash_index index; // of the rules by value and mask
    struct ids handles, ids[2];
};

static inline int take(struct ids *ids) {
    return ids->count ? (int)ids->free[--ids->count] : NONE;
}

static inline void give(struct ids *ids, uint32_t number) {
    ids->free[ids->count++] = number;
}

static inline struct place *place_of(const struct sluice_flow_rules *rules, uint8_t table_id, uint8_t group) {
    return &rules->places[table_id == SLUICE_TABLE_HASHED ? group : rules->table.groups];
}

// Around every change of what sluice_flow_rule_peek reads of a rule: mask, place, has_moved, base. All of these are
// stored as atomics: the reader may see any mixture of them, and finds by the version that it did.
static inline void begin_change(struct rule *rule) {
    __atomic_store_n(&rule->version, rule->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void end_change(struct rule *rule) {
    __atomic_store_n(&rule->version, rule->version + 1, __ATOMIC_RELEASE);
}

static inline void show_place(struct rule *rule, const struct sluice_flow_operation *op) {
    __atomic_store_n(&rule->table_id, op->table_id, __ATOMIC_RELAXED);
    __atomic_store_n(&rule->rule_id, op->rule_id, __ATOMIC_RELAXED);
    rule->group = op->group;
}

// The table's word for an operation.
static inline int run(struct sluice_flow_rules *rules, uint8_t kind, struct sluice_flow_operation *op) {
    op->kind = kind;
    return rules->table.execute(rules->table.context, op);
}

// What the rule is and where: an operation but for its kind.
struct sluice_flow_operation sluice_flow_operation_of(const struct sluice_flow_rules *rules, const struct rule *rule);

// Into the list of its place, and out of it.
void sluice_flow_link(struct sluice_flow_rules *rules, int32_t handle);
void sluice_flow_unlink(struct sluice_flow_rules *rules, const struct rule *rule);

// Adds what a place counted. 0, or the table's error.
int sluice_flow_add_counters(const struct sluice_flow_rules *rules, uint8_t table_id, uint32_t rule_id,
                             struct sluice_rule_counters *sum);

// Populates an operation in the first place that takes it: groups of the mask, a free group, the TCAM. 0; -ENOSPC: none
// does; or the table's error.
int sluice_flow_find_place(struct sluice_flow_rules *rules, struct sluice_flow_operation *op, int32_t mask);

// Moves rules of the TCAM into a group, where one is free or should be.
void sluice_flow_grow(struct sluice_flow_rules *rules);

#endif
