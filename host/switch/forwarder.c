// SPDX-License-Identifier: Apache-2.0
// The forwarder: access rules and routes for IP packets to the router's address, also inside tunnels to it, a learning
// bridge for the rest.
// Nothing that a packet holds makes it fail: what cannot be forwarded is dropped with a cause and counted.

#include "rules_internal.h"

#include <errno.h>
#include <stdlib.h>

#define WAYS 4U
#define SETS (SLUICE_SWITCH_MACS / WAYS)
#define NO_ROUTE UINT32_MAX

// A node of a binary trie over prefixes; node 0 is the root, so child 0 means none.
struct node {
    uint32_t child[2];
    uint32_t route; // or NO_ROUTE
};

struct trie {
    struct node *nodes;
    uint32_t count, room;
};

// A learned address; `key` 0: free.
struct station {
    uint64_t key;  // bit 63, VLAN, MAC
    uint64_t seen; // microseconds
    uint8_t lane;
};

struct sluice_switch {
    const struct sluice_rules *rules;
    uint8_t lanes;
    uint64_t mac_idle_us;
    struct trie routes[2]; // IPv4, IPv6
    struct station stations[SETS][WAYS];
    struct sluice_switch_counters counters;
};

// ---- Routes

static uint32_t new_node(struct trie *trie) {
    if (trie->count == trie->room) {
        uint32_t room = trie->room ? trie->room * 2 : 1024;
        struct node *nodes = realloc(trie->nodes, room * sizeof *nodes);
        if (!nodes)
            return NO_ROUTE;
        trie->nodes = nodes;
        trie->room = room;
    }
    trie->nodes[trie->count] = (struct node){.route = NO_ROUTE};
    return trie->count++;
}

// Bit `n` of an address of `size` bytes, from its most significant bit on.
static unsigned address_bit(const uint8_t *address, unsigned size, unsigned n) {
    return (unsigned)address[size - 1 - n / 8] >> (7 - n % 8) & 1U;
}

static int trie_add(struct trie *trie, const struct sluice_route *route, uint32_t index) {
    unsigned size = route->version == 4 ? 4 : 16;
    uint32_t at = 0;
    if (trie->count == 0 && new_node(trie) == NO_ROUTE)
        return -ENOMEM;
    for (unsigned n = 0; n < route->length; n++) {
        unsigned bit = address_bit(route->value, size, n);
        uint32_t next = trie->nodes[at].child[bit];
        if (!next) {
            next = new_node(trie);
            if (next == NO_ROUTE)
                return -ENOMEM;
            trie->nodes[at].child[bit] = next;
        }
        at = next;
    }
    trie->nodes[at].route = index;
    return 0;
}

// The route with the longest prefix of an address, or NO_ROUTE.
static uint32_t trie_find(const struct trie *trie, const uint8_t *address, unsigned size) {
    uint32_t found = NO_ROUTE, at = 0;
    if (trie->count == 0)
        return NO_ROUTE;
    for (unsigned n = 0;; n++) {
        if (trie->nodes[at].route != NO_ROUTE)
            found = trie->nodes[at].route;
        if (n == 8 * size)
            return found;
        at = trie->nodes[at].child[address_bit(address, size, n)];
        if (!at)
            return found;
    }
}

// ---- Access rules

static bool is_within(const uint8_t *address, const struct prefix *prefix) {
    uint64_t words[2], values[2], masks[2];
    memcpy(words, address, 16);
    memcpy(values, prefix->value, 16);
    memcpy(masks, prefix->mask, 16);
    return (words[0] & masks[0]) == values[0] && (words[1] & masks[1]) == values[1];
}

static bool side_matches(const struct acl_side *side, uint8_t version, const uint8_t *address, bool has_ports,
                         uint16_t port) {
    if (side->address.version && (side->address.version != version || !is_within(address, &side->address)))
        return false;
    return !side->has_ports || (has_ports && port >= side->port_low && port <= side->port_high);
}

