// SPDX-License-Identifier: Apache-2.0
// The structures of a table of ternary rules, which its sources share.
#ifndef SLUICE_TERNARY_INTERNAL_H
#define SLUICE_TERNARY_INTERNAL_H

#include "ternary.h"

// Keys are padded to vectors of 8 words. The word behind the last one holds what a rule needs beside value and mask.
enum { LANES = 8, VECTORS = 3, PADDED = LANES * VECTORS };
enum { GROUPS = 1024, FILTERED = 31, CHUNK_RANKS = 7, PLACES = 4, MARKS = 4, HALF = 16 };
enum { SLACK = 32 };                                            // entries that a step may write behind a list
enum { FILTERS = 4, FILTER_LEVELS = 2, MOST_FILTER = 1 << 16 }; // 2 for each index word: of half of it, and of all
#define OTHERS (1U << FILTERED)

// Priority and id as one number: the larger one wins. 0: no rule.
static inline uint64_t rank_of(uint32_t priority, uint32_t id) {
    return (uint64_t)priority << 32 | (uint32_t)~id;
}
static inline uint32_t id_of(uint64_t rank) {
    return ~(uint32_t)rank;
}

// Rules of a bucket that has more than one, in descending order. A vector has the marks of all of them, and a look-up
// that finds none in them reads no further: what it needs of the list stands beside them.
struct chunk {
    // Of each rule, the lower halves of MARKS words as ranges, begin and length less one. Where a half is no range, it
    // is the whole of one: a mark leaves rules out, and never proves that one matches.
    _Alignas(64) uint64_t mark_first[CHUNK_RANKS];
    uint32_t next;       // chunk, or 0
    uint32_t count : 3;  // of ranks
    uint32_t total : 29; // of ranks in this bucket's chunks; in its first chunk only
    uint64_t mark_length[CHUNK_RANKS];
    uint64_t next_best; // the first rank of the next chunk, or 0
    uint64_t ranks[CHUNK_RANKS];
};

// Places for PLACES buckets, in one cache line. A bucket is in the line that the upper bits of its tag say, or, where
// lines are full, behind them. Buckets are told apart by their tags alone, since their rules are compared anyway.
struct line {
    _Alignas(64) uint32_t tags[PLACES]; // 0: the place is free
    uint32_t chunks[PLACES];            // with all rules; 0: there is only one
    uint64_t ranks[PLACES];             // of the best rule; of a free place some rule's
};

struct group {
    _Alignas(32) uint32_t mask[PADDED];
    uint64_t salt;
    uint32_t rules;
    uint32_t longest;  // bucket, at most, since the group was empty
    int8_t filters[2]; // which filter narrows it down, for each index word; -1: none
};

// How many rules of a group set its bit in an entry of a filter.
struct tally {
    uint32_t key; // entry and group, and 1 << 31; 0: free
    uint32_t count;
};

// Words of a rule, a vector of values and a vector of masks in turn. Of a range: its begin, and its length less one.
struct body {
    _Alignas(64) struct { uint32_t value[LANES], mask[LANES]; } vectors[1];
};

struct sluice_ternary {
    _Alignas(64) uint32_t range_lanes[PADDED]; // all ones, or 0
    uint32_t dead_lanes[PADDED];
    uint32_t secret[PADDED]; // of the hash
    // Of each filtered group, a priority that none of its rules exceeds.
    uint32_t best[FILTERED + 1];
    // Of each filter: the number of its word in a key, the bits that it has of it, what it multiplies, its first entry.
    uint32_t filter_words[FILTERS];
    uint32_t mark_words[MARKS]; // behind filter_words: one load takes both
    uint32_t filter_masks[FILTERS], filter_factors[FILTERS], filter_begins[FILTERS];
    struct sluice_ternary_layout layout;
    uint32_t capacity, rules, vectors;
    uint32_t line_mask, line_shift, tally_mask;
    uint32_t filter_shift;
    uint32_t always[2]; // groups that an index word does not narrow down
    uint32_t large;     // groups that are searched first
    uint64_t most_compares;
    struct body *bodies;
    struct line *lines;
    struct chunk *chunks;
    uint32_t free_chunk, made_chunks;
    struct group *groups;
    uint32_t group_end; // groups from here on are free
    uint32_t group_count;
    uint32_t changes;  // since `large` was chosen
    uint32_t *filters; // of half and of all of each index word, by hash: bitmap of groups
    struct tally *tallies;
    uint64_t size;
    void *memory;
    enum sluice_ternary_vectors kind, best_kind;
    uint64_t random_state;
};

