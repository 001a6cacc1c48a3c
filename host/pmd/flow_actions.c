// SPDX-License-Identifier: Apache-2.0
// Actions of rte_flow become the device's action set. The device changes a packet and then sends it, once, to a set of
// lanes: a change behind an output, or behind a header put in front, is refused.
#include <errno.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>
#include <string.h>

#include "flow.h"
#include "packet.h"
#include "pmd.h"

enum { MARK_MOST = 0xfffffe, TAGS = 2 };

struct actions {
    const struct flow_context *context;
    const struct rte_flow_attr *attributes;
    struct rte_flow_error *error;
    struct flow_rule *rule;
    uint8_t lanes; // of outputs
    bool drops, to_host, checksums, encapsulates, has_output, marks, chooses;
    unsigned tags, most_tags; // of the packet: surely, and at most
    // A tag that was pushed and is not complete.
    bool pushing, has_id, has_priority;
    uint16_t tpid, tci;
};

static int refuse(struct actions *it, const void *cause, const char *text) {
    return flow_refuse(it->error, cause, "%s", text);
}

static int invalid(struct actions *it, const void *cause, const char *text) {
    return flow_error(it->error, -EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, cause, "%s", text);
}

static int add(struct actions *it, enum sluice_opcode opcode, uint32_t operand) {
    struct flow_rule *rule = it->rule;
    if (rule->action_count == SLUICE_ACTION_SLOTS)
        return flow_refuse(it->error, NULL, "more than the %u changes and outputs that one rule can have",
                           SLUICE_ACTION_SLOTS);
    rule->actions.slots[rule->action_count++] = (struct sluice_action){.opcode = (uint8_t)opcode, .operand = operand};
    return 0;
}

static int change(struct actions *it, const struct rte_flow_action *action) {
    if (it->has_output)
        return refuse(it, action, "a change behind an output: all copies of a packet are equal");
    if (it->encapsulates)
        return refuse(it, action, "a change behind an encapsulation: write it into the header");
    return 0;
}

// Set a field to up to 16 bits.
static int set_short(struct actions *it, const struct rte_flow_action *action, enum sluice_field field,
                     uint16_t value) {
    int result = change(it, action);
    return result ? result : add(it, SLUICE_ACTION_SET, (uint32_t)field << 20 | value);
}

// Set a field to `size` bytes in network order.
static int set_long(struct actions *it, const struct rte_flow_action *action, enum sluice_field field,
                    const uint8_t *bytes, unsigned size) {
    struct flow_rule *rule = it->rule;
    int result = change(it, action);
    if (result || (result = add(it, SLUICE_ACTION_SET_LONG, (uint32_t)field << 20)))
        return result;
    struct sluice_edit *edit = &rule->edits[rule->edit_count++];
    *edit = (struct sluice_edit){.slot = (uint8_t)(rule->action_count - 1)};
    for (unsigned i = 0; i < size; i++)
        edit->value[i] = bytes[size - 1 - i];
    return 0;
}

static bool is_type(const struct actions *it, uint16_t type) {
    return it->rule->mask.eth_type == UINT16_MAX && it->rule->value.eth_type == type;
}

// Set an address or a port of a pattern that has one; checksums follow.
static int set_network(struct actions *it, const struct rte_flow_action *action, uint16_t type, enum sluice_field field,
                       unsigned size) {
    if (!is_type(it, type))
        return refuse(it, action, "an IP address is set, but the pattern has no item of that IP version");
    it->checksums = true;
    return set_long(it, action, field, action->conf, size);
}

static int set_port(struct actions *it, const struct rte_flow_action *action, enum sluice_field field) {
    const struct rte_flow_action_set_tp *conf = action->conf;
    const struct flow_rule *rule = it->rule;
    if (!rule->mask.l4_kind || (rule->value.l4_kind != SLUICE_L4_TCP && rule->value.l4_kind != SLUICE_L4_UDP))
        return refuse(it, action, "a port is set, but the pattern has no item TCP or UDP");
    it->checksums = true;
    return set_short(it, action, field, rte_be_to_cpu_16(conf->port));
}

static int set_ttl(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_set_ttl *conf = action->conf;
    int result = change(it, action);
    if (result)
        return result;
    if (!is_type(it, RTE_ETHER_TYPE_IPV4) && !is_type(it, RTE_ETHER_TYPE_IPV6))
        return refuse(it, action, "a TTL is changed, but the pattern has no item IPV4 or IPV6");
    it->checksums = true;
    if (action->type == RTE_FLOW_ACTION_TYPE_DEC_TTL)
        return add(it, SLUICE_ACTION_SUB, 0);
    return set_short(it, action, SLUICE_FIELD_IP_TTL, conf->ttl_value);
}