// The first rule that matches, or NULL. `*lane_read`: another lane could have got another answer.
static const struct acl_rule *acl_find(const struct sluice_rules *rules, const struct sluice_phv_record *record,
                                       uint8_t lane, bool *lane_read) {
    const struct sluice_phv *phv = &record->phv;
    uint8_t version = record->info.l3_kind == SLUICE_L3_IPV4 ? 4 : 6, kind = record->info.l4_kind;
    bool has_ports = kind == SLUICE_L4_TCP || kind == SLUICE_L4_UDP || kind == SLUICE_L4_SCTP;
    *lane_read = false;
    for (uint32_t n = 0; n < rules->acl_count; n++) {
        const struct acl_rule *rule = &rules->acls[n];
        if ((rule->protocol != ANY_PROTOCOL && rule->protocol != phv->ip_protocol) ||
            !side_matches(&rule->src, version, phv->ip_src, has_ports, phv->l4_src) ||
            !side_matches(&rule->dst, version, phv->ip_dst, has_ports, phv->l4_dst))
            continue;
        *lane_read |= rule->lane != ANY_LANE;
        if (rule->lane == ANY_LANE || rule->lane == lane)
            return rule;
    }
    return NULL;
}

// ---- Bridge

static uint64_t station_key(uint64_t mac, const struct sluice_phv_record *record) {
    uint64_t vlan = record->info.tags ? record->phv.vlan0_tci & 0xfffU : 0;
    return 1ULL << 63 | vlan << 48 | mac;
}

static struct station *station_set(struct sluice_switch *sw, uint64_t key) {
    return sw->stations[(key * 0x9e3779b97f4a7c15ULL) >> 32 & (SETS - 1)];
}

static bool is_current(const struct sluice_switch *sw, const struct station *station, uint64_t now_us) {
    return now_us < station->seen + sw->mac_idle_us;
}

// Remembers where an address is; a full set forgets the one not seen for longest.
static void learn(struct sluice_switch *sw, uint64_t key, uint8_t lane, uint64_t now_us) {
    struct station *set = station_set(sw, key), *place = &set[0];
    for (unsigned n = 0; n < WAYS; n++) {
        if (set[n].key == key) {
            place = &set[n];
            break;
        }
        if (!place->key)
            continue;
        if (!set[n].key || set[n].seen < place->seen)
            place = &set[n];
    }
    *place = (struct station){.key = key, .seen = now_us, .lane = lane};
}

// The lane of an address, or ANY_LANE where it is not known.
static uint8_t find_station(struct sluice_switch *sw, uint64_t key, uint64_t now_us) {
    const struct station *set = station_set(sw, key);
    for (unsigned n = 0; n < WAYS; n++)
        if (set[n].key == key && is_current(sw, &set[n], now_us))
            return set[n].lane;
    return ANY_LANE;
}

static bool is_group(uint64_t mac) {
    return mac >> 40 & 1;
}

static void bridge(struct sluice_switch *sw, const struct sluice_phv_record *record, uint8_t lane, uint64_t now_us,
                   struct sluice_decision *decision) {
    uint64_t dst = record->phv.eth_dst, src = record->phv.eth_src;
    uint32_t others = ((1U << sw->lanes) - 1) & ~(1U << lane), mask = others;
    if (!is_group(src))
        learn(sw, station_key(src, record), lane, now_us);
    if (dst >> 4 == 0x0180c200000ULL) {
        decision->cause = SLUICE_CAUSE_LINK_LOCAL;
        return;
    }
    uint8_t known = find_station(sw, station_key(dst, record), now_us); // no group has ever been learned
    if (known != ANY_LANE)
        mask = (1U << known) & others;
    decision->egress_mask = (uint8_t)mask;
    decision->cause = mask ? SLUICE_CAUSE_NONE : SLUICE_CAUSE_NO_PORT;
    decision->is_flooded = known == ANY_LANE && mask;
    decision->actions.slots[0] = (struct sluice_action){.opcode = SLUICE_ACTION_REPLICATE, .operand = mask};
}

