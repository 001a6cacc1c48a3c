// SPDX-License-Identifier: Apache-2.0
// The rules file: docs/guide/rules.md. Reads the whole file before it gives up, so that one run shows every error; a
// file with an error gives no rules at all.

#include "rules_internal.h"

#include <errno.h>
#include <stdlib.h>

#define FILE_MAX (64U << 20) // bytes of a rules file
#define TUNNEL_TTL 64U
#define GENEVE_OPTIONS_MAX 52U // bytes that fit into every template: behind Ethernet, a tag, IPv6, UDP and Geneve

// The tunnel of a route.
struct tunnel_line {
    uint8_t kind; // enum sluice_tunnel_kind; TUNNEL_NONE: there is none
    uint32_t id;
    struct prefix local, remote;
    uint64_t inner_mac;
    uint8_t options[SLUICE_TEMPLATE_BYTES]; // Geneve
    uint32_t options_size;
};

// A route as written, before its lane's address is known.
struct route_line {
    struct prefix prefix;
    uint64_t next_hop;
    uint32_t lane;
    uint32_t vlan; // 0: none
    struct tunnel_line tunnel;
    uint32_t lane_column;
    struct line line;
    uint32_t column; // of the prefix
};

struct acl_line {
    struct acl_rule rule;
    struct line line;
    uint32_t column; // of the number
};

// A file while it is read.
struct reader {
    struct text text;
    struct sluice_rules *rules;
    uint32_t lane_line[SLUICE_SWITCH_LANES]; // that gave its address; 0: none
    uint32_t tunnel_line[2];                 // that gave the tunnel address, IPv4 and IPv6; 0: none
    struct route_line *routes;
    uint32_t route_count, route_room;
    struct acl_line *acls;
    uint32_t acl_count, acl_room;
    int out_of_memory;
};

static void *grown(struct reader *reader, void *items, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room)
        return items;
    uint32_t larger = *room ? *room * 2 : 64;
    void *moved = realloc(items, larger * size);
    if (moved)
        *room = larger;
    else
        reader->out_of_memory = 1;
    return moved;
}

static void name_lane(struct reader *reader, uint32_t lane) {
    if (reader->rules->lanes <= lane)
        reader->rules->lanes = (uint8_t)(lane + 1);
}

static int expect(struct reader *reader, const char *word, const char *hint) {
    char buffer[48];
    if (sluice_text_take(&reader->text, word))
        return 0;
    return sluice_text_error_at(&reader->text, reader->text.line, sluice_text_column(&reader->text),
                                "expected '%s', found %s; hint: %s", word,
                                sluice_text_found(&reader->text, buffer, sizeof buffer), hint);
}

// lane N mac ADDRESS
static int read_lane(struct reader *reader) {
    struct text *text = &reader->text;
    uint32_t lane, column = sluice_text_column(text);
    uint64_t mac;
    if (sluice_text_number(text, "a lane", 0, SLUICE_SWITCH_LANES - 1, &lane) ||
        expect(reader, "mac", "lane 0 mac 02:00:00:00:00:01") || sluice_text_mac(text, "the router's address", &mac) ||
        sluice_text_end(text))
        return -1;
    if (reader->lane_line[lane])
        return sluice_text_error_at(text, text->line, column, "lane %u has an address already; hint: see line %u", lane,
                                    reader->lane_line[lane]);
    reader->lane_line[lane] = text->line.number;
    reader->rules->lane_mac[lane] = mac;
    name_lane(reader, lane);
    return 0;
}

// tunnel address ADDRESS
static int read_own(struct reader *reader) {
    struct text *text = &reader->text;
    struct sluice_own *own = &reader->rules->own;
    struct prefix address;
    if (expect(reader, "address", "tunnel address 192.0.2.1"))
        return -1;
    uint32_t column = sluice_text_column(text);
    if (sluice_text_address(text, "the router's own address", &address) || sluice_text_end(text))
        return -1;
    int is_ipv4 = address.version == 4;
    uint32_t *line = &reader->tunnel_line[!is_ipv4];
    if (*line)
        return sluice_text_error_at(text, text->line, column,
                                    "there is a tunnel address of IPv%u already; hint: see line %u", address.version,
                                    *line);
    *line = text->line.number;
    if (is_ipv4)
        memcpy(own->ipv4, address.value, sizeof own->ipv4);
    else
        memcpy(own->ipv6, address.value, sizeof own->ipv6);
    *(is_ipv4 ? &own->has_ipv4 : &own->has_ipv6) = 1;
    return 0;
}

