// SPDX-License-Identifier: Apache-2.0
#include "actions.h"

#include <errno.h>
#include <string.h>

enum { DRAIN_CYCLES = 256, NO_EDIT = 0xffff, POLLS = 100000 };

// A mask that names lanes must name one that is there, or the host: its packets would be forwarded to nowhere.
static int check_ports(const struct sluice_device *device, unsigned slot, const struct sluice_action *action) {
    uint32_t there = ((1U << device->lanes) - 1) | 1U << SLUICE_HOST_PORT, port = action->operand & 0xff;
    if (action->opcode == SLUICE_ACTION_OUTPUT && (port > SLUICE_HOST_PORT || !(there >> port & 1)))
        return sluice_fail(-EINVAL, "slot %u: output to lane %u; the device has %u", slot, port, device->lanes);
    if (action->opcode == SLUICE_ACTION_REPLICATE && port && !(there & port))
        return sluice_fail(-EINVAL, "slot %u: port mask %#x names no lane of %u", slot, port, device->lanes);
    return 0;
}

int sluice_actions_check(const struct sluice_device *device, const struct sluice_action_set *actions,
                         const struct sluice_edit *edits, unsigned count) {
    bool filled[SLUICE_ACTION_SLOTS] = {false};
    if (count > SLUICE_ACTION_SLOTS)
        return sluice_fail(-EINVAL, "%u edits; an action set has %u slots", count, SLUICE_ACTION_SLOTS);
    for (unsigned i = 0; i < count; i++) {
        unsigned slot = edits[i].slot;
        if (slot >= SLUICE_ACTION_SLOTS || filled[slot] || actions->slots[slot].opcode != SLUICE_ACTION_SET_LONG)
            return sluice_fail(-EINVAL, "edit %u is for slot %u, which is no SET_LONG of its own", i, slot);
        filled[slot] = true;
    }
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++) {
        const struct sluice_action *action = &actions->slots[i];
        if (action->opcode == SLUICE_ACTION_NONE && action->operand == 0)
            continue;
        bool sets = action->opcode == SLUICE_ACTION_SET || action->opcode == SLUICE_ACTION_SET_LONG;
        if (action->opcode > SLUICE_ACTION_INSERT_RAW || action->operand >> 24)
            return sluice_fail(-EINVAL, "slot %u: opcode %u, operand %#x", i, action->opcode, action->operand);
        if (sets && action->operand >> 20 >= SLUICE_FIELDS)
            return sluice_fail(-EINVAL, "slot %u sets field %u; there are %u", i, action->operand >> 20, SLUICE_FIELDS);
        if (action->opcode == SLUICE_ACTION_SET_LONG && !filled[i])
            return sluice_fail(-EINVAL, "slot %u is SET_LONG and has no edit", i);
        int result = check_ports(device, i, action);
        if (result)
            return result;
    }
    return 0;
}

static int read_time(struct sluice_device *device, uint64_t *time) {
    uint32_t low = 0, high = 0;
    int result = sluice_read_locked(device, SLUICE_SHELL_REGISTERS_TIME_LOW, &low);
    result = result ? result : sluice_read_locked(device, SLUICE_SHELL_REGISTERS_TIME_HIGH, &high);
    *time = (uint64_t)high << 32 | low;
    return result;
}

// Until a time at most DRAIN_CYCLES away.
static int wait_cycles(struct sluice_device *device, uint64_t until) {
    uint64_t now, end = 0;
    for (unsigned i = 0; i < POLLS; i++) {
        int result = read_time(device, &now);
        if (result)
            return result;
        end = i == 0 ? (until < now + DRAIN_CYCLES ? until : now + DRAIN_CYCLES) : end;
        if (now >= end)
            return 0;
    }
    return sluice_fail(-ENODEV, "the device's time stands still");
}

static void release_edit(struct sluice_device *device, struct sluice_edit_table *table, uint16_t index) {
    uint64_t now;
    if (index == NO_EDIT || --table->entries[index].holders > 0)
        return;
    table->entries[index].freed_at = read_time(device, &now) ? UINT64_MAX : now + DRAIN_CYCLES;
}

void sluice_edits_release(struct sluice_device *device, struct sluice_edit_table *table,
                          const uint16_t held[SLUICE_ACTION_SLOTS]) {
    static const uint16_t none[SLUICE_ACTION_SLOTS] = {NO_EDIT, NO_EDIT, NO_EDIT, NO_EDIT,
                                                       NO_EDIT, NO_EDIT, NO_EDIT, NO_EDIT};
    if (memcmp(held, none, sizeof none) == 0)
        return;
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        release_edit(device, table, held[i]);
}

static int write_edit(struct sluice_device *device, struct sluice_edit_table *table, uint16_t index,
                      const uint8_t *value) {
    int result = sluice_write_locked(device, table->window + SLUICE_OFU_REGISTERS_EDIT_INDEX, index);
    for (uint32_t i = 0; i < 4 && result == 0; i++) {
        uint32_t word = 0;
        for (unsigned b = 0; b < 4; b++)
            word |= (uint32_t)value[4 * i + b] << 8 * b;
        result = sluice_write_locked(device, table->window + SLUICE_OFU_REGISTERS_EDIT_DATA + 4 * i, word);
    }
    return result;
}

// An entry of the edit-data table that holds `value`: one there is, or the one that was freed longest ago.
static int take_edit(struct sluice_device *device, struct sluice_edit_table *table, const uint8_t *value) {
    int oldest = -1;
    for (int i = 0; i < SLUICE_EDIT_ENTRIES; i++) {
        struct sluice_edit_entry *entry = &table->entries[i];
        if (entry->holders && memcmp(entry->value, value, SLUICE_EDIT_BYTES) == 0) {
            entry->holders++;
            return i;
        }
        if (!entry->holders && (oldest < 0 || entry->freed_at < table->entries[oldest].freed_at))
            oldest = i;
    }
    if (oldest < 0)
        return sluice_fail(-ENOSPC, "all %d entries of the edit-data table are in use", SLUICE_EDIT_ENTRIES);
    int result = wait_cycles(device, table->entries[oldest].freed_at);
    result = result ? result : write_edit(device, table, (uint16_t)oldest, value);
    if (result)
        return result;
    memcpy(table->entries[oldest].value, value, SLUICE_EDIT_BYTES);
    table->entries[oldest].holders = 1;
    return oldest;
}

int sluice_edits_take(struct sluice_device *device, struct sluice_edit_table *table, struct sluice_action_set *actions,
                      const struct sluice_edit *edits, unsigned count, uint16_t held[SLUICE_ACTION_SLOTS]) {
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++)
        held[i] = NO_EDIT;
    for (unsigned i = 0; i < count; i++) {
        struct sluice_action *action = &actions->slots[edits[i].slot];
        int index = take_edit(device, table, edits[i].value);
        if (index < 0) {
            sluice_edits_release(device, table, held);
            return index;
        }
        held[edits[i].slot] = (uint16_t)index;
        action->operand = (action->operand & 0xf00000U) | (uint32_t)index;
    }
    return 0;
}
