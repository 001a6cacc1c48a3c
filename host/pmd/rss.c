// SPDX-License-Identifier: Apache-2.0
// Receive-side scaling of a port: types, key and redirection table of rte_ethdev, in the device's terms.
#include "pmd.h"

#include <errno.h>
#include <string.h>

// Microsoft's: what a port has whose application gives none.
static const uint8_t default_key[PMD_KEY_BYTES] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                   0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                   0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                   0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

// What the device tells apart, and the types that ask for it. Without ports: fragments and other protocols too.
static const struct {
    uint64_t types;
    uint8_t kind; // enum sluice_hash_kind
} kinds[] = {
    {RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER, SLUICE_HASH_IPV4},
    {RTE_ETH_RSS_NONFRAG_IPV4_TCP, SLUICE_HASH_IPV4_TCP},
    {RTE_ETH_RSS_NONFRAG_IPV4_UDP, SLUICE_HASH_IPV4_UDP},
    {RTE_ETH_RSS_NONFRAG_IPV4_SCTP, SLUICE_HASH_IPV4_SCTP},
    {RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX, SLUICE_HASH_IPV6},
    {RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX, SLUICE_HASH_IPV6_TCP},
    {RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX, SLUICE_HASH_IPV6_UDP},
    {RTE_ETH_RSS_NONFRAG_IPV6_SCTP, SLUICE_HASH_IPV6_SCTP}};
enum { KINDS = sizeof kinds / sizeof *kinds };

const uint64_t pmd_rss_types = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

static struct pmd_port *port_of(const struct rte_eth_dev *ethdev) {
    return ethdev->data->dev_private;
}

static unsigned kinds_of(uint64_t types) {
    unsigned bits = 0;
    for (unsigned i = 0; i < KINDS; i++)
        bits |= types & kinds[i].types ? kinds[i].kind : 0U;
    return bits;
}

uint64_t pmd_rss_all(uint64_t types) {
    unsigned bits = kinds_of(types);
    uint64_t all = 0;
    for (unsigned i = 0; i < KINDS; i++)
        all |= bits & kinds[i].kind ? kinds[i].types : 0;
    return all;
}

static int tell(int result) {
    if (result)
        PMD_LOG(ERR, "%s\n", sluice_error_text());
    return result;
}

// The kinds last: until then nothing is hashed with half a key.
static int write_hash(struct pmd_port *port, const uint8_t *key, uint64_t types) {
    struct pmd_device *device = port->device;
    service_begin(device->service);
    int result = sluice_spread_set_kinds(device->sluice, port->lane, 0);
    result = result ? result : sluice_spread_set_key(device->sluice, port->lane, key);
    result = result ? result : sluice_spread_set_kinds(device->sluice, port->lane, (uint8_t)kinds_of(types));
    service_end(device->service);
    if (result)
        return tell(result);
    memmove(port->rss.key, key, sizeof port->rss.key);
    port->rss.types = pmd_rss_all(types);
    return 0;
}

static int write_entry(struct pmd_port *port, unsigned entry, uint16_t queue) {
    service_begin(port->device->service);
    int result = sluice_spread_set_entry(port->device->sluice, port->lane, 0, entry, queue);
    service_end(port->device->service);
    if (result)
        return tell(result);
    port->rss.table[entry] = queue;
    return 0;
}

int pmd_rss_configure(struct rte_eth_dev *ethdev) {
    struct pmd_port *port = port_of(ethdev);
    const struct rte_eth_conf *wanted = &ethdev->data->dev_conf;
    struct rte_eth_rss_conf conf = wanted->rx_adv_conf.rss_conf;
    uint16_t queues = ethdev->data->nb_rx_queues;
    int result = 0;
    if (wanted->rxmode.mq_mode & ~RTE_ETH_MQ_RX_RSS_FLAG) {
        PMD_LOG(ERR, "%s: packets are spread over queues by RSS only\n", ethdev->data->name);
        return -ENOTSUP;
    }
    if (wanted->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE)
        conf = (struct rte_eth_rss_conf){.rss_key = NULL};
    if (!conf.rss_key) {
        conf.rss_key = (uint8_t *)(uintptr_t)default_key; // only read
        conf.rss_key_len = sizeof default_key;
    }
    result =
        pmd_rss_update(ethdev, &(struct rte_eth_rss_conf){.rss_key = conf.rss_key, .rss_key_len = conf.rss_key_len});
    for (unsigned entry = 0; entry < SLUICE_RSS_ENTRIES && queues && result == 0; entry++)
        result = write_entry(port, entry, (uint16_t)(entry % queues));
    return result ? result : pmd_rss_update(ethdev, &conf);
}

int pmd_rss_update(struct rte_eth_dev *ethdev, struct rte_eth_rss_conf *conf) {
    struct pmd_port *port = port_of(ethdev);
    if (conf->rss_key && conf->rss_key_len != PMD_KEY_BYTES) {
        PMD_LOG(ERR, "%s: an RSS key of %u bytes; it has %d\n", ethdev->data->name, conf->rss_key_len, PMD_KEY_BYTES);
        return -EINVAL;
    }
    if (conf->rss_hf & ~pmd_rss_types)
        return -EINVAL;
    return write_hash(port, conf->rss_key ? conf->rss_key : port->rss.key, conf->rss_hf);
}

int pmd_rss_get(struct rte_eth_dev *ethdev, struct rte_eth_rss_conf *conf) {
    const struct pmd_rss *rss = &port_of(ethdev)->rss;
    conf->rss_hf = rss->types & pmd_rss_types;
    if (conf->rss_key && conf->rss_key_len < PMD_KEY_BYTES)
        return -EINVAL;
    conf->rss_key_len = PMD_KEY_BYTES;
    if (conf->rss_key)
        memcpy(conf->rss_key, rss->key, sizeof rss->key);
    return 0;
}

static bool is_asked(const struct rte_eth_rss_reta_entry64 *entries, unsigned entry) {
    return entries[entry / RTE_ETH_RETA_GROUP_SIZE].mask >> entry % RTE_ETH_RETA_GROUP_SIZE & 1;
}

static uint16_t *queue_in(struct rte_eth_rss_reta_entry64 *entries, unsigned entry) {
    return &entries[entry / RTE_ETH_RETA_GROUP_SIZE].reta[entry % RTE_ETH_RETA_GROUP_SIZE];
}

// The ethdev layer has seen that the queues are there.
int pmd_reta_update(struct rte_eth_dev *ethdev, struct rte_eth_rss_reta_entry64 *entries, uint16_t count) {
    int result = count == SLUICE_RSS_ENTRIES ? 0 : -EINVAL;
    for (unsigned entry = 0; entry < count && result == 0; entry++)
        if (is_asked(entries, entry))
            result = write_entry(port_of(ethdev), entry, *queue_in(entries, entry));
    return result;
}

int pmd_reta_query(struct rte_eth_dev *ethdev, struct rte_eth_rss_reta_entry64 *entries, uint16_t count) {
    if (count != SLUICE_RSS_ENTRIES)
        return -EINVAL;
    for (unsigned entry = 0; entry < count; entry++)
        if (is_asked(entries, entry))
            *queue_in(entries, entry) = port_of(ethdev)->rss.table[entry];
    return 0;
}
