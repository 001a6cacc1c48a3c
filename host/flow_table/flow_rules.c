// SPDX-License-Identifier: Apache-2.0
// The rule manager of the flow table: rules with any mask into a few mask groups in hashed memory, and a small TCAM.
// Where each goes is said in flow_places.c.
#include "flow_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sluice.h"

static void fill(struct ids *ids, uint32_t count) {
    for (ids->count = 0; ids->count < count;)
        give(ids, count - 1 - ids->count);
}

// The mask's number, or NONE.
static int32_t find_mask(const struct sluice_flow_rules *rules, const uint64_t bits[WORDS], uint32_t hash) {
    for (uint32_t i = 0; i < rules->masks; i++)
        if (rules->mask[i].hash == hash && rules->mask[i].rules && sluice_flow_same(rules->mask[i].bits, bits))
            return (int32_t)i;
    return NONE;
}

// A number for a mask that has none; NONE: all are taken. The first, so that masks in use are found soon.
static int32_t spare_mask(const struct sluice_flow_rules *rules) {
    for (uint32_t i = 0; i < rules->masks; i++)
        if (rules->mask[i].rules == 0)
            return (int32_t)i;
    return NONE;
}

// A new rule; `mask` is NONE where no rule has its mask.
static int check(const struct sluice_flow_rules *rules, const struct rule *rule, const uint64_t bits[WORDS]) {
    for (unsigned i = 0; i < WORDS && rule->mask == NONE; i++)
        if (bits[i] & rules->unread[i])
            return sluice_fail(
                -ENOTSUP, "the rule matches bits that the device does not read (reserved, the upper four TCP flags)");
    if (rule->mask == NONE)
        return 0;
    uint32_t at = rule->hash;
    for (int32_t id; (id = sluice_hash_index_next(&rules->index, rule->hash, &at)) != NONE;) {
        const struct rule *other = &rules->rules[id];
        if (other->mask == rule->mask && other->rule_priority == rule->rule_priority &&
            sluice_flow_same(other->value, rule->value))
            return sluice_fail(-EEXIST, "a rule with this match and priority %u is there already", rule->rule_priority);
    }
    return 0;
}

static int no_room(const struct sluice_flow_rules *rules, int32_t mask) {
    unsigned groups = 0;
    for (uint32_t g = 0; g < rules->table.groups; g++)
        groups += mask != NONE && rules->places[g].rules && rules->places[g].mask == mask;
    if (groups)
        return sluice_fail(
            -ENOSPC, "%u mask groups of this match are full, no other of %u is free, and the TCAM is full (%u rules)",
            groups, rules->table.groups, rules->table.ternary_entries);
    return sluice_fail(-ENOSPC, "all %u mask groups hold other masks, and the TCAM is full (%u rules)",
                       rules->table.groups, rules->table.ternary_entries);
}

// What an operation populated becomes rule `handle`.
static void keep(struct sluice_flow_rules *rules, int handle, struct rule *rule,
                 const struct sluice_flow_operation *op) {
    sluice_flow_fold(rule->actions, &op->actions);
    sluice_hash_index_add(&rules->index, rule->hash, handle);
    rules->mask[rule->mask].rules++;
    struct rule *kept = &rules->rules[handle];
    memcpy(kept->value, rule->value, sizeof kept->value);
    memcpy(kept->actions, rule->actions, sizeof kept->actions);
    kept->hash = rule->hash;
    kept->rule_priority = rule->rule_priority;
    begin_change(kept);
    show_place(kept, op);
    __atomic_store_n(&kept->mask, rule->mask, __ATOMIC_RELAXED);
    __atomic_store_n(&kept->has_moved, false, __ATOMIC_RELAXED);
    end_change(kept);
    sluice_flow_link(rules, handle);
}

// The next rule's memory, for which it need not wait then.
static void fetch_next(const struct sluice_flow_rules *rules) {
    if (rules->handles.count == 0)
        return;
    const struct rule *next = &rules->rules[rules->handles.free[rules->handles.count - 1]];
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next->actions, 1);
}

