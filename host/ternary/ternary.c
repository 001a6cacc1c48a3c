// SPDX-License-Identifier: Apache-2.0
// A table of ternary rules: memory, and changes.
#include "ternary_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

enum { MOST_RULES = 1 << 28, MOST_TALLIES = 1 << 25, ALIGNMENT = 64, LARGE_PAGE = 1 << 21 };

static bool is_range(const struct sluice_ternary *table, unsigned word) {
    return table->layout.ranges >> word & 1;
}

static bool is_sound(const struct sluice_ternary_layout *layout, uint32_t capacity) {
    return layout->words >= 1 && layout->words <= SLUICE_TERNARY_WORDS && layout->ranges >> layout->words == 0 &&
           layout->index[0] < layout->words && layout->index[1] < layout->words && capacity >= 1 &&
           capacity <= MOST_RULES;
}

static uint32_t power_of_two(uint64_t least) {
    uint32_t size = 16;
    while (size < least)
        size *= 2;
    return size;
}

// Gives a part of the memory away; with `memory` NULL it only counts.
static void *take(uint8_t *memory, size_t *used, size_t size) {
    void *taken = memory ? memory + *used : NULL;
    *used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return taken;
}

static size_t place(struct sluice_ternary *table, uint8_t *memory) {
    size_t used = 0, vectors = table->vectors, rules = table->capacity;
    table->lines = take(memory, &used, ((size_t)table->line_mask + 1) * sizeof *table->lines);
    table->filters = take(memory, &used, ((size_t)FILTERS << (32 - table->filter_shift)) * sizeof *table->filters);
    table->groups = take(memory, &used, GROUPS * sizeof *table->groups);
    table->bodies = take(memory, &used, rules * vectors * sizeof *table->bodies);
    table->chunks = take(memory, &used, (rules / 2 + 1) * sizeof *table->chunks);
    table->tallies = take(memory, &used, ((size_t)table->tally_mask + 1) * sizeof *table->tallies);
    return used;
}

static int set_secrets(struct sluice_ternary *table) {
    if (getrandom(table->secret, sizeof table->secret, 0) != sizeof table->secret ||
        getrandom(table->filter_factors, sizeof table->filter_factors, 0) != sizeof table->filter_factors ||
        getrandom(&table->random_state, sizeof table->random_state, 0) != sizeof table->random_state)
        return -EIO;
    return 0;
}

static void set_lanes(struct sluice_ternary *table) {
    for (unsigned i = 0; i < PADDED; i++) {
        table->range_lanes[i] = i < table->layout.words && is_range(table, i) ? UINT32_MAX : 0;
        table->dead_lanes[i] = i < table->layout.words ? 0 : UINT32_MAX;
    }
}

// The index words, and the last two words with ranges: ports, most of the time. Without ranges the first other words.
static void choose_marks(struct sluice_ternary *table) {
    const struct sluice_ternary_layout *layout = &table->layout;
    uint32_t index = 1U << layout->index[0] | 1U << layout->index[1];
    uint32_t ranges = layout->ranges, others = ~(ranges | index) & ((1U << layout->words) - 1);
    table->mark_words[0] = layout->index[0];
    table->mark_words[1] = layout->index[1];
    for (unsigned i = 2; i < MARKS; i++) {
        uint32_t word = ranges ? 31 - (uint32_t)__builtin_clz(ranges) : others ? (uint32_t)__builtin_ctz(others) : 0;
        table->mark_words[i] = word;
        ranges &= ~(1U << word);
        others &= ~(1U << word);
    }
}

static void set_filters(struct sluice_ternary *table) {
    for (unsigned i = 0; i < FILTERS; i++) {
        table->filter_words[i] = table->layout.index[i / FILTER_LEVELS];
        table->filter_masks[i] = i % FILTER_LEVELS ? UINT32_MAX : UINT32_MAX << HALF;
        table->filter_factors[i] |= 1;
        table->filter_begins[i] = i << (32 - table->filter_shift);
    }
}

static enum sluice_ternary_vectors best_kind(const struct sluice_ternary *table) {
    if (!ternary_has_avx2())
        return SLUICE_TERNARY_SCALAR;
    return table->vectors == 1 && ternary_has_avx512() ? SLUICE_TERNARY_AVX512 : SLUICE_TERNARY_AVX2;
}