// A pushed tag is complete once anything else comes.
static int end_push(struct actions *it) {
    if (!it->pushing)
        return 0;
    it->pushing = false;
    if (!it->has_id || !it->has_priority)
        return refuse(it, NULL, "OF_PUSH_VLAN without both OF_SET_VLAN_VID and OF_SET_VLAN_PCP behind it");
    return add(it, SLUICE_ACTION_INSERT_VLAN, (it->tpid == RTE_ETHER_TYPE_QINQ ? 1U << 16 : 0U) | it->tci);
}

static int push(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_of_push_vlan *conf = action->conf;
    int result = change(it, action);
    if (result)
        return result;
    it->tpid = rte_be_to_cpu_16(conf->ethertype);
    if (it->tpid != RTE_ETHER_TYPE_VLAN && it->tpid != RTE_ETHER_TYPE_QINQ)
        return refuse(it, action, "a pushed tag has EtherType 0x8100 or 0x88a8");
    if (it->most_tags == TAGS)
        return refuse(it, action, "OF_PUSH_VLAN where the packet may have two tags already: say so in the pattern");
    it->tags++;
    it->most_tags++;
    it->tci = 0;
    it->has_id = it->has_priority = false;
    it->pushing = true;
    return 0;
}

static int set_tag(struct actions *it, const struct rte_flow_action *action) {
    if (!it->pushing)
        return refuse(it, action, "OF_SET_VLAN_VID and OF_SET_VLAN_PCP stand behind OF_PUSH_VLAN only");
    if (action->type == RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID) {
        uint16_t id = rte_be_to_cpu_16(((const struct rte_flow_action_of_set_vlan_vid *)action->conf)->vlan_vid);
        if (id > 0xfff)
            return invalid(it, action, "a VLAN id has 12 bits");
        it->tci = (uint16_t)((it->tci & 0xf000) | id);
        it->has_id = true;
    } else {
        uint8_t priority = ((const struct rte_flow_action_of_set_vlan_pcp *)action->conf)->vlan_pcp;
        if (priority > 7)
            return invalid(it, action, "a VLAN priority has 3 bits");
        it->tci = (uint16_t)((it->tci & 0x1fff) | priority << 13);
        it->has_priority = true;
    }
    return 0;
}

static int pop(struct actions *it, const struct rte_flow_action *action) {
    int result = change(it, action);
    if (result)
        return result;
    if (it->tags == 0)
        return refuse(it, action, "OF_POP_VLAN, but the pattern matches no tag");
    it->tags--;
    it->most_tags--;
    return add(it, SLUICE_ACTION_DELETE_VLAN, 0);
}

static int output(struct actions *it, const struct rte_flow_action *action, uint32_t port) {
    int lane = it->context->lane_of(it->context->device, port);
    if (lane < 0)
        return flow_refuse(it->error, action, "an output to port %u, which is not on this device", port);
    it->has_output = true;
    it->lanes = (uint8_t)(it->lanes | 1U << lane);
    return 0;
}

static int to_host(struct actions *it, const struct rte_flow_action *action) {
    if (it->attributes->transfer)
        return refuse(it, action, "QUEUE and RSS are for rules with ingress, and not for those with transfer");
    it->to_host = true;
    return 0;
}

// Written into the rule whatever the port has now: its number of queues and its own table may change.
static int queue_of(struct actions *it, const struct rte_flow_action *action, uint16_t index) {
    int result = to_host(it, action);
    if (result)
        return result;
    it->chooses = true;
    return add(it, SLUICE_ACTION_QUEUE, SLUICE_CHOSEN_QUEUE | index);
}

// Over several queues: the hash is the port's, the table the rule's, even where it says what the port's says now.
static int spread(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_rss *conf = action->conf;
    if (conf->types & ~pmd_rss_types || (conf->types && pmd_rss_all(conf->types) != it->context->rss_types))
        return refuse(it, action, "RSS by other types than those that the port hashes");
    if (!it->context->rss_types)
        return refuse(it, action, "RSS over several queues of a port that hashes nothing: configure the port for RSS");
    if (conf->queue_num > SLUICE_RSS_ENTRIES)
        return flow_refuse(it->error, action, "RSS over a list of %u queues: a table has %u entries", conf->queue_num,
                           SLUICE_RSS_ENTRIES);
    int result = to_host(it, action);
    if (result)
        return result;
    it->rule->rss = conf;
    it->chooses = true;
    return add(it, SLUICE_ACTION_QUEUE, 0); // the number of its table, once the rule has a place
}

