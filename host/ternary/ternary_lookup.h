// SPDX-License-Identifier: Apache-2.0
// A lookup of a batch of keys, for one kind of instructions. The source that includes it defines before: the type
// `words` of a padded key, load_key(table, key), key_tag(table, group, &key), key_matches(table, id, &key),
// find_tag(table, at, tag), better_groups(table, priority).
//
// The steps are loops over the batch, so that the processor waits for many memory accesses at once: filters; tags of
// buckets; their slots; their rules. They are done twice: for the large groups, and then for those of the other groups
// that can have a better rule than the one found.
#include "ternary_internal.h"

enum { BATCH = 64, MOST_PROBES = 1024 };

struct probe {
    uint32_t tag, key;
};

struct batch {
    const struct sluice_ternary *table;
    words keys[BATCH];
    uint64_t ranks[BATCH];
    uint32_t groups[BATCH];
    uint32_t probe_count;
    struct probe probes[MOST_PROBES + 1];
    const struct slot *slots[MOST_PROBES + 1];
};

// The best rule of a bucket's chunks that has the key, if it is better than `rank`.
static uint64_t search_chunks(const struct sluice_ternary *table, uint32_t chunk, const words *key, uint64_t rank) {
    for (; chunk; chunk = table->chunks[chunk].next) {
        const struct chunk *ranks = &table->chunks[chunk];
        for (unsigned i = 0; i < ranks->count; i++) {
            if (ranks->ranks[i] < rank)
                return rank;
            if (key_matches(table, id_of(ranks->ranks[i]), key))
                return ranks->ranks[i];
        }
    }
    return rank;
}

// The slot of a tag, or NULL.
static inline const struct slot *find_slot(const struct sluice_ternary *table, uint32_t tag) {
    for (uint32_t at = home_of(table, tag);; at = (at + LANES) & table->slot_mask) {
        uint32_t hit = find_tag(table, at, tag), end = find_tag(table, at, 0);
        if (__builtin_expect((hit | end) != 0, 1)) {
            bool is_there = (hit & (end ^ (end - 1))) != 0;
            return is_there ? &table->slots[(at + (uint32_t)__builtin_ctz(hit)) & table->slot_mask] : NULL;
        }
    }
}

// Searches the buckets of all probes and forgets the probes.
static void search(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    uint32_t count = 0, better = 0;
    for (uint32_t i = 0; i < batch->probe_count; i++) {
        const struct slot *slot = find_slot(table, batch->probes[i].tag);
        __builtin_prefetch(slot);
        batch->slots[count] = slot;
        batch->probes[count].key = batch->probes[i].key;
        count += slot != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot = batch->slots[i];
        uint32_t key = batch->probes[i].key;
        __builtin_prefetch(body_of(table, id_of(slot->rank)));
        batch->slots[better] = slot;
        batch->probes[better].key = key;
        better += slot->rank > batch->ranks[key];
    }
    for (uint32_t i = 0; i < better; i++) {
        const struct slot *slot = batch->slots[i];
        const words *key = &batch->keys[batch->probes[i].key];
        uint64_t *rank = &batch->ranks[batch->probes[i].key];
        if (slot->rank <= *rank)
            continue;
        if (key_matches(table, id_of(slot->rank), key))
            *rank = slot->rank;
        else if (slot->chunk)
            *rank = search_chunks(table, slot->chunk, key, *rank);
    }
    batch->probe_count = 0;
}

static inline void probe(struct batch *batch, uint32_t key, uint32_t group) {
    const struct sluice_ternary *table = batch->table;
    uint32_t tag = key_tag(table, &table->groups[group], &batch->keys[key]);
    __builtin_prefetch(&table->tags[home_of(table, tag)]);
    batch->probes[batch->probe_count++] = (struct probe){tag, key};
}

static inline void probe_groups(struct batch *batch, uint32_t key, uint32_t groups) {
    if (__builtin_expect(batch->probe_count > MOST_PROBES - FILTERED, 0))
        search(batch);
    for (; groups; groups &= groups - 1)
        probe(batch, key, (uint32_t)__builtin_ctz(groups));
}

// Groups beyond those of the filters.
static void probe_others(struct batch *batch, uint32_t key) {
    for (uint32_t group = FILTERED; group < batch->table->group_end; group++) {
        if (!batch->table->groups[group].rules)
            continue;
        if (batch->probe_count == MOST_PROBES)
            search(batch);
        probe(batch, key, group);
    }
}

// The groups that may have rules for a key.
static inline uint32_t filtered(const struct sluice_ternary *table, const uint32_t *key) {
    uint32_t groups[2] = {table->always[0], table->always[1]};
    for (unsigned filter = 0; filter < FILTERS; filter++) {
        unsigned index = filter / FILTER_LEVELS;
        groups[index] |= table->filters[filter_entry(table, filter, key[table->layout.index[index]])];
    }
    return groups[0] & groups[1];
}

static void lookup_batch(struct batch *batch, const uint32_t *keys, uint32_t count, int32_t *ids) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *key = keys + (size_t)i * table->layout.words;
        batch->keys[i] = load_key(table, key);
        batch->groups[i] = filtered(table, key);
        batch->ranks[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        probe_groups(batch, i, batch->groups[i] & table->large);
    search(batch);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t groups = batch->groups[i] & ~table->large;
        if (groups & OTHERS)
            probe_others(batch, i);
        probe_groups(batch, i, groups & better_groups(table, (uint32_t)(batch->ranks[i] >> 32)));
    }
    search(batch);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = batch->ranks[i] ? (int32_t)id_of(batch->ranks[i]) : SLUICE_TERNARY_MISS;
}

static void lookup_all(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    struct batch batch;
    batch.table = table;
    batch.probe_count = 0;
    for (uint32_t i = 0; i < count; i += BATCH)
        lookup_batch(&batch, keys + (size_t)i * table->layout.words, count - i < BATCH ? count - i : BATCH, ids + i);
}
