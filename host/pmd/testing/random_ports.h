// SPDX-License-Identifier: Apache-2.0
// Ports of random_rules.c: what each was told to be, by calls drawn in any order, and what therefore becomes of packets
// that are for the host: whether the port takes them, their hash, their queue.
#ifndef SLUICE_RANDOM_PORTS_H
#define SLUICE_RANDOM_PORTS_H

#include <errno.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_thash.h>
#include <stdio.h>
#include <stdlib.h>

#include "random_flow.h"

enum {
    ENTRIES = 128,
    KEY = 40,
    ALL_MACS = 16,
    GROUPS = 4,
    DESCRIPTORS = 2048,
    FEWEST_DESCRIPTORS = 512,
    OWN_MTU = 1500,
    OVERHEAD = 14 + 2 * 4,
    SMALL_MTU = 68
};

static uint64_t operation;

#define FAIL(...) (printf("operation %llu: ", (unsigned long long)operation), printf(__VA_ARGS__), puts(""), exit(1))

struct port {
    uint16_t id; // DPDK's
    bool started, linked, hashes, promiscuous, all_groups, has_transmit;
    uint16_t queues; // 0: it was not configured
    uint16_t most_queues;
    uint8_t set_up; // bit n: queue n
    uint16_t mtu;
    uint64_t types;
    uint8_t key[KEY];
    uint16_t table[ENTRIES];
    uint8_t macs, groups; // bit n: 02:00:00:00:00:0n is one of its addresses, 03:... of its groups
};

static struct port ports[PORTS];
static uint16_t rings[PORTS][QUEUES]; // their buffers, as long as the device is there; 0: there is none
static struct rte_mempool *pool;
static const char *device_arguments; // of the vdev

static bool is_receiving(uint16_t port) {
    return ports[port].started && ports[port].linked;
}

// ---- The model

static bool takes(const struct port *port, const struct packet *packet) {
    if (port->promiscuous)
        return true;
    if (packet->is_group)
        return port->all_groups || (port->groups >> packet->of.dst_mac & 1);
    return port->macs >> packet->of.dst_mac & 1;
}

// Words of the packet's addresses and ports that the port hashes; how many.
static unsigned hashed_words(const struct port *port, const struct packet *packet, uint32_t words[9]) {
    bool is_ipv4 = packet->kind == IPV4;
    unsigned count = is_ipv4 ? 2 : 8;
    uint64_t with_ports = packet->of.protocol == IPPROTO_TCP ? RTE_ETH_RSS_TCP : RTE_ETH_RSS_UDP;
    bool has_ports = packet->fragment == WHOLE && (port->types & with_ports);
    if (packet->kind == ARP || (!has_ports && !(port->types & RTE_ETH_RSS_IP)))
        return 0;
    memset(words, 0, 9 * sizeof *words);
    words[0] = is_ipv4 ? 0x0a000000U | packet->of.source : 0x20010000U;
    words[count / 2] = is_ipv4 ? 0x0a010000U | packet->of.destination : 0x20020000U;
    words[count / 2 - 1] |= is_ipv4 ? 0 : packet->of.source;
    words[count - 1] |= is_ipv4 ? 0 : packet->of.destination;
    words[count] = (uint32_t)packet->of.source_port << 16 | packet->of.destination_port;
    return count + has_ports;
}

