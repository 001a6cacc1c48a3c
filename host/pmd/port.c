// SPDX-License-Identifier: Apache-2.0
// The operations of a port but for bursts, counters and flows. What the device cannot do is refused here or declared
// absent in pmd_info, never ignored.
#include "pmd.h"

#include <errno.h>
#include <rte_malloc.h>
#include <stdio.h>

#include "flow_ops.h"

static struct pmd_port *port_of(const struct rte_eth_dev *ethdev) {
    return ethdev->data->dev_private;
}

static int pmd_configure(struct rte_eth_dev *ethdev) {
    const struct rte_eth_conf *wanted = &ethdev->data->dev_conf;
    if (wanted->lpbk_mode || wanted->dcb_capability_en) {
        PMD_LOG(ERR, "%s: loopback and DCB are not there\n", ethdev->data->name);
        return -ENOTSUP;
    }
    struct pmd_port *port = port_of(ethdev);
    if (service_status(port->device->service))
        return -EIO;
    if (port->most_queues < ethdev->data->nb_rx_queues)
        port->most_queues = ethdev->data->nb_rx_queues;
    int result = pmd_rss_configure(ethdev);
    return result ? result : pmd_interrupts_configure(ethdev);
}

static int pmd_link_update(struct rte_eth_dev *ethdev, int wait) {
    struct pmd_port *port = port_of(ethdev);
    bool up = ethdev->data->dev_started && port->receives && !service_status(port->device->service);
    struct rte_eth_link link = {.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN,
                                .link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
                                .link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN};
    (void)wait;
    return rte_eth_linkstatus_set(ethdev, &link);
}

static void set_receiving(struct pmd_port *port, bool on) {
    port->receives = on;
    service_lane_set(port->device->service, port->lane, on);
}

// What a stopped port has in its rings is of before.
static void drop_waiting(struct pmd_port *port) {
    struct sluice_packet packet;
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++)
        for (; port->rx[i] && sluice_queue_receive(port->rx[i]->ring, &packet, 1); port->stray++)
            sluice_queue_release(port->rx[i]->ring);
}

static bool is_too_long(const struct pmd_port *port, uint32_t frame) {
    bool is_long = false;
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++)
        if (port->rx[i] && port->rx[i]->pool)
            is_long |= frame + RTE_PKTMBUF_HEADROOM > rte_pktmbuf_data_room_size(port->rx[i]->pool);
    return is_long;
}

static int open_queue(struct pmd_port *port, uint16_t number, unsigned buffers, unsigned node) {
    struct pmd_rx_queue *queue = port->rx[number];
    if (!queue && !(queue = rte_zmalloc_socket("sluice_rx", sizeof *queue, RTE_CACHE_LINE_SIZE, (int)node)))
        return -ENOMEM;
    service_begin(port->device->service);
    int result = sluice_queue_open(port->device->sluice, port->lane, number, buffers, &queue->ring);
    service_end(port->device->service);
    if (result) {
        PMD_LOG(ERR, "%s: receive queue %u: %s\n", port->ethdev->data->name, number, sluice_error_text());
        if (!port->rx[number])
            rte_free(queue);
        return result;
    }
    queue->port = port;
    port->rx[number] = queue;
    return 0;
}

// Queues that the port has no more are nobody's.
static void disinherit(struct pmd_port *port) {
    for (uint16_t i = 0; i < SLUICE_HOST_QUEUES; i++)
        if (port->rx[i]) {
            port->rx[i]->inherited = NULL;
            port->rx[i]->pool = i < port->ethdev->data->nb_rx_queues ? port->rx[i]->pool : NULL;
        }
}

// What rules send to queues that the port has no more comes to those that it has, by their number modulo these.
static int inherit(struct pmd_port *port) {
    uint16_t count = port->ethdev->data->nb_rx_queues;
    int result = 0;
    disinherit(port);
    for (uint16_t i = count; i < port->most_queues && count && result == 0; i++) {
        struct pmd_rx_queue *heir = port->rx[i % count];
        if ((result = open_queue(port, i, 0, (unsigned)port->ethdev->data->numa_node)))
            return result;
        port->rx[i]->pool = heir->pool;
        port->rx[i]->inherited = heir->inherited;
        heir->inherited = port->rx[i];
    }
    return result;
}

static int check_queues(const struct rte_eth_dev *ethdev) {
    for (uint16_t i = 0; i < ethdev->data->nb_rx_queues; i++)
        if (!ethdev->data->rx_queues[i]) {
            PMD_LOG(ERR, "%s: receive queue %u was not set up\n", ethdev->data->name, i);
            return -EINVAL;
        }
    for (uint16_t i = 0; i < ethdev->data->nb_tx_queues; i++)
        if (!ethdev->data->tx_queues[i]) {
            PMD_LOG(ERR, "%s: transmit queue %u was not set up\n", ethdev->data->name, i);
            return -EINVAL;
        }
    return 0;
}