int sluice_flow_rule_add(struct sluice_flow_rules *rules, const uint8_t *value, const uint8_t *mask,
                         uint16_t rule_priority, const struct sluice_action_set *actions) {
    struct sluice_flow_operation op = {.rule_priority = rule_priority, .actions = *actions};
    struct rule rule = {.rule_priority = rule_priority};
    uint64_t bits[WORDS];
    sluice_flow_words(bits, mask);
    sluice_flow_words(rule.value, value);
    for (unsigned i = 0; i < WORDS; i++)
        rule.value[i] &= bits[i];
    const struct mask *recent = &rules->mask[rules->recent]; // most rules have the mask of the one before
    bool is_recent = recent->rules && sluice_flow_same(recent->bits, bits);
    uint32_t mask_hash = is_recent ? recent->hash : sluice_hash_words(bits, 0);
    rule.hash = sluice_hash_words(rule.value, mask_hash);
    sluice_hash_index_fetch(&rules->index, rule.hash);
    memcpy(op.value, rule.value, sizeof op.value);
    memcpy(op.mask, bits, sizeof op.mask);
    rule.mask = is_recent ? rules->recent : find_mask(rules, bits, mask_hash);
    int result = check(rules, &rule, bits);
    if (result)
        return result;
    int32_t number = rule.mask == NONE ? spare_mask(rules) : rule.mask;
    result = number == NONE ? -ENOSPC : sluice_flow_find_place(rules, &op, rule.mask);
    if (result == -ENOSPC)
        return no_room(rules, rule.mask);
    if (result)
        return sluice_fail(result, "the flow table refused the rule");
    if (rule.mask == NONE) {
        rules->mask[number] = (struct mask){.hash = mask_hash};
        memcpy(rules->mask[number].bits, bits, sizeof bits);
        rule.mask = number;
    }
    int handle = take(&rules->handles); // there are as many as rule ids
    keep(rules, handle, &rule, &op);
    rules->recent = rule.mask;
    fetch_next(rules);
    if (op.table_id == SLUICE_TABLE_TERNARY)
        sluice_flow_grow(rules);
    return handle;
}

static struct rule *rule_of(const struct sluice_flow_rules *rules, int handle) {
    if (handle >= 0 && (uint32_t)handle < rules->limit && rules->rules[handle].mask != NONE)
        return &rules->rules[handle];
    return NULL;
}

static int no_rule(int handle) {
    return sluice_fail(-ENOENT, "there is no rule %d", handle);
}

int sluice_flow_rule_update(struct sluice_flow_rules *rules, int handle, const struct sluice_action_set *actions) {
    struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return no_rule(handle);
    struct sluice_flow_operation next = sluice_flow_operation_of(rules, rule);
    next.actions = *actions;
    int result = run(rules, SLUICE_INSTRUCTION_UPDATE, &next);
    if (result)
        return sluice_fail(result, "the flow table refused the update of rule %d", handle);
    sluice_flow_fold(rule->actions, actions);
    return 0;
}

int sluice_flow_rule_delete(struct sluice_flow_rules *rules, int handle) {
    struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return no_rule(handle);
    sluice_hash_index_fetch_record(&rules->index, handle);
    struct sluice_flow_operation op; // a deletion reads no more of it, and all of it is large
    op.table_id = rule->table_id;
    op.group = rule->group;
    op.rule_priority = rule->rule_priority;
    op.rule_id = rule->rule_id;
    int result = run(rules, SLUICE_INSTRUCTION_DELETE, &op);
    if (result)
        return sluice_fail(result, "the flow table refused the deletion of rule %d", handle);
    sluice_hash_index_remove(&rules->index, handle);
    sluice_flow_unlink(rules, rule);
    rules->mask[rule->mask].rules--;
    give(&rules->ids[op.table_id], op.rule_id);
    give(&rules->handles, (uint32_t)handle);
    begin_change(rule);
    __atomic_store_n(&rule->mask, NONE, __ATOMIC_RELAXED);
    end_change(rule);
    if (place_of(rules, op.table_id, op.group)->rules == 0)
        sluice_flow_grow(rules);
    return 0;
}

int sluice_flow_rule_counters(struct sluice_flow_rules *rules, int handle, struct sluice_rule_counters *counters) {
    const struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return no_rule(handle);
    *counters = rule->has_moved ? rules->base[handle] : (struct sluice_rule_counters){0};
    int result = sluice_flow_add_counters(rules, rule->table_id, rule->rule_id, counters);
    return result ? sluice_fail(result, "the counters of rule %d cannot be read", handle) : 0;
}

int sluice_flow_rule_peek(const struct sluice_flow_rules *rules, int handle, struct sluice_flow_peek *peek) {
    if (handle < 0 || (uint32_t)handle >= rules->limit)
        return -ENOENT;
    const struct rule *rule = &rules->rules[handle];
    peek->version = __atomic_load_n(&rule->version, __ATOMIC_ACQUIRE);
    peek->table_id = __atomic_load_n(&rule->table_id, __ATOMIC_RELAXED);
    peek->rule_id = __atomic_load_n(&rule->rule_id, __ATOMIC_RELAXED);
    bool is_there = __atomic_load_n(&rule->mask, __ATOMIC_RELAXED) != NONE;
    peek->base = (struct sluice_rule_counters){0};
    if (__atomic_load_n(&rule->has_moved, __ATOMIC_RELAXED)) {
        const struct sluice_rule_counters *base = &rules->base[handle];
        peek->base.packets = __atomic_load_n(&base->packets, __ATOMIC_RELAXED);
        peek->base.bytes = __atomic_load_n(&base->bytes, __ATOMIC_RELAXED);
        peek->base.last_hit = __atomic_load_n(&base->last_hit, __ATOMIC_RELAXED);
    }
    if (peek->version % 2 || !sluice_flow_rule_unchanged(rules, handle, peek))
        return -EAGAIN;
    return is_there ? 0 : -ENOENT;
}