// vxlan|geneve|nvgre|gre [vni ID] [options HEX] local ADDRESS remote ADDRESS inner-mac ADDRESS
static int read_tunnel(struct reader *reader, struct tunnel_line *tunnel) {
    static const char *const hint = "via vxlan vni 42 local 192.0.2.1 remote 192.0.2.7 inner-mac 02:00:00:00:02:01";
    static const char *const names[] = {[SLUICE_TUNNEL_VXLAN] = "vxlan",
                                        [SLUICE_TUNNEL_GENEVE] = "geneve",
                                        [SLUICE_TUNNEL_NVGRE] = "nvgre",
                                        [SLUICE_TUNNEL_GRE] = "gre"};
    struct text *text = &reader->text;
    char buffer[48];
    for (uint8_t kind = SLUICE_TUNNEL_VXLAN; kind <= SLUICE_TUNNEL_GRE && !tunnel->kind; kind++)
        if (sluice_text_take(text, names[kind]))
            tunnel->kind = kind;
    if (!tunnel->kind)
        return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                    "expected a tunnel, found %s; hint: vxlan, geneve, nvgre or gre",
                                    sluice_text_found(text, buffer, sizeof buffer));
    if (tunnel->kind != SLUICE_TUNNEL_GRE &&
        (expect(reader, "vni", hint) || sluice_text_number(text, "a tunnel id", 0, 0xffffff, &tunnel->id)))
        return -1;
    if (tunnel->kind == SLUICE_TUNNEL_GENEVE && sluice_text_take(text, "options") &&
        sluice_text_hex(text, "Geneve options", tunnel->options, GENEVE_OPTIONS_MAX, &tunnel->options_size))
        return -1;
    if (expect(reader, "local", hint) || sluice_text_address(text, "the tunnel's own address", &tunnel->local) ||
        expect(reader, "remote", hint))
        return -1;
    uint32_t column = sluice_text_column(text);
    if (sluice_text_address(text, "the tunnel's other end", &tunnel->remote))
        return -1;
    if (tunnel->local.version != tunnel->remote.version)
        return sluice_text_error_at(text, text->line, column,
                                    "a tunnel from IPv%u to IPv%u; hint: give both addresses of one version",
                                    tunnel->local.version, tunnel->remote.version);
    return expect(reader, "inner-mac", hint) || sluice_text_mac(text, "the inner destination", &tunnel->inner_mac);
}

// route PREFIX lane N next-hop ADDRESS [vlan ID] [via TUNNEL]
static int read_route(struct reader *reader) {
    static const char *const hint = "route 10.1.0.0/16 lane 1 next-hop 02:00:00:00:01:01";
    struct text *text = &reader->text;
    struct route_line route = {.line = text->line, .column = sluice_text_column(text)};
    if (sluice_text_prefix(text, "a prefix", &route.prefix) || expect(reader, "lane", hint))
        return -1;
    route.lane_column = sluice_text_column(text);
    if (sluice_text_number(text, "a lane", 0, SLUICE_SWITCH_LANES - 1, &route.lane) ||
        expect(reader, "next-hop", hint) || sluice_text_mac(text, "the next hop's address", &route.next_hop))
        return -1;
    if (sluice_text_take(text, "vlan") && sluice_text_number(text, "a VLAN", 1, 4094, &route.vlan))
        return -1;
    if (sluice_text_take(text, "via") && read_tunnel(reader, &route.tunnel))
        return -1;
    if (sluice_text_end(text))
        return -1;
    struct route_line *room =
        grown(reader, reader->routes, reader->route_count, &reader->route_room, sizeof *reader->routes);
    if (!room)
        return -1;
    reader->routes = room;
    reader->routes[reader->route_count++] = route;
    name_lane(reader, route.lane);
    return 0;
}

static int read_protocol(struct reader *reader, uint16_t *protocol) {
    static const struct {
        const char *name;
        uint16_t number;
    } names[] = {{"any", ANY_PROTOCOL}, {"tcp", 6}, {"udp", 17}, {"icmp", 1}, {"icmpv6", 58}, {"sctp", 132}};
    struct text *text = &reader->text;
    char buffer[48];
    uint32_t number;
    for (unsigned n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (sluice_text_take(text, names[n].name)) {
            *protocol = names[n].number;
            return 0;
        }
    }
    if (text->next < text->word_count && text->words[text->next].text[0] >= '0' &&
        text->words[text->next].text[0] <= '9') {
        if (sluice_text_number(text, "a protocol", 0, 255, &number))
            return -1;
        *protocol = (uint16_t)number;
        return 0;
    }
    return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                "expected a protocol, found %s; hint: any, tcp, udp, icmp, icmpv6, sctp or a number",
                                sluice_text_found(text, buffer, sizeof buffer));
}