// ---- Router

static void set_key(struct sluice_decision *decision, const struct sluice_phv_record *record) {
    const struct sluice_phv *phv = &record->phv;
    if (record->info.l3_kind == SLUICE_L3_IPV4) {
        struct sluice_five_tuple4 key = {.ip_protocol = phv->ip_protocol, .l4_src = phv->l4_src, .l4_dst = phv->l4_dst};
        for (unsigned n = 0; n < 4; n++) {
            key.ip_src |= (uint32_t)phv->ip_src[n] << 8 * n;
            key.ip_dst |= (uint32_t)phv->ip_dst[n] << 8 * n;
        }
        decision->table_id = SLUICE_TABLE_IPV4;
        sluice_five_tuple4_pack(&key, decision->key);
    } else {
        struct sluice_five_tuple6 key = {.ip_protocol = phv->ip_protocol, .l4_src = phv->l4_src, .l4_dst = phv->l4_dst};
        memcpy(key.ip_src, phv->ip_src, 16);
        memcpy(key.ip_dst, phv->ip_dst, 16);
        decision->table_id = SLUICE_TABLE_IPV6;
        sluice_five_tuple6_pack(&key, decision->key);
    }
}

// What the device reads of a packet beside its 5-tuple, it checks itself: the router's address, no tag, no options, no
// fragment (admission), TTL (SUB). So a decision may be remembered unless it came from one of those or from the lane.
static void route(struct sluice_switch *sw, const struct sluice_phv_record *record, uint8_t lane,
                  struct sluice_decision *decision) {
    const struct sluice_rules *rules = sw->rules;
    bool is_ipv4 = record->info.l3_kind == SLUICE_L3_IPV4, lane_read = false;
    const struct acl_rule *rule = acl_find(rules, record, lane, &lane_read);
    uint32_t found = trie_find(&sw->routes[!is_ipv4], record->phv.ip_dst, is_ipv4 ? 4 : 16);
    decision->is_routed = true;
    set_key(decision, record);
    if (rule)
        decision->acl = rule->number;
    if (found != NO_ROUTE)
        decision->route = (int32_t)found;
    decision->cacheable = found != NO_ROUTE && !lane_read && !record->info.ip_options && !record->info.is_fragment;
    if (rules->acl_count && !(rule && rule->is_permit)) {
        decision->cause = SLUICE_CAUSE_DENIED;
        decision->acl_verdict.slots[0].opcode = SLUICE_ACTION_DROP;
    } else if (found == NO_ROUTE) {
        decision->cause = SLUICE_CAUSE_NO_ROUTE;
    } else {
        decision->actions = rules->routes[found].actions;
        decision->cause = record->phv.ip_ttl <= 1 ? SLUICE_CAUSE_TTL : SLUICE_CAUSE_NONE;
        if (!decision->cause)
            decision->egress_mask = (uint8_t)(1U << rules->routes[found].lane);
    }
}

static void count(struct sluice_switch_counters *counters, uint32_t size, const struct sluice_decision *decision) {
    counters->packets++;
    counters->bytes += size;
    counters->flooded += decision->is_flooded;
    if (decision->cause)
        counters->drops[decision->cause]++;
    else if (decision->is_routed)
        counters->routed++;
    else
        counters->bridged++;
}

