// SPDX-License-Identifier: Apache-2.0
// The buckets of all groups: an open table of slots with linear probing, half full at most, and chunks of ranks.
#include "ternary_internal.h"

#include <string.h>

// The slot of a bucket, or the free one at which a search for it ends.
static uint32_t slot_of(const struct sluice_ternary *table, uint32_t tag) {
    uint32_t at = home_of(table, tag);
    while (table->tags[at] != 0 && table->tags[at] != tag)
        at = (at + 1) & table->slot_mask;
    return at;
}

static void set_tag(struct sluice_ternary *table, uint32_t at, uint32_t tag) {
    table->tags[at] = tag;
    if (at < LANES)
        table->tags[table->slot_mask + 1 + at] = tag;
}

uint32_t ternary_bucket_rules(const struct sluice_ternary *table, uint32_t tag) {
    uint32_t at = slot_of(table, tag);
    return table->tags[at] == 0 ? 0 : table->slots[at].chunk == 0 ? 1 : 1 + table->chunks[table->slots[at].chunk].total;
}

// A chunk other than 0; there is one for each rule.
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
    memmove(to->mark_value + at, from->mark_value + first, count * sizeof *to->mark_value);
    memmove(to->mark_mask + at, from->mark_mask + first, count * sizeof *to->mark_mask);
}

static void put(const struct sluice_ternary *table, struct chunk *chunk, unsigned at, uint64_t rank) {
    chunk->ranks[at] = rank;
    const struct body *body = body_of(table, id_of(rank)) + table->mark_word / LANES;
    chunk->mark_value[at] = body->vectors->value[table->mark_word % LANES];
    chunk->mark_mask[at] = body->vectors->mask[table->mark_word % LANES];
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

static void chunks_add(struct sluice_ternary *table, struct slot *slot, uint64_t rank) {
    if (slot->chunk == 0)
        slot->chunk = new_chunk(table);
    struct chunk *before, *chunk = chunk_for(table, slot->chunk, rank, &before);
    if (chunk->count == CHUNK_RANKS) {
        split(table, chunk);
        if (chunk->ranks[chunk->count - 1] > rank)
            chunk = &table->chunks[chunk->next];
    }
    unsigned at = chunk->count;
    while (at > 0 && chunk->ranks[at - 1] < rank)
        at--;
    move(chunk, at + 1, chunk, at, chunk->count - at);
    put(table, chunk, at, rank);
    chunk->count = (chunk->count + 1U) & 7U;
    table->chunks[slot->chunk].total++;
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

static void chunks_remove(struct sluice_ternary *table, struct slot *slot, uint64_t rank) {
    struct chunk *before, *chunk = chunk_for(table, slot->chunk, rank, &before);
    unsigned at = 0;
    while (chunk->ranks[at] != rank)
        at++;
    chunk->count = (chunk->count - 1U) & 7U;
    move(chunk, at, chunk, at + 1, chunk->count - at);
    table->chunks[slot->chunk].total--;
    join_next(table, chunk);
    if (before)
        join_next(table, before);
    if (table->chunks[slot->chunk].count == 0) {
        free_chunk(table, slot->chunk);
        slot->chunk = 0;
    }
}

// Frees a slot and moves those behind it back, so that no search stops too early.
static void free_slot(struct sluice_ternary *table, uint32_t gap) {
    for (uint32_t at = (gap + 1) & table->slot_mask; table->tags[at]; at = (at + 1) & table->slot_mask) {
        uint32_t home = home_of(table, table->tags[at]);
        if (((at - home) & table->slot_mask) < ((at - gap) & table->slot_mask))
            continue;
        set_tag(table, gap, table->tags[at]);
        table->slots[gap] = table->slots[at];
        gap = at;
    }
    set_tag(table, gap, 0);
}

void ternary_bucket_add(struct sluice_ternary *table, uint32_t tag, uint64_t rank) {
    uint32_t at = slot_of(table, tag);
    struct slot *slot = &table->slots[at];
    if (table->tags[at] == 0) {
        set_tag(table, at, tag);
        *slot = (struct slot){.rank = rank};
        return;
    }
    uint64_t worse = rank < slot->rank ? rank : slot->rank;
    slot->rank = rank < slot->rank ? slot->rank : rank;
    chunks_add(table, slot, worse);
}

void ternary_bucket_remove(struct sluice_ternary *table, uint32_t tag, uint64_t rank) {
    uint32_t at = slot_of(table, tag);
    struct slot *slot = &table->slots[at];
    if (slot->rank != rank) {
        chunks_remove(table, slot, rank);
    } else if (slot->chunk == 0) {
        free_slot(table, at);
    } else {
        slot->rank = table->chunks[slot->chunk].ranks[0];
        chunks_remove(table, slot, slot->rank);
    }
}
