// SPDX-License-Identifier: Apache-2.0
// rte_flow of a device: the rules of all of its ports.
#ifndef SLUICE_FLOW_OPS_H
#define SLUICE_FLOW_OPS_H

#include <rte_flow_driver.h>

struct pmd_device;
struct pmd_flows;

extern const struct rte_flow_ops pmd_flow_ops;

// Empty tables, nothing admitted. 0, or a negative errno with sluice_error_text().
int pmd_flows_new(struct pmd_flows **flows, struct pmd_device *device);
void pmd_flows_free(struct pmd_flows *flows);
// Delete the rules of a port, which is closed.
void pmd_flows_forget_port(struct pmd_flows *flows, uint8_t lane);

// What the rules of a port have counted since they were made: how many of them there are from the `first` on, at most
// `size`. A counter that cannot be read is 0.
struct pmd_flow_count {
    const struct rte_flow *flow;
    uint64_t packets;
};
unsigned pmd_flows_counts(struct pmd_flows *flows, uint8_t lane, unsigned first, struct pmd_flow_count *counts,
                          unsigned size);

#endif
