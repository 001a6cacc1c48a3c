// SPDX-License-Identifier: Apache-2.0
// The tables of the device behind rte_flow: its flow table, the header templates of encapsulations, and the redirection
// tables of RSS over some queues. Rules with the same header, or of a lane with the same queues, share one.
#ifndef SLUICE_FLOW_TABLES_H
#define SLUICE_FLOW_TABLES_H

#include "flow.h"

struct flow_tables;

// Where a rule is.
struct flow_place {
    int handle;   // of the rule manager, which may move it
    int template; // -1: none
    int spread;   // of all redirection tables of all lanes; 0: none
};

enum { FLOW_PLACE_TEXT = 64 };

// Empty tables that match nothing; none where the device has no flow table. 0, or a negative errno with
// sluice_error_text().
int flow_tables_new(struct flow_tables **tables, struct sluice_device *device);
void flow_tables_free(struct flow_tables *tables);

// Whether a rule could be taken if there is room; nothing changes. Then take it. 0, or a negative errno with the error
// set. Calls of one device are the caller's to serialise.
int flow_tables_check(const struct flow_tables *tables, const struct flow_rule *rule, struct rte_flow_error *error);
int flow_tables_add(struct flow_tables *tables, const struct flow_rule *rule, struct flow_place *place,
                    struct rte_flow_error *error);
int flow_tables_remove(struct flow_tables *tables, const struct flow_place *place);
// What the rule has counted since it was added.
int flow_tables_counters(struct flow_tables *tables, const struct flow_place *place,
                         struct sluice_rule_counters *counters);
// The same of the rule with a handle, as the device wrote it into host memory: no access to the device, no need to
// serialise. -ENOENT: there is no such rule; -ENOTSUP, -EAGAIN: it cannot be told so.
int flow_tables_mirrored(const struct flow_tables *tables, int handle, struct sluice_rule_counters *counters);
// What it is, as it was parsed, and where it is now, in words.
void flow_tables_text(struct flow_tables *tables, const struct flow_place *place, struct flow_rule *rule,
                      char text[FLOW_PLACE_TEXT]);
// Rules there can be: handles of places are below this.
uint32_t flow_tables_limit(const struct flow_tables *tables);

#endif
