// SPDX-License-Identifier: Apache-2.0
// Rules of random_rules.c: what a rule matches and does, drawn so that rules and packets meet, and the same in
// rte_flow's words.
#ifndef SLUICE_RANDOM_FLOW_H
#define SLUICE_RANDOM_FLOW_H

#include <rte_flow.h>
#include <stdbool.h>
#include <string.h>

#include "random_packets.h"

enum { QUEUES = 4, LISTS = 12 }; // receive queues of a port; lists of them that rules name
enum { PORTS = 3, NEW_TAG = 0x6007, MARK_BASE = 100, ALL_LANES = (1 << PORTS) - 1 };

struct match {
    struct fields value, mask;
    bool tag, network, transport, tells_tag, has_fragment; // items there are; tells_tag: has_vlan 0 without a VLAN item
    enum kind kind;
    enum fragment fragment;
};

struct change {
    bool drops, to_host, decrements, sets_mac, sets_destination, pushes, pops;
    uint8_t lanes, mac, destination;
    uint32_t mark;           // 0: none
    uint16_t queues[QUEUES]; // of `to_host`
    uint8_t queue_count;     // 0: as the port spreads its packets
};

// One queue, all in order, or one of some lists: more than a port has redirection tables. Mostly of a port's queues.
static void draw_queues(struct change *change, uint16_t queues) {
    uint32_t list = draw(LISTS), limit = queues && draw(8) ? queues : QUEUES;
    bool is_all = draw(4) == 0;
    change->queue_count = (uint8_t)(is_all ? limit : draw(3) == 0 ? 1 : 2 + list % 3);
    for (uint32_t i = 0; i < change->queue_count; i++)
        change->queues[i] = (uint16_t)((is_all ? i : list + 3 * i * i) % limit);
}

static struct match draw_match(void) {
    struct packet like = draw_packet();
    struct match match = {.kind = like.kind, .fragment = like.fragment, .value = like.of};
    struct fields *mask = &match.mask;
    mask->dst_mac = (uint8_t)PICK(0, 0, 0xff, 2);
    mask->src_mac = (uint8_t)PICK(0, 0, 0, 0xff);
    match.tag = draw(4) == 0;
    if (match.tag)
        mask->tci = (uint16_t)PICK(0, 0xfff, 0xffff, 0xe000);
    match.network = like.kind != ARP && draw(4);
    if (!match.network) {
        match.tells_tag = !match.tag && draw(2);
        return match;
    }
    mask->source = (uint8_t)PICK(0, 0xff, 0xfc);
    mask->destination = (uint8_t)PICK(0, 0xff, 0xff, 0xf0, 8);
    mask->tos = (uint8_t)PICK(0, 0, 0, 0xff, 0x20);
    mask->ttl = (uint8_t)PICK(0, 0, 0, 0, 0xff);
    mask->protocol = (uint8_t)PICK(0, 0xff);
    match.has_fragment = like.kind == IPV4 && draw(2);
    match.transport = like.fragment != LATER && draw(2);
    if (!match.transport)
        return match;
    mask->protocol = 0xff;
    mask->source_port = (uint16_t)PICK(0, 0, 0xffff);
    mask->destination_port = (uint16_t)PICK(0, 0xffff, 0xffff, 0xfff0);
    mask->flags = (uint8_t)(like.of.protocol == IPPROTO_TCP ? PICK(0, 0, 2, 0x3f) : 0);
    return match;
}

static struct change draw_change(const struct match *match, uint16_t queues) {
    struct change change = {.mac = (uint8_t)draw(4), .destination = (uint8_t)draw(16)};
    uint32_t fate = draw(8);
    change.drops = fate == 0;
    change.to_host = fate == 1;
    if (change.to_host && draw(2))
        change.mark = MARK_BASE + draw(1000);
    if (change.to_host)
        draw_queues(&change, queues);
    if (change.drops || change.to_host)
        return change;
    change.lanes = (uint8_t)(1 + draw(ALL_LANES));
    change.sets_mac = draw(4) == 0;
    change.decrements = match->network && draw(3) == 0;
    change.sets_destination = match->network && match->kind == IPV4 && draw(4) == 0;
    change.pops = match->tag && draw(2);
    change.pushes = !match->tag && (match->network || match->tells_tag) && draw(4) == 0;
    return change;
}

