// SPDX-License-Identifier: Apache-2.0
// The flow table as software, fast enough to stand for it in long runs: every mask that some rule has, of a mask group
// or of the TCAM, costs a lookup one hash of the masked key. What it answers is what elements/flow_table answers; where
// that may choose (several ternary rules of one priority) it takes the lowest rule id.
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow_words.h"
#include "hash_index.h"

enum { NONE = -1, WORDS = SLUICE_FLOW_WORDS, LINE = 64 };

// Two cache lines.
struct model_rule {
    uint64_t key[WORDS];                   // masked
    uint32_t actions[SLUICE_ACTION_SLOTS]; // folded
    uint64_t packets, bytes;
    uint32_t last_hit, hash; // of key and mask
    uint16_t mask;           // its number
    uint16_t rule_priority;
    uint8_t group; // of a hashed one
};

struct model_mask {
    uint64_t bits[WORDS];
    uint32_t rules;    // that have it; 0: the number is free
    uint32_t position; // in `masks_used`
};

struct model_group {
    uint32_t mask, used;
};

struct sluice_flow_model {
    uint32_t groups, group_entries, fill, hashed_entries, ternary_entries;
    uint32_t used_count, *masks_used; // numbers of the masks that rules have
    struct model_group *group;
    struct model_mask *mask;
    struct model_rule *rules;   // those of mask groups by rule id, then the ternary ones
    bool *used;                 // of the rules, apart: all that a deletion waits for
    struct model_rule *leaving; // was deleted, its memory was asked for, and the next change does the rest; NULL: none
    struct sluice_hash_index index; // of them by masked key and mask
};

static struct model_rule *rule_of(const struct sluice_flow_model *model, uint8_t table_id, uint32_t rule_id) {
    return &model->rules[table_id == SLUICE_TABLE_HASHED ? rule_id : model->hashed_entries + rule_id];
}

static bool is_hashed(const struct sluice_flow_model *model, const struct model_rule *rule) {
    return rule < model->rules + model->hashed_entries;
}

static bool *used_of(const struct sluice_flow_model *model, const struct model_rule *rule) {
    return &model->used[rule - model->rules];
}

// The next rule of key and mask from the place `*at` in the index on; NULL: none.
static struct model_rule *next_of(const struct sluice_flow_model *model, uint32_t hash, uint32_t mask,
                                  const uint64_t *key, uint32_t *at) {
    for (int32_t id; (id = sluice_hash_index_next(&model->index, hash, at)) != NONE;)
        if (model->rules[id].mask == mask && sluice_flow_same(model->rules[id].key, key) &&
            &model->rules[id] != model->leaving)
            return &model->rules[id];
    return NULL;
}

// The number of a mask, a fresh one where no rule has it: there are as many numbers as groups and ternary rules.
static uint32_t number_of(struct sluice_flow_model *model, const uint64_t bits[WORDS]) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < model->used_count; i++)
        if (sluice_flow_same(model->mask[model->masks_used[i]].bits, bits))
            return model->masks_used[i];
    while (model->mask[number].rules)
        number++;
    memcpy(model->mask[number].bits, bits, sizeof model->mask[number].bits);
    return number;
}

static void link_rule(struct sluice_flow_model *model, struct model_rule *rule) {
    struct model_mask *mask = &model->mask[rule->mask];
    sluice_hash_index_add(&model->index, rule->hash, (int32_t)(rule - model->rules));
    if (mask->rules++ == 0) {
        mask->position = model->used_count;
        model->masks_used[model->used_count++] = rule->mask;
    }
}

static void unlink_rule(struct sluice_flow_model *model, const struct model_rule *rule) {
    struct model_mask *mask = &model->mask[rule->mask];
    sluice_hash_index_remove(&model->index, (int32_t)(rule - model->rules));
    if (--mask->rules == 0) {
        uint32_t last = model->masks_used[--model->used_count];
        model->masks_used[mask->position] = last;
        model->mask[last].position = mask->position;
    }
}

// A rule as an operation says, with the number of its mask.
static struct model_rule rule_from(const struct sluice_flow_model *model, const struct sluice_flow_operation *op,
                                   uint32_t number) {
    struct model_rule rule = {.mask = (uint16_t)number, .rule_priority = op->rule_priority, .group = op->group};
    sluice_flow_fold(rule.actions, &op->actions);
    for (unsigned i = 0; i < WORDS; i++)
        rule.key[i] = op->value[i] & model->mask[number].bits[i];
    rule.hash = sluice_hash_words(rule.key, rule.mask);
    sluice_hash_index_fetch(&model->index, rule.hash);
    return rule;
}

