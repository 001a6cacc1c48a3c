// SPDX-License-Identifier: Apache-2.0
// Groups of rules by masks, and the bitmaps that narrow them down.
//
// A rule goes into the group of a mask that is coarser than its own, so that there are few groups: of index words,
// all of them or the upper half; other words not at all. Where that bucket is crowded, or index words have too few
// bits, a level further. Beyond FILTERED groups, it goes into the finest one that covers it if there is room in its
// bucket.
#include "ternary_internal.h"

#include <string.h>

enum { ADDRESSES, WHOLE_RANGES, OTHER_WORDS, HALVES, EXACT, LEVELS };
enum { SELECTIVE = 16 }; // bits of the index words below which they are not used
enum { RECHOOSE = 256, LARGE_SHARE = 24 };

static const uint32_t crowded[LEVELS] = {64, 128, 128, 256, UINT32_MAX};

// Half of a word, all of it, or nothing.
static uint32_t whole_halves(uint32_t mask) {
    return mask == UINT32_MAX ? mask : mask >> 16 == UINT16_MAX ? UINT32_MAX << 16 : 0;
}

// The mask of a level. Returns whether the level is of use.
static bool coarse(const struct sluice_ternary *table, unsigned level, const uint32_t *mask, uint32_t *out) {
    const uint32_t *index = table->layout.index;
    memset(out, 0, PADDED * sizeof *out);
    if (level != ADDRESSES)
        memcpy(out, mask, table->layout.words * sizeof *out);
    if (level == EXACT)
        return true;
    out[index[0]] = whole_halves(mask[index[0]]);
    out[index[1]] = whole_halves(mask[index[1]]);
    bool is_selective = __builtin_popcount(out[index[0]]) + __builtin_popcount(out[index[1]]) >= SELECTIVE;
    for (unsigned i = 0; level == WHOLE_RANGES && i < table->layout.words; i++)
        if (table->range_lanes[i])
            out[i] = whole_halves(mask[i]);
    if ((level == WHOLE_RANGES || level == OTHER_WORDS) && !is_selective)
        out[index[0]] = out[index[1]] = 0;
    return level != ADDRESSES || is_selective;
}

static bool is_covered(const struct sluice_ternary *table, const uint32_t *mask, const uint32_t *by) {
    uint32_t missing = 0;
    for (unsigned i = 0; i < table->layout.words; i++)
        missing |= mask[i] & ~by[i];
    return missing == 0;
}

static uint64_t next_random(struct sluice_ternary *table) {
    uint64_t mixed = table->random_state += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    return mixed ^ mixed >> 31;
}

static int32_t find_group(const struct sluice_ternary *table, const uint32_t *mask) {
    for (uint32_t i = 0; i < table->group_end; i++)
        if (table->groups[i].rules && memcmp(table->groups[i].mask, mask, table->layout.words * sizeof *mask) == 0)
            return (int32_t)i;
    return -1;
}

static int8_t filter_for(unsigned index, uint32_t mask) {
    int halves = __builtin_popcount(whole_halves(mask)) / 16;
    return (int8_t)(halves == 0 ? -1 : (int)index * FILTER_LEVELS + halves - 1);
}

// Group 0 is kept for the empty mask, which covers every rule. -1: all are in use.
static int32_t make_group(struct sluice_ternary *table, const uint32_t *mask) {
    static const uint32_t zeros[PADDED];
    bool is_empty = memcmp(mask, zeros, sizeof zeros) == 0;
    uint32_t at = is_empty ? 0 : 1;
    while (!is_empty && at < table->group_end && table->groups[at].rules)
        at++;
    if (at == GROUPS)
        return -1;
    struct group *group = &table->groups[at];
    *group = (struct group){.salt = next_random(table), .filters = {-1, -1}};
    memcpy(group->mask, mask, sizeof group->mask);
    for (unsigned i = 0; i < 2 && at < FILTERED; i++)
        group->filters[i] = filter_for(i, mask[table->layout.index[i]]);
    if (at >= table->group_end)
        table->group_end = at + 1;
    return (int32_t)at;
}

static uint32_t bits_of(const struct sluice_ternary *table, const uint32_t *mask) {
    uint32_t bits = 0;
    for (unsigned word = 0; word < table->layout.words; word++)
        bits += (uint32_t)__builtin_popcount(mask[word]);
    return bits;
}

