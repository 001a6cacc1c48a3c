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

#include "flow_words.h"
#include "hash_index.h"
#include "sluice/sluice.h"

enum { NONE = -1, KEY = SLUICE_FLOW_KEY_BYTES, WORDS = SLUICE_FLOW_WORDS, LITTLE_ROOM = 4, WORTHWHILE = 2, LINE = 64 };

// Two cache lines: with tens of thousands of rules nearly all of what a change costs is memory that no cache holds.
struct rule {
    uint64_t value[WORDS];                 // masked
    uint32_t actions[SLUICE_ACTION_SLOTS]; // folded
    uint32_t hash, rule_id;
    int32_t mask;           // NONE: there is no such rule
    int32_t before, behind; // in the list of its place
    uint16_t rule_priority;
    uint8_t table_id, group;
    bool has_moved;   // it has counted at earlier places
    uint32_t version; // odd while it changes; for threads that read places meanwhile
};
_Static_assert(sizeof(struct rule) == 2 * LINE, "two cache lines");
_Static_assert((int)SLUICE_FLOW_WORDS == (int)SLUICE_HASH_WORDS, "keys are hashed whole");

struct mask {
    uint64_t bits[WORDS];
    uint32_t hash, rules, ternary;
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
    uint32_t limit, masks;             // that there can be
    uint64_t unread[WORDS];            // bits of a key that the device does not read
    struct rule *rules;                // by handle
    struct sluice_rule_counters *base; // by handle: counted at earlier places
    struct mask *mask;
    int32_t recent;                 // mask of the last new rule
    struct place *places;           // the groups, then the TCAM
    struct sluice_hash_index index; // of the rules by value and mask
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

static struct place *place_of(const struct sluice_flow_rules *rules, uint8_t table_id, uint8_t group) {
    return &rules->places[table_id == SLUICE_TABLE_HASHED ? group : rules->table.groups];
}

static struct place *ternary_place(const struct sluice_flow_rules *rules) {
    return &rules->places[rules->table.groups];
}

// What the rule is and where: an operation but for its kind.
static struct sluice_flow_operation operation_of(const struct sluice_flow_rules *rules, const struct rule *rule) {
    struct sluice_flow_operation op = {.table_id = rule->table_id,
                                       .group = rule->group,
                                       .rule_priority = rule->rule_priority,
                                       .rule_id = rule->rule_id};
    memcpy(op.value, rule->value, sizeof op.value);
    memcpy(op.mask, rules->mask[rule->mask].bits, sizeof op.mask);
    sluice_flow_unfold(&op.actions, rule->actions);
    return op;
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

static void link_place(struct sluice_flow_rules *rules, int32_t handle) {
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

static void unlink_place(struct sluice_flow_rules *rules, const struct rule *rule) {
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

// Around every change of what sluice_flow_rule_peek reads of a rule: mask, place, has_moved, base. All of these are
// stored as atomics: the reader may see any mixture of them, and finds by the version that it did.
static void begin_change(struct rule *rule) {
    __atomic_store_n(&rule->version, rule->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct rule *rule) {
    __atomic_store_n(&rule->version, rule->version + 1, __ATOMIC_RELEASE);
}

static void show_place(struct rule *rule, const struct sluice_flow_operation *op) {
    __atomic_store_n(&rule->table_id, op->table_id, __ATOMIC_RELAXED);
    __atomic_store_n(&rule->rule_id, op->rule_id, __ATOMIC_RELAXED);
    rule->group = op->group;
}

static void show_base(struct sluice_rule_counters *base, const struct sluice_rule_counters *counted) {
    __atomic_store_n(&base->packets, counted->packets, __ATOMIC_RELAXED);
    __atomic_store_n(&base->bytes, counted->bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&base->last_hit, counted->last_hit, __ATOMIC_RELAXED);
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

static int add_counters(const struct sluice_flow_rules *rules, uint8_t table_id, uint32_t rule_id,
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
    struct sluice_flow_operation old = operation_of(rules, rule), next = old;
    int result = put(rules, &next, table_id, group);
    if (result)
        return result;
    result = run(rules, SLUICE_INSTRUCTION_DELETE, &old);
    struct sluice_rule_counters base = rule->has_moved ? rules->base[handle] : (struct sluice_rule_counters){0};
    if (result == 0)
        result = add_counters(rules, old.table_id, old.rule_id, &base);
    unlink_place(rules, rule);
    begin_change(rule);
    show_base(&rules->base[handle], &base);
    __atomic_store_n(&rule->has_moved, true, __ATOMIC_RELAXED);
    give(&rules->ids[old.table_id], old.rule_id);
    show_place(rule, &next);
    end_change(rule);
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
    link_place(rules, handle);
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
    result = number == NONE ? -ENOSPC : find_place(rules, &op, rule.mask);
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
        grow(rules);
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
    struct sluice_flow_operation next = operation_of(rules, rule);
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
    unlink_place(rules, rule);
    rules->mask[rule->mask].rules--;
    give(&rules->ids[op.table_id], op.rule_id);
    give(&rules->handles, (uint32_t)handle);
    begin_change(rule);
    __atomic_store_n(&rule->mask, NONE, __ATOMIC_RELAXED);
    end_change(rule);
    if (place_of(rules, op.table_id, op.group)->rules == 0)
        grow(rules);
    return 0;
}

int sluice_flow_rule_counters(struct sluice_flow_rules *rules, int handle, struct sluice_rule_counters *counters) {
    const struct rule *rule = rule_of(rules, handle);
    if (!rule)
        return no_rule(handle);
    *counters = rule->has_moved ? rules->base[handle] : (struct sluice_rule_counters){0};
    int result = add_counters(rules, rule->table_id, rule->rule_id, counters);
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
    *place = operation_of(rules, rule);
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
