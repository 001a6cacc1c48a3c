// SPDX-License-Identifier: Apache-2.0
// The cache: which flows have a rule in the device's exact table, which wait for one, and which are to go.
#ifndef SLUICE_FLOWS_H
#define SLUICE_FLOWS_H

#include "run.h"

struct flows;

// For the exact tables of a device; NULL where memory is short or the device has none.
struct flows *flows_new(struct sluice_device *device, const struct sluice_policy *policy);
void flows_free(struct flows *flows);

// A packet of a cacheable flow was decided in software. 1: it now waits for a rule, which flows_install will install.
int flows_seen(struct flows *flows, const struct sluice_decision *decision);

// How many wait.
uint32_t flows_waiting(const struct flows *flows);

// Behind the fence: install what waits; where the table is full, first delete those that were not hit for longest.
// `now` is the tick. 0 or a negative errno when the device fails.
int flows_install(struct flows *flows, uint32_t now, struct sluice_run_result *result);

// Delete rules that were idle longer than the policy says, looking at some of them each time.
int flows_expire(struct flows *flows, uint32_t now, struct sluice_run_result *result);

#endif
