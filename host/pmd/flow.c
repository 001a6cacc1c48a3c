// SPDX-License-Identifier: Apache-2.0
#include "flow.h"

#include <rte_common.h>
#include <rte_errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int flow_error(struct rte_flow_error *error, int result, enum rte_flow_error_type type, const void *cause,
               const char *format, ...) {
    static _Thread_local char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rte_flow_error_set(error, -result, type, cause, text);
    return result;
}

int flow_parse(const struct flow_context *context, const struct rte_flow_attr *attributes,
               const struct rte_flow_item *pattern, const struct rte_flow_action *actions, struct flow_rule *rule,
               struct rte_flow_error *error) {
    memset(rule, 0, offsetof(struct flow_rule, edits));
    int result = flow_parse_pattern(context, attributes, pattern, rule, error);
    return result ? result : flow_parse_actions(context, attributes, actions, rule, error);
}

struct line {
    char *text;
    size_t size, used;
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)size < line->size - line->used ? (size_t)size : line->size - line->used - 1;
}

static void put_field(struct line *line, const char *name, uint64_t value, uint64_t mask, unsigned bits) {
    if (mask == 0)
        return;
    put(line, " %s=%#llx", name, (unsigned long long)value);
    if (mask != UINT64_MAX >> (64 - bits))
        put(line, "/%#llx", (unsigned long long)mask);
}

// Highest byte first, as the address is written.
static void put_bytes(struct line *line, const uint8_t *bytes, unsigned size) {
    for (unsigned i = size; i-- > 0;)
        put(line, "%02x", bytes[i]);
}

static void put_address(struct line *line, const char *name, const uint8_t value[16], const uint8_t mask[16],
                        bool is_ipv6) {
    unsigned size = is_ipv6 ? 16 : 4;
    bool any = false, all = true;
    for (unsigned i = 0; i < size; i++) {
        any |= mask[i] != 0;
        all &= mask[i] == UINT8_MAX;
    }
    if (!any)
        return;
    put(line, " %s=", name);
    put_bytes(line, value, size);
    if (!all) {
        put(line, "/");
        put_bytes(line, mask, size);
    }
}

static void put_actions(struct line *line, const struct flow_rule *rule) {
    static const char *const names[] = {
        [SLUICE_ACTION_NONE] = "none",
        [SLUICE_ACTION_SUB] = "sub",
        [SLUICE_ACTION_DROP] = "drop",
        [SLUICE_ACTION_SET] = "set",
        [SLUICE_ACTION_SET_LONG] = "set",
        [SLUICE_ACTION_CHECKSUM] = "checksum",
        [SLUICE_ACTION_INSERT_VLAN] = "push",
        [SLUICE_ACTION_DELETE_VLAN] = "pop",
        [SLUICE_ACTION_OUTPUT] = "output",
        [SLUICE_ACTION_REPLICATE] = "output",
        [SLUICE_ACTION_MARK] = "mark",
        [SLUICE_ACTION_QUEUE] = "queue",
        [SLUICE_ACTION_TO_HOST] = "host",
        [SLUICE_ACTION_TO_CONTROLLER] = "controller",
        [SLUICE_ACTION_DELETE_TUNNEL] = "decapsulate",
        [SLUICE_ACTION_INSERT_TUNNEL] = "tunnel",
        [SLUICE_ACTION_INSERT_RAW] = "encapsulate",
    };
    for (unsigned slot = 0; slot < rule->action_count; slot++) {
        const struct sluice_action *action = &rule->actions.slots[slot];
        const char *name = action->opcode < RTE_DIM(names) ? names[action->opcode] : NULL;
        put(line, " %s", name ? name : "unnamed");
        if (action->opcode == SLUICE_ACTION_SET_LONG) {
            put(line, "(%u,", action->operand >> 20);
            for (unsigned i = 0; i < rule->edit_count; i++)
                if (rule->edits[i].slot == slot)
                    put_bytes(line, rule->edits[i].value, SLUICE_EDIT_BYTES);
            put(line, ")");
        } else if (action->opcode == SLUICE_ACTION_SET) {
            put(line, "(%u,%#x)", action->operand >> 20, action->operand & 0xffff);
        } else if (action->opcode == SLUICE_ACTION_INSERT_RAW) {
            put(line, "(");
            for (unsigned i = 0; i < rule->template_size; i++)
                put(line, "%02x", rule->template[i]);
            put(line, ")");
        } else if (action->opcode == SLUICE_ACTION_QUEUE && rule->rss) {
            for (uint32_t i = 0; i < rule->rss->queue_num; i++)
                put(line, "%s%u", i ? "," : "(", rule->rss->queue[i]);
            put(line, ")");
        } else if (action->operand) {
            put(line, "(%#x)", action->operand);
        }
    }
}

void flow_text(const struct flow_rule *rule, char text[FLOW_TEXT]) {
    struct line line = {text, FLOW_TEXT, 0};
    const struct sluice_flow_key *value = &rule->value, *mask = &rule->mask;
    bool is_ipv6 = value->eth_type == SLUICE_ETHERTYPE_IPV6;
    put(&line, "lane=%u priority=%u", value->ingress_port, rule->rule_priority);
    put_field(&line, "eth_dst", value->eth_dst, mask->eth_dst, 48);
    put_field(&line, "eth_src", value->eth_src, mask->eth_src, 48);
    put_field(&line, "eth_type", value->eth_type, mask->eth_type, 16);
    put_field(&line, "has_vlan", value->has_vlan, mask->has_vlan, 1);
    put_field(&line, "vlan_tpid", value->vlan_tpid, mask->vlan_tpid, 16);
    put_field(&line, "vlan_tci", value->vlan_tci, mask->vlan_tci, 16);
    put_address(&line, "ip_src", value->ip_src, mask->ip_src, is_ipv6);
    put_address(&line, "ip_dst", value->ip_dst, mask->ip_dst, is_ipv6);
    put_field(&line, "ip_protocol", value->ip_protocol, mask->ip_protocol, 8);
    put_field(&line, "ip_tos", value->ip_tos, mask->ip_tos, 8);
    put_field(&line, "ip_ttl", value->ip_ttl, mask->ip_ttl, 8);
    put_field(&line, "fragment", value->fragment, mask->fragment, 2);
    put_field(&line, "l4_kind", value->l4_kind, mask->l4_kind, 3);
    put_field(&line, "l4_src", value->l4_src, mask->l4_src, 16);
    put_field(&line, "l4_dst", value->l4_dst, mask->l4_dst, 16);
    put_field(&line, "tcp_flags", value->tcp_flags, mask->tcp_flags, 12);
    put(&line, " ->");
    put_actions(&line, rule);
}
