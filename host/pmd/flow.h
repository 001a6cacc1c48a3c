// SPDX-License-Identifier: Apache-2.0
// A rule of rte_flow in the device's words: which packets (key and mask of the flow table's layout, layouts/control/
// flow.sl) and what to do with them (an action set, its long values, a header to put in front).
#ifndef SLUICE_FLOW_H
#define SLUICE_FLOW_H

#include <rte_flow_driver.h>
#include <stdbool.h>

#include "sluice/sluice.h"

enum { FLOW_TEXT = 1024 };

struct flow_rule {
    struct sluice_flow_key value, mask; // a value has no bit outside the mask
    uint32_t rule_priority;             // rte_flow's: 0 is the highest
    struct sluice_action_set actions;
    uint32_t mark;                         // one more than the application's; 0: none
    const struct rte_flow_action_rss *rss; // whose queues packets are spread over by a table of their own; or NULL
    uint8_t action_count, edit_count, template_size;
    // As many as are counted.
    struct sluice_edit edits[SLUICE_ACTION_SLOTS];
    uint8_t template[SLUICE_TEMPLATE_BYTES];
};

// What a rule may name.
struct flow_context {
    uint8_t lane;         // of the port that was asked
    unsigned queue_count; // its receive queues
    uint64_t rss_types;   // what it hashes, see pmd_rss_all
    // The lane that an ethdev is on this device, or -1.
    int (*lane_of)(void *device, uint32_t port_id);
    void *device;
};

// Translate. 0, or a negative errno with `error`: type ACTION where the rule means something that the device cannot do,
// another type where it means nothing.
int flow_parse(const struct flow_context *context, const struct rte_flow_attr *attributes,
               const struct rte_flow_item *pattern, const struct rte_flow_action *actions, struct flow_rule *rule,
               struct rte_flow_error *error);
// The two halves, for the attributes and the pattern, and for the actions of a rule whose pattern is known.
int flow_parse_pattern(const struct flow_context *context, const struct rte_flow_attr *attributes,
                       const struct rte_flow_item *pattern, struct flow_rule *rule, struct rte_flow_error *error);
int flow_parse_actions(const struct flow_context *context, const struct rte_flow_attr *attributes,
                       const struct rte_flow_action *actions, struct flow_rule *rule, struct rte_flow_error *error);

// Set the error: a text of this thread, valid until its next error. Returns `result`.
int flow_error(struct rte_flow_error *error, int result, enum rte_flow_error_type type, const void *cause,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
// -ENOTSUP: what the device cannot do.
#define flow_refuse(error, cause, ...) flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, cause, __VA_ARGS__)

// The rule in a line.
void flow_text(const struct flow_rule *rule, char text[FLOW_TEXT]);

#endif
