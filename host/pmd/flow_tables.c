// SPDX-License-Identifier: Apache-2.0
#include "flow_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_open.h"

struct held_template {
    unsigned holders;
    uint8_t size, bytes[SLUICE_TEMPLATE_BYTES];
};

// A redirection table of a lane; that with number 0 is the port's own, and not held here.
struct held_spread {
    unsigned holders;
    struct rte_flow_action_rss conf; // nothing but the queues
    uint16_t queues[SLUICE_RSS_ENTRIES];
};

struct flow_tables {
    struct sluice_device *device;
    struct held_spread spreads[SLUICE_HOST_PORT * SLUICE_RSS_TABLES];
    unsigned next_spread;       // as next_template
    struct sluice_flows *flows; // NULL: the device has no flow table
    struct held_template templates[SLUICE_TEMPLATES];
    unsigned
        next_template; // where the search for a free one begins: in turn, since packets under way may need old ones
};

int flow_tables_new(struct flow_tables **out, struct sluice_device *device) {
    struct flow_tables *it = calloc(1, sizeof *it);
    if (!it)
        return sluice_fail(-ENOMEM, "out of memory");
    it->device = device;
    *out = it;
    int result = sluice_flows_open(device, &it->flows);
    return result == -ENOENT ? 0 : result;
}

void flow_tables_free(struct flow_tables *tables) {
    if (!tables)
        return;
    sluice_flows_close(tables->flows);
    free(tables);
}

int flow_tables_check(const struct flow_tables *it, const struct flow_rule *rule, struct rte_flow_error *error) {
    if (!it->flows)
        return flow_refuse(error, NULL, "the device has no flow table: it runs another configuration");
    if (rule->rule_priority > UINT16_MAX)
        return flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, NULL,
                          "priority %u: the lowest is %u, the highest 0", rule->rule_priority, UINT16_MAX);
    return 0;
}

// The index of a template with these bytes, held once more; negative where there is no room or it cannot be written.
static int hold_template(struct flow_tables *it, const struct flow_rule *rule) {
    int free_one = -ENOSPC, result;
    for (unsigned n = 0; n < SLUICE_TEMPLATES; n++) {
        int i = (int)((it->next_template + n) % SLUICE_TEMPLATES);
        struct held_template *one = &it->templates[i];
        if (one->holders && one->size == rule->template_size && !memcmp(one->bytes, rule->template, one->size)) {
            one->holders++;
            return i;
        }
        if (!one->holders && free_one < 0)
            free_one = i;
    }
    if (free_one < 0)
        return sluice_fail(-ENOSPC, "all %u header templates are in use", SLUICE_TEMPLATES);
    if ((result = sluice_template_set(it->device, (uint32_t)free_one, rule->template, rule->template_size)))
        return result;
    struct held_template *one = &it->templates[free_one];
    *one = (struct held_template){.holders = 1, .size = rule->template_size};
    memcpy(one->bytes, rule->template, one->size);
    it->next_template = (unsigned)free_one + 1;
    return free_one;
}

static void release_template(struct flow_tables *it, int index) {
    if (index >= 0)
        it->templates[index].holders--;
}

static bool has_queues(const struct held_spread *one, const struct rte_flow_action_rss *rss) {
    return one->conf.queue_num == rss->queue_num &&
           !memcmp(one->queues, rss->queue, rss->queue_num * sizeof *rss->queue);
}

static int write_spread(struct flow_tables *it, int index, const struct rte_flow_action_rss *rss) {
    unsigned lane = (unsigned)index / SLUICE_RSS_TABLES, table = (unsigned)index % SLUICE_RSS_TABLES;
    int result = 0;
    for (unsigned entry = 0; entry < SLUICE_RSS_ENTRIES && result == 0; entry++)
        result = sluice_spread_set_entry(it->device, lane, table, entry, rss->queue[entry % rss->queue_num]);
    return result;
}

// The redirection table with these queues, as hold_template does it.
static int hold_spread(struct flow_tables *it, const struct flow_rule *rule) {
    int first = rule->value.ingress_port * (int)SLUICE_RSS_TABLES, free_one = -ENOSPC, result;
    for (unsigned n = 0; n < SLUICE_RSS_TABLES - 1; n++) {
        int i = first + 1 + (int)((it->next_spread + n) % (SLUICE_RSS_TABLES - 1));
        if (it->spreads[i].holders && has_queues(&it->spreads[i], rule->rss)) {
            it->spreads[i].holders++;
            return i;
        }
        if (!it->spreads[i].holders && free_one < 0)
            free_one = i;
    }
    if (free_one < 0)
        return sluice_fail(-ENOSPC,
                           "the port's rules have RSS over %u lists of queues already, as many as there can be",
                           SLUICE_RSS_TABLES - 1);
    if ((result = write_spread(it, free_one, rule->rss)))
        return result;
    struct held_spread *one = &it->spreads[free_one];
    *one = (struct held_spread){.holders = 1, .conf = {.queue_num = rule->rss->queue_num, .queue = one->queues}};
    memcpy(one->queues, rule->rss->queue, rule->rss->queue_num * sizeof *one->queues);
    it->next_spread = (unsigned)(free_one - first);
    return free_one;
}