static bool is_in_group(const struct sluice_flow_model *model, const struct model_rule *rule) {
    uint32_t at = rule->hash;
    for (const struct model_rule *other; (other = next_of(model, rule->hash, rule->mask, rule->key, &at));)
        if (is_hashed(model, other) && other->group == rule->group)
            return true;
    return false;
}

static bool has_mask(const struct sluice_flow_model *model, uint32_t number, const uint64_t bits[WORDS]) {
    return sluice_flow_same(model->mask[number].bits, bits);
}

static void clear(struct sluice_flow_model *model, uint8_t table_id) {
    uint32_t count = table_id == SLUICE_TABLE_HASHED ? model->hashed_entries : model->ternary_entries;
    for (uint32_t id = 0; id < count; id++) {
        struct model_rule *rule = rule_of(model, table_id, id);
        if (*used_of(model, rule))
            unlink_rule(model, rule);
        *used_of(model, rule) = false;
    }
    for (uint32_t i = 0; i < model->groups && table_id == SLUICE_TABLE_HASHED; i++)
        model->group[i].used = 0;
}

static int populate(struct sluice_flow_model *model, struct model_rule *rule, const struct sluice_flow_operation *op) {
    struct model_group *group = op->table_id == SLUICE_TABLE_HASHED ? &model->group[op->group] : NULL;
    if (group && group->used && !has_mask(model, group->mask, op->mask))
        return -EINVAL;
    struct model_rule fresh = rule_from(model, op, group && group->used ? group->mask : number_of(model, op->mask));
    if (group && is_in_group(model, &fresh))
        return -EEXIST;
    if (group && group->used == model->fill)
        return -ENOSPC;
    *rule = fresh;
    *used_of(model, rule) = true;
    link_rule(model, rule);
    if (group) {
        group->mask = rule->mask;
        group->used++;
    }
    return 0;
}

static void remove_rule(struct sluice_flow_model *model, struct model_rule *rule) {
    *used_of(model, rule) = false;
    model->leaving = rule;
    __builtin_prefetch(&rule->last_hit);
    sluice_hash_index_fetch_record(&model->index, (int32_t)(rule - model->rules));
}

// What the last deletion left to do.
static void settle(struct sluice_flow_model *model) {
    struct model_rule *rule = model->leaving;
    model->leaving = NULL;
    if (!rule)
        return;
    unlink_rule(model, rule);
    if (is_hashed(model, rule))
        model->group[rule->group].used--;
}

static int update(struct sluice_flow_model *model, struct model_rule *rule, const struct sluice_flow_operation *op) {
    if (!is_hashed(model, rule)) {
        const struct model_rule old = *rule;
        unlink_rule(model, rule);
        *rule = rule_from(model, op, number_of(model, op->mask));
        rule->packets = old.packets;
        rule->bytes = old.bytes;
        rule->last_hit = old.last_hit;
        link_rule(model, rule);
        return 0;
    }
    struct model_rule next = rule_from(model, op, rule->mask);
    if (op->group != rule->group || !has_mask(model, rule->mask, op->mask) || !sluice_flow_same(next.key, rule->key))
        return -EINVAL;
    sluice_flow_fold(rule->actions, &op->actions);
    rule->rule_priority = op->rule_priority;
    return 0;
}

static int execute(void *context, const struct sluice_flow_operation *op) {
    struct sluice_flow_model *model = context;
    bool has_groups = op->table_id == SLUICE_TABLE_HASHED;
    settle(model);
    if (op->table_id > SLUICE_TABLE_TERNARY)
        return -EINVAL;
    if (op->kind == SLUICE_INSTRUCTION_INITIALIZE) {
        clear(model, op->table_id);
        return 0;
    }
    if (op->rule_id >= (has_groups ? model->hashed_entries : model->ternary_entries) ||
        (has_groups && op->kind != SLUICE_INSTRUCTION_DELETE && op->group >= model->groups))
        return -EINVAL;
    struct model_rule *rule = rule_of(model, op->table_id, op->rule_id);
    switch (op->kind) {
    case SLUICE_INSTRUCTION_POPULATE:
        return *used_of(model, rule) ? -EEXIST : populate(model, rule, op);
    case SLUICE_INSTRUCTION_UPDATE:
        return *used_of(model, rule) ? update(model, rule, op) : -ENOENT;
    case SLUICE_INSTRUCTION_DELETE:
        if (!*used_of(model, rule))
            return -ENOENT;
        remove_rule(model, rule);
        return 0;
    default:
        return -EINVAL;
    }
}

