// SPDX-License-Identifier: Apache-2.0
// What the files of the driver share. A vdev makes a device; each lane is a port on a vdev of its own. Each receive
// queue has a ring of its own; the ring from the host is shared by all ports.
#ifndef SLUICE_PMD_H
#define SLUICE_PMD_H

#include <ethdev_driver.h>
#include <pthread.h>
#include <rte_spinlock.h>
#include <stdbool.h>

#include "service.h"

enum {
    PMD_OVERHEAD = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN, // of a frame over its MTU
    PMD_TX_QUEUES = 64,
    PMD_MACS = 16,
    PMD_MULTICASTS = 64,
    PMD_BATCH = 32,                         // buffers of a ring between two releases
    PMD_RING = 512,                         // buffers of a ring that nobody asks for more of
    PMD_FENCE_BOUND = 1 << 21,              // cycles that the order fence holds a flow at most: some 10 ms
    PMD_KEY_BYTES = SLUICE_RSS_KEY_BITS / 8 // of the RSS hash
};

struct pmd_flows; // flow_ops.c

struct pmd_tx_queue {
    struct pmd_port *port;
    uint64_t packets, bytes, errors;
    uint64_t base_packets, base_bytes;  // at the last reset
    uint8_t whole[SLUICE_EGRESS_BYTES]; // a packet of several segments
};

// What became of packets of the queue that the device gave to the host.
struct pmd_rx_counters {
    uint64_t packets, bytes, filtered, oversize, unscattered, no_buffer;
};

// One thread at a time polls it, and takes no lock.
struct pmd_rx_queue {
    struct pmd_port *port;
    struct sluice_queue *ring;
    struct rte_mempool *pool; // NULL: not set up
    // Of a port that had more queues once: who polls this one polls that, too, for rules that still name it.
    struct pmd_rx_queue *inherited;
    struct pmd_rx_counters counters;
    uint64_t base_packets, base_bytes; // at the last reset
    uint64_t taken, handled;           // timestamps up to which its packets were polled; and sent or dropped
};

// How the port's packets are spread over its queues, as the application asked for.
struct pmd_rss {
    uint64_t types; // RTE_ETH_RSS_..., of pmd_rss_all
    uint8_t key[PMD_KEY_BYTES];
    uint16_t table[SLUICE_RSS_ENTRIES];
};

struct pmd_port {
    struct pmd_device *device;
    struct rte_eth_dev *ethdev;
    uint8_t lane;
    bool receives;
    uint16_t most_queues; // receive queues that it has ever had: rules may name them
    struct pmd_rss rss;
    uint64_t newest;       // timestamp that any of its queues has seen
    rte_spinlock_t filter; // of the multicast addresses
    struct rte_ether_addr multicasts[PMD_MULTICASTS];
    uint32_t multicast_count;
    struct pmd_rx_queue *rx[SLUICE_HOST_QUEUES];
    struct pmd_tx_queue *tx[PMD_TX_QUEUES];
    uint64_t *base; // counters at the last reset
    pthread_mutex_t statistics;
    uint64_t stray; // packets that were in the rings when it stopped
};

struct pmd_device {
    struct pmd_device *next;
    char *name, *arguments;    // of the vdev that made it
    struct rte_ether_addr mac; // of lane 0
    struct sluice_device *sluice;
    struct service *service;
    pthread_t thread;
    unsigned lanes;
    unsigned holders; // the open ports, and who is at work on them
    struct pmd_port *ports[SERVICE_LANES];
    struct pmd_flows *flows;
};

extern int pmd_log;
#define PMD_LOG(level, ...) rte_log(RTE_LOG_##level, (uint32_t)pmd_log, "net_sluice: " __VA_ARGS__)

// port.c
extern const struct eth_dev_ops pmd_ops;
int pmd_port_close(struct rte_eth_dev *ethdev);

// rss.c: what the device is to hash and where packets go. Results are those of the operations of a port.
extern const uint64_t pmd_rss_types; // RTE_ETH_RSS_... that there are
// All types that hash as some of these do: the device tells no more apart.
uint64_t pmd_rss_all(uint64_t types);
int pmd_rss_configure(struct rte_eth_dev *ethdev);
int pmd_rss_update(struct rte_eth_dev *ethdev, struct rte_eth_rss_conf *conf);
int pmd_rss_get(struct rte_eth_dev *ethdev, struct rte_eth_rss_conf *conf);
int pmd_reta_update(struct rte_eth_dev *ethdev, struct rte_eth_rss_reta_entry64 *entries, uint16_t count);
int pmd_reta_query(struct rte_eth_dev *ethdev, struct rte_eth_rss_reta_entry64 *entries, uint16_t count);

// interrupts.c: receive interrupts; 0 or a negative errno. Forgetting takes all who wait out of their epoll instances.
int pmd_interrupts_configure(struct rte_eth_dev *ethdev);
void pmd_interrupts_forget(struct rte_eth_dev *ethdev);
int pmd_interrupt_enable(struct rte_eth_dev *ethdev, uint16_t queue);
int pmd_interrupt_disable(struct rte_eth_dev *ethdev, uint16_t queue);

// burst.c
const uint32_t *pmd_packet_types(struct rte_eth_dev *ethdev);
// What was polled is sent or dropped: for the order fence.
void pmd_rx_handled(struct pmd_rx_queue *queue);
uint16_t pmd_rx_burst(void *queue, struct rte_mbuf **packets, uint16_t count);
uint16_t pmd_tx_prepare(void *queue, struct rte_mbuf **packets, uint16_t count);
uint16_t pmd_tx_burst(void *queue, struct rte_mbuf **packets, uint16_t count);

// statistics.c
int pmd_stats_get(struct rte_eth_dev *ethdev, struct rte_eth_stats *stats);
int pmd_stats_reset(struct rte_eth_dev *ethdev);
int pmd_xstats_get(struct rte_eth_dev *ethdev, struct rte_eth_xstat *values, unsigned count);
int pmd_xstats_names(struct rte_eth_dev *ethdev, struct rte_eth_xstat_name *names, unsigned count);

// probe.c: a port is closed; with the last one the device stops and is forgotten.
void pmd_device_release(struct pmd_device *device, uint8_t lane);

#endif
