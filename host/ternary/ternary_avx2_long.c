// SPDX-License-Identifier: Apache-2.0
// Lookups on AVX2, where the processor has it, of longer keys.
#include "ternary_internal.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")

#define KEY_VECTORS(table) ((table)->vectors)
#include "ternary_vectors.h"

void ternary_lookup_avx2_long(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    lookup_all(table, keys, count, ids);
}

#pragma GCC pop_options

#else

void ternary_lookup_avx2_long(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    ternary_lookup_scalar(table, keys, count, ids);
}

#endif
