// SPDX-License-Identifier: Apache-2.0
// The check of a run: what left each lane against what the software switch alone sends there, byte for byte and in
// order within each flow.
#ifndef SLUICE_CHECK_H
#define SLUICE_CHECK_H

#include "capture.h"
#include "run.h"

// Which packet the host saw when: bridged packets teach the switch, so the check lets it see them in the same order.
struct check_seen {
    uint32_t lane;
    uint64_t index; // in the lane's capture
};

struct check {
    const struct capture *inputs, *outputs; // a capture a lane
    const struct check_seen *seen;
    uint64_t seen_count;
    const struct sluice_rules *rules;
    uint32_t lanes, repeat;
};

// Fills `expected`, `differing`, `missing`, `extra` and notes of the result. 0 or a negative errno.
int check_run(const struct check *check, struct sluice_run_result *result);

// A number that is the same for packets of one flow as they leave.
uint64_t check_flow(const uint8_t *packet, uint32_t size);

void run_note(struct sluice_run_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
