// SPDX-License-Identifier: Apache-2.0
// The lines of a rules file: docs/guide/rules.md.

#include "rules_reader.h"

#include <stdlib.h>

#define GENEVE_OPTIONS_MAX 52U // bytes that fit into every template: behind Ethernet, a tag, IPv6, UDP and Geneve

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
static void read_lane(struct reader *reader) {
    struct text *text = &reader->text;
    uint32_t lane, column = sluice_text_column(text);
    uint64_t mac;
    if (sluice_text_number(text, "a lane", 0, SLUICE_SWITCH_LANES - 1, &lane) ||
        expect(reader, "mac", "lane 0 mac 02:00:00:00:00:01") || sluice_text_mac(text, "the router's address", &mac) ||
        sluice_text_end(text))
        return;
    if (reader->lane_line[lane]) {
        (void)sluice_text_error_at(text, text->line, column, "duplicate address of lane %u; hint: see line %u", lane,
                                   reader->lane_line[lane]);
        return;
    }
    reader->lane_line[lane] = text->line.number;
    reader->rules->lane_mac[lane] = mac;
    name_lane(reader, lane);
}

// tunnel address ADDRESS
static void read_own(struct reader *reader) {
    struct text *text = &reader->text;
    struct sluice_own *own = &reader->rules->own;
    struct prefix address;
    if (expect(reader, "address", "tunnel address 192.0.2.1"))
        return;
    uint32_t column = sluice_text_column(text);
    if (sluice_text_address(text, "the router's tunnel address", &address) || sluice_text_end(text))
        return;
    bool is_ipv4 = address.version == 4;
    uint32_t *line = &reader->tunnel_line[!is_ipv4];
    if (*line) {
        (void)sluice_text_error_at(text, text->line, column, "duplicate IPv%u tunnel address; hint: see line %u",
                                   address.version, *line);
        return;
    }
    *line = text->line.number;
    if (is_ipv4)
        memcpy(own->ipv4, address.value, sizeof own->ipv4);
    else
        memcpy(own->ipv6, address.value, sizeof own->ipv6);
    *(is_ipv4 ? &own->has_ipv4 : &own->has_ipv6) = true;
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
                                    "expected a tunnel type, found %s; hint: use vxlan, geneve, nvgre or gre",
                                    sluice_text_found(text, buffer, sizeof buffer));
    if (tunnel->kind != SLUICE_TUNNEL_GRE &&
        (expect(reader, "vni", hint) || sluice_text_number(text, "a tunnel id", 0, 0xffffff, &tunnel->id)))
        return -1;
    if (tunnel->kind == SLUICE_TUNNEL_GENEVE && sluice_text_take(text, "options") &&
        sluice_text_hex(text, "Geneve options", tunnel->options, GENEVE_OPTIONS_MAX, &tunnel->options_size))
        return -1;
    if (expect(reader, "local", hint) || sluice_text_address(text, "the tunnel's local address", &tunnel->local) ||
        expect(reader, "remote", hint))
        return -1;
    uint32_t column = sluice_text_column(text);
    if (sluice_text_address(text, "the tunnel's remote address", &tunnel->remote))
        return -1;
    if (tunnel->local.version != tunnel->remote.version)
        return sluice_text_error_at(text, text->line, column,
                                    "tunnel from IPv%u to IPv%u; hint: use the same IP version for both addresses",
                                    tunnel->local.version, tunnel->remote.version);
    return expect(reader, "inner-mac", hint) || sluice_text_mac(text, "the inner destination", &tunnel->inner_mac);
}

// route PREFIX lane N next-hop ADDRESS [vlan ID] [via TUNNEL]
static void read_route(struct reader *reader) {
    static const char *const hint = "route 10.1.0.0/16 lane 1 next-hop 02:00:00:00:01:01";
    struct text *text = &reader->text;
    struct route_line route = {.line = text->line, .column = sluice_text_column(text)};
    if (sluice_text_prefix(text, "a prefix", &route.prefix) || expect(reader, "lane", hint))
        return;
    route.lane_column = sluice_text_column(text);
    if (sluice_text_number(text, "a lane", 0, SLUICE_SWITCH_LANES - 1, &route.lane) ||
        expect(reader, "next-hop", hint) || sluice_text_mac(text, "the next hop's address", &route.next_hop))
        return;
    if (sluice_text_take(text, "vlan") && sluice_text_number(text, "a VLAN", 1, 4094, &route.vlan))
        return;
    if (sluice_text_take(text, "via") && read_tunnel(reader, &route.tunnel))
        return;
    if (sluice_text_end(text))
        return;
    struct route_line *room =
        grown(reader, reader->routes, reader->route_count, &reader->route_room, sizeof *reader->routes);
    if (!room)
        return;
    reader->routes = room;
    reader->routes[reader->route_count++] = route;
    name_lane(reader, route.lane);
}

