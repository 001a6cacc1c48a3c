// SPDX-License-Identifier: Apache-2.0
// Items of a pattern become key and mask. What an item leaves open but the next one says (IPv4 behind Ethernet: the
// type; UDP behind IPv4: the protocol) is matched too. Bits of a spec outside its mask do not count.
#include <errno.h>
#include <rte_byteorder.h>
#include <rte_ip.h>
#include <stddef.h>
#include <string.h>

#include "flow.h"

enum { LENGTH_TYPE = 0x05ff, FIRST_TYPE = 0x0600, RANGE_FROM = 8, FRAGMENT_OFFSET = 0x1fff, MORE_FRAGMENTS = 0x2000 };
enum { UNKNOWN_TPID = 0x1000 }; // the bit is in neither TPID that Open vSwitch knows

// An item with its mask applied.
struct view {
    const struct rte_flow_item *item;
    const uint8_t *mask;
    uint8_t spec[64], last[64]; // under the mask; last is all zero where there is none
};

struct pattern {
    const struct flow_context *context;
    struct rte_flow_error *error;
    struct flow_rule *rule;
    enum { AT_START, AT_ETHERNET, AT_VLAN, AT_IP, AT_FRAGMENT, AT_TRANSPORT } at;
    bool has_source;
    uint16_t link_type, link_mask; // of the Ethernet item: a type, or a TPID
};

static int invalid(struct pattern *it, const struct rte_flow_item *item, const char *text) {
    return flow_error(it->error, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, item, "%s", text);
}

static int refuse(struct pattern *it, const struct rte_flow_item *item, const char *text) {
    return flow_refuse(it->error, item, "%s", text);
}

// Cut out what is matched. Ranges are allowed in the two bytes at `range` only (0: nowhere).
static int look(struct pattern *it, const struct rte_flow_item *item, const void *usual, size_t size, size_t range,
                struct view *view) {
    const uint8_t *spec = item->spec, *last = item->last;
    static const uint8_t none[64];
    memset(view, 0, sizeof *view);
    view->item = item;
    view->mask = !spec ? none : item->mask ? item->mask : usual;
    if (!spec && (item->mask || last))
        return invalid(it, item, "an item has a mask or a last, but no spec");
    for (size_t i = 0; spec && i < size; i++) {
        view->spec[i] = spec[i] & view->mask[i];
        view->last[i] = last ? last[i] & view->mask[i] : 0;
        if (view->last[i] > view->spec[i] && !(range && (i == range || i == range + 1)))
            return refuse(it, item, "a range (last): the device has them for fragment offsets only");
    }
    return 0;
}

// Whether a field is matched though the device does not know it.
static bool asks(const struct view *view, size_t at, size_t size) {
    for (size_t i = at; i < at + size; i++)
        if (view->mask[i])
            return true;
    return false;
}
#define ASKS(view, type, field) asks(view, offsetof(type, field), sizeof((type *)0)->field)

