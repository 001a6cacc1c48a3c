// SPDX-License-Identifier: Apache-2.0
// What a query of a rule's counters costs through rte_flow, for `sluice bench flows`: `query EAL-ARGUMENTS -- RULES
// QUERIES` makes rules, asks each in turn for its counters, and prints the nanoseconds of processor time of a query, or
// what went wrong, and then ends with 1.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FAIL(...) (printf(__VA_ARGS__), puts(""), exit(1))

static struct rte_flow *create(uint32_t number) {
    const struct rte_flow_attr attributes = {.transfer = 1};
    const struct rte_flow_item_ipv4 ip = {.hdr.src_addr = rte_cpu_to_be_32(number)},
                                    mask = {.hdr.src_addr = UINT32_MAX};
    const struct rte_flow_item items[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
                                          {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask},
                                          {.type = RTE_FLOW_ITEM_TYPE_END}};
    const struct rte_flow_action actions[] = {
        {.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_error error;
    struct rte_flow *flow = rte_flow_create(0, &attributes, items, actions, &error);
    return flow ? flow : (FAIL("rule %u: %s", number, error.message), NULL);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **arguments) {
    const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    int used = rte_eal_init(count, arguments);
    if (used < 0 || count - used != 3)
        FAIL("query: EAL arguments, --, rules, queries");
    uint32_t rules = (uint32_t)strtoul(arguments[used + 1], NULL, 10);
    uint32_t queries = (uint32_t)strtoul(arguments[used + 2], NULL, 10);
    struct rte_flow **flows = calloc(rules, sizeof *flows);
    struct rte_flow_error error;
    if (!flows || rules == 0)
        FAIL("%u rules", rules);
    for (uint32_t i = 0; i < rules; i++)
        flows[i] = create(i);
    double begin = now();
    for (uint32_t i = 0; i < queries; i++) {
        struct rte_flow_query_count got = {.reset = 1};
        if (rte_flow_query(0, flows[i % rules], actions, &got, &error) || !got.hits_set || got.hits)
            FAIL("query %u: %s", i, error.message ? error.message : "wrong counters");
    }
    printf("query_ns %.1f\n", (now() - begin) / queries);
    free(flows);
    rte_eal_cleanup();
    return 0;
}