// PREFIX|any [port LOW[-HIGH]]
static int read_side(struct reader *reader, uint16_t protocol, struct acl_side *side) {
    struct text *text = &reader->text;
    uint32_t column;
    if (!sluice_text_take(text, "any") && sluice_text_prefix(text, "an address or any", &side->address))
        return -1;
    column = sluice_text_column(text);
    if (!sluice_text_take(text, "port"))
        return 0;
    if (protocol != 6 && protocol != 17 && protocol != 132)
        return sluice_text_error_at(text, text->line, column, "this protocol has no ports; hint: tcp, udp or sctp");
    side->has_ports = 1;
    return sluice_text_ports(text, &side->port_low, &side->port_high);
}

static int read_clauses(struct reader *reader, struct acl_rule *rule) {
    struct text *text = &reader->text;
    uint32_t lane;
    if (sluice_text_take(text, "from") && read_side(reader, rule->protocol, &rule->src))
        return -1;
    uint32_t column = sluice_text_column(text);
    if (sluice_text_take(text, "to") && read_side(reader, rule->protocol, &rule->dst))
        return -1;
    if (rule->src.address.version && rule->dst.address.version &&
        rule->src.address.version != rule->dst.address.version)
        return sluice_text_error_at(text, text->line, column,
                                    "no packet is IPv%u and IPv%u; hint: give both addresses of one version",
                                    rule->src.address.version, rule->dst.address.version);
    if (sluice_text_take(text, "lane")) {
        if (sluice_text_number(text, "a lane", 0, SLUICE_SWITCH_LANES - 1, &lane))
            return -1;
        rule->lane = (uint8_t)lane;
        name_lane(reader, lane);
    }
    return sluice_text_end(text);
}

// acl NUMBER permit|deny PROTOCOL [from SIDE] [to SIDE] [lane N]
static int read_acl(struct reader *reader) {
    struct text *text = &reader->text;
    char buffer[48];
    struct acl_line acl = {.line = text->line, .column = sluice_text_column(text), .rule.lane = ANY_LANE};
    if (sluice_text_number(text, "the number of the access rule", 0, UINT32_MAX, &acl.rule.number))
        return -1;
    acl.rule.is_permit = (uint8_t)sluice_text_take(text, "permit");
    if (!acl.rule.is_permit && !sluice_text_take(text, "deny"))
        return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                    "expected permit or deny, found %s; hint: acl 10 deny tcp to any port 22",
                                    sluice_text_found(text, buffer, sizeof buffer));
    if (read_protocol(reader, &acl.rule.protocol) || read_clauses(reader, &acl.rule))
        return -1;
    struct acl_line *room = grown(reader, reader->acls, reader->acl_count, &reader->acl_room, sizeof *reader->acls);
    if (!room)
        return -1;
    reader->acls = room;
    reader->acls[reader->acl_count++] = acl;
    return 0;
}

// policy [offload-after PACKETS] [idle SECONDS] [mac-idle SECONDS]
static int read_policy(struct reader *reader) {
    struct text *text = &reader->text;
    struct sluice_policy *policy = &reader->rules->policy;
    char buffer[48];
    do {
        int failed;
        if (sluice_text_take(text, "offload-after"))
            failed = sluice_text_number(text, "packets", 1, 1000000, &policy->offload_after);
        else if (sluice_text_take(text, "idle"))
            failed = sluice_text_number(text, "seconds", 1, 2000, &policy->idle);
        else if (sluice_text_take(text, "mac-idle"))
            failed = sluice_text_number(text, "seconds", 1, 2000, &policy->mac_idle);
        else
            return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                        "expected a setting, found %s; hint: offload-after, idle or mac-idle",
                                        sluice_text_found(text, buffer, sizeof buffer));
        if (failed)
            return -1;
    } while (text->next < text->word_count);
    return 0;
}

static void read_line(struct reader *reader, struct line line) {
    struct text *text = &reader->text;
    char buffer[48];
    if (sluice_text_split(text, line) || text->word_count == 0)
        return;
    if (sluice_text_take(text, "lane"))
        (void)read_lane(reader);
    else if (sluice_text_take(text, "route"))
        (void)read_route(reader);
    else if (sluice_text_take(text, "acl"))
        (void)read_acl(reader);
    else if (sluice_text_take(text, "tunnel"))
        (void)read_own(reader);
    else if (sluice_text_take(text, "policy"))
        (void)read_policy(reader);
    else
        (void)sluice_text_error_at(text, line, sluice_text_column(text),
                                   "%s is no rule; hint: lane, route, acl, tunnel or policy",
                                   sluice_text_found(text, buffer, sizeof buffer));
}

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
    int is_udp = tunnel->kind == SLUICE_TUNNEL_VXLAN || tunnel->kind == SLUICE_TUNNEL_GENEVE;
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
    int has_id = line->tunnel.kind != SLUICE_TUNNEL_GRE;
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

