// SPDX-License-Identifier: Apache-2.0
// What the lines of a rules file become: routes with their actions, edit data and header templates, and access rules in
// their order.

#include "rules_reader.h"

#include <errno.h>
#include <stdlib.h>

#define TUNNEL_TTL 64U

// The index of a MAC in the edit data; -1 where there is no room.
static int edit_index(struct sluice_rules *rules, uint64_t mac) {
    uint8_t entry[SLUICE_EDIT_DATA_BYTES] = {0};
    for (unsigned n = 0; n < 6; n++)
        entry[n] = (uint8_t)(mac >> 8 * n);
    for (uint32_t n = 0; n < rules->edit_count; n++)
        if (memcmp(rules->edit_data[n], entry, sizeof entry) == 0)
            return (int)n;
    if (rules->edit_count == SLUICE_SWITCH_EDIT_ENTRIES)
        return -1;
    memcpy(rules->edit_data[rules->edit_count], entry, sizeof entry);
    return (int)rules->edit_count++;
}

// The headers of a tunnel while they are written.
struct headers {
    uint8_t bytes[SLUICE_TEMPLATE_BYTES];
    uint32_t size;
};

static void add_number(struct headers *to, unsigned size, uint64_t value) {
    for (unsigned n = size; n-- > 0;)
        to->bytes[to->size++] = (uint8_t)(value >> 8 * n);
}

static void add_address(struct headers *to, const struct prefix *address) {
    for (unsigned n = address->version == 4 ? 4 : 16; n-- > 0;)
        to->bytes[to->size++] = address->value[n];
}

// What is 0 here is made for each packet: lengths, checksum, source port, id. "Do not fragment" is set.
static void add_ip(struct headers *to, const struct tunnel_line *tunnel) {
    bool is_udp = tunnel->kind == SLUICE_TUNNEL_VXLAN || tunnel->kind == SLUICE_TUNNEL_GENEVE;
    uint8_t protocol = is_udp ? SLUICE_IP_PROTOCOL_UDP : SLUICE_IP_PROTOCOL_GRE;
    if (tunnel->local.version == 4) {
        add_number(to, 8, 0x4500000000004000);
        add_number(to, 2, TUNNEL_TTL << 8 | protocol);
        add_number(to, 2, 0);
    } else {
        add_number(to, 6, 0x600000000000);
        add_number(to, 2, (uint32_t)protocol << 8 | TUNNEL_TTL);
    }
    add_address(to, &tunnel->local);
    add_address(to, &tunnel->remote);
    if (is_udp) {
        add_number(to, 4, tunnel->kind == SLUICE_TUNNEL_VXLAN ? SLUICE_VXLAN_PORT : SLUICE_GENEVE_PORT);
        add_number(to, 4, 0);
    }
}

static void add_tunnel(struct headers *to, const struct tunnel_line *tunnel) {
    switch (tunnel->kind) {
    case SLUICE_TUNNEL_VXLAN:
        add_number(to, 8, 0x0800000000000000);
        break;
    case SLUICE_TUNNEL_GENEVE:
        add_number(to, 2, tunnel->options_size / 4 << 8);
        add_number(to, 2, SLUICE_ETHERTYPE_TEB);
        add_number(to, 4, 0);
        memcpy(to->bytes + to->size, tunnel->options, tunnel->options_size);
        to->size += tunnel->options_size;
        break;
    case SLUICE_TUNNEL_NVGRE:
        add_number(to, 4, 0x20000000 | SLUICE_ETHERTYPE_TEB);
        add_number(to, 4, 0);
        break;
    default:
        add_number(to, 4, SLUICE_ETHERTYPE_TEB);
        break;
    }
}

// The index of the template of a route's tunnel; -1 where there is no room.
static int template_index(struct sluice_rules *rules, const struct route_line *line) {
    struct headers headers = {.size = 0};
    struct sluice_template template;
    add_number(&headers, 6, line->next_hop);
    add_number(&headers, 6, rules->lane_mac[line->lane]);
    if (line->vlan)
        add_number(&headers, 4, (uint64_t)SLUICE_ETHERTYPE_VLAN << 16 | line->vlan);
    add_number(&headers, 2, line->tunnel.local.version == 4 ? SLUICE_ETHERTYPE_IPV4 : SLUICE_ETHERTYPE_IPV6);
    add_ip(&headers, &line->tunnel);
    add_tunnel(&headers, &line->tunnel);
    if (sluice_template_make(headers.bytes, headers.size, &template))
        return -1;
    for (uint32_t n = 0; n < rules->template_count; n++)
        if (rules->templates[n].info.size == headers.size &&
            memcmp(rules->templates[n].bytes, template.bytes, headers.size) == 0)
            return (int)n;
    if (rules->template_count == SLUICE_TEMPLATES)
        return -1;
    rules->templates[rules->template_count] = template;
    return (int)rules->template_count++;
}

static void add_action(struct sluice_action_set *actions, unsigned *slot, uint8_t opcode, uint32_t operand) {
    actions->slots[(*slot)++] = (struct sluice_action){.opcode = opcode, .operand = operand};
}

static int no_edit_data(struct reader *reader, const struct route_line *line) {
    return sluice_text_error_at(
        &reader->text, line->line, line->column,
        "more than %u different MAC addresses and tunnel ids above 65535; hint: the device holds no more",
        SLUICE_SWITCH_EDIT_ENTRIES);
}