struct items {
    struct rte_flow_item list[6];
    struct rte_flow_item_eth eth[2];
    struct rte_flow_item_vlan vlan[2];
    struct rte_flow_item_ipv4 ipv4[2];
    struct rte_flow_item_ipv6 ipv6[2];
    struct rte_flow_item_tcp tcp[2];
    struct rte_flow_item_udp udp[2];
    unsigned count;
};

static void add_item(struct items *it, enum rte_flow_item_type type, const void *spec, const void *mask) {
    it->list[it->count++] = (struct rte_flow_item){.type = type, .spec = spec, .mask = mask};
}

static void add_link(struct items *it, const struct match *match) {
    const struct fields *value = &match->value, *mask = &match->mask;
    it->eth[0].hdr.dst_addr = (struct rte_ether_addr){{2, 0, 0, 0, 0, value->dst_mac}};
    it->eth[0].hdr.src_addr = (struct rte_ether_addr){{2, 0, 0, 0, 1, value->src_mac}};
    it->eth[1].hdr.dst_addr.addr_bytes[5] = mask->dst_mac;
    it->eth[1].hdr.src_addr.addr_bytes[5] = mask->src_mac;
    it->eth[1].has_vlan = match->tells_tag;
    add_item(it, RTE_FLOW_ITEM_TYPE_ETH, &it->eth[0], &it->eth[1]);
    it->vlan[0].hdr.vlan_tci = rte_cpu_to_be_16(value->tci);
    it->vlan[1].hdr.vlan_tci = rte_cpu_to_be_16(mask->tci);
    if (match->tag)
        add_item(it, RTE_FLOW_ITEM_TYPE_VLAN, &it->vlan[0], &it->vlan[1]);
}

static void add_ipv4(struct items *it, const struct match *match) {
    static const uint16_t fragments[FRAGMENTS] = {0, RTE_IPV4_HDR_MF_FLAG, 8};
    const struct fields *value = &match->value, *mask = &match->mask;
    struct rte_ipv4_hdr *spec = &it->ipv4[0].hdr, *under = &it->ipv4[1].hdr;
    *spec = (struct rte_ipv4_hdr){.src_addr = rte_cpu_to_be_32(0x0a000000U | value->source),
                                  .dst_addr = rte_cpu_to_be_32(0x0a010000U | value->destination),
                                  .type_of_service = value->tos,
                                  .time_to_live = value->ttl,
                                  .next_proto_id = value->protocol,
                                  .fragment_offset = rte_cpu_to_be_16(fragments[match->fragment])};
    *under = (struct rte_ipv4_hdr){.src_addr = rte_cpu_to_be_32(mask->source),
                                   .dst_addr = rte_cpu_to_be_32(mask->destination),
                                   .type_of_service = mask->tos,
                                   .time_to_live = mask->ttl,
                                   .next_proto_id = mask->protocol};
    add_item(it, RTE_FLOW_ITEM_TYPE_IPV4, &it->ipv4[0], &it->ipv4[1]);
    if (!match->has_fragment)
        return;
    under->fragment_offset = RTE_BE16(0x3fff);
    static const struct rte_flow_item_ipv4 last = {.hdr = {.fragment_offset = RTE_BE16(0x1fff)}};
    if (match->fragment == LATER) { // a range: from 64 bytes to the end
        under->fragment_offset = RTE_BE16(0x1fff);
        it->list[it->count - 1].last = &last;
    }
}

static void add_ipv6(struct items *it, const struct match *match) {
    const struct fields *value = &match->value, *mask = &match->mask;
    it->ipv6[0].hdr = (struct rte_ipv6_hdr){.vtc_flow = rte_cpu_to_be_32((uint32_t)value->tos << 20),
                                            .proto = value->protocol,
                                            .hop_limits = value->ttl,
                                            .src_addr = {0x20, 1, [15] = value->source},
                                            .dst_addr = {0x20, 2, [15] = value->destination}};
    it->ipv6[1].hdr = (struct rte_ipv6_hdr){.vtc_flow = rte_cpu_to_be_32((uint32_t)mask->tos << 20),
                                            .proto = mask->protocol,
                                            .hop_limits = mask->ttl,
                                            .src_addr = {[15] = mask->source},
                                            .dst_addr = {[15] = mask->destination}};
    add_item(it, RTE_FLOW_ITEM_TYPE_IPV6, &it->ipv6[0], &it->ipv6[1]);
}

