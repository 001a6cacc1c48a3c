// SPDX-License-Identifier: Apache-2.0
// The steps of a lookup on AVX2, a vector of 8 words at a time, and with HAS_512, defined before, those for which
// AVX-512 has an instruction. KEY_VECTORS(table), defined before, is how many vectors a padded key has: as a constant
// it takes the loops away, and what they load of the table stays in registers.
#include "ternary_internal.h"

#include <immintrin.h>

_Static_assert(offsetof(struct sluice_ternary, mark_words) ==
                       offsetof(struct sluice_ternary, filter_words) + FILTERS * sizeof(uint32_t) &&
                   FILTERS + MARKS == LANES,
               "one vector has the words of filters and of marks");
_Static_assert(offsetof(struct chunk, mark_length) == LANES * sizeof(uint64_t), "marks are aligned vectors");

typedef struct {
    __m256i vectors[VECTORS];
} words;

static inline __m256i load(const uint32_t *lanes) {
    return _mm256_load_si256((const __m256i *)(const void *)lanes);
}

static inline __m128i load_4(const uint32_t *lanes) {
    return _mm_loadu_si128((const __m128i *)(const void *)lanes);
}

// Lanes behind the key are 0, and their memory is not read.
static inline void load_key(const struct sluice_ternary *table, const uint32_t *key, words *loaded) {
    for (unsigned i = 0; i < KEY_VECTORS(table); i++) {
        __m256i dead = load(table->dead_lanes + i * LANES);
        __m256i live = _mm256_xor_si256(dead, _mm256_set1_epi32(-1));
        loaded->vectors[i] = _mm256_maskload_epi32((const int *)(const void *)(key + i * LANES), live);
    }
}

// The padded key, its mark, and where it is in the filters: as mark_of and find_filters.
static inline void prepare_key(const struct sluice_ternary *table, const uint32_t *key, words *padded, uint64_t *mark,
                               uint32_t *entries) {
    load_key(table, key, padded);
    if (KEY_VECTORS(table) > 1) {
        *mark = mark_of(table, key);
        find_filters(table, key, entries);
        return;
    }
    const __m128i halves = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i numbers = _mm256_loadu_si256((const __m256i *)(const void *)table->filter_words);
    __m256i chosen = _mm256_permutevar8x32_epi32(padded->vectors[0], numbers);
    *mark = (uint64_t)_mm_cvtsi128_si64(_mm_shuffle_epi8(_mm256_extracti128_si256(chosen, 1), halves));
    __m128i prefixes = _mm_and_si128(_mm256_castsi256_si128(chosen), load_4(table->filter_masks));
    __m128i hashes = _mm_mullo_epi32(prefixes, load_4(table->filter_factors));
    hashes = _mm_srl_epi32(hashes, _mm_cvtsi32_si128((int)table->filter_shift));
    _mm_storeu_si128((__m128i *)(void *)entries, _mm_add_epi32(hashes, load_4(table->filter_begins)));
}

// As the sum in ternary_tag, in four parts.
static inline __m256i products(const struct sluice_ternary *table, const struct group *group, const words *key) {
    __m256i sum = _mm256_zextsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)&group->salt));
    for (unsigned i = 0; i < KEY_VECTORS(table); i++) {
        __m256i masked = _mm256_and_si256(key->vectors[i], load(group->mask + i * LANES));
        masked = _mm256_add_epi32(masked, load(table->secret + i * LANES));
        sum = _mm256_add_epi64(sum, _mm256_mul_epu32(masked, _mm256_srli_epi64(masked, 32)));
    }
    return sum;
}

