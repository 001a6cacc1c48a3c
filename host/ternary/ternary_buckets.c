// SPDX-License-Identifier: Apache-2.0
// The buckets of all groups: an open table of lines with linear probing, half full at most, and chunks of ranks.
#include "ternary_internal.h"

#include <string.h>

// Where a bucket is.
struct place {
    struct line *line;
    unsigned at;
};

// The place of a tag in a line, or PLACES.
static unsigned place_in(const struct line *line, uint32_t tag) {
    unsigned at = 0;
    while (at < PLACES && line->tags[at] != tag)
        at++;
    return at;
}

// The place of a bucket, or the free one for it.
static struct place place_of(const struct sluice_ternary *table, uint32_t tag) {
    for (uint32_t number = home_of(table, tag);; number = (number + 1) & table->line_mask) {
        struct line *line = &table->lines[number];
        unsigned at = place_in(line, tag);
        if (at < PLACES || (at = place_in(line, 0)) < PLACES)
            return (struct place){line, at};
    }
}

uint32_t ternary_bucket_rules(const struct sluice_ternary *table, uint32_t tag) {
    struct place place = place_of(table, tag);
    uint32_t chunk = place.line->chunks[place.at];
    return place.line->tags[place.at] == 0 ? 0 : chunk == 0 ? 1 : table->chunks[chunk].total;
}

// A chunk other than 0. There is one for two rules: a list of more than one chunk has more than CHUNK_RANKS ranks in
// any two that follow one another (`join_next`), and a list of one has two ranks or more.
static uint32_t new_chunk(struct sluice_ternary *table) {
    uint32_t chunk = table->free_chunk;
    if (chunk)
        table->free_chunk = table->chunks[chunk].next;
    else
        chunk = ++table->made_chunks;
    table->chunks[chunk] = (struct chunk){0};
    return chunk;
}

static void free_chunk(struct sluice_ternary *table, uint32_t chunk) {
    table->chunks[chunk].next = table->free_chunk;
    table->free_chunk = chunk;
}

// Rules of a chunk to a place in it or in another.
static void move(struct chunk *to, unsigned at, const struct chunk *from, unsigned first, unsigned count) {
    memmove(to->ranks + at, from->ranks + first, count * sizeof *to->ranks);
    memmove(to->mark_first + at, from->mark_first + first, count * sizeof *to->mark_first);
    memmove(to->mark_length + at, from->mark_length + first, count * sizeof *to->mark_length);
}

// The lower half of a word of a rule as a range, or all of one where it is none.
static void mark_half(const struct sluice_ternary *table, uint32_t id, unsigned word, uint16_t *first,
                      uint16_t *length) {
    const struct body *body = body_of(table, id) + word / LANES;
    uint32_t value = body->vectors->value[word % LANES], mask = body->vectors->mask[word % LANES];
    bool is_range = table->layout.ranges >> word & 1;
    uint32_t last = is_range ? value + mask : value | (~mask & UINT16_MAX);
    uint32_t differing = (value ^ last) & UINT16_MAX;
    bool is_good = is_range ? value >> HALF == last >> HALF : (differing & (differing + 1)) == 0;
    *first = is_good ? (uint16_t)value : 0;
    *length = is_good ? (uint16_t)(last - value) : UINT16_MAX;
}

static void put(const struct sluice_ternary *table, struct chunk *chunk, unsigned at, uint64_t rank) {
    chunk->ranks[at] = rank;
    chunk->mark_first[at] = chunk->mark_length[at] = 0;
    for (unsigned i = 0; i < MARKS; i++) {
        uint16_t first, length;
        mark_half(table, id_of(rank), table->mark_words[i], &first, &length);
        chunk->mark_first[at] |= (uint64_t)first << i * HALF;
        chunk->mark_length[at] |= (uint64_t)length << i * HALF;
    }
}

static void split(struct sluice_ternary *table, struct chunk *full) {
    uint32_t behind = new_chunk(table);
    struct chunk *upper = &table->chunks[behind];
    enum { KEPT = (CHUNK_RANKS + 1) / 2 };
    upper->next = full->next;
    upper->count = CHUNK_RANKS - KEPT;
    move(upper, 0, full, KEPT, CHUNK_RANKS - KEPT);
    full->next = behind;
    full->count = KEPT;
}

// The chunk of a list that has this rank or is the place for it.
static struct chunk *chunk_for(const struct sluice_ternary *table, uint32_t first, uint64_t rank,
                               struct chunk **before) {
    struct chunk *chunk = &table->chunks[first];
    *before = NULL;
    while (chunk->next && chunk->ranks[chunk->count - 1] > rank) {
        *before = chunk;
        chunk = &table->chunks[chunk->next];
    }
    return chunk;
}

