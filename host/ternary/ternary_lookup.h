// SPDX-License-Identifier: Apache-2.0
// A lookup of a batch of keys, for one kind of instructions. The source that includes it defines before: the type
// `words` of a padded key, prepare_key(table, key, &words, &mark, entries), find_tags_4(table, keys, key_numbers,
// groups, tags), key_matches(table, id, &key), find_tag(line, tag), better_groups(table, priority), marked(chunk,
// mark), add_probes(groups, keys, bitmap, key).
//
// The steps are loops over the batch, so that the processor waits for many memory accesses at once: filters; tags of
// buckets; their lines; chunk by chunk the marks of their rules; rules. What a step leaves to the next one is put into
// a list without a branch, as no processor can predict which rules match. The steps are done twice: for the large
// groups, and then for those of the other groups that can have a better rule than the one found.
#include "ternary_internal.h"

enum { BATCH = 64, MOST_PROBES = 1024, TAGS_AT_ONCE = 4 };

// A list that is searched from a chunk on.
struct search {
    uint32_t chunk, key;
};

// A rule that may have a key. With a chunk, `hits` are rules of it that may: all of them, and once the first one's rank
// is known, those behind it.
struct candidate {
    uint64_t rank;
    uint32_t chunk;
    uint16_t key, hits;
};

struct batch {
    const struct sluice_ternary *table;
    words keys[BATCH];
    uint64_t marks[BATCH];
    uint64_t ranks[BATCH];
    uint32_t entries[BATCH][FILTERS];
    uint32_t groups[BATCH];
    uint32_t probe_count, candidate_count;
    // What is searched: a group for a key; tags of the buckets.
    uint16_t probe_groups[MOST_PROBES + SLACK], probe_keys[MOST_PROBES + SLACK];
    uint32_t tags[MOST_PROBES + SLACK];
    struct search searches[MOST_PROBES + 1];
    struct candidate candidates[MOST_PROBES + 1];
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
        if (chunk->next_best <= rank)
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

static inline void prefetch_marks(const struct sluice_ternary *table, uint32_t chunk) {
    __builtin_prefetch(table->chunks[chunk].mark_first);
    __builtin_prefetch(table->chunks[chunk].mark_length);
}

// The buckets that may have a better rule than the one found: a bucket's only rule is a candidate; chunks, whose number
// is returned, are to be searched.
static uint32_t find_buckets(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    uint32_t chunks = 0, candidates = 0;
    for (uint32_t i = 0; i < batch->probe_count; i++) {
        unsigned at;
        bool is_there;
        const struct line *line = find_line(table, batch->tags[i], &at, &is_there);
        uint32_t chunk = line->chunks[at];
        uint16_t key = batch->probe_keys[i];
        uint64_t rank = line->ranks[at];
        bool is_better = is_there & (rank > batch->ranks[key]);
        __builtin_prefetch(body_of(table, id_of(rank)));
        prefetch_marks(table, chunk);
        batch->candidates[candidates] = (struct candidate){rank, 0, key, 0};
        candidates += is_better & (chunk == 0);
        batch->searches[chunks] = (struct search){chunk, key};
        chunks += is_better & (chunk != 0);
    }
    batch->candidate_count = candidates;
    return chunks;
}

// Looks at a chunk of each list: rules that its marks do not leave out are a candidate, or else the list's next chunk
// stays to be searched. Returns how many do.
static uint32_t search_marks(struct batch *batch, uint32_t count) {
    const struct sluice_ternary *table = batch->table;
    uint32_t left = 0, candidates = batch->candidate_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = batch->searches[i].key, at = batch->searches[i].chunk;
        const struct chunk *chunk = &table->chunks[at];
        uint32_t hits = marked(chunk, batch->marks[key]) & ((1U << chunk->count) - 1);
        __builtin_prefetch(hits ? (const void *)chunk->ranks : chunk);
        batch->candidates[candidates] = (struct candidate){0, at, (uint16_t)key, (uint16_t)hits};
        candidates += hits != 0;
        batch->searches[left] = (struct search){chunk->next, key};
        prefetch_marks(table, chunk->next);
        left += (hits == 0) & (chunk->next_best > batch->ranks[key]);
    }
    batch->candidate_count = candidates;
    return left;
}

