// SPDX-License-Identifier: Apache-2.0
// A telemetry command of DPDK: `/net_sluice/rules,PORT[,FIRST]` answers the packets of each rule of a port since it was
// made, by the address that the program's handle has, at most RULES of them from the FIRST on. Neither a query with
// reset nor another thread's changes what is told; rules that come and go between two questions move the others along.
#include <errno.h>
#include <rte_telemetry.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_ops.h"
#include "pmd.h"

enum { RULES = 200, NAME = 32 }; // of 256 values that an answer holds

static int answer(const struct pmd_port *port, unsigned first, struct rte_tel_data *data) {
    struct pmd_flow_count counts[RULES];
    unsigned count = pmd_flows_counts(port->device->flows, port->lane, first, counts, RULES);
    rte_tel_data_start_dict(data);
    for (unsigned i = 0; i < count; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%p", counts[i].flow);
        rte_tel_data_add_dict_u64(data, name, counts[i].packets);
    }
    return 0;
}

static int tell_rules(const char *command, const char *parameters, struct rte_tel_data *data) {
    char *rest, *end;
    (void)command;
    if (!parameters)
        return -EINVAL;
    unsigned long port = strtoul(parameters, &rest, 10), first = *rest == ',' ? strtoul(rest + 1, &end, 10) : 0;
    if (rest == parameters || (*rest == ',' ? end == rest + 1 || *end : *rest) || port >= RTE_MAX_ETHPORTS ||
        !rte_eth_dev_is_valid_port((uint16_t)port) || rte_eth_devices[port].dev_ops != &pmd_ops)
        return -EINVAL;
    return answer(rte_eth_devices[port].data->dev_private, (unsigned)first, data);
}

RTE_INIT(register_telemetry) {
    rte_telemetry_register_cmd("/net_sluice/rules", tell_rules,
                               "Packets of the rules of a port. Parameters: port id, first rule (0)");
}