bool sluice_flow_rule_unchanged(const struct sluice_flow_rules *rules, int handle,
                                const struct sluice_flow_peek *peek) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE); // what was read stands before this
    return __atomic_load_n(&rules->rules[handle].version, __ATOMIC_RELAXED) == peek->version;
}

int sluice_flow_rule_place(const struct sluice_flow_rules *rules, int handle, struct sluice_flow_operation *place) {
    const struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return no_rule(handle);
    *place = sluice_flow_operation_of(rules, rule);
    return 0;
}

static void set_unread(struct sluice_flow_rules *rules) {
    const struct sluice_flow_key unread = {.tcp_flags = 0xf00, .reserved = 0x3fff};
    uint8_t bytes[KEY];
    sluice_flow_key_pack(&unread, bytes);
    sluice_flow_words(rules->unread, bytes);
}

static void reset(struct sluice_flow_rules *rules) {
    sluice_hash_index_clear(&rules->index);
    for (uint32_t i = 0; i < rules->limit; i++) {
        begin_change(&rules->rules[i]);
        rules->rules[i].mask = NONE;
        end_change(&rules->rules[i]);
    }
    for (uint32_t i = 0; i < rules->masks; i++)
        rules->mask[i].rules = 0;
    for (uint32_t i = 0; i <= rules->table.groups; i++)
        rules->places[i] = (struct place){.first = NONE, .mask = NONE};
    fill(&rules->handles, rules->limit);
    fill(&rules->ids[SLUICE_TABLE_HASHED], rules->table.groups * rules->table.group_entries);
    fill(&rules->ids[SLUICE_TABLE_TERNARY], rules->table.ternary_entries);
}

int sluice_flow_rules_flush(struct sluice_flow_rules *rules) {
    for (uint8_t table_id = SLUICE_TABLE_HASHED; table_id <= SLUICE_TABLE_TERNARY; table_id++) {
        struct sluice_flow_operation op = {.table_id = table_id};
        int result = run(rules, SLUICE_INSTRUCTION_INITIALIZE, &op);
        if (result)
            return sluice_fail(result, "the flow table refused to be emptied");
    }
    reset(rules);
    return 0;
}

struct sluice_flow_rules *sluice_flow_rules_new(const struct sluice_flow_table *table) {
    struct sluice_flow_rules *rules = calloc(1, sizeof *rules);
    if (!rules)
        return NULL;
    uint32_t hashed = table->groups * table->group_entries;
    *rules = (struct sluice_flow_rules){.table = *table, .limit = hashed + table->ternary_entries};
    rules->masks = table->groups + table->ternary_entries; // each has a rule in a group of its own, or in the TCAM
    rules->rules = aligned_alloc(LINE, rules->limit * sizeof *rules->rules);
    rules->base = calloc(rules->limit, sizeof *rules->base);
    rules->mask = calloc(rules->masks, sizeof *rules->mask);
    rules->places = calloc(table->groups + 1, sizeof *rules->places);
    int no_index = sluice_hash_index_new(&rules->index, rules->limit);
    rules->handles.free = calloc(rules->limit, sizeof(uint32_t));
    rules->ids[SLUICE_TABLE_HASHED].free = calloc(hashed, sizeof(uint32_t));
    rules->ids[SLUICE_TABLE_TERNARY].free = calloc(table->ternary_entries, sizeof(uint32_t));
    if (!rules->rules || !rules->base || !rules->mask || !rules->places || no_index || !rules->handles.free ||
        !rules->ids[0].free || !rules->ids[1].free) {
        sluice_flow_rules_free(rules);
        return NULL;
    }
    for (uint32_t i = 0; i < rules->limit; i++)
        rules->rules[i].version = 0;
    set_unread(rules);
    reset(rules);
    return rules;
}

void sluice_flow_rules_free(struct sluice_flow_rules *rules) {
    if (!rules)
        return;
    free(rules->rules);
    free(rules->base);
    free(rules->mask);
    free(rules->places);
    sluice_hash_index_free(&rules->index);
    free(rules->handles.free);
    free(rules->ids[SLUICE_TABLE_HASHED].free);
    free(rules->ids[SLUICE_TABLE_TERNARY].free);
    free(rules);
}
