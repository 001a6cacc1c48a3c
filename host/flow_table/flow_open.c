// SPDX-License-Identifier: Apache-2.0
#include "flow_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actions.h"
#include "rule_mirror.h"

enum { MIRROR_TRIES = 100 }; // then someone else changes rules all the time
enum { MOST_RECORDS = 4 * SLUICE_MOST_RULES, MOST_PUSH_CYCLES = 1 << 26 };

struct sluice_flows {
    struct sluice_device *device;
    struct sluice_flow_device *table;
    struct sluice_flow_rules *rules;
    struct sluice_edit_table edits;
    uint32_t limit;                        // rules there can be
    uint16_t (*held)[SLUICE_ACTION_SLOTS]; // edit data of a rule, by its handle
    const uint64_t *mirror;                // counters in host memory; NULL: none
    uint32_t ternary_record;               // where those of TABLE_TERNARY begin
};

// The caller holds the device's lock.
static int read_register(void *context, uint32_t address, uint32_t *value) {
    struct sluice_flows *flows = context;
    return sluice_read_locked(flows->device, flows->edits.window + address, value);
}

static int write_register(void *context, uint32_t address, uint32_t value) {
    struct sluice_flows *flows = context;
    return sluice_write_locked(flows->device, flows->edits.window + address, value);
}

static int run_batch(void *context, struct sluice_access *accesses, unsigned count) {
    struct sluice_flows *flows = context;
    for (unsigned i = 0; i < count; i++)
        accesses[i].address += flows->edits.window;
    return sluice_batch_locked(flows->device, accesses, count);
}

// Memory for counters, where the device pushes them and its transport has some.
static int open_mirror(struct sluice_flows *flows, const struct sluice_flow_table *table) {
    struct sluice_transport *transport = flows->device->transport;
    uint32_t records = 0, hashed = table->groups * table->group_entries;
    int result = read_register(flows, SLUICE_FLOW_REGISTERS_PUSH_RECORDS, &records);
    if (result || records == 0 || !transport->mirror_attach)
        return result;
    if ((result = read_register(flows, SLUICE_FLOW_REGISTERS_PUSH_TERNARY, &flows->ternary_record)))
        return result;
    if (flows->ternary_record < hashed || flows->ternary_record > records || records > MOST_RECORDS ||
        records - flows->ternary_record < table->ternary_entries)
        return sluice_fail(-EPROTO, "the device has %u records of counters, the TCAM's from %u on, for %u and %u rules",
                           records, flows->ternary_record, hashed, table->ternary_entries);
    const void *memory = transport->mirror_attach(transport, records);
    if (!memory)
        return 0;
    if ((result = write_register(flows, SLUICE_FLOW_REGISTERS_PUSH_CONTROL, 1)))
        return result;
    flows->mirror = memory;
    uint32_t cycles = 0;
    if (!(result = read_register(flows, SLUICE_FLOW_REGISTERS_PUSH_CYCLES, &cycles)))
        result = sluice_check_fact(SLUICE_FLOW_REGISTERS_PUSH_CYCLES, cycles, MOST_PUSH_CYCLES);
    __atomic_store_n(&flows->device->push_cycles, cycles, __ATOMIC_RELAXED);
    return result;
}

static int open_table(struct sluice_flows *flows) {
    const struct sluice_flow_bus bus = {flows, read_register, write_register, run_batch};
    struct sluice_flow_table table;
    int result = sluice_flow_device_new(&bus, &flows->table);
    if (result)
        return result;
    sluice_flow_device_table(flows->table, &table);
    if ((result = open_mirror(flows, &table)))
        return result;
    flows->rules = sluice_flow_rules_new(&table);
    flows->limit = table.groups * table.group_entries + table.ternary_entries;
    flows->held = malloc(flows->limit * sizeof *flows->held);
    if (!flows->rules || !flows->held)
        return sluice_fail(-ENOMEM, "out of memory");
    memset(flows->held, 0xff, flows->limit * sizeof *flows->held); // now, not when rules come, is memory fetched
    return sluice_flow_rules_flush(flows->rules);
}

int sluice_flows_open(struct sluice_device *device, struct sluice_flows **out) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_FLOW_TABLE);
    if (window < 0)
        return window;
    struct sluice_flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return sluice_fail(-ENOMEM, "out of memory");
    flows->device = device;
    flows->edits.window = (uint32_t)window * SLUICE_WINDOW_SIZE;
    pthread_mutex_lock(&device->lock);
    int result = open_table(flows);
    pthread_mutex_unlock(&device->lock);
    if (result) {
        sluice_flows_close(flows);
        return result;
    }
    *out = flows;
    return 0;
}