// Joins a chunk with the next one if both fit, so that a list needs no more chunks than it has rules.
static void join_next(struct sluice_ternary *table, struct chunk *chunk) {
    struct chunk *next = &table->chunks[chunk->next];
    if (chunk->next == 0 || chunk->count + next->count > CHUNK_RANKS)
        return;
    uint32_t joined = chunk->next;
    move(chunk, chunk->count, next, 0, next->count);
    chunk->count = (chunk->count + next->count) & 7U;
    chunk->next = next->next;
    free_chunk(table, joined);
}

static void note_next(const struct sluice_ternary *table, struct chunk *chunk) {
    chunk->next_best = chunk->next ? table->chunks[chunk->next].ranks[0] : 0;
}

// After a change in a chunk, and in the next one where it was split.
static void tidy(struct sluice_ternary *table, struct chunk *before, struct chunk *chunk) {
    if (chunk->next) {
        struct chunk *next = &table->chunks[chunk->next];
        join_next(table, next);
        note_next(table, next);
    }
    note_next(table, chunk);
    if (before) {
        join_next(table, before);
        note_next(table, before);
    }
}

static void chunks_add(struct sluice_ternary *table, uint32_t first, uint64_t rank) {
    struct chunk *before, *chunk = chunk_for(table, first, rank, &before), *place = chunk;
    if (chunk->count == CHUNK_RANKS) {
        split(table, chunk);
        if (chunk->ranks[chunk->count - 1] > rank)
            place = &table->chunks[chunk->next];
    }
    unsigned at = place->count;
    while (at > 0 && place->ranks[at - 1] < rank)
        at--;
    move(place, at + 1, place, at, place->count - at);
    put(table, place, at, rank);
    place->count = (place->count + 1U) & 7U;
    table->chunks[first].total++;
    tidy(table, before, chunk);
}

static void chunks_remove(struct sluice_ternary *table, uint32_t first, uint64_t rank) {
    struct chunk *before, *chunk = chunk_for(table, first, rank, &before);
    unsigned at = 0;
    while (chunk->ranks[at] != rank)
        at++;
    chunk->count = (chunk->count - 1U) & 7U;
    move(chunk, at, chunk, at + 1, chunk->count - at);
    table->chunks[first].total--;
    join_next(table, chunk);
    tidy(table, before, chunk);
}

// A bucket of a line that could be in line `gap` as well, or PLACES.
static unsigned movable(const struct sluice_ternary *table, uint32_t number, uint32_t gap) {
    const struct line *line = &table->lines[number];
    for (unsigned at = 0; at < PLACES; at++) {
        uint32_t from_home = (number - home_of(table, line->tags[at])) & table->line_mask;
        if (line->tags[at] && from_home >= ((number - gap) & table->line_mask))
            return at;
    }
    return PLACES;
}

// Frees a place. A bucket behind a line that was full takes it, so that no search stops too early.
static void free_place(struct sluice_ternary *table, struct place free) {
    uint32_t gap = (uint32_t)(free.line - table->lines);
    bool was_full = place_in(free.line, 0) == PLACES;
    free.line->tags[free.at] = 0;
    for (uint32_t number = (gap + 1) & table->line_mask; was_full; number = (number + 1) & table->line_mask) {
        struct line *line = &table->lines[number];
        was_full = place_in(line, 0) == PLACES;
        unsigned at = movable(table, number, gap);
        if (at == PLACES)
            continue;
        free.line->tags[free.at] = line->tags[at];
        free.line->chunks[free.at] = line->chunks[at];
        free.line->ranks[free.at] = line->ranks[at];
        line->tags[at] = 0;
        free = (struct place){line, at};
        gap = number;
    }
}

void ternary_bucket_add(struct sluice_ternary *table, uint32_t tag, uint64_t rank) {
    struct place place = place_of(table, tag);
    uint32_t *chunk = &place.line->chunks[place.at];
    uint64_t *best = &place.line->ranks[place.at];
    if (place.line->tags[place.at] == 0) {
        place.line->tags[place.at] = tag;
        *chunk = 0;
        *best = rank;
        return;
    }
    if (*chunk == 0) {
        *chunk = new_chunk(table);
        chunks_add(table, *chunk, *best);
    }
    chunks_add(table, *chunk, rank);
    *best = table->chunks[*chunk].ranks[0];
}

void ternary_bucket_remove(struct sluice_ternary *table, uint32_t tag, uint64_t rank) {
    struct place place = place_of(table, tag);
    uint32_t *chunk = &place.line->chunks[place.at];
    if (*chunk == 0) {
        free_place(table, place);
        return;
    }
    chunks_remove(table, *chunk, rank);
    place.line->ranks[place.at] = table->chunks[*chunk].ranks[0];
    if (table->chunks[*chunk].total == 1) {
        free_chunk(table, *chunk);
        *chunk = 0;
    }
}
