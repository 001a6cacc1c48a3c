// SPDX-License-Identifier: Apache-2.0
// What the action sets of every table need: a check of what they ask of the device, and the edit-data table of an OFU
// with the long values of SET_LONG, which rules share and give back.
#ifndef SLUICE_ACTIONS_H
#define SLUICE_ACTIONS_H

#include "device.h"
#include "sluice/sluice.h"

enum { SLUICE_EDIT_ENTRIES = 256 };

struct sluice_edit_entry {
    uint8_t value[SLUICE_EDIT_BYTES];
    uint32_t holders;
    uint64_t freed_at; // shell cycles; packets in flight may still read it for a while
};

// All zero but `window` (its address): empty.
struct sluice_edit_table {
    uint32_t window;
    struct sluice_edit_entry entries[SLUICE_EDIT_ENTRIES];
};

// Opcodes, operands, fields and ports that the device has, and an edit for each SET_LONG. 0 or -EINVAL.
int sluice_actions_check(const struct sluice_device *device, const struct sluice_action_set *actions,
                         const struct sluice_edit *edits, unsigned count);

// Long values into the table, their indices into the action set (checked) and into `held`, for the release. The caller
// holds the device's lock. Take: 0, -ENOSPC or -ENODEV, and then nothing is held.
int sluice_edits_take(struct sluice_device *device, struct sluice_edit_table *table, struct sluice_action_set *actions,
                      const struct sluice_edit *edits, unsigned count, uint16_t held[SLUICE_ACTION_SLOTS]);
void sluice_edits_release(struct sluice_device *device, struct sluice_edit_table *table,
                          const uint16_t held[SLUICE_ACTION_SLOTS]);

#endif