static int pmd_start(struct rte_eth_dev *ethdev) {
    struct pmd_port *port = port_of(ethdev);
    uint32_t frame = (uint32_t)ethdev->data->mtu + PMD_OVERHEAD;
    bool scatter = ethdev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER;
    if (service_status(port->device->service))
        return -EIO;
    int result = check_queues(ethdev);
    if (result || (result = inherit(port)))
        return result;
    if (is_too_long(port, frame) && !scatter) {
        PMD_LOG(ERR, "%s: frames of %u bytes do not fit into a buffer of its pool; ask for the offload SCATTER\n",
                ethdev->data->name, frame);
        return -EINVAL;
    }
    ethdev->data->scattered_rx = scatter;
    drop_waiting(port);
    set_receiving(port, ethdev->data->nb_rx_queues > 0);
    ethdev->data->dev_started = 1; // for the link
    pmd_link_update(ethdev, 0);
    for (uint16_t i = 0; i < ethdev->data->nb_rx_queues; i++)
        ethdev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STARTED;
    for (uint16_t i = 0; i < ethdev->data->nb_tx_queues; i++)
        ethdev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STARTED;
    return 0;
}

// Rules stay (RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP).
static int pmd_stop(struct rte_eth_dev *ethdev) {
    struct pmd_port *port = port_of(ethdev);
    set_receiving(port, false);
    drop_waiting(port);
    disinherit(port);
    ethdev->data->dev_started = 0;
    pmd_link_update(ethdev, 0);
    for (uint16_t i = 0; i < ethdev->data->nb_rx_queues; i++)
        ethdev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
    for (uint16_t i = 0; i < ethdev->data->nb_tx_queues; i++)
        ethdev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
    return 0;
}

static int pmd_link_up(struct rte_eth_dev *ethdev) {
    set_receiving(port_of(ethdev), ethdev->data->dev_started && ethdev->data->nb_rx_queues > 0);
    pmd_link_update(ethdev, 0);
    return 0;
}

static int pmd_link_down(struct rte_eth_dev *ethdev) {
    set_receiving(port_of(ethdev), false);
    pmd_link_update(ethdev, 0);
    return 0;
}

static int pmd_info(struct rte_eth_dev *ethdev, struct rte_eth_dev_info *info) {
    // Open vSwitch asks for 2,048 and looks at no limit.
    const struct rte_eth_desc_lim limits = {.nb_max = SLUICE_QUEUE_MOST_BUFFERS, .nb_min = 1, .nb_align = 1};
    info->min_rx_bufsize = RTE_ETHER_MIN_LEN;
    info->max_rx_pktlen = SLUICE_MTU_BYTES;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = SLUICE_MTU_BYTES - PMD_OVERHEAD;
    info->max_rx_queues = (uint16_t)sluice_device_queues(port_of(ethdev)->device->sluice);
    info->max_tx_queues = PMD_TX_QUEUES;
    info->max_mac_addrs = PMD_MACS;
    info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM |
                            RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
    info->tx_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                            RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
    info->flow_type_rss_offloads = pmd_rss_types;
    info->reta_size = SLUICE_RSS_ENTRIES;
    info->hash_key_size = PMD_KEY_BYTES;
    info->rx_desc_lim = info->tx_desc_lim = limits;
    info->default_rxportconf = info->default_txportconf =
        (struct rte_eth_dev_portconf){.burst_size = 32, .ring_size = PMD_RING, .nb_queues = 1};
    info->dev_capa = RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
    return 0;
}

// A ring is there as long as the device, with at least the buffers that were asked for first.
static int pmd_rx_setup(struct rte_eth_dev *ethdev, uint16_t number, uint16_t count, unsigned node,
                        const struct rte_eth_rxconf *wanted, struct rte_mempool *pool) {
    struct pmd_port *port = port_of(ethdev);
    if (wanted->rx_deferred_start)
        return -ENOTSUP;
    int result = open_queue(port, number, count, node);
    if (result)
        return result;
    port->rx[number]->pool = pool;
    ethdev->data->rx_queues[number] = port->rx[number];
    return 0;
}

// Its ring stays, and so do the counters, which are the port's.
static void pmd_rx_release(struct rte_eth_dev *ethdev, uint16_t number) {
    struct pmd_port *port = port_of(ethdev);
    if (port->rx[number])
        port->rx[number]->pool = NULL;
}

static int pmd_tx_setup(struct rte_eth_dev *ethdev, uint16_t queue, uint16_t count, unsigned node,
                        const struct rte_eth_txconf *wanted) {
    struct pmd_port *port = port_of(ethdev);
    (void)count;
    if (wanted->tx_deferred_start)
        return -ENOTSUP;
    if (!port->tx[queue])
        port->tx[queue] = rte_zmalloc_socket("sluice_tx", sizeof *port->tx[queue], RTE_CACHE_LINE_SIZE, (int)node);
    if (!port->tx[queue])
        return -ENOMEM;
    port->tx[queue]->port = port;
    ethdev->data->tx_queues[queue] = port->tx[queue];
    return 0;
}

// The queue's counters are the port's and stay until it is closed.
static void pmd_tx_release(struct rte_eth_dev *ethdev, uint16_t queue) {
    (void)ethdev, (void)queue;
}

