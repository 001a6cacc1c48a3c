// SPDX-License-Identifier: Apache-2.0
// The calls of rte_flow. Any thread may make them at any time, on any port of a device: the service lets one
// in at a time, but for queries, which read host memory where the device writes its counters there.
#include "flow_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_tables.h"
#include "pmd.h"

enum { COUNTER_BITS = 48 };

static const uint64_t all_counts = (1ULL << COUNTER_BITS) - 1;

// A handle: of the array that `pmd_flows` has for as many rules as there can be, at the place of the rule's number. A
// cache line.
struct rte_flow {
    _Alignas(RTE_CACHE_LINE_SIZE) struct rte_flow *next, **at; // at: NULL where there is no rule
    struct flow_place place;
    uint8_t lane; // of the port that it was asked of
    // Counters at the last reset, which queries write without a turn; above COUNTER_BITS the number of the rule that
    // has this handle: a query of one that is gone does not touch the next.
    uint64_t packets, bytes;
};

struct pmd_flows {
    struct pmd_device *device;
    struct flow_tables *tables;
    struct rte_flow *first, *all;
    uint32_t limit;
};

static struct pmd_port *port_of(const struct rte_eth_dev *ethdev) {
    return ethdev->data->dev_private;
}

// One caller at a time.
static void begin(struct pmd_flows *flows) {
    service_begin(flows->device->service);
}

static void end(struct pmd_flows *flows) {
    service_end(flows->device->service);
}

int pmd_flows_new(struct pmd_flows **out, struct pmd_device *device) {
    struct pmd_flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return sluice_fail(-ENOMEM, "out of memory");
    flows->device = device;
    *out = flows;
    int result = flow_tables_new(&flows->tables, device->sluice);
    if (result)
        return result;
    flows->limit = flow_tables_limit(flows->tables);
    size_t size = (flows->limit + 1) * sizeof *flows->all;
    flows->all = aligned_alloc(sizeof *flows->all, size);
    if (!flows->all)
        return sluice_fail(-ENOMEM, "out of memory");
    memset(flows->all, 0, size); // fetches the memory now, not when rules come, as calloc (and malloc before it) would
    return 0;
}

// What a program gives back may be anything.
static bool is_handle(const struct pmd_flows *flows, const struct rte_flow *flow) {
    uintptr_t at = (uintptr_t)flow - (uintptr_t)flows->all;
    return at < flows->limit * sizeof *flow && at % sizeof *flow == 0;
}

// Whether a handle is of a rule that there is.
static bool is_there(const struct pmd_flows *flows, const struct rte_flow *flow) {
    return is_handle(flows, flow) && flow->at;
}

static int no_rule(const struct rte_flow *flow, struct rte_flow_error *error) {
    return flow_error(error, -ENOENT, RTE_FLOW_ERROR_TYPE_HANDLE, flow, "this handle is of no rule of the device");
}

// The rules of a device that has failed are gone, whether it can be told so or not.
static int forget(struct pmd_flows *flows, struct rte_flow *flow) {
    int result = flow_tables_remove(flows->tables, &flow->place);
    if (result == -ENODEV || service_status(flows->device->service))
        result = 0;
    *flow->at = flow->next;
    if (flow->next)
        flow->next->at = flow->at;
    flow->at = NULL;
    return result;
}

static int forget_port(struct pmd_flows *flows, uint8_t lane) {
    int result = 0;
    for (struct rte_flow *flow = flows->first, *next; flow; flow = next) {
        next = flow->next;
        int removed = flow->lane == lane ? forget(flows, flow) : 0;
        result = removed ? removed : result;
    }
    return result;
}

void pmd_flows_forget_port(struct pmd_flows *flows, uint8_t lane) {
    begin(flows);
    forget_port(flows, lane);
    end(flows);
}

unsigned pmd_flows_counts(struct pmd_flows *flows, uint8_t lane, unsigned first, struct pmd_flow_count *counts,
                          unsigned size) {
    unsigned at = 0, count = 0;
    begin(flows);
    for (struct rte_flow *one = flows->first; one && count < size; one = one->next) {
        struct sluice_rule_counters counters = {0};
        if (one->lane != lane || at++ < first)
            continue;
        if (flow_tables_mirrored(flows->tables, one->place.handle, &counters))
            flow_tables_counters(flows->tables, &one->place, &counters);
        counts[count++] = (struct pmd_flow_count){one, counters.packets};
    }
    end(flows);
    return count;
}