int sluice_ternary_new(struct sluice_ternary **table, const struct sluice_ternary_layout *layout, uint32_t capacity) {
    *table = NULL;
    if (!is_sound(layout, capacity))
        return -EINVAL;
    struct sluice_ternary *made = aligned_alloc(ALIGNMENT, sizeof *made);
    if (!made)
        return -ENOMEM;
    uint32_t slots = power_of_two(2ULL * capacity); // half full at most
    *made =
        (struct sluice_ternary){.layout = *layout,
                                .capacity = capacity,
                                .vectors = layout->words / LANES + 1,
                                .line_mask = slots / PLACES - 1,
                                .line_shift = (uint32_t)__builtin_clz(slots / PLACES) + 1,
                                .filter_shift = (uint32_t)__builtin_clz(slots < MOST_FILTER ? slots : MOST_FILTER) + 1,
                                .tally_mask = (slots < MOST_TALLIES / 2 ? slots * 2 : MOST_TALLIES) - 1};
    size_t size = (place(made, NULL) + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (!(made->memory = aligned_alloc(LARGE_PAGE, size))) {
        free(made);
        return -ENOMEM;
    }
    madvise(made->memory, size, MADV_HUGEPAGE); // where there are some
    memset(made->memory, 0, size);
    place(made, made->memory);
    made->size = size + sizeof *made;
    for (size_t i = 0; i <= made->line_mask; i++)
        for (unsigned at = 0; at < PLACES; at++)
            made->lines[i].ranks[at] = rank_of(0, 0); // lookups prefetch its rule
    set_lanes(made);
    choose_marks(made);
    if (set_secrets(made) != 0) {
        sluice_ternary_free(made);
        return -EIO;
    }
    set_filters(made);
    made->kind = made->best_kind = best_kind(made);
    *table = made;
    return 0;
}

void sluice_ternary_free(struct sluice_ternary *table) {
    if (table)
        free(table->memory);
    free(table);
}

// The value of a rule, padded, and the bits that it compares: of a range, those that its ends share.
static bool read_rule(const struct sluice_ternary *table, const uint32_t *value, const uint32_t *mask,
                      uint32_t *read_value, uint32_t *covered) {
    for (unsigned i = 0; i < table->layout.words; i++) {
        uint32_t bits = mask[i];
        if (is_range(table, i)) {
            uint32_t differing = value[i] ^ mask[i];
            if (value[i] > mask[i])
                return false;
            bits = differing ? ~(UINT32_MAX >> __builtin_clz(differing)) : UINT32_MAX;
        }
        covered[i] = bits;
        read_value[i] = value[i] & bits;
    }
    return true;
}

static void write_body(struct sluice_ternary *table, uint32_t id, const uint32_t *value, const uint32_t *mask) {
    for (unsigned i = 0; i < table->layout.words; i++) {
        struct body *body = body_of(table, id) + i / LANES;
        body->vectors->value[i % LANES] = is_range(table, i) ? value[i] : value[i] & mask[i];
        body->vectors->mask[i % LANES] = is_range(table, i) ? mask[i] - value[i] : mask[i];
    }
}

// The value of a rule that is in use, as `read_rule` reads it but for bits that no mask of a group has.
static void stored_value(const struct sluice_ternary *table, uint32_t id, uint32_t *value) {
    for (unsigned i = 0; i < table->layout.words; i++)
        value[i] = body_of(table, id)[i / LANES].vectors->value[i % LANES];
}

int sluice_ternary_insert(struct sluice_ternary *table, uint32_t id, const uint32_t *value, const uint32_t *mask,
                          uint32_t priority) {
    uint32_t padded[PADDED] = {0}, covered[PADDED] = {0};
    if (id >= table->capacity || !read_rule(table, value, mask, padded, covered))
        return -EINVAL;
    if (*group_word(table, id))
        return -EEXIST;
    uint32_t group = ternary_group_for(table, padded, covered);
    struct group *entered = &table->groups[group];
    uint32_t tag = ternary_tag(table, entered, padded);
    uint32_t rules = ternary_bucket_rules(table, tag) + 1;
    uint32_t more = rules > entered->longest ? rules - entered->longest : 0;
    if (table->layout.limit && table->most_compares + more > table->layout.limit)
        return -ENOSPC;
    entered->longest += more;
    table->most_compares += more;
    write_body(table, id, value, mask);
    *priority_word(table, id) = priority;
    *group_word(table, id) = group + 1;
    ternary_bucket_add(table, tag, rank_of(priority, id));
    ternary_group_add(table, group, padded, priority);
    table->rules++;
    return 0;
}

int sluice_ternary_remove(struct sluice_ternary *table, uint32_t id) {
    uint32_t padded[PADDED] = {0};
    if (id >= table->capacity || !*group_word(table, id))
        return -ENOENT;
    uint32_t group = *group_word(table, id) - 1;
    stored_value(table, id, padded);
    ternary_bucket_remove(table, ternary_tag(table, &table->groups[group], padded),
                          rank_of(*priority_word(table, id), id));
    ternary_group_remove(table, group, padded);
    *group_word(table, id) = 0;
    table->rules--;
    return 0;
}

void sluice_ternary_lookup(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    if (table->kind == SLUICE_TERNARY_AVX512)
        ternary_lookup_avx512(table, keys, count, ids);
    else if (table->kind == SLUICE_TERNARY_AVX2 && table->vectors == 1)
        ternary_lookup_avx2(table, keys, count, ids);
    else if (table->kind == SLUICE_TERNARY_AVX2)
        ternary_lookup_avx2_long(table, keys, count, ids);
    else
        ternary_lookup_scalar(table, keys, count, ids);
}

struct sluice_ternary_stats sluice_ternary_stats(const struct sluice_ternary *table) {
    uint64_t most = table->most_compares < table->rules ? table->most_compares : table->rules;
    return (struct sluice_ternary_stats){.size = table->size,
                                         .rules = table->rules,
                                         .groups = table->group_count,
                                         .most_compares = (uint32_t)most,
                                         .kind = table->kind};
}

enum sluice_ternary_vectors sluice_ternary_vectorise(struct sluice_ternary *table, enum sluice_ternary_vectors most) {
    table->kind = most < table->best_kind ? most : table->best_kind;
    return table->kind;
}