static int finish_routes(struct reader *reader) {
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
                                       "this prefix has a route already; hint: see line %u",
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

static int finish_acls(struct reader *reader) {
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
                                       "access rule %u is there already; hint: see line %u", acl->rule.number,
                                       acl[-1].line.number);
        rules->acls[n] = acl->rule;
    }
    rules->acl_count = reader->acl_count;
    return 0;
}

static int read_text(struct reader *reader, const char *text, size_t size) {
    struct line line = {.number = 1};
    for (size_t at = 0; at < size; line.number++) {
        const char *end = memchr(text + at, '\n', size - at);
        line.text = text + at;
        line.size = end ? (size_t)(end - line.text) : size - at;
        read_line(reader, line);
        at += line.size + 1;
    }
    int error = reader->out_of_memory ? -ENOMEM : finish_routes(reader);
    if (!error)
        error = finish_acls(reader);
    return !error && reader->text.error_count ? -EINVAL : error;
}

int sluice_rules_parse(const char *name, const char *text, size_t size, struct sluice_rules **rules, FILE *errors) {
    struct reader *reader = calloc(1, sizeof *reader);
    struct sluice_rules *made = calloc(1, sizeof *made);
    int error = -ENOMEM;
    *rules = NULL;
    if (reader && made) {
        made->policy = (struct sluice_policy){.offload_after = 1, .idle = 30, .mac_idle = 300};
        reader->text.name = name;
        reader->rules = made;
        error = read_text(reader, text, size);
        if (errors && error == -EINVAL)
            sluice_text_report(&reader->text, errors);
        free(reader->routes);
        free(reader->acls);
    }
    if (errors && error == -ENOMEM)
        (void)fprintf(errors, "%s: no memory for the rules\n", name);
    free(reader);
    if (error)
        sluice_rules_free(made);
    else
        *rules = made;
    return error;
}

// The whole file; NULL with `*error` set. Read in pieces, so that a pipe works too.
static char *read_file(const char *path, size_t *size, int *error) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    *error = file ? 0 : -errno;
    while (file && !*error && !feof(file)) {
        if (*size == room) {
            char *larger = room < FILE_MAX ? realloc(text, room ? room * 2 : 4096) : NULL;
            if (!larger) {
                *error = room < FILE_MAX ? -ENOMEM : -EFBIG;
                break;
            }
            text = larger;
            room = room ? room * 2 : 4096;
        }
        errno = 0;
        *size += fread(text + *size, 1, room - *size, file);
        if (ferror(file))
            *error = errno ? -errno : -EIO;
    }
    if (file)
        (void)fclose(file);
    if (*error) {
        free(text);
        return NULL;
    }
    return text;
}

int sluice_rules_read(const char *path, struct sluice_rules **rules, FILE *errors) {
    size_t size;
    int error;
    *rules = NULL;
    char *text = read_file(path, &size, &error);
    if (!text) {
        if (errors)
            (void)fprintf(errors, "%s: %s\n", path, strerror(-error));
        return error;
    }
    error = sluice_rules_parse(path, text, size, rules, errors);
    free(text);
    return error;
}

void sluice_rules_free(struct sluice_rules *rules) {
    if (!rules)
        return;
    free(rules->routes);
    free(rules->acls);
    free(rules);
}

uint64_t sluice_rules_lane_mac(const struct sluice_rules *rules, uint8_t lane) {
    return lane < SLUICE_SWITCH_LANES ? rules->lane_mac[lane] : 0;
}

void sluice_rules_own(const struct sluice_rules *rules, uint8_t lane, struct sluice_own *own) {
    *own = rules->own;
    own->mac = sluice_rules_lane_mac(rules, lane);
}

uint8_t sluice_rules_lanes(const struct sluice_rules *rules) {
    return rules->lanes;
}

uint32_t sluice_rules_route_count(const struct sluice_rules *rules) {
    return rules->route_count;
}

const struct sluice_route *sluice_rules_route(const struct sluice_rules *rules, uint32_t index) {
    return index < rules->route_count ? &rules->routes[index] : NULL;
}

uint32_t sluice_rules_acl_count(const struct sluice_rules *rules) {
    return rules->acl_count;
}

const uint8_t (*sluice_rules_edit_data(const struct sluice_rules *rules, uint32_t *count))[SLUICE_EDIT_DATA_BYTES] {
    *count = rules->edit_count;
    return (const uint8_t(*)[SLUICE_EDIT_DATA_BYTES])rules->edit_data;
}

const struct sluice_template *sluice_rules_templates(const struct sluice_rules *rules, uint32_t *count) {
    *count = rules->template_count;
    return rules->templates;
}

const struct sluice_policy *sluice_rules_policy(const struct sluice_rules *rules) {
    return &rules->policy;
}
