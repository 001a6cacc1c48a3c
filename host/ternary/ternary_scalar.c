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

// The padded key, its mark, and where it is in the filters.
static void prepare_key(const struct sluice_ternary *table, const uint32_t *key, words *padded, uint64_t *mark,
                        uint32_t *entries) {
    *padded = (words){0};
    memcpy(padded->word, key, table->layout.words * sizeof *key);
    *mark = mark_of(table, key);
    find_filters(table, key, entries);
}

// The tags of four keys in four groups.
static void find_tags_4(const struct sluice_ternary *table, const words *keys, const uint16_t *numbers,
                        const uint16_t *groups, uint32_t *tags) {
    for (unsigned i = 0; i < 4; i++)
        tags[i] = ternary_tag(table, &table->groups[groups[i]], keys[numbers[i]].word);
}

static bool key_matches(const struct sluice_ternary *table, uint32_t id, const words *key) {
    return ternary_matches(table, id, key->word);
}

// Bit i: the key's mark is in that of the chunk's rule i.
static uint32_t marked(const struct chunk *chunk, uint64_t mark) {
    uint32_t found = 0;
    for (unsigned rule = 0; rule < chunk->count; rule++) {
        bool is_good = true;
        for (unsigned at = 0; at < MARKS * HALF; at += HALF)
            is_good &= (uint16_t)((mark >> at) - (chunk->mark_first[rule] >> at)) <=
                       (uint16_t)(chunk->mark_length[rule] >> at);
        found |= (uint32_t)is_good << rule;
    }
    return found;
}

// Bit i: the tag of place i.
static uint32_t find_tag(const struct line *line, uint32_t tag) {
    uint32_t equal = 0;
    for (unsigned i = 0; i < PLACES; i++)
        equal |= (uint32_t)(line->tags[i] == tag) << i;
    return equal;
}

// The filtered groups that can have a rule of at least this priority.
static uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority) {
    uint32_t better = 0;
    for (unsigned i = 0; i < FILTERED; i++)
        better |= (uint32_t)(table->best[i] >= priority) << i;
    return better;
}

// A probe for each group of a bitmap.
static void add_probes(uint16_t *probe_groups, uint16_t *probe_keys, uint32_t groups, uint32_t key) {
    for (; groups; groups &= groups - 1) {
        *probe_groups++ = (uint16_t)__builtin_ctz(groups);
        *probe_keys++ = (uint16_t)key;
    }
}

#include "ternary_lookup.h"

void ternary_lookup_scalar(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    lookup_all(table, keys, count, ids);
}
