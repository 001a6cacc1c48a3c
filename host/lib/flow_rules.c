// SPDX-License-Identifier: Apache-2.0
// The rule manager of the flow table: rules with any mask into a few mask groups in hashed memory, and a small TCAM.
//
// A rule goes into a group of its mask that has room, else it makes a free group one of its mask, else it goes into the
// TCAM. When the TCAM has little room left, the mask with the most rules there takes the place of the group with the
// fewest, if it has at least twice as many: that group's rules go into the TCAM, its own into the group. When a group
// becomes free, the largest mask of the TCAM takes it. A rule that moves is populated at its new place before it is
// deleted at the old one, with the same priority and actions, so no packet misses it; what it counted at the old place
// is added to what it counts at the new.
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow_hash.h"
#include "sluice/sluice.h"

enum { NONE = -1, KEY = SLUICE_FLOW_KEY_BYTES, LITTLE_ROOM = 4, WORTHWHILE = 2 };

struct rule {
    struct sluice_flow_operation op;  // where and what it is; its value is masked
    struct sluice_rule_counters base; // counted at earlier places
    int32_t mask, next;               // its mask; in its hash chain
    int32_t before, behind;           // in the list of its place
    bool used;
};

struct mask {
    uint8_t bytes[KEY];
    uint32_t rules, ternary;
};

struct place { // a group, or the TCAM
    int32_t first, mask;
    uint32_t rules;
    bool is_full; // it refused a rule, and none has left it since
};

struct ids { // a stack of free numbers
    uint32_t *free;
    uint32_t count;
};

struct sluice_flow_rules {
    struct sluice_flow_table table;
    uint32_t limit, buckets, masks; // rules there can be; hash chains; masks there can be
    struct rule *rules;             // by handle
    struct mask *mask;
    struct place *places; // the groups, then the TCAM
    int32_t *chains;
    struct ids handles, ids[2];
};

static int take(struct ids *ids) {
    return ids->count ? (int)ids->free[--ids->count] : NONE;
}

static void give(struct ids *ids, uint32_t number) {
    ids->free[ids->count++] = number;
}

static void fill(struct ids *ids, uint32_t count) {
    for (ids->count = 0; ids->count < count;)
        give(ids, count - 1 - ids->count);
}

static int32_t *chain_of(const struct sluice_flow_rules *rules, const uint8_t *value, const uint8_t *mask) {
    uint64_t words[2][SLUICE_FLOW_WORDS];
    sluice_flow_words(words[0], mask);
    sluice_flow_words(words[1], value);
    uint32_t hash = sluice_flow_hash(words[1], sluice_flow_hash(words[0], 0));
    return &rules->chains[hash & (rules->buckets - 1)];
}

static struct place *place_of(const struct sluice_flow_rules *rules, const struct sluice_flow_operation *op) {
    return &rules->places[op->table_id == SLUICE_TABLE_HASHED ? op->group : rules->table.groups];
}

static struct place *ternary_place(const struct sluice_flow_rules *rules) {
    return &rules->places[rules->table.groups];
}

// The mask's number; NONE: there is none yet, and `spare` is one for it.
static int32_t find_mask(const struct sluice_flow_rules *rules, const uint8_t *mask, int32_t *spare) {
    *spare = NONE;
    for (uint32_t i = 0; i < rules->masks; i++) {
        if (rules->mask[i].rules == 0)
            *spare = *spare == NONE ? (int32_t)i : *spare; // the first: masks in use are found soon
        else if (memcmp(rules->mask[i].bytes, mask, KEY) == 0)
            return (int32_t)i;
    }
    return NONE;
}