static int read_protocol(struct reader *reader, uint16_t *protocol) {
    static const struct {
        const char *name;
        uint16_t number;
    } names[] = {{"any", ANY_PROTOCOL},
                 {"tcp", SLUICE_IP_PROTOCOL_TCP},
                 {"udp", SLUICE_IP_PROTOCOL_UDP},
                 {"icmp", SLUICE_IP_PROTOCOL_ICMP},
                 {"icmpv6", SLUICE_IP_PROTOCOL_ICMPV6},
                 {"sctp", SLUICE_IP_PROTOCOL_SCTP}};
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
    return sluice_text_error_at(
        text, text->line, sluice_text_column(text),
        "expected a protocol, found %s; hint: use any, tcp, udp, icmp, icmpv6, sctp or a number",
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
    if (protocol != SLUICE_IP_PROTOCOL_TCP && protocol != SLUICE_IP_PROTOCOL_UDP && protocol != SLUICE_IP_PROTOCOL_SCTP)
        return sluice_text_error_at(text, text->line, column,
                                    "this protocol has no ports; hint: only tcp, udp and sctp have ports");
    side->has_ports = true;
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
        return sluice_text_error_at(
            text, text->line, column,
            "no packet is both IPv%u and IPv%u; hint: use the same IP version for both addresses",
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
static void read_acl(struct reader *reader) {
    struct text *text = &reader->text;
    char buffer[48];
    struct acl_line acl = {.line = text->line, .column = sluice_text_column(text), .rule.lane = ANY_LANE};
    if (sluice_text_number(text, "the number of the access rule", 0, UINT32_MAX, &acl.rule.number))
        return;
    acl.rule.is_permit = sluice_text_take(text, "permit");
    if (!acl.rule.is_permit && !sluice_text_take(text, "deny")) {
        (void)sluice_text_error_at(text, text->line, sluice_text_column(text),
                                   "expected permit or deny, found %s; hint: acl 10 deny tcp to any port 22",
                                   sluice_text_found(text, buffer, sizeof buffer));
        return;
    }
    if (read_protocol(reader, &acl.rule.protocol) || read_clauses(reader, &acl.rule))
        return;
    struct acl_line *room = grown(reader, reader->acls, reader->acl_count, &reader->acl_room, sizeof *reader->acls);
    if (!room)
        return;
    reader->acls = room;
    reader->acls[reader->acl_count++] = acl;
}

// policy [offload-after PACKETS] [idle SECONDS] [mac-idle SECONDS]
static void read_policy(struct reader *reader) {
    struct text *text = &reader->text;
    struct sluice_policy *policy = &reader->rules->policy;
    char buffer[48];
    int failed;
    do {
        if (sluice_text_take(text, "offload-after"))
            failed = sluice_text_number(text, "packets", 1, 1000000, &policy->offload_after);
        else if (sluice_text_take(text, "idle"))
            failed = sluice_text_number(text, "seconds", 1, 2000, &policy->idle);
        else if (sluice_text_take(text, "mac-idle"))
            failed = sluice_text_number(text, "seconds", 1, 2000, &policy->mac_idle);
        else
            failed = sluice_text_error_at(text, text->line, sluice_text_column(text),
                                          "expected a setting, found %s; hint: use offload-after, idle or mac-idle",
                                          sluice_text_found(text, buffer, sizeof buffer));
    } while (!failed && text->next < text->word_count);
}

void sluice_rules_read_line(struct reader *reader, struct line line) {
    struct text *text = &reader->text;
    char buffer[48];
    if (sluice_text_split(text, line) || text->word_count == 0)
        return;
    if (sluice_text_take(text, "lane"))
        read_lane(reader);
    else if (sluice_text_take(text, "route"))
        read_route(reader);
    else if (sluice_text_take(text, "acl"))
        read_acl(reader);
    else if (sluice_text_take(text, "tunnel"))
        read_own(reader);
    else if (sluice_text_take(text, "policy"))
        read_policy(reader);
    else
        (void)sluice_text_error_at(text, line, sluice_text_column(text),
                                   "unknown rule %s; hint: use lane, route, acl, tunnel or policy",
                                   sluice_text_found(text, buffer, sizeof buffer));
}
