// SPDX-License-Identifier: Apache-2.0
// Storms of rules: threads make, query and destroy rules on the ports of one device at the same time, while another
// queries all of them, whether they are still there or not; then a table is filled with rules of many masks until it
// refuses, emptied and filled again. `rule_storm EAL-ARGUMENTS -- THREADS ROUNDS` prints JSON, or what went wrong, and
// then ends with 1.
#include <errno.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PORTS = 3, THREADS = 64, OWN = 64, REFUSALS = 2000, MOST = 70000 };

#define FAIL(...) (printf(__VA_ARGS__), puts(""), exit(1))

// A rule of its own mask: `bits` of an IPv6 address choose the mask, `number` the value.
static struct rte_flow *simple(uint16_t port, uint32_t bits, uint32_t number, struct rte_flow_error *error) {
    struct rte_flow_attr attributes = {.transfer = 1};
    struct rte_flow_item_eth eth = {.has_vlan = 0}, eth_mask = {.has_vlan = 1};
    struct rte_flow_item_ipv6 ip = {.has_frag_ext = 0}, mask = {.has_frag_ext = 0};
    struct rte_flow_action_port_id out = {.id = 1};
    memcpy(ip.hdr.src_addr, &number, sizeof number);
    memset(mask.hdr.src_addr, 0xff, sizeof number);
    memcpy(mask.hdr.dst_addr, &bits, sizeof bits);
    struct rte_flow_item items[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &eth_mask},
                                    {.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &ip, .mask = &mask},
                                    {.type = RTE_FLOW_ITEM_TYPE_END}};
    struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_PORT_ID, .conf = &out},
                                        {.type = RTE_FLOW_ACTION_TYPE_END}};
    return rte_flow_create(port, &attributes, items, actions, error);
}

static unsigned long rounds;
static atomic_ulong found, gone;                        // queries of rules that were there, and of others
static _Atomic(struct rte_flow *) shown[THREADS * OWN]; // handles, the last of each place
static atomic_bool stop;

// No packet comes: a rule that is there has counted nothing, and one that is gone is refused.
static void *ask(void *argument) {
    const struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_error error;
    (void)argument;
    for (uint32_t i = 0; !atomic_load(&stop); i = (i + 1) % (THREADS * OWN)) {
        struct rte_flow_query_count got = {.reset = i % 2};
        struct rte_flow *flow = atomic_load(&shown[i]);
        if (!flow)
            continue;
        int result = rte_flow_query((uint16_t)(i % PORTS), flow, count, &got, &error);
        if (result ? result != -ENOENT || error.type != RTE_FLOW_ERROR_TYPE_HANDLE : got.hits || got.bytes)
            FAIL("a query beside destroy: %d, %llu packets", result, (unsigned long long)got.hits);
        atomic_fetch_add(result ? &gone : &found, 1);
    }
    return NULL;
}

static void *one_thread(void *argument) {
    const struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    uint32_t number = (uint32_t)(uintptr_t)argument;
    uint16_t port = (uint16_t)(number % PORTS);
    struct rte_flow *own[OWN];
    struct rte_flow_error error;
    for (unsigned long round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < OWN; i++) {
            struct rte_flow_query_count got = {.reset = 1};
            if (!(own[i] = simple(port, i % 8, number * OWN + i, &error)))
                FAIL("thread %u: %s", number, error.message);
            atomic_store(&shown[number * OWN + i], own[i]);
            if (simple(port, i % 8, number * OWN + i, &error) || rte_errno != EEXIST)
                FAIL("thread %u: a rule was accepted twice", number);
            if (rte_flow_query(port, own[i / 2], count, &got, &error) || got.hits)
                FAIL("thread %u: query", number);
        }
        while (!atomic_load(&found)) // on a busy machine the first query may come late
            sched_yield();
        for (uint32_t i = 0; i < OWN; i++)
            if (rte_flow_destroy(port, own[i], &error))
                FAIL("thread %u: %s", number, error.message);
    }
    return NULL;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

// Fills the table, is refused, makes room and fills it again. What a refusal costs, in processor time.
static void fill(void) {
    static struct rte_flow *all[MOST];
    struct rte_flow_error error;
    unsigned count = 0, again;
    while (count < MOST && (all[count] = simple(0, count, count, &error))) // each has a mask of its own
        count++;
    uint64_t begin = now(), worst = 0;
    for (unsigned i = 0; i < REFUSALS; i++) {
        uint64_t one = now();
        if (simple(0, MOST + i, i, &error) || rte_errno != ENOSPC || error.type != RTE_FLOW_ERROR_TYPE_ACTION)
            FAIL("a full table: %d, %s", rte_errno, error.message);
        worst = now() - one > worst ? now() - one : worst;
    }
    uint64_t mean = (now() - begin) / REFUSALS;
    for (unsigned i = 0; i < count; i++)
        if (rte_flow_destroy(0, all[i], &error))
            FAIL("destroy: %s", error.message);
    for (again = 0; again < count && simple(0, again, again, &error); again++)
        ;
    if (again != count)
        FAIL("%u rules fit, then %u", count, again);
    printf("{\"masks\": %u, \"refusal_ns\": %llu, \"worst_refusal_ns\": %llu, \"found\": %lu, \"gone\": %lu}\n", count,
           (unsigned long long)mean, (unsigned long long)worst, atomic_load(&found), atomic_load(&gone));
}

static void storm(char **arguments) {
    unsigned long count = strtoul(arguments[0], NULL, 10);
    rounds = strtoul(arguments[1], NULL, 10);
    pthread_t threads[THREADS], asker;
    if (count > THREADS)
        FAIL("too many threads");
    for (uintptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, one_thread, (void *)i);
    pthread_create(&asker, NULL, ask, NULL);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    while (!atomic_load(&gone)) // every rule is gone now
        sched_yield();
    atomic_store(&stop, true);
    pthread_join(asker, NULL);
    fill();
}

int main(int argc, char **argv) {
    int used = rte_eal_init(argc, argv);
    if (used < 0 || rte_eth_dev_count_avail() < PORTS || argc - used != 3)
        FAIL("rule_storm EAL-ARGUMENTS -- THREADS ROUNDS, for a device of %u ports", PORTS);
    storm(argv + used + 1);
    for (uint16_t port = 0; port < PORTS; port++)
        if (rte_eth_dev_close(port))
            FAIL("port %u does not close", port);
    return rte_eal_cleanup() ? 1 : 0;
}