static void link_place(struct sluice_flow_rules *rules, int32_t handle) {
    struct rule *rule = &rules->rules[handle];
    struct place *place = place_of(rules, &rule->op);
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

static void unlink_place(struct sluice_flow_rules *rules, const struct rule *rule) {
    struct place *place = place_of(rules, &rule->op);
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

// The table's word for an operation.
static int run(struct sluice_flow_rules *rules, uint8_t kind, struct sluice_flow_operation *op) {
    op->kind = kind;
    return rules->table.execute(rules->table.context, op);
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

static int add_counters(struct sluice_flow_rules *rules, const struct sluice_flow_operation *op,
                        struct sluice_rule_counters *sum) {
    struct sluice_rule_counters counters = {0};
    int result = rules->table.counters(rules->table.context, op->table_id, op->rule_id, &counters);
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
    struct sluice_flow_operation old = rule->op, next = rule->op;
    int result = put(rules, &next, table_id, group);
    if (result)
        return result;
    result = run(rules, SLUICE_INSTRUCTION_DELETE, &old);
    if (result == 0)
        result = add_counters(rules, &old, &rule->base);
    unlink_place(rules, rule);
    give(&rules->ids[old.table_id], old.rule_id);
    rule->op = next;
    link_place(rules, handle);
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

static void grow(struct sluice_flow_rules *rules) {
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
static int find_place(struct sluice_flow_rules *rules, struct sluice_flow_operation *op, int32_t mask) {
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

static int check(const struct sluice_flow_rules *rules, const struct sluice_flow_operation *op) {
    struct sluice_flow_key unread = {.tcp_flags = 0xf00, .reserved = 0x3fff};
    uint8_t bytes[KEY];
    sluice_flow_key_pack(&unread, bytes);
    for (unsigned i = 0; i < KEY; i++)
        if (op->mask[i] & bytes[i])
            return sluice_fail(
                -ENOTSUP, "the rule matches bits that the device does not read (reserved, the upper four TCP flags)");
    for (int32_t id = *chain_of(rules, op->value, op->mask); id != NONE; id = rules->rules[id].next) {
        const struct sluice_flow_operation *other = &rules->rules[id].op;
        if (other->rule_priority == op->rule_priority && memcmp(other->value, op->value, KEY) == 0 &&
            memcmp(other->mask, op->mask, KEY) == 0)
            return sluice_fail(-EEXIST, "a rule with this match and priority %u is there already", op->rule_priority);
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

int sluice_flow_rule_add(struct sluice_flow_rules *rules, const uint8_t *value, const uint8_t *mask,
                         uint16_t rule_priority, const struct sluice_action_set *actions) {
    struct sluice_flow_operation op = {.rule_priority = rule_priority, .actions = *actions};
    int32_t spare, number = find_mask(rules, mask, &spare);
    memcpy(op.mask, mask, KEY);
    for (unsigned i = 0; i < KEY; i++)
        op.value[i] = value[i] & mask[i];
    int result = check(rules, &op);
    if (result)
        return result;
    result = number == NONE && spare == NONE ? -ENOSPC : find_place(rules, &op, number);
    if (result == -ENOSPC)
        return no_room(rules, number);
    if (result)
        return sluice_fail(result, "the flow table refused the rule");
    if (number == NONE) {
        number = spare;
        memcpy(rules->mask[number].bytes, mask, KEY);
        rules->mask[number].ternary = 0;
    }
    rules->mask[number].rules++;
    int handle = take(&rules->handles); // there are as many as rule ids
    int32_t *chain = chain_of(rules, op.value, op.mask);
    rules->rules[handle] = (struct rule){.op = op, .mask = number, .next = *chain, .used = true};
    *chain = handle;
    link_place(rules, handle);
    if (op.table_id == SLUICE_TABLE_TERNARY)
        grow(rules);
    return handle;
}

static struct rule *rule_of(const struct sluice_flow_rules *rules, int handle) {
    if (handle >= 0 && (uint32_t)handle < rules->limit && rules->rules[handle].used)
        return &rules->rules[handle];
    sluice_fail(-ENOENT, "there is no rule %d", handle);
    return NULL;
}

int sluice_flow_rule_update(struct sluice_flow_rules *rules, int handle, const struct sluice_action_set *actions) {
    struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return -ENOENT;
    struct sluice_flow_operation next = rule->op;
    next.actions = *actions;
    int result = run(rules, SLUICE_INSTRUCTION_UPDATE, &next);
    if (result)
        return sluice_fail(result, "the flow table refused the update of rule %d", handle);
    rule->op = next;
    return 0;
}

int sluice_flow_rule_delete(struct sluice_flow_rules *rules, int handle) {
    struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return -ENOENT;
    int result = run(rules, SLUICE_INSTRUCTION_DELETE, &rule->op);
    if (result)
        return sluice_fail(result, "the flow table refused the deletion of rule %d", handle);
    int32_t *at = chain_of(rules, rule->op.value, rule->op.mask);
    while (*at != handle)
        at = &rules->rules[*at].next;
    *at = rule->next;
    unlink_place(rules, rule);
    rules->mask[rule->mask].rules--;
    give(&rules->ids[rule->op.table_id], rule->op.rule_id);
    give(&rules->handles, (uint32_t)handle);
    rule->used = false;
    if (place_of(rules, &rule->op)->rules == 0)
        grow(rules);
    return 0;
}

int sluice_flow_rule_counters(struct sluice_flow_rules *rules, int handle, struct sluice_rule_counters *counters) {
    const struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return -ENOENT;
    *counters = rule->base;
    int result = add_counters(rules, &rule->op, counters);
    return result ? sluice_fail(result, "the counters of rule %d cannot be read", handle) : 0;
}

int sluice_flow_rule_place(const struct sluice_flow_rules *rules, int handle, struct sluice_flow_operation *place) {
    const struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return -ENOENT;
    *place = rule->op;
    return 0;
}

static void reset(struct sluice_flow_rules *rules) {
    memset(rules->chains, 0xff, rules->buckets * sizeof *rules->chains);
    for (uint32_t i = 0; i < rules->limit; i++)
        rules->rules[i].used = false;
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
    *rules = (struct sluice_flow_rules){.table = *table, .limit = hashed + table->ternary_entries, .buckets = 16};
    rules->masks = table->groups + table->ternary_entries; // each has a rule in a group of its own, or in the TCAM
    while (rules->buckets < rules->limit)
        rules->buckets *= 2;
    rules->rules = calloc(rules->limit, sizeof *rules->rules);
    rules->mask = calloc(rules->masks, sizeof *rules->mask);
    rules->places = calloc(table->groups + 1, sizeof *rules->places);
    rules->chains = calloc(rules->buckets, sizeof *rules->chains);
    rules->handles.free = calloc(rules->limit, sizeof(uint32_t));
    rules->ids[SLUICE_TABLE_HASHED].free = calloc(hashed, sizeof(uint32_t));
    rules->ids[SLUICE_TABLE_TERNARY].free = calloc(table->ternary_entries, sizeof(uint32_t));
    if (!rules->rules || !rules->mask || !rules->places || !rules->chains || !rules->handles.free ||
        !rules->ids[0].free || !rules->ids[1].free) {
        sluice_flow_rules_free(rules);
        return NULL;
    }
    reset(rules);
    return rules;
}

void sluice_flow_rules_free(struct sluice_flow_rules *rules) {
    if (!rules)
        return;
    free(rules->rules);
    free(rules->mask);
    free(rules->places);
    free(rules->chains);
    free(rules->handles.free);
    free(rules->ids[SLUICE_TABLE_HASHED].free);
    free(rules->ids[SLUICE_TABLE_TERNARY].free);
    free(rules);
}
