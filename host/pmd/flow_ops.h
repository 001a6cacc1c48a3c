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

#endif