// The finest group that covers a mask and whose bucket has fewer rules than `most`; 0, if there is none.
static uint32_t finest_group(const struct sluice_ternary *table, const uint32_t *value, const uint32_t *mask,
                             uint32_t most) {
    uint32_t finest = 0, finest_bits = 0;
    for (uint32_t i = 1; i < table->group_end; i++) {
        const struct group *group = &table->groups[i];
        if (!group->rules || !is_covered(table, group->mask, mask))
            continue;
        uint32_t bits = bits_of(table, group->mask);
        if (bits > finest_bits && ternary_bucket_rules(table, ternary_tag(table, group, value)) < most) {
            finest = i;
            finest_bits = bits;
        }
    }
    return finest;
}

uint32_t ternary_group_for(struct sluice_ternary *table, const uint32_t *value, const uint32_t *mask) {
    uint32_t wanted[PADDED], other;
    for (unsigned level = ADDRESSES; level < LEVELS; level++) {
        if (!coarse(table, level, mask, wanted))
            continue;
        int32_t group = find_group(table, wanted);
        if (group < 0 && table->group_count >= FILTERED && (other = finest_group(table, value, mask, crowded[level])))
            return other;
        if (group < 0)
            group = make_group(table, wanted);
        if (group < 0)
            continue;
        if (ternary_bucket_rules(table, ternary_tag(table, &table->groups[group], value)) < crowded[level])
            return (uint32_t)group;
    }
    return finest_group(table, value, mask, UINT32_MAX);
}

static uint32_t tally_home(const struct sluice_ternary *table, uint32_t key) {
    return key * 0x9e3779b1U >> 7 & table->tally_mask;
}

static struct tally *tally_of(const struct sluice_ternary *table, uint32_t key) {
    uint32_t at = tally_home(table, key);
    while (table->tallies[at].key && table->tallies[at].key != key)
        at = (at + 1) & table->tally_mask;
    return &table->tallies[at];
}

static void free_tally(struct sluice_ternary *table, struct tally *freed) {
    struct tally *all = table->tallies;
    uint32_t gap = (uint32_t)(freed - all);
    for (uint32_t at = (gap + 1) & table->tally_mask; all[at].key; at = (at + 1) & table->tally_mask) {
        if (((at - tally_home(table, all[at].key)) & table->tally_mask) < ((at - gap) & table->tally_mask))
            continue;
        all[gap] = all[at];
        gap = at;
    }
    all[gap] = (struct tally){0};
}

// The groups that have many rules. A lookup tries them first, since most rules are found there.
static void choose_large(struct sluice_ternary *table) {
    table->large = 0;
    table->changes = 0;
    for (uint32_t i = 0; i < table->group_end && i < FILTERED; i++)
        if (table->groups[i].rules * LARGE_SHARE >= table->rules)
            table->large |= 1U << i;
}

static void set_filters(struct sluice_ternary *table, uint32_t group, const uint32_t *value, bool is_added) {
    for (unsigned i = 0; i < 2; i++) {
        int filter = table->groups[group].filters[i];
        if (filter < 0)
            continue;
        uint32_t entry = filter_entry(table, (unsigned)filter, value[table->layout.index[i]]);
        uint32_t key = 1U << 31 | entry << 5 | group;
        struct tally *tally = tally_of(table, key);
        tally->key = key;
        tally->count += is_added ? 1U : UINT32_MAX;
        if (is_added) {
            table->filters[entry] |= 1U << group;
        } else if (tally->count == 0) {
            table->filters[entry] &= ~(1U << group);
            free_tally(table, tally);
        }
    }
}

void ternary_group_add(struct sluice_ternary *table, uint32_t group, const uint32_t *value, uint32_t priority) {
    struct group *entered = &table->groups[group];
    uint32_t bit = group < FILTERED ? 1U << group : OTHERS;
    if (group >= table->group_end)
        table->group_end = group + 1;
    if (group < FILTERED && (entered->rules == 0 || priority > table->best[group]))
        table->best[group] = priority;
    for (unsigned i = 0; i < 2; i++)
        if (entered->filters[i] < 0)
            table->always[i] |= bit;
    set_filters(table, group, value, true);
    table->group_count += entered->rules++ == 0;
    if (++table->changes >= RECHOOSE)
        choose_large(table);
}

void ternary_group_remove(struct sluice_ternary *table, uint32_t group, const uint32_t *value) {
    struct group *left = &table->groups[group];
    set_filters(table, group, value, false);
    if (--left->rules)
        return;
    table->group_count--;
    table->most_compares -= left->longest;
    left->longest = 0;
    while (table->group_end && table->groups[table->group_end - 1].rules == 0)
        table->group_end--;
    for (unsigned i = 0; i < 2; i++) {
        table->always[i] &= group < FILTERED ? ~(1U << group) : UINT32_MAX;
        table->always[i] &= table->group_end <= FILTERED ? ~OTHERS : UINT32_MAX;
    }
}
