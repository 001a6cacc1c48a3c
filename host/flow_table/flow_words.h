// SPDX-License-Identifier: Apache-2.0
// Rules of the flow table in few cache lines: keys and masks as 64-bit words, action sets in half of their size.
#ifndef SLUICE_FLOW_WORDS_H
#define SLUICE_FLOW_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "flow_table.h"

// The bytes behind the end of a key are 0.
static inline void sluice_flow_words(uint64_t words[SLUICE_FLOW_WORDS], const uint8_t *key) {
    words[SLUICE_FLOW_WORDS - 1] = 0;
    memcpy(words, key, SLUICE_FLOW_KEY_BYTES);
}

static inline bool sluice_flow_same(const uint64_t a[SLUICE_FLOW_WORDS], const uint64_t b[SLUICE_FLOW_WORDS]) {
    uint64_t differs = 0;
    for (unsigned i = 0; i < SLUICE_FLOW_WORDS; i++)
        differs |= a[i] ^ b[i];
    return !differs;
}

static inline void sluice_flow_fold(uint32_t folded[SLUICE_ACTION_SLOTS], const struct sluice_action_set *actions) {
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        folded[i] = (uint32_t)actions->slots[i].opcode << 24 | (actions->slots[i].operand & 0xffffff);
}

static inline void sluice_flow_unfold(struct sluice_action_set *actions, const uint32_t folded[SLUICE_ACTION_SLOTS]) {
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        actions->slots[i] = (struct sluice_action){(uint8_t)(folded[i] >> 24), folded[i] & 0xffffff};
}

#endif
