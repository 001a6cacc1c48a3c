// SPDX-License-Identifier: Apache-2.0
// Counters of rules in host memory: a rule_mirror_t for each, which the device writes and any thread reads at any time.
#ifndef SLUICE_RULE_MIRROR_H
#define SLUICE_RULE_MIRROR_H

#include <stdint.h>

#include "sluice_layouts.h"

// Memory of a transport for it.
struct sluice_mirror {
    uint8_t *memory; // at a multiple of SLUICE_RULE_MIRROR_BYTES; NULL: none yet
    uint32_t records;
};

// The memory, made when it is asked for first; NULL: out of memory, or it is there with another size.
uint8_t *sluice_mirror_make(struct sluice_mirror *mirror, uint32_t records);

// A record as a device writes it; one writer at a time.
void sluice_mirror_write(uint64_t *memory, uint32_t place, const struct sluice_rule_counters *counters);

// What a record says. 0, or -EAGAIN: it was being written all the time.
int sluice_mirror_read(const uint64_t *memory, uint32_t place, struct sluice_rule_counters *counters);

#endif
