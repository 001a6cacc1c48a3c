// SPDX-License-Identifier: Apache-2.0
// The hash of exact tables and of flow places: rtl/match/sl_keyed_hash.sv, and with the secret 0
// rtl/match/sl_hash_function.sv with the seed 0. They say what is what.
#ifndef SLUICE_FUNCTIONAL_HASH_H
#define SLUICE_FUNCTIONAL_HASH_H

#include <stdint.h>

enum { FUNCTIONAL_HASH_NIBBLE = 4, FUNCTIONAL_HASH_KEY_WORDS = 5 }; // bits of a nibble; words of 64 bits
enum { FUNCTIONAL_HASH_KEY_BITS = 64 * FUNCTIONAL_HASH_KEY_WORDS }; // most
enum { FUNCTIONAL_HASH_KEY_NIBBLES = FUNCTIONAL_HASH_KEY_BITS / FUNCTIONAL_HASH_NIBBLE };
enum { FUNCTIONAL_HASH_MIDDLE_NIBBLES = 64 / FUNCTIONAL_HASH_NIBBLE };

// But for its two layers the hash is linear, so it is a table lookup for each nibble.
struct functional_hash {
    uint32_t words;                                // of a key
    uint64_t beyond;                               // bits of its last word that the key has not
    uint64_t whitening[FUNCTIONAL_HASH_KEY_WORDS]; // added to the key
    uint64_t seeds[2];                             // of the layers
    uint64_t first[FUNCTIONAL_HASH_KEY_NIBBLES][1 << FUNCTIONAL_HASH_NIBBLE];
    uint64_t second[FUNCTIONAL_HASH_MIDDLE_NIBBLES][1 << FUNCTIONAL_HASH_NIBBLE];
};

// `slots` of each way is a power of two, at least 2; the indices of all ways have at most 64 bits.
void functional_hash_start(struct functional_hash *hash, uint32_t key_bits, uint32_t slots, uint32_t ways);
void functional_hash_secret(struct functional_hash *hash, const uint64_t secret[2]);
// The indices of all ways, the first in the low bits. Bits beyond the key are 0.
uint64_t functional_hash_of(const struct functional_hash *hash, const uint64_t *key);

#endif