// Parses and decides. Where it drops without an action set that says so, the set is DROP: executing it gives the same
// answer.
static int decide(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane, uint64_t now_us,
                  struct sluice_phv_record *record, struct sluice_decision *decision) {
    memset(decision, 0, sizeof *decision);
    if (lane >= sw->lanes)
        return -EINVAL;
    decision->route = -1;
    decision->acl = -1;
    decision->edit_data = sluice_rules_edit_data(sw->rules, &decision->edit_count);
    struct sluice_own own;
    sluice_rules_own(sw->rules, lane, &own);
    sluice_parse(packet, size, &own, record);
    bool is_ip = record->info.l3_kind == SLUICE_L3_IPV4 || record->info.l3_kind == SLUICE_L3_IPV6;
    if (size > SLUICE_MTU_BYTES) {
        decision->cause = SLUICE_CAUSE_OVERSIZE;
    } else if (record->fault && record->fault != SLUICE_FAULT_MPLS) { // MPLS is sound, only not for the router
        decision->cause = SLUICE_CAUSE_MALFORMED;
        decision->fault = record->fault;
    } else if (is_ip && record->info.tags == 0 && own.mac && record->phv.eth_dst == own.mac) {
        route(sw, record, lane, decision);
    } else if (record->info.outer_length) {
        decision->cause = SLUICE_CAUSE_TUNNEL;
    } else {
        bridge(sw, record, lane, now_us, decision);
    }
    decision->verdict = decision->cause ? SLUICE_VERDICT_DROP : SLUICE_VERDICT_FORWARD;
    if (decision->cause && decision->actions.slots[0].opcode == SLUICE_ACTION_NONE)
        decision->actions.slots[0].opcode = SLUICE_ACTION_DROP;
    count(&sw->counters, size, decision);
    return 0;
}

// ---- Interface

int sluice_switch_new(const struct sluice_rules *rules, uint8_t lanes, struct sluice_switch **created) {
    *created = NULL;
    if (lanes == 0 || lanes > SLUICE_SWITCH_LANES || rules->lanes > lanes)
        return -EINVAL;
    struct sluice_switch *sw = calloc(1, sizeof *sw);
    if (!sw)
        return -ENOMEM;
    sw->rules = rules;
    sw->lanes = lanes;
    sw->mac_idle_us = rules->policy.mac_idle * 1000000ULL;
    for (uint32_t n = 0; n < rules->route_count; n++) {
        const struct sluice_route *each = &rules->routes[n];
        int error = trie_add(&sw->routes[each->version != 4], each, n);
        if (error) {
            sluice_switch_free(sw);
            return error;
        }
    }
    *created = sw;
    return 0;
}

void sluice_switch_free(struct sluice_switch *sw) {
    if (!sw)
        return;
    free(sw->routes[0].nodes);
    free(sw->routes[1].nodes);
    free(sw);
}

int sluice_switch_decide(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane, uint64_t now_us,
                         struct sluice_decision *decision) {
    struct sluice_phv_record record;
    return decide(sw, packet, size, lane, now_us, &record, decision);
}

int sluice_switch_process(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane, uint64_t now_us,
                          uint8_t *out, uint32_t capacity, struct sluice_decision *decision) {
    struct sluice_phv_record record;
    int error = decide(sw, packet, size, lane, now_us, &record, decision);
    if (error || decision->verdict == SLUICE_VERDICT_DROP)
        return error;
    uint32_t count;
    const struct sluice_template *templates = sluice_rules_templates(sw->rules, &count);
    sluice_actions_execute(&record, &decision->actions, decision->edit_data, decision->edit_count);
    return sluice_deparse(&record, templates, count, packet, size, out, capacity);
}

const struct sluice_switch_counters *sluice_switch_counters(const struct sluice_switch *sw) {
    return &sw->counters;
}

const char *sluice_cause_name(uint32_t cause) {
    static const char *const names[SLUICE_CAUSES] = {
        [SLUICE_CAUSE_NONE] = "none",         [SLUICE_CAUSE_MALFORMED] = "malformed",
        [SLUICE_CAUSE_OVERSIZE] = "oversize", [SLUICE_CAUSE_DENIED] = "denied",
        [SLUICE_CAUSE_NO_ROUTE] = "no_route", [SLUICE_CAUSE_TTL] = "ttl",
        [SLUICE_CAUSE_NO_PORT] = "no_port",   [SLUICE_CAUSE_LINK_LOCAL] = "link_local",
        [SLUICE_CAUSE_TUNNEL] = "tunnel",
    };
    return cause < SLUICE_CAUSES ? names[cause] : "?";
}
