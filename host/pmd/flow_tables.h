// SPDX-License-Identifier: Apache-2.0
// The tables of the device behind rte_flow: today the exact 5-tuple table and the longest-prefix table of the rule
// configuration. They take the rules that they enforce exactly as asked, and no other.
#ifndef SLUICE_FLOW_TABLES_H
#define SLUICE_FLOW_TABLES_H

#include "flow.h"

struct flow_tables;

// Where a rule is.
struct flow_place {
    uint16_t ofu;
    uint8_t table;
    uint32_t id;
    int template; // -1: none
    struct flow_rule *rule;
    struct flow_place *next, **at; // of the same table
};

// Empty tables that match nothing. 0, or a negative errno with sluice_error_text().
int flow_tables_new(struct flow_tables **tables, struct sluice_device *device);
void flow_tables_free(struct flow_tables *tables);

// Whether a rule could be taken; nothing changes. Then take it: `rule` must live as long as `place`. 0, or a negative
// errno with the error set. Calls of one device are the caller's to serialise.
int flow_tables_check(struct flow_tables *tables, const struct flow_rule *rule, struct rte_flow_error *error);
int flow_tables_add(struct flow_tables *tables, struct flow_rule *rule, struct flow_place *place,
                    struct rte_flow_error *error);
int flow_tables_remove(struct flow_tables *tables, struct flow_place *place);
int flow_tables_counters(struct flow_tables *tables, const struct flow_place *place,
                         struct sluice_rule_counters *counters);

#endif
