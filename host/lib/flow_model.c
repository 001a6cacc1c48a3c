// SPDX-License-Identifier: Apache-2.0
// The flow table as software: mask groups, each a hash of masked keys, and a list of ternary rules. What it answers is
// what elements/flow_table answers; where that may choose (several ternary rules of one priority) it takes the lowest
// rule id.
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, KEY = SLUICE_FLOW_KEY_BYTES };

struct model_rule {
    struct sluice_flow_operation op; // as it was populated or updated; its value is masked
    struct sluice_rule_counters counters;
    int32_t next; // in its chain
    bool used;
};

struct model_group {
    uint8_t mask[KEY];
    uint32_t used;
};

struct sluice_flow_model {
    uint32_t groups, group_entries, fill, ternary_entries, buckets;
    struct model_group *group;
    struct model_rule *hashed, *ternary; // by rule id
    int32_t *chains;                     // of hashed rules, by group and key
};

static int32_t *chain_of(const struct sluice_flow_model *model, uint32_t group, const uint8_t *key) {
    uint32_t hash = 2166136261U ^ group;
    for (unsigned i = 0; i < KEY; i++)
        hash = (hash ^ key[i]) * 16777619U;
    return &model->chains[(hash ^ hash >> 15) & (model->buckets - 1)];
}

static struct model_rule *find_hashed(const struct sluice_flow_model *model, uint32_t group, const uint8_t *key) {
    int32_t id = *chain_of(model, group, key);
    while (id != NONE && (model->hashed[id].op.group != group || memcmp(model->hashed[id].op.value, key, KEY)))
        id = model->hashed[id].next;
    return id == NONE ? NULL : &model->hashed[id];
}

static void clear(struct sluice_flow_model *model, uint8_t table_id) {
    bool is_hashed = table_id == SLUICE_TABLE_HASHED;
    uint32_t count = is_hashed ? model->groups * model->group_entries : model->ternary_entries;
    for (uint32_t i = 0; i < count; i++)
        (is_hashed ? model->hashed : model->ternary)[i].used = false;
    if (!is_hashed)
        return;
    memset(model->chains, 0xff, model->buckets * sizeof *model->chains);
    for (uint32_t i = 0; i < model->groups; i++)
        model->group[i].used = 0;
}

static int populate(struct sluice_flow_model *model, const struct sluice_flow_operation *op) {
    struct model_rule *rule = (op->table_id == SLUICE_TABLE_HASHED ? model->hashed : model->ternary) + op->rule_id;
    struct model_group *group = op->table_id == SLUICE_TABLE_HASHED ? &model->group[op->group] : NULL;
    struct model_rule fresh = {.op = *op, .next = NONE, .used = true};
    if (rule->used)
        return -EEXIST;
    for (unsigned i = 0; i < KEY; i++)
        fresh.op.value[i] &= op->mask[i];
    if (group && group->used && memcmp(group->mask, op->mask, KEY))
        return -EINVAL;
    if (group && find_hashed(model, op->group, fresh.op.value))
        return -EEXIST;
    if (group && group->used == model->fill)
        return -ENOSPC;
    *rule = fresh;
    if (group) {
        int32_t *chain = chain_of(model, op->group, rule->op.value);
        memcpy(group->mask, op->mask, KEY);
        group->used++;
        rule->next = *chain;
        *chain = (int32_t)op->rule_id;
    }
    return 0;
}

static void remove_rule(struct sluice_flow_model *model, struct model_rule *rule) {
    rule->used = false;
    if (rule->op.table_id != SLUICE_TABLE_HASHED)
        return;
    int32_t *at = chain_of(model, rule->op.group, rule->op.value);
    while (&model->hashed[*at] != rule)
        at = &model->hashed[*at].next;
    *at = rule->next;
    model->group[rule->op.group].used--;
}

static int update(struct model_rule *rule, const struct sluice_flow_operation *op) {
    struct sluice_flow_operation next = *op;
    for (unsigned i = 0; i < KEY; i++)
        next.value[i] &= op->mask[i];
    if (op->table_id == SLUICE_TABLE_HASHED && (op->group != rule->op.group || memcmp(next.mask, rule->op.mask, KEY) ||
                                                memcmp(next.value, rule->op.value, KEY)))
        return -EINVAL;
    rule->op = next;
    return 0;
}

