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

// An open table with linear probing, at most two thirds full. Several rules may have one hash. So that nothing waits
// for memory, a lookup reads a byte of each slot, most often no more; and a removal asks for the memory that it needs
// and is done by the next change. Until then the rule is not found.
struct sluice_flow_slot {
    uint32_t hash;
    int32_t id;
};

struct sluice_flow_index {
    uint32_t mask; // slots less one
    struct sluice_flow_slot *slots;
    uint8_t *tags;                   // of the slots, behind them: 0 is a free one, others are of their hash
    struct sluice_flow_slot leaving; // id -1: none
};

static inline uint8_t sluice_flow_tag(uint32_t hash) {
    return hash >> 24 ? (uint8_t)(hash >> 24) : 1;
}

static inline void sluice_flow_index_clear(struct sluice_flow_index *index) {
    memset(index->slots, 0, ((size_t)index->mask + 1) * (sizeof *index->slots + 1));
    index->leaving.id = -1;
}

// For up to `limit` rules. 0 or -ENOMEM. To be freed: `slots`.
static inline int sluice_flow_index_new(struct sluice_flow_index *index, uint32_t limit) {
    uint32_t slots = 16;
    while (slots / 3 * 2 < limit)
        slots *= 2;
    index->mask = slots - 1;
    index->slots = malloc(slots * (sizeof *index->slots + 1));
    if (!index->slots)
        return -ENOMEM;
    index->tags = (uint8_t *)(index->slots + slots);
    sluice_flow_index_clear(index);
    return 0;
}

// Asks for the memory that a change of a rule with this hash needs.
static inline void sluice_flow_index_fetch(const struct sluice_flow_index *index, uint32_t hash) {
    __builtin_prefetch(&index->tags[hash & index->mask], 1);
    __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

// The next rule with this hash from the slot `*at` on, which begins as the hash; -1: there is none.
static inline int32_t sluice_flow_index_next(const struct sluice_flow_index *index, uint32_t hash, uint32_t *at) {
    for (const uint8_t tag = sluice_flow_tag(hash);; ++*at) {
        const uint32_t place = *at & index->mask;
        if (index->tags[place] == 0)
            return -1;
        if (index->tags[place] == tag && index->slots[place].hash == hash &&
            index->slots[place].id != index->leaving.id) {
            ++*at;
            return index->slots[place].id;
        }
    }
}

// What stands behind the rule that leaves and would not be found any more moves into its slot.
static inline void sluice_flow_index_settle(struct sluice_flow_index *index) {
    uint32_t at = index->leaving.hash & index->mask;
    if (index->leaving.id < 0)
        return;
    while (index->slots[at].id != index->leaving.id)
        at = (at + 1) & index->mask;
    for (uint32_t next = (at + 1) & index->mask; index->tags[next]; next = (next + 1) & index->mask) {
        uint32_t home = index->slots[next].hash & index->mask;
        if (((next - home) & index->mask) < ((next - at) & index->mask))
            continue; // it stands between its home and the gap's end
        index->slots[at] = index->slots[next];
        index->tags[at] = index->tags[next];
        at = next;
    }
    index->tags[at] = 0;
    index->leaving.id = -1;
}

static inline void sluice_flow_index_add(struct sluice_flow_index *index, uint32_t hash, int32_t id) {
    uint32_t at = hash & index->mask;
    sluice_flow_index_settle(index);
    while (index->tags[at])
        at = (at + 1) & index->mask;
    index->tags[at] = sluice_flow_tag(hash);
    index->slots[at] = (struct sluice_flow_slot){hash, id};
}

// Of a rule that is there.
static inline void sluice_flow_index_remove(struct sluice_flow_index *index, uint32_t hash, int32_t id) {
    sluice_flow_index_settle(index);
    sluice_flow_index_fetch(index, hash);
    index->leaving = (struct sluice_flow_slot){hash, id};
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
