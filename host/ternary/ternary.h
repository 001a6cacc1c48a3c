// SPDX-License-Identifier: Apache-2.0
// A table of ternary rules for CPUs: masks, port ranges, priorities. It is fast to look up and fast to change.
//
// A key is an array of 32-bit words. A rule gives each word a value and a mask, or, where the layout says so, a range.
// The rule with the highest priority wins; of equal priorities, the one with the lowest id. The user numbers the rules.
//
// How it works. Rules are sorted into groups. A group has a mask that every rule of it covers, so the bits of a key
// under that mask name one bucket of the group. One hash table holds the buckets of all groups. A bucket has the rank
// of its best rule beside its tag, and more rules than one in chunks of seven, in descending order, with halves of four
// words of each to compare by two vectors. Two index words of a key narrow down the groups: for the upper half and for
// all of each there are bitmaps of the groups that have a rule with that prefix. A lookup hashes the key under the mask
// of each group that is left, and compares the rules of the buckets that exist. Lookups go in batches, whose memory
// accesses overlap.
//
// Bounds. All memory is allocated when the table is made; `sluice_ternary_stats` gives its size. A change moves no rule
// but its own: its time is that of a few cache misses, plus one per 7 rules of its bucket. A lookup reads a line for
// each group, 1,024 at most, and compares at most `most_compares` rules, which the statistics give; with a `limit` on
// it, rules that would exceed it are refused. The hash is keyed by random numbers.
//
// Not thread-safe: a table belongs to one thread, which looks up and changes it in turn.
// Design and measurements: docs/design/ternary_cpu.md.
#ifndef SLUICE_TERNARY_H
#define SLUICE_TERNARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLUICE_TERNARY_WORDS = 23, SLUICE_TERNARY_MISS = -1 };

// Instructions that lookups use: of a processor with AVX-512 BW, VL and VBMI2, and keys of up to 7 words, the last.
enum sluice_ternary_vectors { SLUICE_TERNARY_SCALAR, SLUICE_TERNARY_AVX2, SLUICE_TERNARY_AVX512 };

struct sluice_ternary;

struct sluice_ternary_layout {
    uint32_t words;    // of a key, 1 to SLUICE_TERNARY_WORDS
    uint32_t ranges;   // bit i: word i is matched by a range
    uint32_t index[2]; // the two words whose prefixes distinguish most rules, such as addresses
    uint32_t limit;    // of `most_compares`; 0: none
};

struct sluice_ternary_stats {
    uint64_t size;          // bytes, fixed
    uint32_t rules, groups; // in use
    uint32_t most_compares; // rules that a lookup compares at most
    enum sluice_ternary_vectors kind;
};

// For up to `capacity` rules, at most 2^28, with ids below that. 0, -EINVAL, -ENOMEM, or -EIO: no random numbers.
int sluice_ternary_new(struct sluice_ternary **table, const struct sluice_ternary_layout *layout, uint32_t capacity);
// Of one that was made, or NULL.
void sluice_ternary_free(struct sluice_ternary *table);

// Words of `value` and `mask` are those of the layout; for a range, its first and its last value. Bits of a value
// outside its mask are ignored. 0; -EINVAL: id too large, or a range ends before it begins; -EEXIST: the id is in use;
// -ENOSPC: beyond the layout's limit. A table is unchanged after an error.
int sluice_ternary_insert(struct sluice_ternary *table, uint32_t id, const uint32_t *value, const uint32_t *mask,
                          uint32_t priority);
// 0, or -ENOENT.
int sluice_ternary_remove(struct sluice_ternary *table, uint32_t id);

// For each of `count` keys, one behind the other without gaps, the id of its rule or SLUICE_TERNARY_MISS.
void sluice_ternary_lookup(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids);

struct sluice_ternary_stats sluice_ternary_stats(const struct sluice_ternary *table);

// Lookups use these instructions from now on, or fewer where the processor or the layout has no use for them; by
// default, the most. Returns which.
enum sluice_ternary_vectors sluice_ternary_vectorise(struct sluice_ternary *table, enum sluice_ternary_vectors most);

#endif