static int rss(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_rss *conf = action->conf;
    if (conf->level > 1 || conf->key_len ||
        (conf->func != RTE_ETH_HASH_FUNCTION_DEFAULT && conf->func != RTE_ETH_HASH_FUNCTION_TOEPLITZ))
        return refuse(it, action, "RSS with a key, a function or a level of its own");
    if (conf->queue_num == 0 || !conf->queue)
        return invalid(it, action, "RSS over no queue");
    for (uint32_t i = 0; i < conf->queue_num; i++)
        if (conf->queue[i] >= it->context->queue_count)
            return invalid(it, action, "RSS over a queue that the port does not have");
    return conf->queue_num == 1 ? queue_of(it, action, conf->queue[0]) : spread(it, action);
}

static int queue(struct actions *it, const struct rte_flow_action *action) {
    uint16_t index = ((const struct rte_flow_action_queue *)action->conf)->index;
    if (index >= it->context->queue_count)
        return invalid(it, action, "a queue that the port does not have");
    return queue_of(it, action, index);
}

static int mark(struct actions *it, const struct rte_flow_action *action) {
    uint32_t id = ((const struct rte_flow_action_mark *)action->conf)->id;
    if (id > MARK_MOST)
        return flow_refuse(it->error, action, "the mark %#x: the most is %#x", id, MARK_MOST);
    it->marks = true;
    it->rule->mark = id + 1;
    return add(it, SLUICE_ACTION_MARK, id + 1);
}

// The header of an encapsulation: what the device fills in for each packet must be left to it.
static int encapsulate(struct actions *it, const struct rte_flow_action *action, const uint8_t *bytes, size_t size) {
    struct sluice_template template;
    int result = change(it, action);
    if (result)
        return result;
    if (size > SLUICE_TEMPLATE_BYTES || sluice_template_make(bytes, (uint32_t)size, &template))
        return flow_refuse(it->error, action, "a header of %zu bytes; an even number up to %u", size,
                           SLUICE_TEMPLATE_BYTES);
    uint32_t port = 2U * template.info.udp_place;
    if (template.info.has_udp && (bytes[port] || bytes[port + 1] || bytes[port + 6] || bytes[port + 7]))
        return refuse(it, action, "a UDP source port or checksum in an encapsulation: 0 leaves them to the device");
    memcpy(it->rule->template, bytes, size);
    it->rule->template_size = (uint8_t)size;
    it->encapsulates = true;
    return add(it, SLUICE_ACTION_INSERT_RAW, 0); // its index, once the rule has a place
}

static int raw_encapsulation(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_raw_encap *conf = action->conf;
    if (!conf->data || conf->size < RTE_ETHER_HDR_LEN)
        return invalid(it, action, "RAW_ENCAP with less than an Ethernet header");
    return encapsulate(it, action, conf->data, conf->size);
}

// Append an item's header; the field that says what follows is filled in where it is 0.
struct header {
    uint8_t bytes[SLUICE_TEMPLATE_BYTES];
    size_t size, next_place, next_size;
};

static int append(struct header *it, const void *spec, size_t size, uint16_t kind) {
    if (!spec || it->size + size > sizeof it->bytes)
        return -EINVAL;
    uint8_t *next = it->bytes + it->next_place;
    if (it->next_size == 2 && !next[0] && !next[1]) {
        next[0] = (uint8_t)(kind >> 8);
        next[1] = (uint8_t)kind;
    } else if (it->next_size == 1 && !next[0]) {
        next[0] = (uint8_t)kind;
    }
    memcpy(it->bytes + it->size, spec, size);
    it->size += size;
    return 0;
}

static void say_next(struct header *it, size_t place, size_t size) {
    it->next_place = place;
    it->next_size = size;
}

