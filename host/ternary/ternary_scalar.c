// SPDX-License-Identifier: Apache-2.0
// Lookups on any processor, and what changes need of them.
#include <string.h>

#include "ternary_internal.h"

uint32_t ternary_tag(const struct sluice_ternary *table, const struct group *group, const uint32_t *key) {
    uint64_t sum = group->salt;
    for (unsigned i = 0; i < table->vectors * LANES; i += 2) {
        uint32_t even = (key[i] & group->mask[i]) + table->secret[i];
        uint32_t odd = (key[i + 1] & group->mask[i + 1]) + table->secret[i + 1];
        sum += (uint64_t)even * odd;
    }
    return tag_of(sum);
}

bool ternary_matches(const struct sluice_ternary *table, uint32_t id, const uint32_t *key) {
    const struct body *body = body_of(table, id);
    for (unsigned i = 0; i < table->layout.words; i++) {
        uint32_t value = body[i / LANES].vectors->value[i % LANES], mask = body[i / LANES].vectors->mask[i % LANES];
        if (table->range_lanes[i] ? key[i] - value > mask : (key[i] & mask) != value)
            return false;
    }
    return true;
}

typedef struct {
    uint32_t word[PADDED];
} words;

static void load_key(const struct sluice_ternary *table, const uint32_t *key, words *loaded) {
    *loaded = (words){0};
    memcpy(loaded->word, key, table->layout.words * sizeof *key);
}

static uint32_t key_tag(const struct sluice_ternary *table, const struct group *group, const words *key) {
    return ternary_tag(table, group, key->word);
}

static bool key_matches(const struct sluice_ternary *table, uint32_t id, const words *key) {
    return ternary_matches(table, id, key->word);
}

// Bit i: the mark of the chunk's rule i matches.
static uint32_t marked(const struct sluice_ternary *table, const struct chunk *chunk, const words *key) {
    const uint32_t own = key->word[table->mark_word];
    const bool is_range = table->layout.ranges >> table->mark_word & 1;
    uint32_t found = 0;
    for (unsigned rule = 0; rule < chunk->count; rule++) {
        uint32_t value = chunk->mark_value[rule], mask = chunk->mark_mask[rule];
        bool is_good = is_range ? own - value <= mask : (own & mask) == value;
        found |= (uint32_t)is_good << rule;
    }
    return found;
}

// Bit i: slot at + i has this tag.
static uint32_t find_tag(const struct sluice_ternary *table, uint32_t at, uint32_t tag) {
    uint32_t equal = 0;
    for (unsigned i = 0; i < LANES; i++)
        equal |= (uint32_t)(table->tags[at + i] == tag) << i;
    return equal;
}

// The filtered groups that can have a rule of at least this priority.
static uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority) {
    uint32_t better = 0;
    for (unsigned i = 0; i < FILTERED; i++)
        better |= (uint32_t)(table->best[i] >= priority) << i;
    return better;
}

#include "ternary_lookup.h"

void ternary_lookup_scalar(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    lookup_all(table, keys, count, ids);
}