// As tag_of, of four sums.
static inline __m128i tags_of(__m256i sums) {
    const __m256i factor = _mm256_set1_epi32((int)(uint32_t)TAG_FACTOR),
                  upper = _mm256_set1_epi32((int)(TAG_FACTOR >> 32));
    __m256i high = _mm256_srli_epi64(sums, 32);
    sums = _mm256_xor_si256(sums, high);
    __m256i product = _mm256_srli_epi64(_mm256_mul_epu32(sums, factor), 32);
    product = _mm256_add_epi32(product, _mm256_mul_epu32(sums, upper));
    product = _mm256_add_epi32(product, _mm256_mul_epu32(high, factor));
    __m256i packed = _mm256_permutevar8x32_epi32(product, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    __m128i tags = _mm256_castsi256_si128(packed);
    return _mm_sub_epi32(tags, _mm_cmpeq_epi32(tags, _mm_setzero_si128()));
}

// In each half of a vector, the sum of that half of `a`, and of `b`.
static inline __m256i add_in_halves(__m256i a, __m256i b) {
    return _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

// As ternary_tag, of four keys in four groups.
static inline void find_tags_4(const struct sluice_ternary *table, const words *keys, const uint16_t *numbers,
                               const uint16_t *groups, uint32_t *tags) {
    __m256i part[4];
    for (unsigned i = 0; i < 4; i++)
        part[i] = products(table, &table->groups[groups[i]], &keys[numbers[i]]);
    __m256i a = add_in_halves(part[0], part[1]), b = add_in_halves(part[2], part[3]);
    __m256i sums = _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
    _mm_storeu_si128((__m128i *)(void *)tags, tags_of(sums));
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

// Bit i: the tag of place i.
static inline uint32_t find_tag(const struct line *line, uint32_t tag) {
    __m128i tags = _mm_load_si128((const __m128i *)(const void *)line->tags);
    __m128i equal = _mm_cmpeq_epi32(tags, _mm_set1_epi32((int)tag));
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(equal));
}

// Bit i: the key's mark is in that of the chunk's rule i. Bits from its count on may be anything.
static inline uint32_t marked(const struct chunk *chunk, uint64_t mark);
// The filtered groups that can have a rule of at least this priority.
static inline uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority);
// A probe for each group of a bitmap. Of the SLACK entries those behind them may be anything.
static inline void add_probes(uint16_t *probe_groups, uint16_t *probe_keys, uint32_t groups, uint32_t key);

#ifdef HAS_512

static inline uint32_t marked(const struct chunk *chunk, uint64_t mark) {
    __m512i first = _mm512_loadu_si512(chunk->mark_first), length = _mm512_loadu_si512(chunk->mark_length);
    __m512i from = _mm512_sub_epi16(_mm512_set1_epi64((long long)mark), first);
    __m512i outside = _mm512_subs_epu16(from, length); // 0 in each half that is inside
    return _mm512_testn_epi64_mask(outside, outside);
}

static inline uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority) {
    const __m512i own = _mm512_set1_epi32((int)priority);
    uint32_t lower = _mm512_cmpge_epu32_mask(_mm512_loadu_si512(table->best), own);
    uint32_t upper = _mm512_cmpge_epu32_mask(_mm512_loadu_si512(table->best + 2 * LANES), own);
    return (upper << 2 * LANES | lower) & ~OTHERS;
}

static inline void add_probes(uint16_t *probe_groups, uint16_t *probe_keys, uint32_t groups, uint32_t key) {
    const __m512i numbers = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                                             12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_storeu_si512(probe_groups, _mm512_maskz_compress_epi16(groups, numbers));
    _mm512_storeu_si512(probe_keys, _mm512_set1_epi16((short)key));
}

#else

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

static inline uint32_t better_groups(const struct sluice_ternary *table, uint32_t priority) {
    uint32_t better = 0;
    for (unsigned i = 0; i <= FILTERED; i += LANES) {
        __m256i best = load(table->best + i);
        __m256i is_better = _mm256_cmpeq_epi32(_mm256_max_epu32(best, _mm256_set1_epi32((int)priority)), best);
        better |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(is_better)) << i;
    }
    return better & ~OTHERS;
}

static inline void add_probes(uint16_t *probe_groups, uint16_t *probe_keys, uint32_t groups, uint32_t key) {
    const __m256i keys = _mm256_set1_epi16((short)key);
    _mm256_storeu_si256((__m256i *)(void *)probe_keys, keys);
    _mm256_storeu_si256((__m256i *)(void *)(probe_keys + SLACK / 2), keys);
    for (unsigned i = 0; i < 4; i++, groups &= groups - 1) // most keys have no more
        probe_groups[i] = (uint16_t)__builtin_ctz(groups | 1U << 31);
    for (unsigned i = 4; __builtin_expect(groups != 0, 0); i++, groups &= groups - 1)
        probe_groups[i] = (uint16_t)__builtin_ctz(groups);
}

#endif

#include "ternary_lookup.h"