static int append_item(struct header *it, const struct rte_flow_item *item) {
    size_t start = it->size;
    int result;
    switch (item->type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
        result = append(it, item->spec, sizeof(struct rte_ether_hdr), 0);
        say_next(it, start + 12, 2);
        return result;
    case RTE_FLOW_ITEM_TYPE_VLAN:
        result = append(it, item->spec, sizeof(struct rte_vlan_hdr), RTE_ETHER_TYPE_VLAN);
        say_next(it, start + 2, 2);
        return result;
    case RTE_FLOW_ITEM_TYPE_IPV4:
        if ((result = append(it, item->spec, sizeof(struct rte_ipv4_hdr), RTE_ETHER_TYPE_IPV4)))
            return result;
        it->bytes[start] = it->bytes[start] ? it->bytes[start] : RTE_IPV4_VHL_DEF;
        it->bytes[start + 8] = it->bytes[start + 8] ? it->bytes[start + 8] : IPDEFTTL;
        say_next(it, start + 9, 1);
        return 0;
    case RTE_FLOW_ITEM_TYPE_IPV6:
        if ((result = append(it, item->spec, sizeof(struct rte_ipv6_hdr), RTE_ETHER_TYPE_IPV6)))
            return result;
        it->bytes[start] = it->bytes[start] >> 4 ? it->bytes[start] : (uint8_t)(it->bytes[start] | 0x60);
        it->bytes[start + 7] = it->bytes[start + 7] ? it->bytes[start + 7] : IPDEFTTL;
        say_next(it, start + 6, 1);
        return 0;
    case RTE_FLOW_ITEM_TYPE_UDP:
        result = append(it, item->spec, sizeof(struct rte_udp_hdr), IPPROTO_UDP);
        say_next(it, start + 2, 2);
        return result;
    case RTE_FLOW_ITEM_TYPE_VXLAN:
        if ((result = append(it, item->spec, sizeof(struct rte_vxlan_hdr), SLUICE_VXLAN_PORT)))
            return result;
        it->bytes[start] |= 0x08; // a network identifier is there
        say_next(it, 0, 0);
        return 0;
    default:
        return item->type == RTE_FLOW_ITEM_TYPE_VOID ? 0 : -ENOTSUP;
    }
}

static int vxlan(struct actions *it, const struct rte_flow_action *action) {
    const struct rte_flow_action_vxlan_encap *conf = action->conf;
    struct header header = {.size = 0};
    if (!conf->definition)
        return invalid(it, action, "VXLAN_ENCAP without items");
    for (const struct rte_flow_item *item = conf->definition; item->type != RTE_FLOW_ITEM_TYPE_END; item++)
        if (append_item(&header, item))
            return invalid(it, action, "VXLAN_ENCAP has other items than ETH, VLAN, IPV4 or IPV6, UDP and VXLAN");
    return encapsulate(it, action, header.bytes, header.size);
}

static int one_action(struct actions *it, const struct rte_flow_action *action) {
    static const uint64_t no_configuration =
        1ULL << RTE_FLOW_ACTION_TYPE_VOID | 1ULL << RTE_FLOW_ACTION_TYPE_DROP | 1ULL << RTE_FLOW_ACTION_TYPE_COUNT;
    bool is_tag =
        action->type == RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID || action->type == RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP;
    int result = is_tag || action->type == RTE_FLOW_ACTION_TYPE_VOID ? 0 : end_push(it);
    if (result)
        return result;
    if (!action->conf && action->type != RTE_FLOW_ACTION_TYPE_OF_POP_VLAN &&
        action->type != RTE_FLOW_ACTION_TYPE_DEC_TTL && action->type != RTE_FLOW_ACTION_TYPE_PASSTHRU &&
        !(action->type < 64 && no_configuration >> action->type & 1))
        return invalid(it, action, "an action without its configuration");
    switch (action->type) {
    case RTE_FLOW_ACTION_TYPE_VOID:
    case RTE_FLOW_ACTION_TYPE_COUNT: // every rule counts
        return 0;
    case RTE_FLOW_ACTION_TYPE_DROP:
        it->drops = true;
        return 0;
    case RTE_FLOW_ACTION_TYPE_QUEUE:
        return queue(it, action);
    case RTE_FLOW_ACTION_TYPE_RSS:
        return rss(it, action);
    case RTE_FLOW_ACTION_TYPE_MARK:
        return mark(it, action);
    case RTE_FLOW_ACTION_TYPE_PORT_ID: {
        const struct rte_flow_action_port_id *conf = action->conf;
        return output(it, action, conf->original ? UINT32_MAX : conf->id);
    }
    case RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT:
        if (!it->attributes->transfer)
            return invalid(it, action, "REPRESENTED_PORT is for rules with transfer");
        return output(it, action, ((const struct rte_flow_action_ethdev *)action->conf)->port_id);
    case RTE_FLOW_ACTION_TYPE_SET_MAC_SRC:
        return set_long(it, action, SLUICE_FIELD_ETH_SRC, action->conf, RTE_ETHER_ADDR_LEN);
    case RTE_FLOW_ACTION_TYPE_SET_MAC_DST:
        return set_long(it, action, SLUICE_FIELD_ETH_DST, action->conf, RTE_ETHER_ADDR_LEN);
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC:
        return set_network(it, action, RTE_ETHER_TYPE_IPV4, SLUICE_FIELD_IP_SRC, 4);
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DST:
        return set_network(it, action, RTE_ETHER_TYPE_IPV4, SLUICE_FIELD_IP_DST, 4);
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC:
        return set_network(it, action, RTE_ETHER_TYPE_IPV6, SLUICE_FIELD_IP_SRC, 16);
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DST:
        return set_network(it, action, RTE_ETHER_TYPE_IPV6, SLUICE_FIELD_IP_DST, 16);
    case RTE_FLOW_ACTION_TYPE_SET_TP_SRC:
        return set_port(it, action, SLUICE_FIELD_L4_SRC);
    case RTE_FLOW_ACTION_TYPE_SET_TP_DST:
        return set_port(it, action, SLUICE_FIELD_L4_DST);
    case RTE_FLOW_ACTION_TYPE_SET_TTL:
    case RTE_FLOW_ACTION_TYPE_DEC_TTL:
        return set_ttl(it, action);
    case RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN:
        return push(it, action);
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID:
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP:
        return set_tag(it, action);
    case RTE_FLOW_ACTION_TYPE_OF_POP_VLAN:
        return pop(it, action);
    case RTE_FLOW_ACTION_TYPE_VXLAN_ENCAP:
        return vxlan(it, action);
    case RTE_FLOW_ACTION_TYPE_RAW_ENCAP:
        return raw_encapsulation(it, action);
    default: {
        const char *name = NULL;
        rte_flow_conv(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, &name, sizeof name, (void *)(uintptr_t)action->type, NULL);
        return flow_refuse(it->error, action, "the action %s: the device does not do it", name ? name : "of no name");
    }
    }
}