void sluice_flows_close(struct sluice_flows *flows) {
    if (!flows)
        return;
    sluice_flow_rules_free(flows->rules);
    sluice_flow_device_free(flows->table);
    free(flows->held);
    free(flows);
}

static int add_locked(struct sluice_flows *flows, const uint8_t *value, const uint8_t *mask, uint16_t rule_priority,
                      const struct sluice_action_set *actions, const struct sluice_edit *edits, unsigned edit_count) {
    struct sluice_action_set filled = *actions;
    uint16_t held[SLUICE_ACTION_SLOTS];
    int result = sluice_edits_take(flows->device, &flows->edits, &filled, edits, edit_count, held);
    if (result)
        return result;
    int handle = sluice_flow_rule_add(flows->rules, value, mask, rule_priority, &filled);
    if (handle < 0)
        sluice_edits_release(flows->device, &flows->edits, held);
    else
        memcpy(flows->held[handle], held, sizeof held);
    return handle;
}

int sluice_flows_add(struct sluice_flows *flows, const uint8_t *value, const uint8_t *mask, uint16_t rule_priority,
                     const struct sluice_action_set *actions, const struct sluice_edit *edits, unsigned edit_count) {
    int result = sluice_actions_check(flows->device, actions, edits, edit_count);
    if (result)
        return result;
    pthread_mutex_lock(&flows->device->lock);
    result = add_locked(flows, value, mask, rule_priority, actions, edits, edit_count);
    pthread_mutex_unlock(&flows->device->lock);
    return result;
}

int sluice_flows_delete(struct sluice_flows *flows, int handle) {
    pthread_mutex_lock(&flows->device->lock);
    int result = sluice_flow_rule_delete(flows->rules, handle);
    if (result == 0)
        sluice_edits_release(flows->device, &flows->edits, flows->held[handle]);
    pthread_mutex_unlock(&flows->device->lock);
    return result;
}

int sluice_flows_counters(struct sluice_flows *flows, int handle, struct sluice_rule_counters *counters) {
    pthread_mutex_lock(&flows->device->lock);
    int result = sluice_flow_rule_counters(flows->rules, handle, counters);
    pthread_mutex_unlock(&flows->device->lock);
    return result;
}

static int read_mirror(const struct sluice_flows *flows, int handle, struct sluice_rule_counters *counters) {
    struct sluice_flow_peek peek;
    int result = sluice_flow_rule_peek(flows->rules, handle, &peek);
    if (result)
        return result;
    uint32_t first = peek.table_id == SLUICE_TABLE_TERNARY ? flows->ternary_record : 0;
    result = sluice_mirror_read(flows->mirror, first + peek.rule_id, counters);
    if (result || !sluice_flow_rule_unchanged(flows->rules, handle, &peek))
        return -EAGAIN;
    if (counters->packets == 0)
        counters->last_hit = peek.base.last_hit;
    counters->packets += peek.base.packets;
    counters->bytes += peek.base.bytes;
    return 0;
}

int sluice_flows_mirrored(const struct sluice_flows *flows, int handle, struct sluice_rule_counters *counters) {
    int result = flows->mirror ? -EAGAIN : -ENOTSUP;
    for (unsigned n = 0; n < MIRROR_TRIES && result == -EAGAIN; n++)
        result = read_mirror(flows, handle, counters);
    return result;
}

int sluice_flows_place(struct sluice_flows *flows, int handle, struct sluice_flow_operation *place,
                       struct sluice_edit edits[SLUICE_ACTION_SLOTS]) {
    int result = sluice_flow_rule_place(flows->rules, handle, place);
    for (unsigned slot = 0; result == 0 && slot < SLUICE_ACTION_SLOTS; slot++) {
        uint16_t index = flows->held[handle][slot];
        edits[slot].slot = (uint8_t)slot;
        if (index < SLUICE_EDIT_ENTRIES)
            memcpy(edits[slot].value, flows->edits.entries[index].value, SLUICE_EDIT_BYTES);
    }
    return result;
}

uint32_t sluice_flows_limit(const struct sluice_flows *flows) {
    return flows->limit;
}

struct sluice_flow_rules *sluice_flows_rules(struct sluice_flows *flows) {
    return flows->rules;
}
