// SPDX-License-Identifier: Apache-2.0
// A lookup of a batch of keys, for one kind of instructions. The source that includes it defines before: the type
// `words` of a padded key, load_key(table, key), key_tag(table, group, &key), key_matches(table, id, &key),
// find_tag(line, tag), better_groups(table, priority), marked(chunk, mark).
//
// The steps are loops over the batch, so that the processor waits for many memory accesses at once: filters; tags of
// buckets; their lines; chunk by chunk the marks of their rules; rules. What a step leaves to the next one is put into
// a list without a branch, as no processor can predict which rules match. The steps are done twice: for the large
// groups, and then for those of the other groups that can have a better rule than the one found.
#include "ternary_internal.h"

enum { BATCH = 64, MOST_PROBES = 1024, AT_ONCE = 3 };

struct probe {
    union {
        uint32_t group, tag, chunk; // as the steps go on
    };
    uint32_t key;
};

// A rule that may have a key. With a chunk, further rules of it that may are `hits`.
struct candidate {
    uint64_t rank;
    uint32_t key, chunk, hits;
};

struct batch {
    const struct sluice_ternary *table;
    words keys[BATCH];
    uint64_t marks[BATCH];
    uint64_t ranks[BATCH];
    uint32_t entries[BATCH][FILTERS];
    uint32_t groups[BATCH];
    uint32_t probe_count, candidate_count;
    struct probe probes[MOST_PROBES + 8];
    struct candidate candidates[MOST_PROBES + 8];
};

// The best rule of a chunk's `hits` and of the chunks behind it that has the key, if it is better than `rank`.
static uint64_t search_chunks(const struct batch *batch, uint32_t key, const struct chunk *chunk, uint32_t hits) {
    const struct sluice_ternary *table = batch->table;
    const uint64_t rank = batch->ranks[key];
    for (;;) {
        for (; hits; hits &= hits - 1) {
            uint64_t found = chunk->ranks[__builtin_ctz(hits)];
            if (found < rank)
                return rank;
            if (key_matches(table, id_of(found), &batch->keys[key]))
                return found;
        }
        if (!chunk->next || chunk->ranks[chunk->count - 1] < rank)
            return rank;
        chunk = &table->chunks[chunk->next];
        hits = marked(chunk, batch->marks[key]) & ((1U << chunk->count) - 1);
    }
}

// The line of a tag, and its place there. Where it is nowhere, another one.
static inline const struct line *find_line(const struct sluice_ternary *table, uint32_t tag, unsigned *at,
                                           bool *is_there) {
    for (uint32_t number = home_of(table, tag);; number = (number + 1) & table->line_mask) {
        const struct line *line = &table->lines[number];
        uint32_t hit = find_tag(line, tag);
        if (__builtin_expect((hit | find_tag(line, 0)) != 0, 1)) {
            *at = (unsigned)__builtin_ctz(hit | 1U << (PLACES - 1));
            *is_there = hit != 0;
            return line;
        }
    }
}

static inline void prefetch_chunk(const struct sluice_ternary *table, uint32_t chunk) {
    for (unsigned line = 0; line < sizeof(struct chunk); line += 64)
        __builtin_prefetch((const char *)&table->chunks[chunk] + line);
}

// The buckets that may have a better rule than the one found: a bucket's only rule is a candidate; chunks, whose number
// is returned, are to be searched.
static uint32_t find_buckets(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    uint32_t chunks = 0, candidates = 0;
    for (uint32_t i = 0; i < batch->probe_count; i++) {
        unsigned at;
        bool is_there;
        const struct line *line = find_line(table, batch->probes[i].tag, &at, &is_there);
        uint32_t key = batch->probes[i].key, chunk = line->chunks[at];
        uint64_t rank = line->ranks[at];
        bool is_better = is_there & (rank > batch->ranks[key]);
        __builtin_prefetch(body_of(table, id_of(rank)));
        prefetch_chunk(table, chunk);
        batch->candidates[candidates] = (struct candidate){rank, key, 0, 0};
        candidates += is_better & (chunk == 0);
        batch->probes[chunks] = (struct probe){.chunk = chunk, .key = key};
        chunks += is_better & (chunk != 0);
    }
    batch->candidate_count = candidates;
    return chunks;
}

