// SPDX-License-Identifier: Apache-2.0
// The steps of a lookup on AVX2, a vector of 8 words at a time. KEY_VECTORS(table), defined before, is how many a
// padded key has: as a constant it takes the loops away, and what they load of the table stays in registers.
#include "ternary_internal.h"

#include <immintrin.h>

typedef struct {
    __m256i vectors[VECTORS];
} words;

static inline __m256i load(const uint32_t *lanes) {
    return _mm256_load_si256((const __m256i *)(const void *)lanes);
}

// Lanes behind the key are 0, and their memory is not read.
static inline void load_key(const struct sluice_ternary *table, const uint32_t *key, words *loaded) {
    for (unsigned i = 0; i < KEY_VECTORS(table); i++) {
        __m256i dead = load(table->dead_lanes + i * LANES);
        __m256i live = _mm256_xor_si256(dead, _mm256_set1_epi32(-1));
        loaded->vectors[i] = _mm256_maskload_epi32((const int *)(const void *)(key + i * LANES), live);
    }
}

// As ternary_tag.
static inline uint32_t key_tag(const struct sluice_ternary *table, const struct group *group, const words *key) {
    __m256i sum = _mm256_setzero_si256();
    for (unsigned i = 0; i < KEY_VECTORS(table); i++) {
        __m256i masked = _mm256_and_si256(key->vectors[i], load(group->mask + i * LANES));
        masked = _mm256_add_epi32(masked, load(table->secret + i * LANES));
        sum = _mm256_add_epi64(sum, _mm256_mul_epu32(masked, _mm256_srli_epi64(masked, 32)));
    }
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi64(half, _mm_unpackhi_epi64(half, half));
    return tag_of(group->salt + (uint64_t)_mm_cvtsi128_si64(half));
}

// As ternary_matches.
static inline bool key_matches(const struct sluice_ternary *table, uint32_t id, const words *key) {
    const struct body *body = &table->bodies[(size_t)id * KEY_VECTORS(table)];
    __m256i all = _mm256_set1_epi32(-1);
    for (unsigned i = 0; i < KEY_VECTORS(table); i++) {
        __m256i value = load(body[i].vectors->value), mask = load(body[i].vectors->mask);
        __m256i from = _mm256_sub_epi32(key->vectors[i], value);
        __m256i is_inside = _mm256_cmpeq_epi32(_mm256_min_epu32(from, mask), from);
        __m256i is_equal = _mm256_cmpeq_epi32(_mm256_and_si256(key->vectors[i], mask), value);
        __m256i is_good = _mm256_blendv_epi8(is_equal, is_inside, load(table->range_lanes + i * LANES));
        all = _mm256_and_si256(all, _mm256_or_si256(is_good, load(table->dead_lanes + i * LANES)));
    }
    return _mm256_movemask_epi8(all) == -1;
}

// Bit i: the key's mark is in that of the chunk's rule i. Bits from its count on may be anything.
static inline uint32_t marked(const struct chunk *chunk, uint64_t mark) {
    const __m256i own = _mm256_set1_epi64x((long long)mark);
    uint32_t found = 0;
    for (unsigned i = 0; i < LANES; i += LANES / 2) {
        __m256i first = _mm256_load_si256((const __m256i *)(const void *)(chunk->mark_first + i));
        __m256i length = _mm256_load_si256((const __m256i *)(const void *)(chunk->mark_length + i));
        __m256i from = _mm256_sub_epi16(own, first);
        __m256i outside = _mm256_subs_epu16(from, length); // 0 in each half that is inside
        __m256i good = _mm256_cmpeq_epi64(outside, _mm256_setzero_si256());
        found |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(good)) << i;
    }
    return found;
}

// Bit i: the tag of place i.
static inline uint32_t find_tag(const struct line *line, uint32_t tag) {
    __m128i tags = _mm_load_si128((const __m128i *)(const void *)line->tags);
    __m128i equal = _mm_cmpeq_epi32(tags, _mm_set1_epi32((int)tag));
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(equal));
}

// The filtered groups that can have a rule of at least this priority.
static inline uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority) {
    uint32_t better = 0;
    for (unsigned i = 0; i <= FILTERED; i += LANES) {
        __m256i best = load(table->best + i);
        __m256i is_better = _mm256_cmpeq_epi32(_mm256_max_epu32(best, _mm256_set1_epi32((int)priority)), best);
        better |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(is_better)) << i;
    }
    return better & ~OTHERS;
}

#include "ternary_lookup.h"
