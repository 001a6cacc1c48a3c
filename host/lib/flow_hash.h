// SPDX-License-Identifier: Apache-2.0
// Rules of the flow table in software: keys and masks as 64-bit words, a hash of them, an index of rules by that hash,
// action sets in half of their size. With tens of thousands of rules a lookup is a wait for memory, so all of it is
// made to touch few cache lines.
#ifndef SLUICE_FLOW_HASH_H
#define SLUICE_FLOW_HASH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow_table.h"

// The bytes behind the end of a key are 0.
static inline void sluice_flow_words(uint64_t words[SLUICE_FLOW_WORDS], const uint8_t *key) {
    words[SLUICE_FLOW_WORDS - 1] = 0;
    memcpy(words, key, SLUICE_FLOW_KEY_BYTES);
}

static inline bool sluice_flow_same(const uint64_t a[SLUICE_FLOW_WORDS], const uint64_t b[SLUICE_FLOW_WORDS]) {
    uint64_t differs = 0;
    for (unsigned i = 0; i < SLUICE_FLOW_WORDS; i++)
        differs |= a[i] ^ b[i];
    return !differs;
}

// Pairs of words are multiplied independently of each other, so that the processor does them at once.
static inline uint64_t sluice_flow_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t sluice_flow_hash(const uint64_t words[SLUICE_FLOW_WORDS], uint64_t seed) {
    static const uint64_t salt[SLUICE_FLOW_WORDS] = {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU,
                                                     0xd6e8feb86659fd93U, 0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU,
                                                     0x8ebc6af09c88c6e3U, 0x589965cc75374cc3U};
    uint64_t hash = seed;
    for (unsigned i = 0; i < SLUICE_FLOW_WORDS; i += 2)
        hash ^= sluice_flow_mix(words[i] ^ salt[i], words[i + 1] ^ salt[i + 1]);
    hash = sluice_flow_mix(hash ^ salt[0], salt[1]);
    return (uint32_t)(hash ^ hash >> 32);
}
_Static_assert(SLUICE_FLOW_WORDS == 8, "pairs, and a salt for each word");

// An open table with linear probing, at most two thirds of it rules. Several rules may have one hash. A lookup reads a
// byte of each slot, most often no more, and a removal reads and writes only those bytes, which stay in the caches: it
// leaves a gap, over which lookups go on. When there are too many gaps, each change gives some back.
struct sluice_flow_slot {
    uint32_t hash;
    int32_t id;
};

struct sluice_flow_index {
    uint32_t mask; // slots less one
    struct sluice_flow_slot *slots;
    uint8_t *tags;        // of the slots, behind them: what is in it, or some bits of its rule's hash
    uint32_t *places;     // slots of the rules, by id; behind the tags
    uint32_t gaps, sweep; // how many there are; the slot that is looked at next to give one back
    uint32_t most;        // gaps; more are given back
};

enum { SLUICE_FLOW_SLOT_FREE, SLUICE_FLOW_SLOT_GAP, SLUICE_FLOW_SLOT_RULE, SLUICE_FLOW_SWEEP = 8 };

static inline uint8_t sluice_flow_tag(uint32_t hash) {
    uint8_t tag = (uint8_t)(hash >> 24);
    return tag < SLUICE_FLOW_SLOT_RULE ? (uint8_t)(tag + SLUICE_FLOW_SLOT_RULE) : tag;
}

static inline void sluice_flow_index_clear(struct sluice_flow_index *index) {
    memset(index->tags, SLUICE_FLOW_SLOT_FREE, (size_t)index->mask + 1);
    index->gaps = 0;
}

