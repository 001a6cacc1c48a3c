// SPDX-License-Identifier: Apache-2.0
// A flow is known by its key. States: counted (has not yet had the packets that the policy asks for), waiting,
// installed, refused (the device had no place; it is tried again when its next packet comes after something was
// deleted).
#include "flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"

enum { NO_FLOW = -1, LEAST_FLOWS = 1024, FLOWS_PER_ENTRY = 4, WAITING_ROOM = 4096 };
enum { BATCH = 64, SAMPLE = 32, VICTIMS = 8, EXPIRE_SAMPLE = 16 };
enum state { FREE = 0, COUNTED, WAITING, INSTALLED, REFUSED };

struct flow {
    uint8_t key[SLUICE_FIVE_TUPLE6_BYTES];
    uint8_t table_id, state;
    uint32_t packets, rule_id;
    struct sluice_action_set actions;
};

struct flows {
    struct sluice_device *device;
    struct sluice_policy policy;
    uint32_t limit;                 // flows known at once
    struct flow *flow;              // by number
    struct sluice_hash_index index; // of them by table and key
    uint32_t *spare, spares;        // a stack of numbers that are free
    uint32_t *by_rule[2];           // rule id to flow + 1, 0 where there is none
    uint32_t entries[2], used[2], hand[2], key_bits[2];
    uint32_t *waiting, waiting_count;
    uint32_t deletions; // so far; a refused flow is tried again once there were more
};

static uint32_t hash(const uint8_t *key, uint8_t table_id) {
    return sluice_hash_bytes(key, SLUICE_FIVE_TUPLE6_BYTES, table_id);
}

static void remove_flow(struct flows *it, uint32_t number) {
    sluice_hash_index_remove(&it->index, (int32_t)number);
    it->flow[number].state = FREE;
    it->spare[it->spares++] = number;
}

struct flows *flows_new(struct sluice_device *device, const struct sluice_policy *policy) {
    struct flows *it = calloc(1, sizeof *it);
    if (!it)
        return NULL;
    it->device = device;
    it->policy = *policy;
    for (uint8_t table = 0; table < 2; table++) {
        if (sluice_ofu_size(device, SLUICE_ELEMENT_EXACT, table, &it->entries[table], NULL))
            goto failed;
        it->key_bits[table] = table ? SLUICE_FIVE_TUPLE6_BITS : SLUICE_FIVE_TUPLE4_BITS;
        it->by_rule[table] = calloc(it->entries[table] + 1, sizeof **it->by_rule);
        if (!it->by_rule[table])
            goto failed;
    }
    it->limit = (it->entries[0] + it->entries[1]) * FLOWS_PER_ENTRY;
    it->limit = it->limit < LEAST_FLOWS ? LEAST_FLOWS : it->limit;
    it->flow = calloc(it->limit, sizeof *it->flow);
    it->spare = calloc(it->limit, sizeof *it->spare);
    it->waiting = calloc(WAITING_ROOM, sizeof *it->waiting);
    if (!it->flow || !it->spare || !it->waiting || sluice_hash_index_new(&it->index, it->limit))
        goto failed;
    while (it->spares < it->limit) {
        it->spare[it->spares] = it->limit - 1 - it->spares;
        it->spares++;
    }
    return it;
failed:
    flows_free(it);
    return NULL;
}

void flows_free(struct flows *flows) {
    if (!flows)
        return;
    free(flows->by_rule[0]);
    free(flows->by_rule[1]);
    free(flows->flow);
    free(flows->spare);
    sluice_hash_index_free(&flows->index);
    free(flows->waiting);
    free(flows);
}

// The number of a flow that is known, or NO_FLOW.
static int32_t find_flow(const struct flows *it, const uint8_t *key, uint8_t table_id) {
    uint32_t key_hash = hash(key, table_id), at = key_hash;
    int32_t number;
    while ((number = sluice_hash_index_next(&it->index, key_hash, &at)) != NO_FLOW)
        if (it->flow[number].table_id == table_id &&
            memcmp(it->flow[number].key, key, sizeof it->flow[number].key) == 0)
            break;
    return number;
}

// Forgets the flows that have no rule and do not wait for one.
static void forget(struct flows *it) {
    for (uint32_t number = 0; number < it->limit; number++)
        if (it->flow[number].state == COUNTED || it->flow[number].state == REFUSED)
            remove_flow(it, number);
}

// A flow that is not known yet; NO_FLOW: there is no room. Others are forgotten for it, but not while flows wait: those
// could fill the table, and each new flow would search it in vain.
static int32_t add_flow(struct flows *it, const uint8_t *key, uint8_t table_id) {
    if (it->spares == 0 && it->waiting_count == 0)
        forget(it);
    if (it->spares == 0)
        return NO_FLOW;
    uint32_t number = it->spare[--it->spares];
    it->flow[number] = (struct flow){.table_id = table_id, .state = COUNTED};
    memcpy(it->flow[number].key, key, sizeof it->flow[number].key);
    sluice_hash_index_add(&it->index, hash(key, table_id), (int32_t)number);
    return (int32_t)number;
}

int flows_seen(struct flows *it, const struct sluice_decision *decision) {
    if (it->waiting_count == WAITING_ROOM)
        return 0;
    int32_t number = find_flow(it, decision->key, decision->table_id);
    if (number == NO_FLOW && (number = add_flow(it, decision->key, decision->table_id)) == NO_FLOW)
        return 0;
    struct flow *flow = &it->flow[number];
    if (flow->state == REFUSED && flow->packets != it->deletions)
        flow->state = COUNTED; // `packets` of a refused flow holds the deletions there had been
    if (flow->state != COUNTED || ++flow->packets < it->policy.offload_after)
        return 0;
    flow->actions = decision->acl_verdict;
    flow->state = WAITING;
    it->waiting[it->waiting_count++] = (uint32_t)number;
    return 1;
}

