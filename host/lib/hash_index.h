// SPDX-License-Identifier: Apache-2.0
// The hash table of the host's side: an index of records by a hash of their key. The records and their keys stay with
// the user, who numbers them from 0; the index knows hash and number of each. Looking a key up:
//
//     uint32_t hash = sluice_hash_words(key, seed), at = hash;
//     for (int32_t id; (id = sluice_hash_index_next(&index, hash, &at)) >= 0;)
//         if (...the key of record `id` is the one...)
//             return id;
//
// It is an open table with linear probing, two thirds full at most. Several records may have one hash. With tens of
// thousands of records a lookup is a wait for memory, so it touches few cache lines: it reads a byte of each slot, its
// tag, most often no more. A removal reads and writes only tags and leaves a gap, over which lookups go on. When there
// are too many gaps, each removal closes some. An id must not be added twice, nor removed when it is not there. Not
// thread-safe.
#ifndef SLUICE_HASH_INDEX_H
#define SLUICE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SLUICE_HASH_WORDS = 8, SLUICE_HASH_INDEX_MOST = 1 << 30 };

struct sluice_hash_slot {
    uint32_t hash;
    int32_t id;
};

struct sluice_hash_index {
    uint32_t mask; // slots less one
    struct sluice_hash_slot *slots;
    uint8_t *tags;        // by slot: free, a gap, or some bits of its record's hash; in the same memory as `slots`
    uint32_t *places;     // slots of the records, by id; in the same memory
    uint32_t gaps, sweep; // how many there are; the slot at which the search for one to close goes on
    uint32_t most_gaps;   // more are closed
};

enum { SLUICE_HASH_TAG_FREE, SLUICE_HASH_TAG_GAP, SLUICE_HASH_TAG_RECORD };

// For up to `limit` records, ids below that. 0, or -ENOMEM, also above SLUICE_HASH_INDEX_MOST.
int sluice_hash_index_new(struct sluice_hash_index *index, uint32_t limit);
// Of one that was made, or is all 0.
void sluice_hash_index_free(struct sluice_hash_index *index);
// Removes all records.
void sluice_hash_index_clear(struct sluice_hash_index *index);
// Closes some gaps.
void sluice_hash_index_tidy(struct sluice_hash_index *index);

static inline uint64_t sluice_hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// Pairs of words are multiplied independently of each other, so that the processor does them at once.
static inline uint32_t sluice_hash_words(const uint64_t words[SLUICE_HASH_WORDS], uint64_t seed) {
    static const uint64_t salt[SLUICE_HASH_WORDS] = {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU,
                                                     0xd6e8feb86659fd93U, 0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU,
                                                     0x8ebc6af09c88c6e3U, 0x589965cc75374cc3U};
    uint64_t hash = seed;
    for (unsigned i = 0; i < SLUICE_HASH_WORDS; i += 2)
        hash ^= sluice_hash_mix(words[i] ^ salt[i], words[i + 1] ^ salt[i + 1]);
    hash = sluice_hash_mix(hash ^ salt[0], salt[1]);
    return (uint32_t)(hash ^ hash >> 32);
}

// Of a key of fixed size, which fits into the words.
static inline uint32_t sluice_hash_bytes(const void *key, size_t size, uint64_t seed) {
    uint64_t words[SLUICE_HASH_WORDS] = {0};
    memcpy(words, key, size < sizeof words ? size : sizeof words);
    return sluice_hash_words(words, seed);
}

static inline uint8_t sluice_hash_tag(uint32_t hash) {
    uint8_t tag = (uint8_t)(hash >> 24);
    return tag < SLUICE_HASH_TAG_RECORD ? (uint8_t)(tag + SLUICE_HASH_TAG_RECORD) : tag;
}

// Asks for the memory that a new record with this hash needs.
static inline void sluice_hash_index_fetch(const struct sluice_hash_index *index, uint32_t hash) {
    __builtin_prefetch(&index->tags[hash & index->mask], 1);
    __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

// Asks for the memory that the removal of a record needs.
static inline void sluice_hash_index_fetch_record(const struct sluice_hash_index *index, int32_t id) {
    __builtin_prefetch(&index->tags[index->places[id]], 1);
}

// The next record with this hash from the slot `*at` on, which begins as the hash; -1: there is none.
static inline int32_t sluice_hash_index_next(const struct sluice_hash_index *index, uint32_t hash, uint32_t *at) {
    for (const uint8_t tag = sluice_hash_tag(hash);; ++*at) {
        const uint32_t place = *at & index->mask;
        if (index->tags[place] == SLUICE_HASH_TAG_FREE)
            return -1;
        if (index->tags[place] == tag && index->slots[place].hash == hash) {
            ++*at;
            return index->slots[place].id;
        }
    }
}

static inline void sluice_hash_index_add(struct sluice_hash_index *index, uint32_t hash, int32_t id) {
    uint32_t at = hash & index->mask;
    while (index->tags[at] >= SLUICE_HASH_TAG_RECORD)
        at = (at + 1) & index->mask;
    index->gaps -= index->tags[at] == SLUICE_HASH_TAG_GAP;
    index->tags[at] = sluice_hash_tag(hash);
    index->slots[at] = (struct sluice_hash_slot){hash, id};
    index->places[id] = at;
}

// No gap is needed before a free slot. Without a branch, which nothing could predict.
static inline void sluice_hash_index_remove(struct sluice_hash_index *index, int32_t id) {
    uint32_t at = index->places[id];
    bool is_gap = index->tags[(at + 1) & index->mask] != SLUICE_HASH_TAG_FREE;
    index->tags[at] = is_gap ? SLUICE_HASH_TAG_GAP : SLUICE_HASH_TAG_FREE;
    index->gaps += is_gap;
    if (index->gaps > index->most_gaps)
        sluice_hash_index_tidy(index);
}

#endif