static int counters(void *context, uint8_t table_id, uint32_t rule_id, struct sluice_rule_counters *out) {
    const struct model_rule *rule = rule_of(context, table_id, rule_id);
    *out = (struct sluice_rule_counters){.packets = rule->packets, .bytes = rule->bytes, .last_hit = rule->last_hit};
    return 0;
}

// The higher priority; else the lowest group; else the TCAM, its lowest rule id.
static bool is_better(const struct sluice_flow_model *model, const struct model_rule *rule,
                      const struct model_rule *best) {
    if (!best || rule->rule_priority != best->rule_priority)
        return !best || rule->rule_priority > best->rule_priority;
    if (is_hashed(model, rule) && is_hashed(model, best))
        return rule->group < best->group;
    return rule < best;
}

bool sluice_flow_model_look(const struct sluice_flow_model *model, const uint8_t *key,
                            struct sluice_flow_found *found) {
    struct model_rule *best = NULL, *rule;
    uint64_t words[WORDS], masked[WORDS];
    sluice_flow_words(words, key);
    for (uint32_t n = 0; n < model->used_count; n++) {
        uint32_t mask = model->masks_used[n];
        for (unsigned i = 0; i < WORDS; i++)
            masked[i] = words[i] & model->mask[mask].bits[i];
        uint32_t hash = sluice_hash_words(masked, mask);
        uint32_t at = hash;
        while ((rule = next_of(model, hash, mask, masked, &at)))
            if (is_better(model, rule, best))
                best = rule;
    }
    if (!best)
        return false;
    uint32_t index = (uint32_t)(best - model->rules);
    bool has_group = is_hashed(model, best);
    *found = (struct sluice_flow_found){.table_id = has_group ? SLUICE_TABLE_HASHED : SLUICE_TABLE_TERNARY,
                                        .rule_id = has_group ? index : index - model->hashed_entries};
    sluice_flow_unfold(&found->actions, best->actions);
    return true;
}

void sluice_flow_model_count(struct sluice_flow_model *model, const struct sluice_flow_found *found, uint32_t length,
                             uint32_t tick) {
    struct model_rule *rule = rule_of(model, found->table_id, found->rule_id);
    rule->packets++;
    rule->bytes += length;
    rule->last_hit = tick;
}

bool sluice_flow_model_find(struct sluice_flow_model *model, const uint8_t *key, uint32_t length, uint32_t tick,
                            struct sluice_flow_found *found) {
    bool is_found = sluice_flow_model_look(model, key, found);
    if (is_found)
        sluice_flow_model_count(model, found, length, tick);
    return is_found;
}

uint32_t sluice_flow_model_group_used(const struct sluice_flow_model *model, uint32_t group) {
    const struct model_rule *leaving = model->leaving;
    return model->group[group].used - (leaving && is_hashed(model, leaving) && leaving->group == group);
}

bool sluice_flow_model_has(const struct sluice_flow_model *model, uint8_t table_id, uint32_t rule_id) {
    return *used_of(model, rule_of(model, table_id, rule_id));
}

struct sluice_flow_model *sluice_flow_model_new(uint32_t groups, uint32_t group_entries, uint32_t fill,
                                                uint32_t ternary_entries) {
    struct sluice_flow_model *model = calloc(1, sizeof *model);
    uint32_t rules = groups * group_entries + ternary_entries, masks = groups + ternary_entries;
    if (!model)
        return NULL;
    *model = (struct sluice_flow_model){.groups = groups,
                                        .group_entries = group_entries,
                                        .fill = fill,
                                        .hashed_entries = groups * group_entries,
                                        .ternary_entries = ternary_entries};
    model->group = calloc(groups, sizeof *model->group);
    model->mask = calloc(masks, sizeof *model->mask);
    model->masks_used = calloc(masks, sizeof *model->masks_used);
    model->rules = aligned_alloc(LINE, rules * sizeof *model->rules);
    model->used = calloc(rules, sizeof *model->used);
    int no_index = sluice_hash_index_new(&model->index, rules);
    if (!model->group || !model->mask || !model->masks_used || !model->rules || !model->used || no_index) {
        sluice_flow_model_free(model);
        return NULL;
    }
    memset(model->rules, 0, rules * sizeof *model->rules);
    return model;
}

void sluice_flow_model_free(struct sluice_flow_model *model) {
    if (!model)
        return;
    free(model->group);
    free(model->mask);
    free(model->masks_used);
    free(model->rules);
    free(model->used);
    sluice_hash_index_free(&model->index);
    free(model);
}

void sluice_flow_model_table(struct sluice_flow_model *model, struct sluice_flow_table *table) {
    *table = (struct sluice_flow_table){model,   model->groups, model->group_entries, model->ternary_entries,
                                        execute, counters};
}
