// SPDX-License-Identifier: Apache-2.0
// The choice of a rule's place in the flow table, and moves from place to place.
//
// A rule goes into a group of its mask that has room, else it makes a free group one of its mask, else it goes into the
// TCAM. When the TCAM has little room left, the mask with the most rules there takes the place of the group with the
// fewest, if it has at least twice as many: that group's rules go into the TCAM, its own into the group. When a group
// becomes free, the largest mask of the TCAM takes it. A rule that moves is populated at its new place before it is
// deleted at the old one, with the same priority and actions, so no packet misses it; what it counted at the old place
// is added to what it counts at the new.
#include "flow_places.h"

#include <errno.h>
#include <string.h>

enum { LITTLE_ROOM = 4, WORTHWHILE = 2 };

static struct place *ternary_place(const struct sluice_flow_rules *rules) {
    return &rules->places[rules->table.groups];
}

// What the rule is and where: an operation but for its kind.
struct sluice_flow_operation sluice_flow_operation_of(const struct sluice_flow_rules *rules, const struct rule *rule) {
    struct sluice_flow_operation op = {.table_id = rule->table_id,
                                       .group = rule->group,
                                       .rule_priority = rule->rule_priority,
                                       .rule_id = rule->rule_id};
    memcpy(op.value, rule->value, sizeof op.value);
    memcpy(op.mask, rules->mask[rule->mask].bits, sizeof op.mask);
    sluice_flow_unfold(&op.actions, rule->actions);
    return op;
}

void sluice_flow_link(struct sluice_flow_rules *rules, int32_t handle) {
    struct rule *rule = &rules->rules[handle];
    struct place *place = place_of(rules, rule->table_id, rule->group);
    rule->before = NONE;
    rule->behind = place->first;
    if (place->first != NONE)
        rules->rules[place->first].before = handle;
    place->first = handle;
    place->mask = rule->mask;
    place->rules++;
    if (place == ternary_place(rules))
        rules->mask[rule->mask].ternary++;
}

void sluice_flow_unlink(struct sluice_flow_rules *rules, const struct rule *rule) {
    struct place *place = place_of(rules, rule->table_id, rule->group);
    if (rule->before == NONE)
        place->first = rule->behind;
    else
        rules->rules[rule->before].behind = rule->behind;
    if (rule->behind != NONE)
        rules->rules[rule->behind].before = rule->before;
    place->rules--;
    place->is_full = false;
    if (place == ternary_place(rules))
        rules->mask[rule->mask].ternary--;
}

static void show_base(struct sluice_rule_counters *base, const struct sluice_rule_counters *counted) {
    __atomic_store_n(&base->packets, counted->packets, __ATOMIC_RELAXED);
    __atomic_store_n(&base->bytes, counted->bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&base->last_hit, counted->last_hit, __ATOMIC_RELAXED);
}

// Populates `op` in a table and group, under a rule id that it chooses.
static int put(struct sluice_flow_rules *rules, struct sluice_flow_operation *op, uint8_t table_id, uint8_t group) {
    int id = take(&rules->ids[table_id]);
    if (id == NONE)
        return -ENOSPC;
    op->table_id = table_id;
    op->group = group;
    op->rule_id = (uint32_t)id;
    int result = run(rules, SLUICE_INSTRUCTION_POPULATE, op);
    if (result)
        give(&rules->ids[table_id], (uint32_t)id);
    return result;
}

int sluice_flow_add_counters(const struct sluice_flow_rules *rules, uint8_t table_id, uint32_t rule_id,
                             struct sluice_rule_counters *sum) {
    struct sluice_rule_counters counters = {0};
    int result = rules->table.counters(rules->table.context, table_id, rule_id, &counters);
    if (result)
        return result;
    sum->packets += counters.packets;
    sum->bytes += counters.bytes;
    if (counters.packets)
        sum->last_hit = counters.last_hit;
    return 0;
}