// The tunnel id and the headers in front; -1 with an error where the device has no room.
static int add_tunnel_actions(struct reader *reader, const struct route_line *line, struct sluice_action_set *actions,
                              unsigned *slot) {
    uint32_t field = (uint32_t)SLUICE_FIELD_TUNNEL_ID << 20;
    bool has_id = line->tunnel.kind != SLUICE_TUNNEL_GRE;
    int index = template_index(reader->rules, line);
    if (index < 0)
        return sluice_text_error_at(&reader->text, line->line, line->column,
                                    "more than %u different tunnels; hint: the device holds no more", SLUICE_TEMPLATES);
    if (has_id && line->tunnel.id <= 0xffff) {
        add_action(actions, slot, SLUICE_ACTION_SET, field | line->tunnel.id);
    } else if (has_id) {
        int id = edit_index(reader->rules, line->tunnel.id);
        if (id < 0)
            return no_edit_data(reader, line);
        add_action(actions, slot, SLUICE_ACTION_SET_LONG, field | (uint32_t)id);
    }
    add_action(actions, slot, has_id ? SLUICE_ACTION_INSERT_TUNNEL : SLUICE_ACTION_INSERT_RAW, (uint32_t)index);
    return 0;
}

static void add_route(struct reader *reader, const struct route_line *line) {
    struct sluice_rules *rules = reader->rules;
    struct sluice_route *route = &rules->routes[rules->route_count];
    unsigned slot = 0;
    if (rules->lane_mac[line->lane] == 0) {
        (void)sluice_text_error_at(&reader->text, line->line, line->lane_column,
                                   "lane %u has no address; hint: add 'lane %u mac 02:00:00:00:00:%02x'", line->lane,
                                   line->lane, line->lane);
        return;
    }
    int dst = edit_index(rules, line->tunnel.kind ? line->tunnel.inner_mac : line->next_hop);
    int src = edit_index(rules, rules->lane_mac[line->lane]);
    if (dst < 0 || src < 0) {
        (void)no_edit_data(reader, line);
        return;
    }
    *route = (struct sluice_route){
        .version = line->prefix.version, .length = line->prefix.length, .lane = (uint8_t)line->lane};
    memcpy(route->value, line->prefix.value, 16);
    memcpy(route->mask, line->prefix.mask, 16);
    add_action(&route->actions, &slot, SLUICE_ACTION_DELETE_TUNNEL, 0);
    add_action(&route->actions, &slot, SLUICE_ACTION_SET_LONG, (uint32_t)SLUICE_FIELD_ETH_DST << 20 | (uint32_t)dst);
    add_action(&route->actions, &slot, SLUICE_ACTION_SET_LONG, (uint32_t)SLUICE_FIELD_ETH_SRC << 20 | (uint32_t)src);
    add_action(&route->actions, &slot, SLUICE_ACTION_SUB, 0);
    if (line->vlan && !line->tunnel.kind) // a tunnel has the tag in its own headers
        add_action(&route->actions, &slot, SLUICE_ACTION_INSERT_VLAN, line->vlan);
    add_action(&route->actions, &slot, SLUICE_ACTION_CHECKSUM, 0);
    if (line->tunnel.kind && add_tunnel_actions(reader, line, &route->actions, &slot))
        return;
    add_action(&route->actions, &slot, SLUICE_ACTION_OUTPUT, line->lane);
    rules->route_count++;
}

static int by_prefix(const void *left, const void *right) {
    const struct route_line *a = *(const struct route_line *const *)left, *b = *(const struct route_line *const *)right;
    if (a->prefix.version != b->prefix.version)
        return a->prefix.version < b->prefix.version ? -1 : 1;
    if (a->prefix.length != b->prefix.length)
        return a->prefix.length < b->prefix.length ? -1 : 1;
    int order = memcmp(a->prefix.value, b->prefix.value, 16);
    return order ? order : a->line.number < b->line.number ? -1 : 1;
}

int sluice_rules_finish_routes(struct reader *reader) {
    uint32_t count = reader->route_count;
    const struct route_line **sorted = calloc(count + 1, sizeof *sorted);
    reader->rules->routes = calloc(count + 1, sizeof *reader->rules->routes);
    if (!sorted || !reader->rules->routes) {
        free(sorted);
        return -ENOMEM;
    }
    for (uint32_t n = 0; n < count; n++) {
        add_route(reader, &reader->routes[n]);
        sorted[n] = &reader->routes[n];
    }
    qsort(sorted, count, sizeof *sorted, by_prefix);
    for (uint32_t n = 1; n < count; n++) {
        const struct prefix *a = &sorted[n - 1]->prefix, *b = &sorted[n]->prefix;
        if (a->version == b->version && a->length == b->length && memcmp(a->value, b->value, 16) == 0)
            (void)sluice_text_error_at(&reader->text, sorted[n]->line, sorted[n]->column,
                                       "duplicate route for this prefix; hint: see line %u",
                                       sorted[n - 1]->line.number);
    }
    free(sorted);
    return 0;
}

static int by_number(const void *left, const void *right) {
    const struct acl_line *a = left, *b = right;
    if (a->rule.number != b->rule.number)
        return a->rule.number < b->rule.number ? -1 : 1;
    return a->line.number < b->line.number ? -1 : 1;
}

int sluice_rules_finish_acls(struct reader *reader) {
    struct sluice_rules *rules = reader->rules;
    rules->acls = calloc(reader->acl_count + 1, sizeof *rules->acls);
    if (!rules->acls)
        return -ENOMEM;
    if (reader->acl_count)
        qsort(reader->acls, reader->acl_count, sizeof *reader->acls, by_number);
    for (uint32_t n = 0; n < reader->acl_count; n++) {
        const struct acl_line *acl = &reader->acls[n];
        if (n > 0 && acl[-1].rule.number == acl->rule.number)
            (void)sluice_text_error_at(&reader->text, acl->line, acl->column,
                                       "duplicate access rule %u; hint: see line %u", acl->rule.number,
                                       acl[-1].line.number);
        rules->acls[n] = acl->rule;
    }
    rules->acl_count = reader->acl_count;
    return 0;
}
