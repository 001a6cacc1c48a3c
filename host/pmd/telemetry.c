// SPDX-License-Identifier: Apache-2.0
// Telemetry commands of DPDK. `/net_sluice/rules,PORT[,FIRST]` answers the packets of each rule of a port since it was
// made, by the address that the program's handle has, at most RULES of them from the FIRST on. Neither a query with
// reset nor another thread's changes what is told; rules that come and go between two questions move the others along.
//
// `/net_sluice/signal,PORT,WORD,...` is a message to an element of the compiled configuration in front of the device's
// flow table, of words in any base of C, and the words of its answer; or a text that says why there is none. It changes
// the device, and asks nobody who he is: the socket lies in a folder that DPDK makes for its owner alone (0700), so
// whoever can write to it could as well write to the process.
#include <errno.h>
#include <rte_telemetry.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_ops.h"
#include "pmd.h"

enum { RULES = 200, NAME = 32 }; // of 256 values that an answer holds
enum { SIGNAL_WORDS = 128 };     // of a message, and of an answer

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

// The driver's port that a parameter begins with, and what is behind its number; NULL: there is none.
static struct pmd_port *port_of(const char *parameters, char **rest) {
    unsigned long port = parameters ? strtoul(parameters, rest, 10) : 0;
    if (!parameters || *rest == parameters || port >= RTE_MAX_ETHPORTS || !rte_eth_dev_is_valid_port((uint16_t)port) ||
        rte_eth_devices[port].dev_ops != &pmd_ops)
        return NULL;
    return rte_eth_devices[port].data->dev_private;
}

static int tell_rules(const char *command, const char *parameters, struct rte_tel_data *data) {
    char *rest, *end;
    const struct pmd_port *port = port_of(parameters, &rest);
    (void)command;
    if (!port)
        return -EINVAL;
    unsigned long first = *rest == ',' ? strtoul(rest + 1, &end, 10) : 0;
    if (*rest == ',' ? end == rest + 1 || *end : *rest)
        return -EINVAL;
    return answer(port, (unsigned)first, data);
}

static int signal_words(char *text, uint32_t words[SIGNAL_WORDS]) {
    unsigned count = 0;
    for (char *end; *text == ','; text = end) {
        unsigned long long word = strtoull(text + 1, &end, 0);
        if (end == text + 1 || word > UINT32_MAX || count == SIGNAL_WORDS)
            return -EINVAL;
        words[count++] = (uint32_t)word;
    }
    return *text ? -EINVAL : (int)count;
}

static int tell_signal(const char *command, const char *parameters, struct rte_tel_data *data) {
    uint32_t words[SIGNAL_WORDS], reply[SIGNAL_WORDS];
    char *rest;
    const struct pmd_port *port = port_of(parameters, &rest);
    int count = port ? signal_words(rest, words) : -EINVAL;
    (void)command;
    if (count <= 0)
        return -EINVAL;
    service_begin(port->device->service);
    count = sluice_signal(port->device->sluice, words, (unsigned)count, reply, SIGNAL_WORDS);
    service_end(port->device->service);
    if (count < 0)
        return rte_tel_data_string(data, sluice_error_text());
    rte_tel_data_start_array(data, RTE_TEL_U64_VAL);
    for (int i = 0; i < count; i++)
        rte_tel_data_add_array_u64(data, reply[i]);
    return 0;
}

RTE_INIT(register_telemetry) {
    rte_telemetry_register_cmd("/net_sluice/rules", tell_rules,
                               "Packets of the rules of a port. Parameters: port id, first rule (0)");
    rte_telemetry_register_cmd("/net_sluice/signal", tell_signal,
                               "A signal to the configuration of a device. Parameters: port id, words of the message");
}