static uint64_t big(const uint8_t *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

#define FIELD(bytes, type, field) big((bytes) + offsetof(type, field), sizeof((type *)0)->field)
// Match a field of the item in a field of the key.
#define MATCH(it, view, type, field, key)                                                                              \
    ((it)->rule->value.key = (__typeof__((it)->rule->value.key))FIELD((view)->spec, type, field),                      \
     (it)->rule->mask.key = (__typeof__((it)->rule->mask.key))FIELD((view)->mask, type, field))

// Addresses in the key are little-endian, as wide integers of the layouts are.
static void match_address(uint8_t value[16], uint8_t mask[16], const struct view *view, size_t at, size_t size) {
    memset(value, 0, 16);
    memset(mask, 0, 16);
    for (size_t i = 0; i < size; i++) {
        value[i] = view->spec[at + size - 1 - i];
        mask[i] = view->mask[at + size - 1 - i];
    }
}

// Whether a tag's TPID is among the types that a mask lets through.
static bool may_be_tpid(uint16_t type, uint16_t mask) {
    return !((SLUICE_ETHERTYPE_VLAN ^ type) & mask) || !((SLUICE_ETHERTYPE_QINQ ^ type) & mask) ||
           !((SLUICE_ETHERTYPE_VLAN_OLD ^ type) & mask);
}

// The EtherType behind the first tag, under a mask. 0, or an error where it is another already.
static int set_type(struct pattern *it, const struct rte_flow_item *item, uint16_t type, uint16_t mask) {
    struct flow_rule *rule = it->rule;
    bool is_length = type == LENGTH_TYPE && mask == UINT16_MAX;
    if ((type & mask) < FIRST_TYPE && !is_length) // the key has 0 for every length
        return refuse(it, item, "lengths in place of an EtherType: only 0x05ff is known, which stands for all of them");
    uint16_t wanted = is_length ? 0 : type & mask, both = mask & rule->mask.eth_type;
    if ((rule->value.eth_type ^ wanted) & both)
        return invalid(it, item, "the EtherType is not that of the next item");
    rule->value.eth_type |= wanted;
    rule->mask.eth_type |= mask;
    return 0;
}

static int set_tagged(struct pattern *it, const struct rte_flow_item *item, bool tagged) {
    struct flow_rule *rule = it->rule;
    if (rule->mask.has_vlan && rule->value.has_vlan != tagged)
        return invalid(it, item, "has_vlan is not what the other items say");
    rule->value.has_vlan = tagged;
    rule->mask.has_vlan = 1;
    return 0;
}

static int ethernet(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    if (it->at != AT_START)
        return invalid(it, item, "ETH does not come first");
    it->at = AT_ETHERNET;
    int result = look(it, item, &rte_flow_item_eth_mask, sizeof(struct rte_flow_item_eth), 0, &view);
    if (result)
        return result;
    const struct rte_flow_item_eth *mask = (const void *)view.mask, *spec = (const void *)view.spec;
    MATCH(it, &view, struct rte_ether_hdr, dst_addr, eth_dst);
    MATCH(it, &view, struct rte_ether_hdr, src_addr, eth_src);
    it->link_type = rte_be_to_cpu_16(spec->hdr.ether_type);
    it->link_mask = rte_be_to_cpu_16(mask->hdr.ether_type);
    return mask->has_vlan ? set_tagged(it, item, spec->has_vlan) : 0;
}

// The Ethernet item's type, once it is known whether a tag follows.
static int link_type(struct pattern *it, const struct rte_flow_item *item, bool tag_follows) {
    struct flow_rule *rule = it->rule;
    bool tagged = tag_follows || (rule->mask.has_vlan && rule->value.has_vlan);
    bool may_be = may_be_tpid(it->link_type, it->link_mask), is_whole = it->link_mask == UINT16_MAX;
    if (!it->link_mask)
        return 0;
    if (may_be && (tagged || is_whole)) {
        rule->value.vlan_tpid = it->link_type;
        rule->mask.vlan_tpid = it->link_mask;
        return set_tagged(it, item, true);
    }
    if (tagged)
        return invalid(it, item, "the EtherType in front of a tag is none of 0x8100, 0x88a8, 0x9100");
    if (may_be && !rule->mask.has_vlan)
        return refuse(it, item, "a part of the EtherType that tags have too: say has_vlan");
    int result = set_tagged(it, item, false);
    return result ? result : set_type(it, item, it->link_type, it->link_mask);
}

static int vlan(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    int result;
    if (it->at == AT_VLAN)
        return refuse(it, item, "a second VLAN item: the device reads one tag");
    if (it->at != AT_ETHERNET)
        return invalid(it, item, "VLAN does not follow ETH");
    if ((result = look(it, item, &rte_flow_item_vlan_mask, sizeof(struct rte_flow_item_vlan), 0, &view)) ||
        (result = link_type(it, item, true)) || (result = set_tagged(it, item, true)))
        return result;
    const struct rte_flow_item_vlan *mask = (const void *)view.mask, *spec = (const void *)view.spec;
    it->at = AT_VLAN;
    MATCH(it, &view, struct rte_vlan_hdr, vlan_tci, vlan_tci);
    if (mask->has_more_vlan)
        return refuse(it, item, "has_more_vlan: behind the first tag the device reads the EtherType only");
    uint16_t inner = rte_be_to_cpu_16(mask->hdr.eth_proto);
    return inner ? set_type(it, item, rte_be_to_cpu_16(spec->hdr.eth_proto), inner) : 0;
}

// Ethernet is over: what follows has this EtherType.
static int network(struct pattern *it, const struct rte_flow_item *item, uint16_t type) {
    int result = 0;
    if (it->at == AT_ETHERNET)
        result = link_type(it, item, false);
    else if (it->at != AT_VLAN)
        return invalid(it, item, "IPV4 or IPV6 does not follow ETH or VLAN");
    if (result == 0 && it->at == AT_ETHERNET && !it->rule->mask.has_vlan)
        result = set_tagged(it, item, false); // IP directly behind Ethernet
    it->at = AT_IP;
    return result ? result : set_type(it, item, type, UINT16_MAX);
}

// `offset` and `last` in units of 8 bytes, under a mask that has all bits of the offset or none.
static int fragments(struct pattern *it, const struct rte_flow_item *item, uint16_t offset, uint16_t last,
                     bool offset_asked, bool more, bool more_asked) {
    struct flow_rule *rule = it->rule;
    bool to_end = last == FRAGMENT_OFFSET && !more_asked;
    uint8_t value, mask;
    if (!offset_asked && !more_asked)
        return 0;
    if (offset_asked && to_end && (offset == 1 || offset == RANGE_FROM)) {
        mask = offset == 1 ? SLUICE_FRAGMENT_EARLY : SLUICE_FRAGMENT_LATER;
        value = mask;
    } else if (offset_asked && offset == 0 && last <= offset) {
        mask = more_asked ? SLUICE_FRAGMENT_LATER : SLUICE_FRAGMENT_EARLY;
        value = more_asked && more ? SLUICE_FRAGMENT_FIRST : SLUICE_FRAGMENT_WHOLE;
    } else {
        return refuse(it, item, "a fragment offset other than none, first, and from 8 or 64 bytes to the end");
    }
    rule->value.fragment = value;
    rule->mask.fragment = mask;
    return 0;
}

static int ipv4(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    size_t range = offsetof(struct rte_ipv4_hdr, fragment_offset);
    int result = network(it, item, RTE_ETHER_TYPE_IPV4);
    if (result || (result = look(it, item, &rte_flow_item_ipv4_mask, sizeof(struct rte_flow_item_ipv4), range, &view)))
        return result;
    if (ASKS(&view, struct rte_ipv4_hdr, version_ihl) || ASKS(&view, struct rte_ipv4_hdr, total_length) ||
        ASKS(&view, struct rte_ipv4_hdr, packet_id) || ASKS(&view, struct rte_ipv4_hdr, hdr_checksum))
        return refuse(it, item, "IPv4 version, header size, length, id or checksum");
    match_address(it->rule->value.ip_src, it->rule->mask.ip_src, &view, offsetof(struct rte_ipv4_hdr, src_addr), 4);
    match_address(it->rule->value.ip_dst, it->rule->mask.ip_dst, &view, offsetof(struct rte_ipv4_hdr, dst_addr), 4);
    MATCH(it, &view, struct rte_ipv4_hdr, type_of_service, ip_tos);
    MATCH(it, &view, struct rte_ipv4_hdr, time_to_live, ip_ttl);
    MATCH(it, &view, struct rte_ipv4_hdr, next_proto_id, ip_protocol);
    uint16_t mask = (uint16_t)big(view.mask + range, 2), spec = (uint16_t)big(view.spec + range, 2);
    uint16_t offset_mask = mask & FRAGMENT_OFFSET, last = (uint16_t)big(view.last + range, 2);
    if (mask & ~(FRAGMENT_OFFSET | MORE_FRAGMENTS) || (offset_mask != 0 && offset_mask != FRAGMENT_OFFSET))
        return refuse(it, item, "the IPv4 flag \"do not fragment\", or a part of the fragment offset");
    return fragments(it, item, spec & FRAGMENT_OFFSET, last & FRAGMENT_OFFSET, offset_mask, spec & MORE_FRAGMENTS,
                     mask & MORE_FRAGMENTS);
}

static int ipv6(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    int result = network(it, item, RTE_ETHER_TYPE_IPV6);
    if (result || (result = look(it, item, &rte_flow_item_ipv6_mask, sizeof(struct rte_flow_item_ipv6), 0, &view)))
        return result;
    const struct rte_flow_item_ipv6 *mask = (const void *)view.mask, *spec = (const void *)view.spec;
    struct rte_flow_item_ipv6 others = *mask;
    uint32_t flow_mask = rte_be_to_cpu_32(mask->hdr.vtc_flow), flow = rte_be_to_cpu_32(spec->hdr.vtc_flow);
    memset(&others.hdr, 0, sizeof others.hdr);
    others.has_frag_ext = 0;
    if (ASKS(&view, struct rte_ipv6_hdr, payload_len) || flow_mask & RTE_IPV6_HDR_FL_MASK ||
        (flow_mask >> 28 && flow >> 28 != (6 & flow_mask >> 28)))
        return refuse(it, item, "IPv6 version, flow label or payload length");
    if (memcmp(&others, &(struct rte_flow_item_ipv6){.has_frag_ext = 0}, sizeof others))
        return refuse(it, item, "IPv6 extension headers other than the fragment header");
    match_address(it->rule->value.ip_src, it->rule->mask.ip_src, &view, offsetof(struct rte_ipv6_hdr, src_addr), 16);
    match_address(it->rule->value.ip_dst, it->rule->mask.ip_dst, &view, offsetof(struct rte_ipv6_hdr, dst_addr), 16);
    it->rule->value.ip_tos = (uint8_t)(flow >> 20);
    it->rule->mask.ip_tos = (uint8_t)(flow_mask >> 20);
    MATCH(it, &view, struct rte_ipv6_hdr, hop_limits, ip_ttl);
    MATCH(it, &view, struct rte_ipv6_hdr, proto, ip_protocol);
    if (!mask->has_frag_ext)
        return 0;
    if (!spec->has_frag_ext)
        return fragments(it, item, 0, 0, true, false, true);
    if (item[1].type != RTE_FLOW_ITEM_TYPE_IPV6_FRAG_EXT)
        return refuse(it, item, "has_frag_ext without an item IPV6_FRAG_EXT behind it that says which");
    return 0;
}

static int set_protocol(struct pattern *it, const struct rte_flow_item *item, uint8_t protocol) {
    struct flow_rule *rule = it->rule;
    if (rule->mask.ip_protocol && rule->value.ip_protocol != (protocol & rule->mask.ip_protocol))
        return invalid(it, item, "the IP protocol is not that of the next item");
    rule->value.ip_protocol = protocol;
    rule->mask.ip_protocol = UINT8_MAX;
    return 0;
}

// Open vSwitch puts the protocol of a fragment here: the last header's, which is what the device sees.
static int ipv6_fragment(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    static const struct rte_flow_item_ipv6_frag_ext usual = {.hdr = {.frag_data = RTE_BE16(0xfff9)}};
    size_t range = offsetof(struct rte_flow_item_ipv6_frag_ext, hdr.frag_data);
    if (it->at != AT_IP || it->rule->value.eth_type != RTE_ETHER_TYPE_IPV6)
        return invalid(it, item, "IPV6_FRAG_EXT does not follow IPV6");
    it->at = AT_FRAGMENT;
    int result = look(it, item, &usual, sizeof(struct rte_flow_item_ipv6_frag_ext), range, &view);
    if (result)
        return result;
    const struct rte_flow_item_ipv6_frag_ext *asked = (const void *)view.mask;
    uint16_t mask = (uint16_t)big(view.mask + range, 2), spec = (uint16_t)big(view.spec + range, 2);
    uint16_t offset_mask = mask >> 3, last = (uint16_t)big(view.last + range, 2) >> 3;
    if ((asked->hdr.next_header && asked->hdr.next_header != UINT8_MAX) || asked->hdr.reserved || asked->hdr.id ||
        mask & 6 || (offset_mask != 0 && offset_mask != FRAGMENT_OFFSET))
        return refuse(it, item, "of the IPv6 fragment header: anything but protocol, offset and \"more fragments\"");
    if (!mask)
        return refuse(it, item, "any IPv6 fragment header: an atomic fragment is no fragment to the device");
    if (asked->hdr.next_header && (result = set_protocol(it, item, *view.spec)))
        return result;
    return fragments(it, item, spec >> 3, last, offset_mask, spec & 1, mask & 1);
}

// The protocol, and that its header is there: of a fragment that is not the first, only the protocol is known.
static int transport(struct pattern *it, const struct rte_flow_item *item, uint8_t protocol, enum sluice_l4_kind kind) {
    struct flow_rule *rule = it->rule;
    if (it->at != AT_IP && it->at != AT_FRAGMENT)
        return invalid(it, item, "a transport item does not follow IPV4 or IPV6");
    it->at = AT_TRANSPORT;
    int result = set_protocol(it, item, protocol);
    if (result)
        return result;
    if (!(rule->value.fragment & SLUICE_FRAGMENT_EARLY)) {
        rule->value.l4_kind = (uint8_t)kind;
        rule->mask.l4_kind = 7;
    }
    return 0;
}

// Ports stand in the first four bytes of TCP, UDP and SCTP.
static int ports(struct pattern *it, const struct view *view) {
    MATCH(it, view, struct rte_udp_hdr, src_port, l4_src);
    MATCH(it, view, struct rte_udp_hdr, dst_port, l4_dst);
    if ((it->rule->mask.l4_src || it->rule->mask.l4_dst) && !it->rule->mask.l4_kind)
        return refuse(it, view->item, "ports of a fragment that has none");
    return 0;
}

static int tcp(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    int result = transport(it, item, IPPROTO_TCP, SLUICE_L4_TCP);
    if (result || (result = look(it, item, &rte_flow_item_tcp_mask, sizeof(struct rte_flow_item_tcp), 0, &view)))
        return result;
    if (ASKS(&view, struct rte_tcp_hdr, sent_seq) || ASKS(&view, struct rte_tcp_hdr, recv_ack) ||
        ASKS(&view, struct rte_tcp_hdr, data_off) || ASKS(&view, struct rte_tcp_hdr, rx_win) ||
        ASKS(&view, struct rte_tcp_hdr, cksum) || ASKS(&view, struct rte_tcp_hdr, tcp_urp))
        return refuse(it, item, "of TCP: anything but ports and the eight flags from FIN to CWR");
    MATCH(it, &view, struct rte_tcp_hdr, tcp_flags, tcp_flags);
    if (it->rule->mask.tcp_flags && !it->rule->mask.l4_kind)
        return refuse(it, item, "TCP flags of a fragment that has none");
    return ports(it, &view);
}

static int udp(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    int result = transport(it, item, IPPROTO_UDP, SLUICE_L4_UDP);
    if (result || (result = look(it, item, &rte_flow_item_udp_mask, sizeof(struct rte_flow_item_udp), 0, &view)))
        return result;
    if (asks(&view, 4, 4))
        return refuse(it, item, "UDP length or checksum");
    return ports(it, &view);
}

static int sctp(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    int result = transport(it, item, IPPROTO_SCTP, SLUICE_L4_SCTP);
    if (result || (result = look(it, item, &rte_flow_item_sctp_mask, sizeof(struct rte_flow_item_sctp), 0, &view)))
        return result;
    if (asks(&view, 4, 8))
        return refuse(it, item, "SCTP tag or checksum");
    return ports(it, &view);
}

static int icmp(struct pattern *it, const struct rte_flow_item *item) {
    struct view view;
    bool is_ipv6 = item->type == RTE_FLOW_ITEM_TYPE_ICMP6;
    const void *usual = is_ipv6 ? (const void *)&rte_flow_item_icmp6_mask : &rte_flow_item_icmp_mask;
    size_t size = is_ipv6 ? sizeof(struct rte_flow_item_icmp6) : sizeof(struct rte_flow_item_icmp);
    if (it->at >= AT_IP && (it->rule->value.eth_type == RTE_ETHER_TYPE_IPV6) != is_ipv6)
        return invalid(it, item, "ICMP behind IPv6, or ICMP6 behind IPv4");
    int result = is_ipv6 ? transport(it, item, IPPROTO_ICMPV6, SLUICE_L4_ICMPV6)
                         : transport(it, item, IPPROTO_ICMP, SLUICE_L4_ICMP);
    if (result || (result = look(it, item, usual, size, 0, &view)))
        return result;
    if (asks(&view, 2, size - 2))
        return refuse(it, item, "of ICMP: anything but type and code");
    if (asks(&view, 0, 2) && !it->rule->mask.l4_kind)
        return refuse(it, item, "ICMP type or code of a fragment that has none");
    it->rule->value.l4_src = view.spec[0];
    it->rule->mask.l4_src = view.mask[0];
    it->rule->value.l4_dst = view.spec[1];
    it->rule->mask.l4_dst = view.mask[1];
    return 0;
}

static int source(struct pattern *it, const struct rte_flow_attr *attributes, const struct rte_flow_item *item) {
    const struct rte_flow_item_port_id *port = item->spec;
    const struct rte_flow_item_ethdev *ethdev = item->spec;
    bool is_id = item->type == RTE_FLOW_ITEM_TYPE_PORT_ID;
    if (it->at != AT_START || it->has_source)
        return invalid(it, item, "a port item does not come first, or comes twice");
    if (item->type == RTE_FLOW_ITEM_TYPE_PORT_REPRESENTOR)
        return refuse(it, item, "PORT_REPRESENTOR: packets that the host sends are not looked up");
    if (!item->spec || item->last)
        return refuse(it, item, "a port item without a port, or with a range: a rule has one source");
    const uint32_t *asked = item->mask;
    const uint16_t *asked16 = item->mask;
    if (asked && (is_id ? *asked != UINT32_MAX : *asked16 != UINT16_MAX))
        return refuse(it, item, "a part of a port id");
    int lane = it->context->lane_of(it->context->device, is_id ? port->id : ethdev->port_id);
    if (lane < 0)
        return refuse(it, item, "a source port that is not on this device");
    if (lane != it->context->lane && !attributes->transfer)
        return refuse(it, item, "another source port than the rule's own without the attribute transfer");
    it->rule->value.ingress_port = (uint8_t)lane;
    it->has_source = true;
    return 0;
}

static int one_item(struct pattern *it, const struct rte_flow_attr *attributes, const struct rte_flow_item *item) {
    switch (item->type) {
    case RTE_FLOW_ITEM_TYPE_VOID:
        return 0;
    case RTE_FLOW_ITEM_TYPE_PORT_ID:
    case RTE_FLOW_ITEM_TYPE_PORT_REPRESENTOR:
    case RTE_FLOW_ITEM_TYPE_REPRESENTED_PORT:
        return source(it, attributes, item);
    case RTE_FLOW_ITEM_TYPE_ETH:
        return ethernet(it, item);
    case RTE_FLOW_ITEM_TYPE_VLAN:
        return vlan(it, item);
    case RTE_FLOW_ITEM_TYPE_IPV4:
        return ipv4(it, item);
    case RTE_FLOW_ITEM_TYPE_IPV6:
        return ipv6(it, item);
    case RTE_FLOW_ITEM_TYPE_IPV6_FRAG_EXT:
        return ipv6_fragment(it, item);
    case RTE_FLOW_ITEM_TYPE_TCP:
        return tcp(it, item);
    case RTE_FLOW_ITEM_TYPE_UDP:
        return udp(it, item);
    case RTE_FLOW_ITEM_TYPE_SCTP:
        return sctp(it, item);
    case RTE_FLOW_ITEM_TYPE_ICMP:
    case RTE_FLOW_ITEM_TYPE_ICMP6:
        return icmp(it, item);
    default: {
        const char *name = NULL;
        rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof name, (void *)(uintptr_t)item->type, NULL);
        return flow_refuse(it->error, item, "the item %s: the device does not match it", name ? name : "of no name");
    }
    }
}