void pmd_flows_free(struct pmd_flows *flows) {
    if (!flows)
        return;
    flow_tables_free(flows->tables);
    free(flows->all);
    free(flows);
}

static int lane_of(void *device, uint32_t port_id) {
    if (port_id > UINT16_MAX || !rte_eth_dev_is_valid_port((uint16_t)port_id))
        return -1;
    const struct rte_eth_dev *ethdev = &rte_eth_devices[port_id];
    return ethdev->dev_ops == &pmd_ops && port_of(ethdev)->device == device ? port_of(ethdev)->lane : -1;
}

static int parse(struct rte_eth_dev *ethdev, const struct rte_flow_attr *attributes,
                 const struct rte_flow_item *pattern, const struct rte_flow_action *actions, struct flow_rule *rule,
                 struct rte_flow_error *error) {
    struct pmd_port *port = port_of(ethdev);
    unsigned queues = ethdev->data->nb_rx_queues ? ethdev->data->nb_rx_queues : 1; // none before the port is configured
    struct flow_context context = {.lane = port->lane,
                                   .queue_count = queues,
                                   .rss_types = port->rss.types,
                                   .lane_of = lane_of,
                                   .device = port->device};
    char text[FLOW_TEXT];
    int result = flow_parse(&context, attributes, pattern, actions, rule, error);
    if (result == 0 && rte_log_can_log((uint32_t)pmd_log, RTE_LOG_DEBUG)) {
        flow_text(rule, text);
        PMD_LOG(DEBUG, "flow %s\n", text);
    }
    return result;
}

static int flow_validate(struct rte_eth_dev *ethdev, const struct rte_flow_attr *attributes,
                         const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
                         struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    struct flow_rule rule;
    int result = parse(ethdev, attributes, pattern, actions, &rule, error);
    if (result)
        return result;
    return flow_tables_check(flows->tables, &rule, error);
}

// The rule that was put into the tables becomes a handle.
static struct rte_flow *keep(struct pmd_flows *flows, uint8_t lane, const struct flow_place *place) {
    struct rte_flow *flow = &flows->all[place->handle];
    uint64_t none = ((flow->packets >> COUNTER_BITS) + 1) << COUNTER_BITS;
    flow->next = flows->first;
    flow->at = &flows->first;
    flow->place = *place;
    flow->lane = lane;
    __atomic_store_n(&flow->packets, none, __ATOMIC_RELAXED);
    __atomic_store_n(&flow->bytes, none, __ATOMIC_RELAXED);
    if (flow->next)
        flow->next->at = &flow->next;
    flows->first = flow;
    return flow;
}

static struct rte_flow *flow_create(struct rte_eth_dev *ethdev, const struct rte_flow_attr *attributes,
                                    const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
                                    struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    struct rte_flow *flow = NULL;
    struct flow_place place;
    struct flow_rule rule;
    if (parse(ethdev, attributes, pattern, actions, &rule, error))
        return NULL;
    begin(flows);
    if (flow_tables_add(flows->tables, &rule, &place, error) == 0)
        flow = keep(flows, port_of(ethdev)->lane, &place);
    end(flows);
    return flow;
}

static void log_end(struct pmd_flows *flows, const struct rte_flow *flow) {
    struct sluice_rule_counters counters = {0};
    flow_tables_counters(flows->tables, &flow->place, &counters);
    PMD_LOG(DEBUG, "flow %p destroyed after %llu packets\n", (const void *)flow, (unsigned long long)counters.packets);
}

static int flow_destroy(struct rte_eth_dev *ethdev, struct rte_flow *flow, struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    int result = 0;
    begin(flows);
    bool found = is_there(flows, flow);
    if (found) {
        if (rte_log_get_level((uint32_t)pmd_log) >= (int)RTE_LOG_DEBUG)
            log_end(flows, flow);
        result = forget(flows, flow);
    }
    end(flows);
    if (!found)
        return no_rule(flow, error);
    return result ? flow_error(error, result, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, "%s", sluice_error_text()) : 0;
}