static void add_transport(struct items *it, const struct match *match) {
    const struct fields *value = &match->value, *mask = &match->mask;
    it->tcp[0].hdr.src_port = it->udp[0].hdr.src_port = rte_cpu_to_be_16(value->source_port);
    it->tcp[1].hdr.src_port = it->udp[1].hdr.src_port = rte_cpu_to_be_16(mask->source_port);
    it->tcp[0].hdr.dst_port = it->udp[0].hdr.dst_port = rte_cpu_to_be_16(value->destination_port);
    it->tcp[1].hdr.dst_port = it->udp[1].hdr.dst_port = rte_cpu_to_be_16(mask->destination_port);
    it->tcp[0].hdr.tcp_flags = value->flags;
    it->tcp[1].hdr.tcp_flags = mask->flags;
    if (value->protocol == IPPROTO_TCP)
        add_item(it, RTE_FLOW_ITEM_TYPE_TCP, &it->tcp[0], &it->tcp[1]);
    else
        add_item(it, RTE_FLOW_ITEM_TYPE_UDP, &it->udp[0], &it->udp[1]);
}

static void make_items(struct items *it, const struct match *match) {
    memset(it, 0, sizeof *it);
    add_link(it, match);
    if (match->network && match->kind == IPV4)
        add_ipv4(it, match);
    else if (match->network)
        add_ipv6(it, match);
    if (match->transport)
        add_transport(it, match);
    add_item(it, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
}

struct actions {
    struct rte_flow_action list[16];
    struct rte_flow_action_set_mac mac;
    struct rte_flow_action_set_ipv4 address;
    struct rte_flow_action_of_push_vlan push;
    struct rte_flow_action_of_set_vlan_vid vid;
    struct rte_flow_action_of_set_vlan_pcp pcp;
    struct rte_flow_action_port_id outputs[PORTS];
    struct rte_flow_action_mark mark;
    struct rte_flow_action_queue queue;
    struct rte_flow_action_rss rss;
    unsigned count;
};

static void add_action(struct actions *it, enum rte_flow_action_type type, const void *conf) {
    it->list[it->count++] = (struct rte_flow_action){.type = type, .conf = conf};
}

static void add_changes(struct actions *it, const struct change *change) {
    if (change->sets_mac)
        add_action(it, RTE_FLOW_ACTION_TYPE_SET_MAC_DST, &it->mac);
    if (change->decrements)
        add_action(it, RTE_FLOW_ACTION_TYPE_DEC_TTL, NULL);
    if (change->sets_destination)
        add_action(it, RTE_FLOW_ACTION_TYPE_SET_IPV4_DST, &it->address);
    if (change->pops)
        add_action(it, RTE_FLOW_ACTION_TYPE_OF_POP_VLAN, NULL);
    if (!change->pushes)
        return;
    add_action(it, RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN, &it->push);
    add_action(it, RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID, &it->vid);
    add_action(it, RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP, &it->pcp);
}

static void make_actions(struct actions *it, const struct change *change, const uint16_t ids[PORTS]) {
    memset(it, 0, sizeof *it);
    memcpy(it->mac.mac_addr, (const uint8_t[]){2, 0, 0, 0, 0, change->mac}, RTE_ETHER_ADDR_LEN);
    it->address.ipv4_addr = rte_cpu_to_be_32(0x0a010000U | change->destination);
    it->push.ethertype = RTE_BE16(RTE_ETHER_TYPE_VLAN);
    it->vid.vlan_vid = rte_cpu_to_be_16(NEW_TAG & 0xfff);
    it->pcp.vlan_pcp = NEW_TAG >> 13;
    it->mark.id = change->mark;
    it->queue.index = change->queues[0];
    it->rss = (struct rte_flow_action_rss){.queue_num = change->queue_count, .queue = change->queues};
    add_action(it, RTE_FLOW_ACTION_TYPE_COUNT, NULL);
    add_changes(it, change);
    if (change->mark)
        add_action(it, RTE_FLOW_ACTION_TYPE_MARK, &it->mark);
    if (change->to_host && change->queue_count == 1)
        add_action(it, RTE_FLOW_ACTION_TYPE_QUEUE, &it->queue);
    else if (change->to_host)
        add_action(it, RTE_FLOW_ACTION_TYPE_RSS, &it->rss);
    if (change->drops)
        add_action(it, RTE_FLOW_ACTION_TYPE_DROP, NULL);
    for (unsigned lane = 0; lane < PORTS; lane++) {
        it->outputs[lane].id = ids[lane];
        if (change->lanes >> lane & 1)
            add_action(it, RTE_FLOW_ACTION_TYPE_PORT_ID, &it->outputs[lane]);
    }
    add_action(it, RTE_FLOW_ACTION_TYPE_END, NULL);
}

#endif