// The queue that a packet comes to: that of a rule's list, or of the port's own table; one that the port has no more
// stands for its number modulo those that it has.
static uint16_t queue_of(const struct port *port, const struct change *change, const struct packet *packet,
                         const struct rte_mbuf *mbuf) {
    uint32_t words[9], entry = 0;
    unsigned count = packet ? hashed_words(port, packet, words) : 0;
    if (!(mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != !count)
        FAIL("port %u: a packet with or without a hash, which the other was expected", port->id);
    if (count)
        entry = rte_softrss(words, count, port->key);
    if (count && mbuf->hash.rss != entry)
        FAIL("port %u: the hash %#x; expected %#x", port->id, mbuf->hash.rss, entry);
    entry %= ENTRIES;
    uint16_t queue = change->queue_count ? change->queues[entry % change->queue_count] : count ? port->table[entry] : 0;
    return queue % port->queues;
}

// ---- Calls

// Key and types as the port is given them.
static void note_hash(struct port *port, const struct rte_eth_rss_conf *conf) {
    port->types = conf->rss_hf;
    if (conf->rss_key)
        memcpy(port->key, conf->rss_key, KEY);
}

static uint64_t draw_types(void) {
    static const uint64_t all[] = {RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP, RTE_ETH_RSS_IP,
                                   RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP, RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP};
    return all[draw(RTE_DIM(all))];
}

static uint8_t *draw_key(uint8_t key[KEY]) {
    for (unsigned i = 0; i < KEY; i++)
        key[i] = (uint8_t)draw(256);
    return key;
}

static uint16_t draw_mtu(void) {
    return (uint16_t)(draw(4) ? 1400 + draw(101) : SMALL_MTU);
}

static void read_key(struct port *port) {
    struct rte_eth_rss_conf now = {.rss_key = port->key, .rss_key_len = KEY};
    if (rte_eth_dev_rss_hash_conf_get(port->id, &now))
        FAIL("port %u does not tell its hash", port->id);
}

static void configure(struct port *port, uint16_t queues, bool hashes, uint16_t mtu) {
    uint8_t key[KEY];
    struct rte_eth_conf conf = {.rxmode = {.mtu = mtu}};
    if (hashes) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
        conf.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){.rss_hf = draw_types()};
    }
    bool has_key = hashes && draw(2);
    if (has_key)
        conf.rx_adv_conf.rss_conf.rss_key = draw_key(key);
    conf.rx_adv_conf.rss_conf.rss_key_len = has_key ? KEY : 0;
    int result = rte_eth_dev_configure(port->id, queues, 1, &conf);
    if (result != (port->started ? -EBUSY : 0))
        FAIL("port %u: configure says %d", port->id, result);
    if (port->started)
        return;
    port->queues = queues;
    port->most_queues = queues > port->most_queues ? queues : port->most_queues;
    port->set_up &= (uint8_t)((1U << queues) - 1);
    port->mtu = mtu;
    port->hashes = hashes;
    note_hash(port, &conf.rx_adv_conf.rss_conf);
    if (!has_key)
        read_key(port); // the driver's own
    for (unsigned i = 0; i < ENTRIES; i++)
        port->table[i] = (uint16_t)(i % queues);
}

// What the port says of a queue that is set up: the ring that it has, not what was asked for.
static void check_ring(const struct port *port, uint16_t queue) {
    struct rte_eth_rxq_info info;
    if ((port->set_up >> queue & 1) == 0)
        return;
    if (rte_eth_rx_queue_info_get(port->id, queue, &info) || info.nb_desc != rings[port - ports][queue])
        FAIL("port %u: queue %u says %u descriptors; expected %u", port->id, queue, info.nb_desc,
             rings[port - ports][queue]);
}

static void set_up(struct port *port, uint16_t queue) {
    uint16_t count = (uint16_t)(draw(16) ? 1 + draw(draw(8) ? FEWEST_DESCRIPTORS : DESCRIPTORS) : DESCRIPTORS + 1);
    uint16_t *ring = &rings[port - ports][queue];
    bool is_too_large = *ring && count > *ring;
    int wanted = count > DESCRIPTORS ? -EINVAL : port->started || is_too_large ? -EBUSY : 0;
    int result = rte_eth_rx_queue_setup(port->id, queue, count, (unsigned)SOCKET_ID_ANY, NULL, pool);
    if (result != wanted)
        FAIL("port %u: set-up of queue %u with %u descriptors says %d", port->id, queue, count, result);
    if (count > DESCRIPTORS || port->started)
        return;
    port->set_up &= (uint8_t) ~(1U << queue);
    port->set_up |= (uint8_t)(result ? 0 : 1U << queue);
    for (uint16_t most = FEWEST_DESCRIPTORS; *ring == 0; most *= 2)
        *ring = most < count ? 0 : most;
    check_ring(port, queue);
}