// What else a rule needs. 0, or a negative errno, with all that was held in its place.
static int hold(struct flow_tables *it, const struct flow_rule *rule, struct flow_place *place) {
    *place = (struct flow_place){.template = rule->template_size ? hold_template(it, rule) : -1};
    if (rule->template_size && place->template <0)
        return place->template;
    place->spread = rule->rss ? hold_spread(it, rule) : 0;
    return place->spread < 0 ? place->spread : 0;
}

static void release(struct flow_tables *it, const struct flow_place *place) {
    release_template(it, place->template);
    if (place->spread > 0)
        it->spreads[place->spread].holders--;
}

// rte_flow's highest priority is 0, the table's the highest number.
static int populate(struct flow_tables *it, const struct flow_rule *rule, const struct flow_place *place) {
    uint8_t value[SLUICE_FLOW_KEY_BYTES], mask[SLUICE_FLOW_KEY_BYTES];
    struct sluice_action_set actions = rule->actions;
    sluice_flow_key_pack(&rule->value, value);
    sluice_flow_key_pack(&rule->mask, mask);
    for (unsigned i = 0; i < rule->action_count; i++)
        if (actions.slots[i].opcode == SLUICE_ACTION_INSERT_RAW)
            actions.slots[i].operand = (uint32_t)place->template;
        else if (actions.slots[i].opcode == SLUICE_ACTION_QUEUE && place->spread)
            actions.slots[i].operand = (uint32_t)place->spread % SLUICE_RSS_TABLES;
    return sluice_flows_add(it->flows, value, mask, (uint16_t)(UINT16_MAX - rule->rule_priority), &actions, rule->edits,
                            rule->edit_count);
}

int flow_tables_add(struct flow_tables *it, const struct flow_rule *rule, struct flow_place *place,
                    struct rte_flow_error *error) {
    int result = flow_tables_check(it, rule, error);
    if (result)
        return result;
    result = hold(it, rule, place);
    if (result == 0)
        result = place->handle = populate(it, rule, place);
    if (result >= 0)
        return 0;
    release(it, place);
    // What is not possible, now or ever, is an action that cannot be offloaded.
    bool is_limit = result == -ENOSPC || result == -ENOTSUP;
    return flow_error(error, result, is_limit ? RTE_FLOW_ERROR_TYPE_ACTION : RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                      "%s", sluice_error_text());
}

int flow_tables_remove(struct flow_tables *it, const struct flow_place *place) {
    int result = sluice_flows_delete(it->flows, place->handle);
    release(it, place);
    return result;
}

int flow_tables_counters(struct flow_tables *it, const struct flow_place *place,
                         struct sluice_rule_counters *counters) {
    return sluice_flows_counters(it->flows, place->handle, counters);
}

int flow_tables_mirrored(const struct flow_tables *it, int handle, struct sluice_rule_counters *counters) {
    return it->flows ? sluice_flows_mirrored(it->flows, handle, counters) : -ENOTSUP;
}

uint32_t flow_tables_limit(const struct flow_tables *it) {
    return it->flows ? sluice_flows_limit(it->flows) : 0;
}

// A rule that is in the table as it was parsed.
static void read_rule(const struct flow_tables *it, const struct flow_place *place,
                      const struct sluice_flow_operation *at, const struct sluice_edit edits[SLUICE_ACTION_SLOTS],
                      struct flow_rule *rule) {
    *rule = (struct flow_rule){.rule_priority = (uint32_t)(UINT16_MAX - at->rule_priority), .actions = at->actions};
    sluice_flow_key_unpack(&rule->value, (const uint8_t *)at->value);
    sluice_flow_key_unpack(&rule->mask, (const uint8_t *)at->mask);
    for (uint8_t slot = 0; slot < SLUICE_ACTION_SLOTS; slot++) {
        if (at->actions.slots[slot].opcode != SLUICE_ACTION_NONE)
            rule->action_count = (uint8_t)(slot + 1);
        if (at->actions.slots[slot].opcode == SLUICE_ACTION_SET_LONG)
            rule->edits[rule->edit_count++] = edits[slot];
    }
    if (place->template >= 0) {
        const struct held_template *one = &it->templates[place->template];
        rule->template_size = one->size;
        memcpy(rule->template, one->bytes, one->size);
    }
    if (place->spread)
        rule->rss = &it->spreads[place->spread].conf;
}

void flow_tables_text(struct flow_tables *it, const struct flow_place *place, struct flow_rule *rule,
                      char text[FLOW_PLACE_TEXT]) {
    struct sluice_edit edits[SLUICE_ACTION_SLOTS];
    struct sluice_flow_operation at = {.table_id = SLUICE_TABLE_TERNARY};
    sluice_flows_place(it->flows, place->handle, &at, edits);
    read_rule(it, place, &at, edits, rule);
    if (at.table_id == SLUICE_TABLE_HASHED)
        snprintf(text, FLOW_PLACE_TEXT, "mask group %u, rule %u", at.group, at.rule_id);
    else
        snprintf(text, FLOW_PLACE_TEXT, "TCAM, rule %u", at.rule_id);
}