// What becomes of the packet: exactly one of drop, host and output.
static int finish(struct actions *it) {
    int result = end_push(it);
    if (result)
        return result;
    if (it->drops + it->to_host + it->has_output != 1)
        return refuse(it, NULL,
                      it->drops + it->to_host + it->has_output
                          ? "two of drop, host queue and output to a port in one rule"
                          : "nothing says where the packet goes: DROP, QUEUE, RSS, PORT_ID or REPRESENTED_PORT does");
    if (it->marks && !it->to_host)
        return refuse(it, NULL, "a mark on packets that do not go to the host");
    if (it->to_host && it->rule->action_count != it->marks + it->chooses)
        return refuse(it, NULL, "a change of packets that go to the host");
    if (it->checksums && (result = add(it, SLUICE_ACTION_CHECKSUM, 0)))
        return result;
    if (it->has_output)
        return add(it, SLUICE_ACTION_REPLICATE, it->lanes);
    if (it->drops) // what would be changed is gone
        it->rule->action_count = it->rule->edit_count = it->rule->template_size = 0;
    if (it->drops)
        memset(&it->rule->actions, 0, sizeof it->rule->actions);
    return add(it, it->drops ? SLUICE_ACTION_DROP : SLUICE_ACTION_TO_HOST, 0);
}

// Of a packet with two tags, the key has the second TPID for a type.
static unsigned most_tags(const struct flow_rule *rule) {
    static const uint16_t tpids[] = {SLUICE_ETHERTYPE_VLAN, SLUICE_ETHERTYPE_QINQ, SLUICE_ETHERTYPE_VLAN_OLD};
    unsigned most = 1;
    if (rule->mask.has_vlan && !rule->value.has_vlan)
        return 0;
    for (unsigned i = 0; i < RTE_DIM(tpids); i++)
        if (!((rule->value.eth_type ^ tpids[i]) & rule->mask.eth_type))
            most = TAGS;
    return most;
}

int flow_parse_actions(const struct flow_context *context, const struct rte_flow_attr *attributes,
                       const struct rte_flow_action *actions, struct flow_rule *rule, struct rte_flow_error *error) {
    struct actions it = {.context = context,
                         .attributes = attributes,
                         .error = error,
                         .rule = rule,
                         .tags = rule->value.has_vlan,
                         .most_tags = most_tags(rule)};
    int result = 0;
    for (; actions->type != RTE_FLOW_ACTION_TYPE_END && result == 0; actions++)
        result = one_action(&it, actions);
    return result ? result : finish(&it);
}