static void set_up_transmit(struct port *port) {
    int result = rte_eth_tx_queue_setup(port->id, 0, DESCRIPTORS, (unsigned)SOCKET_ID_ANY, NULL);
    if (result != (port->started ? -EBUSY : 0))
        FAIL("port %u: set-up of the transmit queue says %d", port->id, result);
    port->has_transmit = true;
}

static void start(struct port *port) {
    bool is_complete = port->set_up == (1U << port->queues) - 1 && port->has_transmit;
    int result = rte_eth_dev_start(port->id), wanted = is_complete || port->started ? 0 : -EINVAL;
    if (result != wanted)
        FAIL("port %u: start says %d; expected %d", port->id, result, wanted);
    if (result || port->started)
        return;
    port->started = port->linked = true;
    uint16_t *ring = rings[port - ports];
    for (uint16_t i = port->queues; i < port->most_queues; i++) // those that rules may still name
        ring[i] = ring[i] ? ring[i] : FEWEST_DESCRIPTORS;
}

static void stop(struct port *port) {
    if (rte_eth_dev_stop(port->id))
        FAIL("port %u does not stop", port->id);
    port->started = false;
}

// From whatever it is to one that packets come to.
static void bring_up(struct port *port, uint16_t queues, bool hashes, uint16_t mtu) {
    if (port->started)
        stop(port);
    configure(port, queues, hashes, mtu);
    set_up_transmit(port);
    while (port->set_up != (1U << queues) - 1)
        set_up(port, (uint16_t)draw(queues));
    start(port);
}

static void update_table(struct port *port) {
    struct rte_eth_rss_reta_entry64 entries[ENTRIES / RTE_ETH_RETA_GROUP_SIZE] = {0};
    bool is_one = draw(2); // all to one queue
    uint16_t one = (uint16_t)draw(port->queues);
    if (!port->hashes)
        return;
    for (unsigned i = 0; i < ENTRIES; i++) {
        bool is_asked = is_one || draw(4);
        uint16_t queue = is_one ? one : (uint16_t)draw(port->queues);
        struct rte_eth_rss_reta_entry64 *group = &entries[i / RTE_ETH_RETA_GROUP_SIZE];
        group->mask |= (uint64_t)is_asked << i % RTE_ETH_RETA_GROUP_SIZE;
        group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = queue;
        port->table[i] = is_asked ? queue : port->table[i];
    }
    if (rte_eth_dev_rss_reta_update(port->id, entries, ENTRIES))
        FAIL("port %u takes no redirection table", port->id);
}

static void check_table(const struct port *port) {
    struct rte_eth_rss_reta_entry64 entries[ENTRIES / RTE_ETH_RETA_GROUP_SIZE];
    if (!port->hashes)
        return;
    for (unsigned i = 0; i < RTE_DIM(entries); i++)
        entries[i].mask = UINT64_MAX;
    if (rte_eth_dev_rss_reta_query(port->id, entries, ENTRIES))
        FAIL("port %u tells no redirection table", port->id);
    for (unsigned i = 0; i < ENTRIES; i++)
        if (entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] != port->table[i])
            FAIL("port %u: another redirection table than it was given", port->id);
}

static void update_hash(struct port *port) {
    uint8_t key[KEY];
    struct rte_eth_rss_conf conf = {.rss_hf = draw_types()};
    if (!port->hashes)
        return;
    if (draw(2)) {
        conf.rss_key = draw_key(key);
        conf.rss_key_len = KEY;
    }
    if (rte_eth_dev_rss_hash_update(port->id, &conf))
        FAIL("port %u takes no hash", port->id);
    note_hash(port, &conf);
}

static void set_mtu(struct port *port) {
    uint16_t mtu = draw_mtu();
    if (rte_eth_dev_set_mtu(port->id, mtu))
        FAIL("MTU of port %u", port->id);
    port->mtu = mtu;
}

static void set_filter(struct port *port) {
    bool on = draw(2), is_groups = draw(2);
    int result = is_groups ? (on ? rte_eth_allmulticast_enable(port->id) : rte_eth_allmulticast_disable(port->id))
                           : (on ? rte_eth_promiscuous_enable(port->id) : rte_eth_promiscuous_disable(port->id));
    if (result)
        FAIL("port %u: filter: %d", port->id, result);
    *(is_groups ? &port->all_groups : &port->promiscuous) = on;
}

