// SPDX-License-Identifier: Apache-2.0
// Rules of the flow table (elements/flow_table): the manager that finds a place for each, and a software model of the
// table. Keys and masks are the bytes of sluice_flow_key_pack. Not thread-safe: the caller serialises calls on one
// object.
#ifndef SLUICE_FLOW_TABLE_H
#define SLUICE_FLOW_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice_layouts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SLUICE_FLOW_WORDS = (SLUICE_FLOW_KEY_BYTES + 7) / 8 };

// One operation on one of the table's two tables (SLUICE_TABLE_HASHED, SLUICE_TABLE_TERNARY).
struct sluice_flow_operation {
    uint8_t kind; // enum sluice_instruction_kind
    uint8_t table_id;
    uint8_t group;          // SLUICE_TABLE_HASHED
    uint16_t rule_priority; // the higher wins
    uint32_t rule_id;
    // Nobody reads these of SLUICE_INSTRUCTION_DELETE and SLUICE_INSTRUCTION_INITIALIZE. Bytes of sluice_flow_key_pack,
    // those behind the key 0.
    uint64_t value[SLUICE_FLOW_WORDS], mask[SLUICE_FLOW_WORDS];
    struct sluice_action_set actions;
};

// What executes operations: a device, or the model below.
struct sluice_flow_table {
    void *context;
    uint32_t groups, group_entries, ternary_entries;
    // 0, or the negative errno that the table answered; or -ENODEV.
    int (*execute)(void *context, const struct sluice_flow_operation *operation);
    // Of a rule that was deleted and not populated again: what it counted in the end, after all packets under way.
    int (*counters)(void *context, uint8_t table_id, uint32_t rule_id, struct sluice_rule_counters *counters);
};

struct sluice_flow_rules;

// NULL: no memory. `table` must be empty, and no one else may write to it.
struct sluice_flow_rules *sluice_flow_rules_new(const struct sluice_flow_table *table);
void sluice_flow_rules_free(struct sluice_flow_rules *rules);

// A rule; packets that match several follow one of the highest priority. Its handle (0 or more), which stays while the
// manager moves it, or: -EEXIST the same key, mask and priority are there, -ENOTSUP the mask asks for bits that the
// device does not read, -ENOSPC there is no room (the text says which), or what the table said.
int sluice_flow_rule_add(struct sluice_flow_rules *rules, const uint8_t *value, const uint8_t *mask,
                         uint16_t rule_priority, const struct sluice_action_set *actions);
// Other actions, in one step for the packets. -ENOENT: no such rule.
int sluice_flow_rule_update(struct sluice_flow_rules *rules, int handle, const struct sluice_action_set *actions);
int sluice_flow_rule_delete(struct sluice_flow_rules *rules, int handle);
// What the rule counted in all places it was in.
int sluice_flow_rule_counters(struct sluice_flow_rules *rules, int handle, struct sluice_rule_counters *counters);
// Where it is now: table, group and rule id.
int sluice_flow_rule_place(const struct sluice_flow_rules *rules, int handle, struct sluice_flow_operation *place);
// For threads that read the counters of a rule elsewhere while another may delete or move it: where it is, and what it
// counted at earlier places. -ENOENT; -EAGAIN: it changes just now. What was read at that place meanwhile is the rule's
// if afterwards it is unchanged.
struct sluice_flow_peek {
    uint32_t version, rule_id;
    uint8_t table_id;
    struct sluice_rule_counters base;
};
int sluice_flow_rule_peek(const struct sluice_flow_rules *rules, int handle, struct sluice_flow_peek *peek);
bool sluice_flow_rule_unchanged(const struct sluice_flow_rules *rules, int handle, const struct sluice_flow_peek *peek);
// Deletes every rule.
int sluice_flow_rules_flush(struct sluice_flow_rules *rules);

// The table as software: the same answers and verdicts as the element.
struct sluice_flow_model;

struct sluice_flow_found {
    uint8_t table_id;
    uint32_t rule_id;
    struct sluice_action_set actions;
};

// A group refuses rules when `fill` of its slots are taken: hardware does so somewhere between 90 and 100 %. NULL: no
// memory.
struct sluice_flow_model *sluice_flow_model_new(uint32_t groups, uint32_t group_entries, uint32_t fill,
                                                uint32_t ternary_entries);
void sluice_flow_model_free(struct sluice_flow_model *model);
void sluice_flow_model_table(struct sluice_flow_model *model, struct sluice_flow_table *table);
// Looks up the key of a packet of `length` bytes and counts it; whether a rule matched.
bool sluice_flow_model_find(struct sluice_flow_model *model, const uint8_t *key, uint32_t length, uint32_t tick,
                            struct sluice_flow_found *found);
// The same in two steps: a packet that a rule matches need not follow it.
bool sluice_flow_model_look(const struct sluice_flow_model *model, const uint8_t *key, struct sluice_flow_found *found);
void sluice_flow_model_count(struct sluice_flow_model *model, const struct sluice_flow_found *found, uint32_t length,
                             uint32_t tick);
// Rules in a mask group, and whether a rule id is used; both in range.
uint32_t sluice_flow_model_group_used(const struct sluice_flow_model *model, uint32_t group);
bool sluice_flow_model_has(const struct sluice_flow_model *model, uint8_t table_id, uint32_t rule_id);

// The table of a device, behind its window.
struct sluice_flow_device;

struct sluice_access; // transport.h

// Register accesses; addresses are offsets in the window of the flow table. Both return 0 or a negative errno.
struct sluice_flow_bus {
    void *context;
    int (*read)(void *context, uint32_t address, uint32_t *value);
    int (*write)(void *context, uint32_t address, uint32_t value);
    // One after the other, up to the first that fails. NULL: there is only one at a time.
    int (*batch)(void *context, struct sluice_access *accesses, unsigned count);
};

// Waits until the element is ready and switches it on. -ENODEV: the window is not of a flow table.
int sluice_flow_device_new(const struct sluice_flow_bus *bus, struct sluice_flow_device **device);
void sluice_flow_device_free(struct sluice_flow_device *device);
void sluice_flow_device_table(struct sluice_flow_device *device, struct sluice_flow_table *table);

#ifdef __cplusplus
}
#endif
#endif