uint32_t flows_waiting(const struct flows *it) {
    return it->waiting_count;
}

static void make_rule(const struct flows *it, const struct flow *flow, struct sluice_rule_op *op) {
    memset(op, 0, sizeof *op);
    op->kind = SLUICE_INSTRUCTION_POPULATE;
    op->table_id = flow->table_id;
    op->rule.id = SLUICE_RULE_CHOOSE;
    memcpy(op->rule.value, flow->key, (it->key_bits[flow->table_id] + 7) / 8);
    memset(op->rule.mask, 0xff, it->key_bits[flow->table_id] / 8);
    op->rule.actions = flow->actions;
}

static int delete_rule(struct flows *it, uint8_t table, uint32_t rule_id) {
    struct sluice_rule_op op = {.kind = SLUICE_INSTRUCTION_DELETE, .table_id = table, .rule = {.id = rule_id}};
    int result = sluice_rule_ops(it->device, SLUICE_ELEMENT_EXACT, &op);
    if (result)
        return result;
    struct flow *flow = &it->flow[it->by_rule[table][rule_id] - 1];
    flow->state = COUNTED;
    flow->packets = 0;
    it->by_rule[table][rule_id] = 0;
    it->used[table]--;
    it->deletions++;
    return 0;
}

// Age of the next installed rule behind the hand, in microseconds; UINT32_MAX with *rule_id unchanged where there is
// none.
static int next_age(struct flows *it, uint8_t table, uint32_t now, uint32_t *rule_id, uint32_t *age) {
    struct sluice_rule_counters counters;
    for (uint32_t i = 0; i < it->entries[table]; i++) {
        uint32_t candidate = it->hand[table];
        it->hand[table] = (candidate + 1) % it->entries[table];
        if (!it->by_rule[table][candidate])
            continue;
        int result = sluice_rule_counters_read(it->device, SLUICE_ELEMENT_EXACT, table, candidate, &counters);
        *rule_id = candidate;
        *age = now - counters.last_hit;
        return result ? result : 1;
    }
    return 0;
}

// Delete the longest idle of a sample, so that a batch has room.
static int evict(struct flows *it, uint8_t table, uint32_t now, struct sluice_run_result *report) {
    uint32_t rules[SAMPLE], ages[SAMPLE], count = 0;
    while (count < SAMPLE && count < it->used[table]) {
        int found = next_age(it, table, now, &rules[count], &ages[count]);
        if (found <= 0)
            return found;
        count++;
    }
    for (uint32_t victim = 0; victim < VICTIMS && victim < count; victim++) {
        uint32_t oldest = victim;
        for (uint32_t i = victim + 1; i < count; i++)
            if (ages[i] > ages[oldest])
                oldest = i;
        uint32_t rule = rules[oldest], age = ages[oldest];
        rules[oldest] = rules[victim];
        ages[oldest] = ages[victim];
        rules[victim] = rule;
        ages[victim] = age;
        if (!it->by_rule[table][rule])
            continue; // sampled twice
        int result = delete_rule(it, table, rule);
        if (result)
            return result;
        report->evicted++;
        report->deleted++;
    }
    return 0;
}

static int install(struct flows *it, const uint32_t *numbers, uint32_t count, struct sluice_run_result *report) {
    struct sluice_rule_op rules[BATCH];
    int results[BATCH];
    for (uint32_t i = 0; i < count; i++)
        make_rule(it, &it->flow[numbers[i]], &rules[i]);
    int failed = sluice_rule_ops_many(it->device, SLUICE_ELEMENT_EXACT, rules, count, results);
    if (failed < 0)
        return failed;
    for (uint32_t i = 0; i < count; i++) {
        struct flow *flow = &it->flow[numbers[i]];
        if (results[i] == 0) {
            flow->state = INSTALLED;
            flow->rule_id = rules[i].rule.id;
            it->by_rule[flow->table_id][flow->rule_id] = numbers[i] + 1;
            it->used[flow->table_id]++;
            report->installed++;
        } else if (results[i] == -ENOSPC) {
            flow->state = REFUSED;
            flow->packets = it->deletions;
            report->refused++;
        } else {
            return results[i];
        }
    }
    return 0;
}

int flows_install(struct flows *it, uint32_t now, struct sluice_run_result *report) {
    int result = 0;
    uint32_t done = 0;
    while (done < it->waiting_count && result == 0) {
        uint32_t count = it->waiting_count - done < BATCH ? it->waiting_count - done : BATCH, wanted[2] = {0};
        for (uint32_t i = 0; i < count; i++)
            wanted[it->flow[it->waiting[done + i]].table_id]++;
        for (uint8_t table = 0; table < 2 && result == 0; table++)
            while (result == 0 && it->used[table] && it->used[table] + wanted[table] > it->entries[table])
                result = evict(it, table, now, report);
        if (result == 0)
            result = install(it, it->waiting + done, count, report);
        done += count;
    }
    it->waiting_count = 0;
    return result;
}

int flows_expire(struct flows *it, uint32_t now, struct sluice_run_result *report) {
    for (uint8_t table = 0; table < 2; table++) {
        for (uint32_t i = 0; i < EXPIRE_SAMPLE && i < it->used[table]; i++) {
            uint32_t rule_id = 0, age = 0;
            int found = next_age(it, table, now, &rule_id, &age);
            if (found <= 0)
                return found;
            if (age / 1000000U < it->policy.idle || (int32_t)age < 0)
                continue;
            int result = delete_rule(it, table, rule_id);
            if (result)
                return result;
            report->expired++;
            report->deleted++;
        }
    }
    return 0;
}