static inline struct body *body_of(const struct sluice_ternary *table, uint32_t id) {
    return &table->bodies[(size_t)id * table->vectors];
}

// Where a rule keeps its priority (in `value`) and its group plus 1 (in `mask`), which is 0 while it is not in use.
static inline uint32_t *priority_word(const struct sluice_ternary *table, uint32_t id) {
    return &body_of(table, id)[table->layout.words / LANES].vectors->value[table->layout.words % LANES];
}
static inline uint32_t *group_word(const struct sluice_ternary *table, uint32_t id) {
    return &body_of(table, id)[table->layout.words / LANES].vectors->mask[table->layout.words % LANES];
}

// The lower halves of the words that chunks compare.
static inline uint64_t mark_of(const struct sluice_ternary *table, const uint32_t *key) {
    uint64_t mark = 0;
    for (unsigned i = 0; i < MARKS; i++)
        mark |= (uint64_t)(uint16_t)key[table->mark_words[i]] << i * HALF;
    return mark;
}

#define TAG_FACTOR 0x9e3779b97f4a7c15U

static inline uint32_t tag_of(uint64_t sum) {
    sum ^= sum >> 32;
    sum = sum * TAG_FACTOR >> 32;
    return (uint32_t)sum + (sum == 0);
}

// The line at which a search for a tag begins.
static inline uint32_t home_of(const struct sluice_ternary *table, uint32_t tag) {
    return tag >> table->line_shift;
}

// The entry of a filter for an index word. Filter 0 has the upper half of the first index word, filter 3 all of the
// second.
static inline uint32_t filter_entry(const struct sluice_ternary *table, unsigned filter, uint32_t word) {
    uint32_t prefix = word & table->filter_masks[filter];
    return table->filter_begins[filter] + (prefix * table->filter_factors[filter] >> table->filter_shift);
}
static inline void find_filters(const struct sluice_ternary *table, const uint32_t *key, uint32_t *entries) {
    for (unsigned filter = 0; filter < FILTERS; filter++)
        entries[filter] = filter_entry(table, filter, key[table->filter_words[filter]]);
}

// The tag of a padded key in a group: products of pairs of words (NH of UMAC), whose collisions do not depend on the
// keys but on the secret.
uint32_t ternary_tag(const struct sluice_ternary *table, const struct group *group, const uint32_t *key);
// Whether a rule has a padded key.
bool ternary_matches(const struct sluice_ternary *table, uint32_t id, const uint32_t *key);

uint32_t ternary_bucket_rules(const struct sluice_ternary *table, uint32_t tag);
void ternary_bucket_add(struct sluice_ternary *table, uint32_t tag, uint64_t rank);
void ternary_bucket_remove(struct sluice_ternary *table, uint32_t tag, uint64_t rank);

// The group for a new rule, whose covered bits are `mask`; it is made where needed.
uint32_t ternary_group_for(struct sluice_ternary *table, const uint32_t *value, const uint32_t *mask);
void ternary_group_add(struct sluice_ternary *table, uint32_t group, const uint32_t *value, uint32_t priority);
void ternary_group_remove(struct sluice_ternary *table, uint32_t group, const uint32_t *value);

void ternary_lookup_scalar(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids);
// Of keys of one vector, and of any.
void ternary_lookup_avx2(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids);
void ternary_lookup_avx2_long(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids);
// Of keys of one vector.
void ternary_lookup_avx512(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids);
bool ternary_has_avx2(void);
bool ternary_has_avx512(void);

#endif