// Moves a rule; where the new place refuses it, it stays where it is.
static int move(struct sluice_flow_rules *rules, int32_t handle, uint8_t table_id, uint8_t group) {
    struct rule *rule = &rules->rules[handle];
    struct sluice_flow_operation old = sluice_flow_operation_of(rules, rule), next = old;
    int result = put(rules, &next, table_id, group);
    if (result)
        return result;
    result = run(rules, SLUICE_INSTRUCTION_DELETE, &old);
    struct sluice_rule_counters base = rule->has_moved ? rules->base[handle] : (struct sluice_rule_counters){0};
    if (result == 0)
        result = sluice_flow_add_counters(rules, old.table_id, old.rule_id, &base);
    sluice_flow_unlink(rules, rule);
    begin_change(rule);
    show_base(&rules->base[handle], &base);
    __atomic_store_n(&rule->has_moved, true, __ATOMIC_RELAXED);
    give(&rules->ids[old.table_id], old.rule_id);
    show_place(rule, &next);
    end_change(rule);
    sluice_flow_link(rules, handle);
    return result;
}

static int free_group(const struct sluice_flow_rules *rules) {
    for (uint32_t g = 0; g < rules->table.groups; g++)
        if (rules->places[g].rules == 0)
            return (int)g;
    return NONE;
}

// The mask that has the most rules in the TCAM, and how many.
static int32_t largest_ternary(const struct sluice_flow_rules *rules, uint32_t *count) {
    int32_t largest = NONE;
    *count = 0;
    for (uint32_t i = 0; i < rules->masks; i++) {
        if (rules->mask[i].rules && rules->mask[i].ternary > *count) {
            *count = rules->mask[i].ternary;
            largest = (int32_t)i;
        }
    }
    return largest;
}

// The rules of a mask go from the TCAM into a group that is free.
static void gather(struct sluice_flow_rules *rules, int32_t mask, uint8_t group) {
    int32_t behind;
    for (int32_t handle = ternary_place(rules)->first; handle != NONE; handle = behind) {
        behind = rules->rules[handle].behind;
        if (rules->rules[handle].mask == mask && move(rules, handle, SLUICE_TABLE_HASHED, group) == -ENOSPC)
            return;
    }
}

// The group of another mask that has the fewest rules, and no more than `limit`.
static int smallest_group(const struct sluice_flow_rules *rules, int32_t mask, uint32_t limit) {
    int smallest = NONE;
    for (uint32_t g = 0; g < rules->table.groups; g++) {
        const struct place *place = &rules->places[g];
        if (place->mask != mask && place->rules <= limit &&
            (smallest == NONE || place->rules < rules->places[smallest].rules))
            smallest = (int)g;
    }
    return smallest;
}

void sluice_flow_grow(struct sluice_flow_rules *rules) {
    uint32_t count, room = rules->ids[SLUICE_TABLE_TERNARY].count;
    int32_t mask = largest_ternary(rules, &count);
    int group = free_group(rules);
    if (mask == NONE)
        return;
    if (group == NONE && room < rules->table.ternary_entries / LITTLE_ROOM) {
        group = smallest_group(rules, mask, count / WORTHWHILE < room ? count / WORTHWHILE : room);
        while (group != NONE && rules->places[group].rules)
            if (move(rules, rules->places[group].first, SLUICE_TABLE_TERNARY, 0))
                return;
    }
    if (group != NONE)
        gather(rules, mask, (uint8_t)group);
}

// Groups of the mask, a free group, the TCAM: the first that takes the rule.
int sluice_flow_find_place(struct sluice_flow_rules *rules, struct sluice_flow_operation *op, int32_t mask) {
    int result;
    for (uint32_t g = 0; g < rules->table.groups; g++) {
        struct place *place = &rules->places[g];
        if (place->rules == 0 || place->mask != mask || place->is_full)
            continue;
        result = put(rules, op, SLUICE_TABLE_HASHED, (uint8_t)g);
        if (result == -ENOSPC)
            place->is_full = true;
        else if (result != -EEXIST) // the same key with another priority: elsewhere
            return result;
    }
    int group = free_group(rules);
    if (group != NONE)
        return put(rules, op, SLUICE_TABLE_HASHED, (uint8_t)group);
    return put(rules, op, SLUICE_TABLE_TERNARY, 0);
}
