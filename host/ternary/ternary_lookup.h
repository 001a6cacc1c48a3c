// SPDX-License-Identifier: Apache-2.0
// A lookup of a batch of keys, for one kind of instructions. The source that includes it defines before: the type
// `words` of a padded key, load_key(table, key), key_tag(table, group, &key), key_matches(table, id, &key),
// find_tag(table, at, tag), better_groups(table, priority), marked(table, chunk, &key).
//
// The steps are loops over the batch, so that the processor waits for many memory accesses at once: filters; tags of
// buckets; their slots; their best rules; their other rules. What a step leaves to the next one is put into a list
// without a branch, as no processor can predict which rules match. The steps are done twice: for the large groups, and
// then for those of the other groups that can have a better rule than the one found.
#include "ternary_internal.h"

enum { BATCH = 64, MOST_PROBES = 1024, AT_ONCE = 3 };

struct probe {
    uint32_t tag, key;
};

struct batch {
    const struct sluice_ternary *table;
    words keys[BATCH];
    uint64_t ranks[BATCH];
    uint32_t groups[BATCH];
    uint32_t probe_count;
    struct probe probes[MOST_PROBES + 8];
    const struct slot *slots[MOST_PROBES + 8];
};

// The best rule of a bucket's chunks that has the key, if it is better than `rank`.
static uint64_t search_chunks(const struct sluice_ternary *table, uint32_t chunk, const words *key, uint64_t rank) {
    for (; chunk; chunk = table->chunks[chunk].next) {
        const struct chunk *rules = &table->chunks[chunk];
        for (uint32_t hits = marked(table, rules, key) & ((1U << rules->count) - 1); hits; hits &= hits - 1) {
            uint64_t found = rules->ranks[__builtin_ctz(hits)];
            if (found < rank)
                return rank;
            if (key_matches(table, id_of(found), key))
                return found;
        }
        if (rules->ranks[rules->count - 1] < rank)
            return rank;
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

// The buckets of all probes that may have a better rule than the one found; their number.
static uint32_t find_buckets(struct batch *batch) {
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
    return better;
}

// Their best rules. What is to be searched further is in the probes, a chunk in the place of a tag; their number.
static uint32_t compare_best(struct batch *batch, uint32_t count) {
    const struct sluice_ternary *table = batch->table;
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot = batch->slots[i];
        uint32_t key = batch->probes[i].key, chunk = slot->chunk;
        bool is_match = key_matches(table, id_of(slot->rank), &batch->keys[key]);
        uint64_t rank = is_match ? slot->rank : 0, before = batch->ranks[key];
        batch->ranks[key] = rank > before ? rank : before;
        batch->probes[left] = (struct probe){chunk, key};
        for (unsigned line = 0; line < sizeof(struct chunk); line += 64)
            __builtin_prefetch((const char *)&table->chunks[chunk] + line);
        left += (chunk != 0) & !is_match;
    }
    return left;
}

// Searches the buckets of all probes, whose tags are groups yet, and forgets the probes.
static void search(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < batch->probe_count; i++) {
        struct probe *one = &batch->probes[i];
        one->tag = key_tag(table, &table->groups[one->tag], &batch->keys[one->key]);
        __builtin_prefetch(&table->tags[home_of(table, one->tag)]);
    }
    const uint32_t left = compare_best(batch, find_buckets(batch));
    for (uint32_t i = 0; i < left; i++) {
        uint32_t key = batch->probes[i].key;
        batch->ranks[key] = search_chunks(table, batch->probes[i].tag, &batch->keys[key], batch->ranks[key]);
    }
    batch->probe_count = 0;
}

static inline void probe(struct batch *batch, uint32_t key, uint32_t group) {
    batch->probes[batch->probe_count++] = (struct probe){group, key};
}

// Most keys have up to AT_ONCE groups.
static inline void probe_groups(struct batch *batch, uint32_t key, uint32_t groups) {
    if (__builtin_expect(batch->probe_count > MOST_PROBES - FILTERED, 0))
        search(batch);
    uint32_t count = (uint32_t)__builtin_popcount(groups), behind = batch->probe_count + count;
    for (unsigned i = 0; i < AT_ONCE; i++, groups &= groups - 1)
        batch->probes[batch->probe_count + i] = (struct probe){(uint32_t)__builtin_ctz(groups | 1U << 31), key};
    if (__builtin_expect(count > AT_ONCE, 0)) {
        batch->probe_count += AT_ONCE;
        for (; groups; groups &= groups - 1)
            probe(batch, key, (uint32_t)__builtin_ctz(groups));
    }
    batch->probe_count = behind;
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
        load_key(table, key, &batch->keys[i]);
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