// Looks at a chunk of each list: the first rule that its mark does not leave out is a candidate, or else the list's
// next chunk stays in the probes. Returns how many do.
static uint32_t search_marks(struct batch *batch, uint32_t count) {
    const struct sluice_ternary *table = batch->table;
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = batch->probes[i].key, at = batch->probes[i].chunk;
        const struct chunk *chunk = &table->chunks[at];
        uint32_t hits = marked(chunk, batch->marks[key]) & ((1U << chunk->count) - 1);
        uint64_t rank = chunk->ranks[hits ? (uint32_t)__builtin_ctz(hits) : chunk->count - 1U];
        bool is_better = rank > batch->ranks[key];
        __builtin_prefetch(body_of(table, id_of(rank)));
        batch->candidates[batch->candidate_count] = (struct candidate){rank, key, at, hits & (hits - 1)};
        batch->candidate_count += is_better & (hits != 0);
        batch->probes[left] = (struct probe){.chunk = chunk->next, .key = key};
        prefetch_chunk(table, chunk->next);
        left += is_better & (hits == 0) & (chunk->next != 0);
    }
    return left;
}

static void compare_candidates(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < batch->candidate_count; i++) {
        const struct candidate *one = &batch->candidates[i];
        uint64_t *rank = &batch->ranks[one->key];
        bool is_match = key_matches(table, id_of(one->rank), &batch->keys[one->key]);
        if (__builtin_expect(!is_match & (one->chunk != 0), 0))
            *rank = search_chunks(batch, one->key, &table->chunks[one->chunk], one->hits);
        else
            *rank = is_match & (one->rank > *rank) ? one->rank : *rank;
    }
    batch->candidate_count = 0;
}

// Searches the buckets of all probes, whose tags are groups yet, and forgets the probes.
static void search(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < batch->probe_count; i++) {
        struct probe *one = &batch->probes[i];
        one->tag = key_tag(table, &table->groups[one->group], &batch->keys[one->key]);
        __builtin_prefetch(&table->lines[home_of(table, one->tag)]);
    }
    uint32_t chunks = find_buckets(batch);
    while (chunks) {
        chunks = search_marks(batch, chunks);
        compare_candidates(batch);
    }
    compare_candidates(batch);
    batch->probe_count = 0;
}

static inline void probe(struct batch *batch, uint32_t key, uint32_t group) {
    batch->probes[batch->probe_count++] = (struct probe){.group = group, .key = key};
}

// Most keys have up to AT_ONCE groups.
static inline void probe_groups(struct batch *batch, uint32_t key, uint32_t groups) {
    if (__builtin_expect(batch->probe_count > MOST_PROBES - FILTERED, 0))
        search(batch);
    uint32_t count = (uint32_t)__builtin_popcount(groups), behind = batch->probe_count + count;
    for (unsigned i = 0; i < AT_ONCE; i++, groups &= groups - 1)
        batch->probes[batch->probe_count + i] =
            (struct probe){.group = (uint32_t)__builtin_ctz(groups | 1U << 31), .key = key};
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

// Where a key is in the filters.
static inline void find_filters(const struct sluice_ternary *table, const uint32_t *key, uint32_t *entries) {
    for (unsigned filter = 0; filter < FILTERS; filter++) {
        entries[filter] = filter_entry(table, filter, key[table->layout.index[filter / FILTER_LEVELS]]);
        __builtin_prefetch(&table->filters[entries[filter]]);
    }
}

// The groups that may have rules for it.
static inline uint32_t filtered(const struct sluice_ternary *table, const uint32_t *entries) {
    uint32_t groups[2] = {table->always[0], table->always[1]};
    for (unsigned filter = 0; filter < FILTERS; filter++)
        groups[filter / FILTER_LEVELS] |= table->filters[entries[filter]];
    return groups[0] & groups[1];
}

static void lookup_batch(struct batch *batch, const uint32_t *keys, uint32_t count, int32_t *ids) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *key = keys + (size_t)i * table->layout.words;
        load_key(table, key, &batch->keys[i]);
        batch->marks[i] = mark_of(table, key);
        find_filters(table, key, batch->entries[i]);
        batch->ranks[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        batch->groups[i] = filtered(table, batch->entries[i]);
        probe_groups(batch, i, batch->groups[i] & table->large);
    }
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
    batch.probe_count = batch.candidate_count = 0;
    for (uint32_t i = 0; i < count; i += BATCH)
        lookup_batch(&batch, keys + (size_t)i * table->layout.words, count - i < BATCH ? count - i : BATCH, ids + i);
}