// Takes the first rule of each candidate's `hits`, from candidate `first` on, and forgets those that are no better than
// the rule found.
static void rank_candidates(struct batch *batch, uint32_t first) {
    const struct sluice_ternary *table = batch->table;
    uint32_t candidates = first;
    for (uint32_t i = first; i < batch->candidate_count; i++) {
        struct candidate one = batch->candidates[i];
        one.rank = table->chunks[one.chunk].ranks[__builtin_ctz(one.hits)];
        one.hits &= (uint16_t)(one.hits - 1);
        __builtin_prefetch(body_of(table, id_of(one.rank)));
        batch->candidates[candidates] = one;
        candidates += one.rank > batch->ranks[one.key];
    }
    batch->candidate_count = candidates;
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

static void find_tags(struct batch *batch) {
    const struct sluice_ternary *table = batch->table;
    uint16_t *groups = batch->probe_groups, *keys = batch->probe_keys;
    for (uint32_t i = batch->probe_count; i % TAGS_AT_ONCE; i++)
        groups[i] = keys[i] = 0;
    for (uint32_t i = 0; i < batch->probe_count; i += TAGS_AT_ONCE) {
        find_tags_4(table, batch->keys, keys + i, groups + i, batch->tags + i);
        for (unsigned k = 0; k < TAGS_AT_ONCE; k++)
            __builtin_prefetch(&table->lines[home_of(table, batch->tags[i + k])]);
    }
}

// Searches the buckets of all probes, and forgets the probes.
static void search(struct batch *batch) {
    find_tags(batch);
    uint32_t chunks = find_buckets(batch);
    while (chunks) {
        uint32_t first = batch->candidate_count; // behind rules that are alone in their bucket
        chunks = search_marks(batch, chunks);
        rank_candidates(batch, first);
        compare_candidates(batch);
    }
    compare_candidates(batch);
    batch->probe_count = 0;
}

// A probe for each group of a bitmap.
static inline void probe_groups(struct batch *batch, uint32_t key, uint32_t groups) {
    if (__builtin_expect(batch->probe_count > MOST_PROBES - FILTERED, 0))
        search(batch);
    add_probes(batch->probe_groups + batch->probe_count, batch->probe_keys + batch->probe_count, groups, key);
    batch->probe_count += (uint32_t)__builtin_popcount(groups);
}

// Groups beyond those of the filters.
static void probe_others(struct batch *batch, uint32_t key) {
    for (uint32_t group = FILTERED; group < batch->table->group_end; group++) {
        if (!batch->table->groups[group].rules)
            continue;
        if (batch->probe_count == MOST_PROBES)
            search(batch);
        batch->probe_groups[batch->probe_count] = (uint16_t)group;
        batch->probe_keys[batch->probe_count++] = (uint16_t)key;
    }
}

// The groups that may have rules for a key.
static inline uint32_t filtered(const struct sluice_ternary *table, const uint32_t *entries) {
    uint32_t groups[2] = {table->always[0], table->always[1]};
    for (unsigned filter = 0; filter < FILTERS; filter++)
        groups[filter / FILTER_LEVELS] |= table->filters[entries[filter]];
    return groups[0] & groups[1];
}

static void lookup_batch(struct batch *batch, const uint32_t *keys, uint32_t count, int32_t *ids) {
    const struct sluice_ternary *table = batch->table;
    for (uint32_t i = 0; i < count; i++) {
        prepare_key(table, keys + (size_t)i * table->layout.words, &batch->keys[i], &batch->marks[i],
                    batch->entries[i]);
        for (unsigned filter = 0; filter < FILTERS; filter++)
            __builtin_prefetch(&table->filters[batch->entries[i][filter]]);
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
