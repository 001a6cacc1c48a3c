// SPDX-License-Identifier: Apache-2.0
// Keys and masks of the flow table as 64-bit words, and a hash of them: where software keeps rules by key, it reads
// eight words, not 62 bytes.
#ifndef SLUICE_FLOW_HASH_H
#define SLUICE_FLOW_HASH_H

#include <stdint.h>
#include <string.h>

#include "sluice_layouts.h"

enum { SLUICE_FLOW_WORDS = (SLUICE_FLOW_KEY_BYTES + 7) / 8 };

// The bytes behind the end of a key are 0.
static inline void sluice_flow_words(uint64_t words[SLUICE_FLOW_WORDS], const uint8_t *key) {
    words[SLUICE_FLOW_WORDS - 1] = 0;
    memcpy(words, key, SLUICE_FLOW_KEY_BYTES);
}

static inline uint32_t sluice_flow_hash(const uint64_t words[SLUICE_FLOW_WORDS], uint64_t seed) {
    uint64_t hash = seed;
    for (unsigned i = 0; i < SLUICE_FLOW_WORDS; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15U;
        hash = hash << 31 | hash >> 33;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

#endif
