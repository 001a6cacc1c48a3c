// SPDX-License-Identifier: Apache-2.0
// Rules of the flow table in software: keys and masks as 64-bit words, a hash of them, an index of rules by that hash,
// action sets in half of their size. With tens of thousands of rules a lookup is a wait for memory, so all of it is
// made to touch few cache lines: the index one, as a rule.
#ifndef SLUICE_FLOW_HASH_H
#define SLUICE_FLOW_HASH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_layouts.h"

enum { SLUICE_FLOW_WORDS = (SLUICE_FLOW_KEY_BYTES + 7) / 8 };

// The bytes behind the end of a key are 0.
static inline void sluice_flow_words(uint64_t words[SLUICE_FLOW_WORDS], const uint8_t *key) {
    words[SLUICE_FLOW_WORDS - 1] = 0;
    memcpy(words, key, SLUICE_FLOW_KEY_BYTES);
}

static inline uint32_t sluice_flow_hash(const uint64_t words[SLUICE_FLOW_WORDS], uint64_t seed) {
    uint64_t hash = seed;
    for (unsigned i = 0; i < SLUICE_FLOW_WORDS; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15U;
        hash = hash << 31 | hash >> 33;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

// An open table with linear probing, half full at most. Several rules may have one hash.
struct sluice_flow_index {
    uint32_t mask; // slots less one
    struct {
        uint32_t hash;
        int32_t id; // -1: free
    } * slots;
};

static inline void sluice_flow_index_clear(struct sluice_flow_index *index) {
    memset(index->slots, 0xff, ((size_t)index->mask + 1) * sizeof *index->slots);
}

// For up to `limit` rules. 0 or -ENOMEM.
static inline int sluice_flow_index_new(struct sluice_flow_index *index, uint32_t limit) {
    uint32_t slots = 16;
    while (slots / 2 < limit)
        slots *= 2;
    index->mask = slots - 1;
    index->slots = malloc(slots * sizeof *index->slots);
    if (!index->slots)
        return -ENOMEM;
    sluice_flow_index_clear(index);
    return 0;
}

static inline void sluice_flow_index_fetch(const struct sluice_flow_index *index, uint32_t hash) {
    __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

// The next rule with this hash from the slot `*at` on, which begins as the hash; -1: there is none.
static inline int32_t sluice_flow_index_next(const struct sluice_flow_index *index, uint32_t hash, uint32_t *at) {
    for (;; ++*at) {
        const uint32_t slot = *at & index->mask;
        if (index->slots[slot].id < 0)
            return -1;
        if (index->slots[slot].hash == hash) {
            ++*at;
            return index->slots[slot].id;
        }
    }
}

static inline void sluice_flow_index_add(struct sluice_flow_index *index, uint32_t hash, int32_t id) {
    uint32_t at = hash & index->mask;
    while (index->slots[at].id >= 0)
        at = (at + 1) & index->mask;
    index->slots[at].hash = hash;
    index->slots[at].id = id;
}

// Of a rule that is there. What stands behind it and would not be found any more moves into its slot.
static inline void sluice_flow_index_remove(struct sluice_flow_index *index, uint32_t hash, int32_t id) {
    uint32_t at = hash & index->mask;
    while (index->slots[at].id != id)
        at = (at + 1) & index->mask;
    for (uint32_t next = at;;) {
        next = (next + 1) & index->mask;
        if (index->slots[next].id < 0)
            break;
        uint32_t home = index->slots[next].hash & index->mask;
        if (((next - home) & index->mask) < ((next - at) & index->mask))
            continue; // it stands between its home and the gap's end
        index->slots[at] = index->slots[next];
        at = next;
    }
    index->slots[at].id = -1;
}

static inline void sluice_flow_fold(uint32_t folded[SLUICE_ACTION_SLOTS], const struct sluice_action_set *actions) {
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        folded[i] = (uint32_t)actions->slots[i].opcode << 24 | (actions->slots[i].operand & 0xffffff);
}

static inline void sluice_flow_unfold(struct sluice_action_set *actions, const uint32_t folded[SLUICE_ACTION_SLOTS]) {
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        actions->slots[i] = (struct sluice_action){(uint8_t)(folded[i] >> 24), folded[i] & 0xffffff};
}

#endif
