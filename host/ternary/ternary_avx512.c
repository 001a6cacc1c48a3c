// SPDX-License-Identifier: Apache-2.0
// Lookups on AVX-512, where the processor has it, of keys of up to 7 words.
#include "ternary_internal.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512vbmi2")

#define KEY_VECTORS(table) 1
#define HAS_512
#include "ternary_vectors.h"

void ternary_lookup_avx512(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    lookup_all(table, keys, count, ids);
}

#pragma GCC pop_options

bool ternary_has_avx512(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi2");
}

#else

void ternary_lookup_avx512(const struct sluice_ternary *table, const uint32_t *keys, uint32_t count, int32_t *ids) {
    ternary_lookup_scalar(table, keys, count, ids);
}

bool ternary_has_avx512(void) {
    return false;
}

#endif
