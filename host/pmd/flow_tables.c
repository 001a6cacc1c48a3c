// SPDX-License-Identifier: Apache-2.0
// Neither table sees the ingress lane or the Ethernet header. The admission in front of them does: it lets untagged
// packets to one MAC address of one lane through. So all rules are of one lane and one destination MAC, which the first
// rule chooses, until the last rule is gone.
#include "flow_tables.h"

#include <errno.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSE_TAGS = 1 << 10, PLACES = 2 };

struct held_template {
    unsigned holders;
    uint8_t size, bytes[SLUICE_TEMPLATE_BYTES];
};

struct flow_tables {
    struct sluice_device *device;
    bool absent;
    unsigned rules;
    uint8_t lane; // of all rules, where there are any
    uint64_t mac;
    struct flow_place *exact[PLACES], *lpm[PLACES]; // by IP version
    struct held_template templates[SLUICE_TEMPLATES];
};

int flow_tables_new(struct flow_tables **out, struct sluice_device *device) {
    struct flow_tables *it = calloc(1, sizeof *it);
    if (!it)
        return sluice_fail(-ENOMEM, "out of memory");
    it->device = device;
    *out = it;
    int result = sluice_ofu_init(device, SLUICE_ELEMENT_EXACT);
    result = result ? result : sluice_ofu_init(device, SLUICE_ELEMENT_LPM);
    result = result ? result : sluice_admit_set(device, 0, REFUSE_TAGS);
    it->absent = result == -ENOENT; // another configuration than that of the rules
    return it->absent ? 0 : result;
}

void flow_tables_free(struct flow_tables *tables) {
    free(tables);
}

static int set_mac(struct flow_tables *it, uint8_t lane, uint64_t mac) {
    uint8_t bytes[RTE_ETHER_ADDR_LEN];
    for (int i = 0; i < RTE_ETHER_ADDR_LEN; i++)
        bytes[i] = (uint8_t)(mac >> (40 - 8 * i));
    return sluice_admit_set_mac(it->device, lane, bytes);
}

static bool is_ipv6(const struct flow_rule *rule) {
    return rule->value.eth_type == RTE_ETHER_TYPE_IPV6;
}

// Leading ones of a little-endian mask of `bits`; -1: it is no prefix.
static int prefix_of(const uint8_t *mask, unsigned bits) {
    unsigned length = 0;
    while (length < bits && mask[(bits - 1 - length) / 8] >> (bits - 1 - length) % 8 & 1)
        length++;
    for (unsigned i = 0; i < bits - length; i++)
        if (mask[i / 8] >> i % 8 & 1)
            return -1;
    return (int)length;
}

static const char *unknown_field(const struct flow_rule *rule) {
    const struct sluice_flow_key *mask = &rule->mask;
    return mask->eth_src                                                   ? "the source MAC address"
           : mask->vlan_tpid || mask->vlan_tci                             ? "a VLAN tag"
           : mask->ip_tos                                                  ? "TOS or traffic class"
           : mask->ip_ttl                                                  ? "TTL or hop limit"
           : mask->tcp_flags                                               ? "TCP flags"
           : rule->value.has_vlan                                          ? "a VLAN tag"
           : mask->eth_type != UINT16_MAX                                  ? "any EtherType"
           : rule->value.eth_type != RTE_ETHER_TYPE_IPV4 && !is_ipv6(rule) ? "an EtherType other than IPv4 and IPv6"
           : !mask->has_vlan                                               ? "packets with and without tag"
           : mask->eth_dst != (1ULL << 48) - 1 || rule->value.eth_dst == 0 ? "other than one destination MAC address"
                                                                           : NULL;
}

