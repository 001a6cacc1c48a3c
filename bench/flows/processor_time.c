// SPDX-License-Identifier: Apache-2.0
// Loaded in front of DPDK (LD_PRELOAD) by `sluice bench flows`: dpdk-test-flow-perf counts the time that passes, and
// other work on the machine is in it. This takes the processor time of the thread that makes rules, from the first call
// of rte_flow_create to the end of the call with the number SLUICE_RULES, and so for rte_flow_destroy, and prints the
// nanoseconds of both at the end: what the program itself does between the calls is in them, as it is in its own rates.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rte_flow;
struct rte_flow_attr;
struct rte_flow_item;
struct rte_flow_action;
struct rte_flow_error;

struct phase {
    uint64_t calls, begin, spent;
};

static uint64_t rules;
static struct phase creating, destroying;
static struct rte_flow *(*create)(uint16_t, const struct rte_flow_attr *, const struct rte_flow_item *,
                                  const struct rte_flow_action *, struct rte_flow_error *);
static int (*destroy)(uint16_t, struct rte_flow *, struct rte_flow_error *);

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void find_functions(void) {
    const char *text = getenv("SLUICE_RULES");
    rules = text ? strtoull(text, NULL, 10) : 0;
    *(void **)&create = dlsym(RTLD_NEXT, "rte_flow_create");
    *(void **)&destroy = dlsym(RTLD_NEXT, "rte_flow_destroy");
    if (!rules || !create || !destroy)
        abort();
}

static void before(struct phase *phase) {
    if (!create)
        find_functions();
    if (phase->calls == 0)
        phase->begin = now();
}

static void after(struct phase *phase) {
    if (++phase->calls == rules)
        phase->spent = now() - phase->begin;
}

struct rte_flow *rte_flow_create(uint16_t port, const struct rte_flow_attr *attributes,
                                 const struct rte_flow_item *items, const struct rte_flow_action *actions,
                                 struct rte_flow_error *error) {
    before(&creating);
    struct rte_flow *flow = create(port, attributes, items, actions, error);
    after(&creating);
    return flow;
}

int rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error) {
    before(&destroying);
    int result = destroy(port, flow, error);
    after(&destroying);
    return result;
}

__attribute__((destructor)) static void tell(void) {
    if (creating.calls)
        printf("processor_ns %llu %llu\n", (unsigned long long)creating.spent, (unsigned long long)destroying.spent);
}