static void pmd_rx_info(struct rte_eth_dev *ethdev, uint16_t queue, struct rte_eth_rxq_info *info) {
    info->mp = port_of(ethdev)->rx[queue]->pool;
    info->scattered_rx = ethdev->data->scattered_rx;
    info->nb_desc = (uint16_t)sluice_queue_buffers(port_of(ethdev)->rx[queue]->ring);
}

// The ethdev layer keeps the flag, MTU, addresses; bursts read them there.
static int pmd_accept(struct rte_eth_dev *ethdev) {
    (void)ethdev;
    return 0;
}

static int pmd_mtu_set(struct rte_eth_dev *ethdev, uint16_t mtu) {
    struct pmd_port *port = port_of(ethdev);
    uint32_t frame = (uint32_t)mtu + PMD_OVERHEAD;
    if (ethdev->data->dev_started && !ethdev->data->scattered_rx && is_too_long(port, frame))
        return -EINVAL;
    return 0;
}

static int pmd_mac_set(struct rte_eth_dev *ethdev, struct rte_ether_addr *address) {
    (void)ethdev, (void)address;
    return 0;
}

static int pmd_mac_add(struct rte_eth_dev *ethdev, struct rte_ether_addr *address, uint32_t index, uint32_t pool) {
    (void)ethdev, (void)address, (void)index, (void)pool;
    return 0;
}

static void pmd_mac_remove(struct rte_eth_dev *ethdev, uint32_t index) {
    (void)ethdev, (void)index;
}

static int pmd_multicasts_set(struct rte_eth_dev *ethdev, struct rte_ether_addr *addresses, uint32_t count) {
    struct pmd_port *port = port_of(ethdev);
    if (count > PMD_MULTICASTS)
        return -ENOSPC;
    rte_spinlock_lock(&port->filter);
    for (uint32_t i = 0; i < count; i++)
        port->multicasts[i] = addresses[i];
    port->multicast_count = count;
    rte_spinlock_unlock(&port->filter);
    return 0;
}

static int pmd_firmware(struct rte_eth_dev *ethdev, char *text, size_t size) {
    struct pmd_port *port = port_of(ethdev);
    int needed = snprintf(text, size, "layouts %#x, %u lanes, %u kHz", SLUICE_LAYOUT_HASH,
                          sluice_device_lanes(port->device->sluice), sluice_device_clock_khz(port->device->sluice));
    return (size_t)needed < size ? 0 : needed + 1;
}

static int pmd_flow_ops_get(struct rte_eth_dev *ethdev, const struct rte_flow_ops **ops) {
    (void)ethdev;
    *ops = &pmd_flow_ops;
    return 0;
}

int pmd_port_close(struct rte_eth_dev *ethdev) {
    struct pmd_port *port = port_of(ethdev);
    struct pmd_device *device = port->device;
    if (rte_eal_process_type() != RTE_PROC_PRIMARY)
        return 0;
    pmd_stop(ethdev);
    pmd_interrupts_forget(ethdev);
    pmd_flows_forget_port(device->flows, port->lane);
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++)
        rte_free(port->rx[i]);
    for (unsigned i = 0; i < PMD_TX_QUEUES; i++)
        rte_free(port->tx[i]);
    rte_free(port->base);
    pthread_mutex_destroy(&port->statistics);
    pmd_device_release(device, port->lane);
    return 0;
}

const struct eth_dev_ops pmd_ops = {
    .dev_configure = pmd_configure,
    .dev_start = pmd_start,
    .dev_stop = pmd_stop,
    .dev_close = pmd_port_close,
    .dev_set_link_up = pmd_link_up,
    .dev_set_link_down = pmd_link_down,
    .dev_infos_get = pmd_info,
    .fw_version_get = pmd_firmware,
    .link_update = pmd_link_update,
    .rx_queue_setup = pmd_rx_setup,
    .rx_queue_release = pmd_rx_release,
    .tx_queue_setup = pmd_tx_setup,
    .tx_queue_release = pmd_tx_release,
    .rx_queue_intr_enable = pmd_interrupt_enable,
    .rx_queue_intr_disable = pmd_interrupt_disable,
    .rxq_info_get = pmd_rx_info,
    .reta_update = pmd_reta_update,
    .reta_query = pmd_reta_query,
    .rss_hash_update = pmd_rss_update,
    .rss_hash_conf_get = pmd_rss_get,
    .dev_supported_ptypes_get = pmd_packet_types,
    .mtu_set = pmd_mtu_set,
    .mac_addr_set = pmd_mac_set,
    .mac_addr_add = pmd_mac_add,
    .mac_addr_remove = pmd_mac_remove,
    .set_mc_addr_list = pmd_multicasts_set,
    .promiscuous_enable = pmd_accept,
    .promiscuous_disable = pmd_accept,
    .allmulticast_enable = pmd_accept,
    .allmulticast_disable = pmd_accept,
    .stats_get = pmd_stats_get,
    .stats_reset = pmd_stats_reset,
    .xstats_get = pmd_xstats_get,
    .xstats_get_names = pmd_xstats_names,
    .xstats_reset = pmd_stats_reset,
    .flow_ops_get = pmd_flow_ops_get,
};