static bool is_transport(uint8_t protocol, bool ipv6) {
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
           protocol == (ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

// The 5-tuple table: whole packets of one connection.
static const char *not_exact(const struct flow_rule *rule) {
    const struct sluice_flow_key *mask = &rule->mask;
    unsigned bits = is_ipv6(rule) ? 128 : 32;
    bool is_icmp = rule->value.l4_kind == SLUICE_L4_ICMP || rule->value.l4_kind == SLUICE_L4_ICMPV6;
    uint16_t whole = is_icmp ? UINT8_MAX : UINT16_MAX;
    if (prefix_of(mask->ip_src, bits) != (int)bits || prefix_of(mask->ip_dst, bits) != (int)bits)
        return "addresses that are not both exact";
    if (mask->ip_protocol != UINT8_MAX)
        return "any protocol";
    if (mask->fragment != SLUICE_FRAGMENT_LATER || rule->value.fragment != SLUICE_FRAGMENT_WHOLE)
        return "fragments (match on fragment_offset 0 under 0x3fff, or on has_frag_ext 0)";
    if (mask->l4_kind ? mask->l4_src != whole || mask->l4_dst != whole
                      : is_transport(rule->value.ip_protocol, is_ipv6(rule)))
        return "ports that are not both exact";
    return NULL;
}

static bool is_prefix_only(const struct flow_rule *rule) {
    const struct sluice_flow_key *mask = &rule->mask;
    unsigned bits = is_ipv6(rule) ? 128 : 32;
    return prefix_of(mask->ip_src, bits) == 0 && !mask->ip_protocol && !mask->fragment && !mask->l4_kind &&
           prefix_of(mask->ip_dst, bits) >= 0;
}

static bool covers(const struct flow_rule *prefix, const struct flow_rule *exact) {
    for (unsigned i = 0; i < 16; i++)
        if ((prefix->value.ip_dst[i] ^ exact->value.ip_dst[i]) & prefix->mask.ip_dst[i])
            return false;
    return true;
}

// A packet that both tables match has the actions of both rules done to it.
static bool overlaps(const struct flow_tables *it, const struct flow_rule *rule, bool is_exact) {
    const struct flow_place *other = (is_exact ? it->lpm : it->exact)[is_ipv6(rule)];
    while (other && !covers(is_exact ? other->rule : rule, is_exact ? rule : other->rule))
        other = other->next;
    return other != NULL;
}

int flow_tables_check(struct flow_tables *it, const struct flow_rule *rule, struct rte_flow_error *error) {
    if (it->absent)
        return flow_refuse(error, NULL, "the device has no rule tables: it runs another configuration");
    if (rule->rule_priority)
        return flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, NULL,
                          "priority %u: the tables have one priority, 0", rule->rule_priority);
    const char *why = unknown_field(rule);
    if (why)
        return flow_refuse(error, NULL, "a match on %s: the device's tables do not see it", why);
    bool is_exact = !is_prefix_only(rule);
    if (is_exact && (why = not_exact(rule)))
        return flow_refuse(error, NULL,
                           "a match on %s: the device has tables for whole 5-tuples and for prefixes of the "
                           "destination alone",
                           why);
    if (it->rules && (it->lane != rule->value.ingress_port || it->mac != rule->value.eth_dst))
        return flow_refuse(error, NULL,
                           "the rules that are there are of lane %u and MAC address %012llx; all have to be of one",
                           it->lane, (unsigned long long)it->mac);
    if (overlaps(it, rule, is_exact))
        return flow_refuse(error, NULL, "it overlaps with a rule of the other table: the device would do both");
    return 0;
}

static void make_exact(const struct flow_rule *from, struct ofu_rule *to) {
    const struct sluice_flow_key *key = &from->value;
    memset(to->value, 0, sizeof to->value);
    memset(to->mask, 0, sizeof to->mask);
    if (is_ipv6(from)) {
        struct sluice_five_tuple6 tuple = {
            .ip_protocol = key->ip_protocol, .l4_src = key->l4_src, .l4_dst = key->l4_dst};
        memcpy(tuple.ip_src, key->ip_src, 16);
        memcpy(tuple.ip_dst, key->ip_dst, 16);
        sluice_five_tuple6_pack(&tuple, to->value);
        for (unsigned bit = 0; bit < SLUICE_FIVE_TUPLE6_BITS; bit++)
            to->mask[bit / 8] = (uint8_t)(to->mask[bit / 8] | 1U << bit % 8);
    } else {
        struct sluice_five_tuple4 tuple = {
            .ip_protocol = key->ip_protocol, .l4_src = key->l4_src, .l4_dst = key->l4_dst};
        for (unsigned i = 0; i < 4; i++) {
            tuple.ip_src |= (uint32_t)key->ip_src[i] << 8 * i;
            tuple.ip_dst |= (uint32_t)key->ip_dst[i] << 8 * i;
        }
        sluice_five_tuple4_pack(&tuple, to->value);
        for (unsigned bit = 0; bit < SLUICE_FIVE_TUPLE4_BITS; bit++)
            to->mask[bit / 8] = (uint8_t)(to->mask[bit / 8] | 1U << bit % 8);
    }
}

static void make_prefix(const struct flow_rule *from, struct ofu_rule *to) {
    memset(to->value, 0, sizeof to->value);
    memset(to->mask, 0, sizeof to->mask);
    memcpy(to->value, from->value.ip_dst, 16);
    memcpy(to->mask, from->mask.ip_dst, 16);
    to->rule_priority = (uint16_t)prefix_of(from->mask.ip_dst, is_ipv6(from) ? 128 : 32);
}

// The index of a template with these bytes, held once more; negative where there is no room or it cannot be written.
static int hold_template(struct flow_tables *it, const struct flow_rule *rule) {
    int free_one = -ENOSPC, result;
    for (int i = 0; i < (int)SLUICE_TEMPLATES; i++) {
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
    return free_one;
}

static int populate(struct flow_tables *it, const struct flow_rule *rule, struct flow_place *place) {
    struct ofu_istr istr = {.kind = SLUICE_INSTRUCTION_POPULATE, .table_id = is_ipv6(rule)};
    istr.rule.id = SLUICE_RULE_CHOOSE;
    istr.rule.actions = rule->actions;
    istr.rule.edit_count = rule->edit_count;
    memcpy(istr.rule.edits, rule->edits, sizeof istr.rule.edits);
    for (unsigned i = 0; i < rule->action_count && place->template >= 0; i++)
        if (istr.rule.actions.slots[i].opcode == SLUICE_ACTION_INSERT_RAW)
            istr.rule.actions.slots[i].operand = (uint32_t)place->template;
    place->table = istr.table_id;
    if (place->ofu == SLUICE_ELEMENT_EXACT)
        make_exact(rule, &istr.rule);
    else
        make_prefix(rule, &istr.rule);
    int result = sluice_rule_ops(it->device, place->ofu, &istr);
    place->id = istr.rule.id;
    return result;
}

static void release_template(struct flow_tables *it, int index) {
    if (index >= 0)
        it->templates[index].holders--;
}

static int delete (struct flow_tables *it, const struct flow_place *place) {
    struct ofu_istr istr = {.kind = SLUICE_INSTRUCTION_DELETE, .table_id = place->table};
    istr.rule.id = place->id;
    return sluice_rule_ops(it->device, place->ofu, &istr);
}

int flow_tables_add(struct flow_tables *it, struct flow_rule *rule, struct flow_place *place,
                    struct rte_flow_error *error) {
    bool is_exact = !is_prefix_only(rule);
    int result = flow_tables_check(it, rule, error);
    if (result)
        return result;
    *place = (struct flow_place){.ofu = is_exact ? SLUICE_ELEMENT_EXACT : SLUICE_ELEMENT_LPM, .rule = rule};
    place->template = rule->template_size ? hold_template(it, rule) : -1;
    if (rule->template_size && place->template <0)
        return flow_error(error, place->template, RTE_FLOW_ERROR_TYPE_ACTION, NULL, "%s", sluice_error_text());
    if (!(result = populate(it, rule, place)) && it->rules == 0 &&
        (result = set_mac(it, rule->value.ingress_port, rule->value.eth_dst)))
        delete (it, place);
    if (result) {
        release_template(it, place->template);
        enum rte_flow_error_type type =
            result == -ENOSPC ? RTE_FLOW_ERROR_TYPE_ACTION : RTE_FLOW_ERROR_TYPE_UNSPECIFIED;
        return flow_error(error, result, type, NULL, "%s", sluice_error_text());
    }
    struct flow_place **list = &(is_exact ? it->exact : it->lpm)[is_ipv6(rule)];
    place->next = *list;
    place->at = list;
    if (place->next)
        place->next->at = &place->next;
    *list = place;
    it->lane = rule->value.ingress_port;
    it->mac = rule->value.eth_dst;
    it->rules++;
    return 0;
}

int flow_tables_remove(struct flow_tables *it, struct flow_place *place) {
    int result = delete (it, place);
    release_template(it, place->template);
    *place->at = place->next;
    if (place->next)
        place->next->at = place->at;
    if (--it->rules == 0) {
        int closed = set_mac(it, it->lane, 0);
        result = result ? result : closed;
    }
    return result;
}

int flow_tables_counters(struct flow_tables *it, const struct flow_place *place,
                         struct sluice_rule_counters *counters) {
    return sluice_rule_counters_read(it->device, place->ofu, place->table, place->id, counters);
}
