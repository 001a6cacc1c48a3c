// SPDX-License-Identifier: Apache-2.0
#include "rule_mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = SLUICE_RULE_MIRROR_BYTES / 8, READ_WORDS = 3, TRIES = 1000 }; // the last word is reserved
_Static_assert(sizeof(struct { uint64_t words[WORDS]; }) == SLUICE_RULE_MIRROR_BYTES, "whole words");

uint8_t *sluice_mirror_make(struct sluice_mirror *mirror, uint32_t records) {
    if (mirror->memory)
        return mirror->records == records ? mirror->memory : NULL;
    size_t size = (size_t)records * SLUICE_RULE_MIRROR_BYTES;
    mirror->memory = size ? aligned_alloc(SLUICE_RULE_MIRROR_BYTES, size) : NULL;
    mirror->records = records;
    return mirror->memory ? memset(mirror->memory, 0, size) : NULL;
}

void sluice_mirror_write(uint64_t *memory, uint32_t place, const struct sluice_rule_counters *counters) {
    uint64_t *record = memory + (size_t)place * WORDS, words[WORDS];
    struct sluice_rule_mirror before;
    sluice_rule_mirror_unpack(&before, (const uint8_t *)record);
    uint16_t edition = (uint16_t)(before.packets_edition + 1);
    const struct sluice_rule_mirror now = {.packets = counters->packets,
                                           .packets_edition = edition,
                                           .bytes = counters->bytes,
                                           .bytes_edition = edition,
                                           .last_hit = counters->last_hit,
                                           .last_hit_edition = edition};
    sluice_rule_mirror_pack(&now, (uint8_t *)words);
    for (unsigned i = 0; i < WORDS; i++)
        __atomic_store_n(&record[i], words[i], __ATOMIC_RELAXED);
}

int sluice_mirror_read(const uint64_t *memory, uint32_t place, struct sluice_rule_counters *counters) {
    const uint64_t *record = memory + (size_t)place * WORDS;
    struct sluice_rule_mirror seen;
    uint64_t words[WORDS] = {0};
    for (unsigned n = 0; n < TRIES; n++) {
        for (unsigned i = 0; i < READ_WORDS; i++)
            words[i] = __atomic_load_n(&record[i], __ATOMIC_RELAXED);
        sluice_rule_mirror_unpack(&seen, (const uint8_t *)words);
        if (seen.packets_edition != seen.bytes_edition || seen.packets_edition != seen.last_hit_edition)
            continue;
        *counters =
            (struct sluice_rule_counters){.packets = seen.packets, .bytes = seen.bytes, .last_hit = seen.last_hit};
        return 0;
    }
    return -EAGAIN;
}