int flow_parse_pattern(const struct flow_context *context, const struct rte_flow_attr *attributes,
                       const struct rte_flow_item *pattern, struct flow_rule *rule, struct rte_flow_error *error) {
    struct pattern it = {.context = context, .error = error, .rule = rule};
    int result = 0;
    if (attributes->group)
        return flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_GROUP, attributes,
                          "group %u: the device has group 0 only", attributes->group);
    if (attributes->egress)
        return flow_error(error, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, attributes,
                          "egress: packets that the host sends are not looked up");
    if (!attributes->ingress && !attributes->transfer)
        return flow_error(error, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attributes, "neither ingress nor transfer");
    rule->rule_priority = attributes->priority;
    rule->value.ingress_port = context->lane; // implied, also with transfer
    rule->mask.ingress_port = UINT8_MAX;
    for (const struct rte_flow_item *item = pattern; item->type != RTE_FLOW_ITEM_TYPE_END && result == 0; item++)
        result = one_item(&it, attributes, item);
    if (result == 0 && it.at == AT_START)
        return flow_error(error, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, pattern, "a pattern begins with ETH");
    if (result == 0 && it.at == AT_ETHERNET)
        result = link_type(&it, pattern, false);
    if (rule->value.has_vlan && !rule->mask.vlan_tpid)
        rule->mask.vlan_tpid = UNKNOWN_TPID;
    return result;
}
