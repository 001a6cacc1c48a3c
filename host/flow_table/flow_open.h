// SPDX-License-Identifier: Apache-2.0
// The flow table of an open device: its rule manager, and the edit data of its actions. Calls on one object are the
// caller's to serialise.
#ifndef SLUICE_FLOW_OPEN_H
#define SLUICE_FLOW_OPEN_H

#include "flow_table.h"
#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sluice_flows;

// Empties the table and switches it on. -ENOENT: the device has none.
int sluice_flows_open(struct sluice_device *device, struct sluice_flows **flows);
void sluice_flows_close(struct sluice_flows *flows);
// As sluice_flow_rule_add, with what the device has checked and the values of SET_LONG actions: -EINVAL, -ENOSPC.
int sluice_flows_add(struct sluice_flows *flows, const uint8_t *value, const uint8_t *mask, uint16_t rule_priority,
                     const struct sluice_action_set *actions, const struct sluice_edit *edits, unsigned edit_count);
int sluice_flows_delete(struct sluice_flows *flows, int handle);
// What the rule counted in all places it was in.
int sluice_flows_counters(struct sluice_flows *flows, int handle, struct sluice_rule_counters *counters);
// The same as the device last wrote it into host memory (docs/design/flow_table.md says how old that may be); no access
// to the device. Any thread at any time, also while another adds and deletes rules. -ENOTSUP: the device does not;
// -EAGAIN: rules change too fast just now; -ENOENT without a text.
int sluice_flows_mirrored(const struct sluice_flows *flows, int handle, struct sluice_rule_counters *counters);
// The rule and where it is now, and by slot the values of its SET_LONG actions.
int sluice_flows_place(struct sluice_flows *flows, int handle, struct sluice_flow_operation *place,
                       struct sluice_edit edits[SLUICE_ACTION_SLOTS]);
// Handles are below this.
uint32_t sluice_flows_limit(const struct sluice_flows *flows);
// The rule manager, for who has the device to himself: its calls do not take the device's lock.
struct sluice_flow_rules *sluice_flows_rules(struct sluice_flows *flows);

#ifdef __cplusplus
}
#endif
#endif
