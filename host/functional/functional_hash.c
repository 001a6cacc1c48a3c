// SPDX-License-Identifier: Apache-2.0
// The hash of tables as software.
#include "functional_hash.h"

#include <string.h>

enum { MIDDLE = 64, GROUP = 8, CHOICE = 4, SECOND = 0x10000, WHITENING_STEP = 29, SEED_STEP = 7, SEED_BEGIN = 3 };

// MurmurHash3's finalizer, from which the matrices are made.
static uint32_t mix(uint32_t number) {
    uint32_t x = number + 0x9e3779b9U;
    x = (x ^ (x >> 16)) * 0x85ebca6bU;
    x = (x ^ (x >> 13)) * 0xc2b2ae35U;
    return x ^ (x >> 16);
}

static uint64_t rotated(uint64_t word, unsigned bits) {
    return word >> bits | word << (64 - bits) % 64;
}

// Rows of the first matrix that have a bit of the key.
static uint64_t first_column(uint32_t bit, uint32_t key_bits) {
    uint64_t rows = 0;
    for (uint32_t group = 0; group < MIDDLE / GROUP && bit < key_bits; group++)
        rows |= (uint64_t)1 << (GROUP * group + mix(GROUP * bit + group) % GROUP);
    return rows;
}

// Of the second, whose rows are the bits of all ways' indices, those that have a bit of the middle.
static uint64_t second_column(uint32_t bit, uint32_t index_bits) {
    uint64_t rows = 0;
    for (uint32_t row = 0; row < index_bits; row++) {
        uint32_t chosen = mix(SECOND + MIDDLE / CHOICE * row + bit / CHOICE) % CHOICE;
        rows |= (uint64_t)(chosen == bit % CHOICE) << row;
    }
    return rows;
}

// What each value of a nibble adds, from what each of its bits does.
static void fill(uint64_t sums[1 << FUNCTIONAL_HASH_NIBBLE], uint64_t (*column)(uint32_t bit, uint32_t bits),
                 uint32_t bits, uint32_t nibble) {
    for (uint32_t value = 0; value < 1 << FUNCTIONAL_HASH_NIBBLE; value++)
        for (uint32_t bit = 0; bit < FUNCTIONAL_HASH_NIBBLE; bit++)
            sums[value] ^= value >> bit & 1 ? column(FUNCTIONAL_HASH_NIBBLE * nibble + bit, bits) : 0;
}

void functional_hash_start(struct functional_hash *hash, uint32_t key_bits, uint32_t slots, uint32_t ways) {
    memset(hash, 0, sizeof *hash);
    hash->words = (key_bits + 63) / 64;
    hash->beyond = key_bits % 64 ? ~(uint64_t)0 << key_bits % 64 : 0;
    for (uint32_t n = 0; n < FUNCTIONAL_HASH_KEY_NIBBLES; n++)
        fill(hash->first[n], first_column, key_bits, n);
    for (uint32_t n = 0; n < FUNCTIONAL_HASH_MIDDLE_NIBBLES; n++)
        fill(hash->second[n], second_column, ways * (uint32_t)__builtin_ctz(slots), n);
}

void functional_hash_secret(struct functional_hash *hash, const uint64_t secret[2]) {
    for (unsigned n = 0; n < FUNCTIONAL_HASH_KEY_WORDS; n++)
        hash->whitening[n] = rotated(secret[1], WHITENING_STEP * n % 64);
    hash->seeds[0] = secret[0];
    hash->seeds[1] = 0;
    for (unsigned bit = 0; bit < MIDDLE; bit++)
        hash->seeds[1] |= (secret[0] >> (SEED_STEP * bit + SEED_BEGIN) % 64 & 1) << bit;
}

// A word of a layer: each bit with the two above it.
static uint64_t layer(uint64_t word, uint64_t above, uint64_t seed) {
    return word ^ (((word >> 1 | above << 63) ^ seed) & (word >> 2 | above << 62));
}

uint64_t functional_hash_of(const struct functional_hash *hash, const uint64_t *key) {
    uint64_t above = ~(uint64_t)0, middle = 0, indices = 0;
    for (unsigned w = hash->words; w-- > 0;) {
        uint64_t word = (key[w] ^ hash->whitening[w]) | (w + 1 == hash->words ? hash->beyond : 0);
        uint64_t mixed = layer(word, above, hash->seeds[0]);
        for (unsigned n = 0; n < 16; n++)
            middle ^= hash->first[16 * w + n][mixed >> FUNCTIONAL_HASH_NIBBLE * n & 15];
        above = word;
    }
    middle = layer(middle, ~(uint64_t)0, hash->seeds[1]);
    for (unsigned n = 0; n < FUNCTIONAL_HASH_MIDDLE_NIBBLES; n++)
        indices ^= hash->second[n][middle >> FUNCTIONAL_HASH_NIBBLE * n & 15];
    return indices;
}