static int execute(void *context, const struct sluice_flow_operation *op) {
    struct sluice_flow_model *model = context;
    bool is_hashed = op->table_id == SLUICE_TABLE_HASHED;
    uint32_t limit = is_hashed ? model->groups * model->group_entries : model->ternary_entries;
    if (op->table_id > SLUICE_TABLE_TERNARY)
        return -EINVAL;
    if (op->kind == SLUICE_INSTRUCTION_INITIALIZE) {
        clear(model, op->table_id);
        return 0;
    }
    if (op->rule_id >= limit || (is_hashed && op->kind != SLUICE_INSTRUCTION_DELETE && op->group >= model->groups))
        return -EINVAL;
    if (op->kind == SLUICE_INSTRUCTION_POPULATE)
        return populate(model, op);
    if (op->kind != SLUICE_INSTRUCTION_DELETE && op->kind != SLUICE_INSTRUCTION_UPDATE)
        return -EINVAL;
    struct model_rule *rule = (is_hashed ? model->hashed : model->ternary) + op->rule_id;
    if (!rule->used)
        return -ENOENT;
    if (op->kind == SLUICE_INSTRUCTION_UPDATE)
        return update(rule, op);
    remove_rule(model, rule);
    return 0;
}

static int counters(void *context, uint8_t table_id, uint32_t rule_id, struct sluice_rule_counters *out) {
    struct sluice_flow_model *model = context;
    *out = (table_id == SLUICE_TABLE_HASHED ? model->hashed : model->ternary)[rule_id].counters;
    return 0;
}

bool sluice_flow_model_find(struct sluice_flow_model *model, const uint8_t *key, uint32_t length, uint32_t tick,
                            struct sluice_flow_found *found) {
    struct model_rule *best = NULL;
    for (uint32_t g = 0; g < model->groups; g++) {
        uint8_t masked[KEY];
        if (model->group[g].used == 0)
            continue;
        for (unsigned i = 0; i < KEY; i++)
            masked[i] = key[i] & model->group[g].mask[i];
        struct model_rule *rule = find_hashed(model, g, masked);
        if (rule && (!best || rule->op.rule_priority > best->op.rule_priority))
            best = rule;
    }
    for (uint32_t id = 0; id < model->ternary_entries; id++) {
        struct model_rule *rule = &model->ternary[id];
        unsigned i = 0;
        if (!rule->used || (best && rule->op.rule_priority <= best->op.rule_priority))
            continue;
        while (i < KEY && (key[i] & rule->op.mask[i]) == rule->op.value[i])
            i++;
        if (i == KEY)
            best = rule;
    }
    if (!best)
        return false;
    best->counters.packets++;
    best->counters.bytes += length;
    best->counters.last_hit = tick;
    *found = (struct sluice_flow_found){best->op.table_id, best->op.rule_id, best->op.actions};
    return true;
}

struct sluice_flow_model *sluice_flow_model_new(uint32_t groups, uint32_t group_entries, uint32_t fill,
                                                uint32_t ternary_entries) {
    struct sluice_flow_model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    *model = (struct sluice_flow_model){groups, group_entries, fill, ternary_entries, .buckets = 16};
    while (model->buckets < groups * group_entries)
        model->buckets *= 2;
    model->group = calloc(groups, sizeof *model->group);
    model->hashed = calloc(groups * group_entries, sizeof *model->hashed);
    model->ternary = calloc(ternary_entries, sizeof *model->ternary);
    model->chains = malloc(model->buckets * sizeof *model->chains);
    if (!model->group || !model->hashed || !model->ternary || !model->chains) {
        sluice_flow_model_free(model);
        return NULL;
    }
    clear(model, SLUICE_TABLE_HASHED);
    return model;
}

void sluice_flow_model_free(struct sluice_flow_model *model) {
    if (!model)
        return;
    free(model->group);
    free(model->hashed);
    free(model->ternary);
    free(model->chains);
    free(model);
}

void sluice_flow_model_table(struct sluice_flow_model *model, struct sluice_flow_table *table) {
    *table = (struct sluice_flow_table){model,   model->groups, model->group_entries, model->ternary_entries,
                                        execute, counters};
}