static int flow_flush(struct rte_eth_dev *ethdev, struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    begin(flows);
    int result = forget_port(flows, port_of(ethdev)->lane);
    end(flows);
    return result ? flow_error(error, result, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, "%s", sluice_error_text()) : 0;
}

// What was counted since the last reset of rule `number`. 0 where another thread has reset to more meanwhile, or the
// rule is gone.
static uint64_t since_reset(uint64_t *base, uint64_t number, uint64_t count, bool reset) {
    uint64_t before = __atomic_load_n(base, __ATOMIC_RELAXED), now = number << COUNTER_BITS | (count & all_counts),
             passed;
    do {
        passed = (count - before) & all_counts;
        if (before >> COUNTER_BITS != number || passed >> (COUNTER_BITS - 1))
            return 0;
    } while (reset && !__atomic_compare_exchange_n(base, &before, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return passed;
}

static int counters_at_device(struct pmd_flows *flows, const struct rte_flow *flow,
                              struct sluice_rule_counters *counters) {
    begin(flows);
    int result = flow->at ? flow_tables_counters(flows->tables, &flow->place, counters) : -ENOENT;
    end(flows);
    return result;
}

// 0; -ENOENT: no such rule.
static int count(struct pmd_flows *flows, struct rte_flow *flow, struct rte_flow_query_count *query) {
    struct sluice_rule_counters counters;
    if (!is_handle(flows, flow))
        return -ENOENT;
    uint64_t number = __atomic_load_n(&flow->packets, __ATOMIC_ACQUIRE) >> COUNTER_BITS; // before the counters
    int result = flow_tables_mirrored(flows->tables, (int)(flow - flows->all), &counters);
    if (result == -ENOTSUP || result == -EAGAIN)
        result = counters_at_device(flows, flow, &counters);
    if (result)
        return result;
    query->hits = since_reset(&flow->packets, number, counters.packets, query->reset);
    query->bytes = since_reset(&flow->bytes, number, counters.bytes, query->reset);
    query->hits_set = query->bytes_set = 1;
    return 0;
}

static int flow_query(struct rte_eth_dev *ethdev, struct rte_flow *flow, const struct rte_flow_action *actions,
                      void *data, struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    int result = 0;
    for (; actions->type != RTE_FLOW_ACTION_TYPE_END && result == 0; actions++) {
        if (actions->type == RTE_FLOW_ACTION_TYPE_VOID)
            continue;
        if (actions->type != RTE_FLOW_ACTION_TYPE_COUNT)
            return flow_refuse(error, actions, "a query of anything but COUNT");
        if ((result = count(flows, flow, data)) == -ENOENT)
            return no_rule(flow, error);
    }
    return result ? flow_error(error, result, RTE_FLOW_ERROR_TYPE_HANDLE, flow, "%s", sluice_error_text()) : 0;
}

static int flow_isolate(struct rte_eth_dev *ethdev, int on, struct rte_flow_error *error) {
    (void)ethdev;
    return on ? flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                           "isolated mode: what no rule matches goes to the host, always")
              : 0;
}

static int flow_dump(struct rte_eth_dev *ethdev, struct rte_flow *flow, FILE *file, struct rte_flow_error *error) {
    struct pmd_flows *flows = port_of(ethdev)->device->flows;
    char text[FLOW_TEXT], place[FLOW_PLACE_TEXT];
    struct flow_rule rule;
    begin(flows);
    bool found = !flow || is_there(flows, flow);
    for (struct rte_flow *one = flows->first; one; one = one->next) {
        struct sluice_rule_counters counters = {0};
        if ((flow && one != flow) || (!flow && one->lane != port_of(ethdev)->lane))
            continue;
        flow_tables_counters(flows->tables, &one->place, &counters);
        flow_tables_text(flows->tables, &one->place, &rule, place);
        flow_text(&rule, text);
        fprintf(file, "%s, %llu packets: %s\n", place,
                (unsigned long long)((counters.packets - one->packets) & all_counts), text);
    }
    end(flows);
    return found ? 0 : no_rule(flow, error);
}

const struct rte_flow_ops pmd_flow_ops = {
    .validate = flow_validate,
    .create = flow_create,
    .destroy = flow_destroy,
    .flush = flow_flush,
    .dev_dump = flow_dump,
    .query = flow_query,
    .isolate = flow_isolate,
};