// For up to `limit` rules, ids below that. 0 or -ENOMEM. To be freed: `slots`.
static inline int sluice_flow_index_new(struct sluice_flow_index *index, uint32_t limit) {
    uint32_t slots = 16;
    while (slots / 3 * 2 < limit)
        slots *= 2;
    size_t size = slots * (sizeof *index->slots + 1) + limit * sizeof *index->places;
    *index = (struct sluice_flow_index){.mask = slots - 1, .slots = malloc(size), .most = slots / 16 * 13 - limit};
    if (index->most > slots / 4)
        index->most = slots / 4;
    if (!index->slots)
        return -ENOMEM;
    memset(index->slots, 0, size); // fetches the memory now, not when rules come
    index->tags = (uint8_t *)(index->slots + slots);
    index->places = (uint32_t *)(void *)(index->tags + slots);
    return 0;
}

// Asks for the memory that a new rule with this hash needs.
static inline void sluice_flow_index_fetch(const struct sluice_flow_index *index, uint32_t hash) {
    __builtin_prefetch(&index->tags[hash & index->mask], 1);
    __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

// Asks for the memory that the removal of a rule needs.
static inline void sluice_flow_index_fetch_rule(const struct sluice_flow_index *index, int32_t id) {
    __builtin_prefetch(&index->tags[index->places[id]], 1);
}

// The next rule with this hash from the slot `*at` on, which begins as the hash; -1: there is none.
static inline int32_t sluice_flow_index_next(const struct sluice_flow_index *index, uint32_t hash, uint32_t *at) {
    for (const uint8_t tag = sluice_flow_tag(hash);; ++*at) {
        const uint32_t place = *at & index->mask;
        if (index->tags[place] == SLUICE_FLOW_SLOT_FREE)
            return -1;
        if (index->tags[place] == tag && index->slots[place].hash == hash) {
            ++*at;
            return index->slots[place].id;
        }
    }
}

// What stands behind the gap and would not be found any more moves into it, until a slot is free.
static inline void sluice_flow_index_close(struct sluice_flow_index *index, uint32_t gap) {
    for (uint32_t next = (gap + 1) & index->mask; index->tags[next]; next = (next + 1) & index->mask) {
        uint32_t home = index->slots[next].hash & index->mask;
        if (index->tags[next] == SLUICE_FLOW_SLOT_GAP || ((next - home) & index->mask) < ((next - gap) & index->mask))
            continue; // nothing, or it stands between its home and the gap
        index->slots[gap] = index->slots[next];
        index->tags[gap] = index->tags[next];
        index->places[index->slots[gap].id] = gap;
        gap = next;
    }
    index->tags[gap] = SLUICE_FLOW_SLOT_FREE;
    index->gaps--;
}

// At each change. While the sweep passes all slots, an eighth of them can become gaps again; so a sixteenth is free,
// ever.
static inline void sluice_flow_index_tidy(struct sluice_flow_index *index) {
    for (unsigned n = 0; n < SLUICE_FLOW_SWEEP && index->gaps > index->most; n++) {
        uint32_t at = index->sweep++ & index->mask;
        if (index->tags[at] == SLUICE_FLOW_SLOT_GAP)
            sluice_flow_index_close(index, at);
    }
}

static inline void sluice_flow_index_add(struct sluice_flow_index *index, uint32_t hash, int32_t id) {
    uint32_t at = hash & index->mask;
    sluice_flow_index_tidy(index);
    while (index->tags[at] >= SLUICE_FLOW_SLOT_RULE)
        at = (at + 1) & index->mask;
    index->gaps -= index->tags[at] == SLUICE_FLOW_SLOT_GAP;
    index->tags[at] = sluice_flow_tag(hash);
    index->slots[at] = (struct sluice_flow_slot){hash, id};
    index->places[id] = at;
}

// Of a rule that is there. No gap is needed before a free slot. Without a branch, which nothing could predict.
static inline void sluice_flow_index_remove(struct sluice_flow_index *index, int32_t id) {
    uint32_t at = index->places[id];
    bool is_gap = index->tags[(at + 1) & index->mask] != SLUICE_FLOW_SLOT_FREE;
    index->tags[at] = is_gap ? SLUICE_FLOW_SLOT_GAP : SLUICE_FLOW_SLOT_FREE;
    index->gaps += is_gap;
    sluice_flow_index_tidy(index);
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