static void set_address(struct port *port) {
    uint8_t number = (uint8_t)draw(ALL_MACS / 4);
    struct rte_ether_addr address = {{2, 0, 0, 0, 0, number}};
    bool is_there = port->macs >> number & 1;
    int result =
        is_there ? rte_eth_dev_mac_addr_remove(port->id, &address) : rte_eth_dev_mac_addr_add(port->id, &address, 0);
    if (result)
        FAIL("port %u: address %u: %d", port->id, number, result);
    port->macs = (uint8_t)(port->macs ^ 1U << number);
}

static void set_groups(struct port *port) {
    struct rte_ether_addr list[GROUPS];
    uint32_t count = 0;
    port->groups = (uint8_t)draw(1U << GROUPS);
    for (uint8_t i = 0; i < GROUPS; i++)
        if (port->groups >> i & 1)
            list[count++] = (struct rte_ether_addr){{3, 0, 0, 0, 0, i}};
    if (rte_eth_dev_set_mc_addr_list(port->id, list, count))
        FAIL("port %u takes no groups", port->id);
}

static void set_link(struct port *port) {
    bool up = draw(3);
    if ((up ? rte_eth_dev_set_link_up(port->id) : rte_eth_dev_set_link_down(port->id)) != 0)
        FAIL("link of port %u", port->id);
    port->linked = up;
}

// One call, whatever the port is.
static void use_call(uint16_t number) {
    struct port *port = &ports[number];
    uint32_t call = port->queues ? draw(14) : draw(4);
    switch (call) {
    case 0:
        set_filter(port);
        break;
    case 1:
        configure(port, (uint16_t)(1 + draw(QUEUES)), draw(4), draw_mtu());
        break;
    case 2:
        set_groups(port);
        break;
    case 3:
        bring_up(port, (uint16_t)(1 + draw(QUEUES)), draw(4), draw_mtu());
        break;
    case 4:
        set_up(port, (uint16_t)draw(port->queues));
        break;
    case 5:
        set_up_transmit(port);
        break;
    case 6:
        start(port);
        break;
    case 7:
        stop(port);
        break;
    case 8:
        update_table(port);
        break;
    case 9:
        check_table(port);
        break;
    case 10:
        update_hash(port);
        break;
    case 11:
        set_mtu(port);
        break;
    case 12:
        set_link(port);
        break;
    default:
        set_address(port);
    }
}

// ---- Coming and going

static void name_of(uint16_t port, char name[RTE_DEV_NAME_MAX_LEN]) {
    snprintf(name, RTE_DEV_NAME_MAX_LEN, port ? "net_sluice0_lane%u" : "net_sluice0", port);
}

// The port is new.
static void find_port(uint16_t number) {
    char name[RTE_DEV_NAME_MAX_LEN];
    name_of(number, name);
    ports[number] = (struct port){.linked = true};
    if (rte_eth_dev_get_port_by_name(name, &ports[number].id))
        FAIL("there is no port %s", name);
}

static void detach(uint16_t number) {
    char name[RTE_DEV_NAME_MAX_LEN];
    name_of(number, name);
    if (draw(2)) {
        if (ports[number].started)
            stop(&ports[number]);
        if (rte_eth_dev_close(ports[number].id))
            FAIL("%s does not close", name);
    }
    int result = rte_eal_hotplug_remove("vdev", name);
    if (result)
        FAIL("%s is not detached: %d", name, result);
}

static void attach(uint16_t number) {
    char name[RTE_DEV_NAME_MAX_LEN];
    name_of(number, name);
    int result = rte_eal_hotplug_add("vdev", name, number ? "" : device_arguments);
    if (result)
        FAIL("%s is not attached: %d", name, result);
}

static void shuffle(uint16_t *order, uint16_t count) {
    for (uint16_t i = count; i > 1; i--) {
        uint16_t other = (uint16_t)draw(i), own = order[i - 1];
        order[i - 1] = order[other];
        order[other] = own;
    }
}

#endif
