// SPDX-License-Identifier: Apache-2.0
// What the files of the driver share. A device is one vdev; its lanes are ports; its rings are shared by them all.
#ifndef SLUICE_PMD_H
#define SLUICE_PMD_H

#include <ethdev_driver.h>
#include <pthread.h>
#include <rte_ring.h>
#include <rte_spinlock.h>
#include <stdbool.h>

#include "service.h"

enum {
    PMD_OVERHEAD = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN, // of a frame over its MTU
    PMD_TX_QUEUES = 64,
    PMD_MACS = 16,
    PMD_MULTICASTS = 64,
    PMD_BATCH = 32, // buffers of the device's ring between two releases
    PMD_RING = 512  // buffers of the ring
};

struct pmd_flows; // flow_ops.c

struct pmd_tx_queue {
    struct pmd_port *port;
    uint64_t packets, bytes, errors;
    uint64_t base_packets, base_bytes;  // at the last reset
    uint8_t whole[SLUICE_EGRESS_BYTES]; // a packet of several segments
};

// What became of packets of the lane that the device gave to the host.
struct pmd_rx_counters {
    uint64_t packets, bytes, filtered, oversize, unscattered, no_buffer, no_room;
};

struct pmd_port {
    struct pmd_device *device;
    struct rte_eth_dev *ethdev;
    uint8_t lane;
    // Under the device's receive lock.
    bool receives;
    struct rte_mempool *pool;
    struct rte_ring *waiting; // what another port's poll took out of the ring
    struct pmd_rx_counters rx;
    struct rte_ether_addr multicasts[PMD_MULTICASTS];
    uint32_t multicast_count;
    struct pmd_tx_queue *tx[PMD_TX_QUEUES];
    uint64_t *base; // counters at the last reset
    pthread_mutex_t statistics;
};

struct pmd_device {
    struct pmd_device *next;
    const struct rte_device *vdev;
    struct sluice_device *sluice;
    struct service *service;
    pthread_t thread;
    unsigned lanes, open_ports;
    struct pmd_port *ports[SERVICE_LANES];
    rte_spinlock_t receive_lock;
    uint64_t stray; // packets of lanes that are no started port
    struct pmd_flows *flows;
};

extern int pmd_log;
#define PMD_LOG(level, ...) rte_log(RTE_LOG_##level, (uint32_t)pmd_log, "net_sluice: " __VA_ARGS__)

// port.c
extern const struct eth_dev_ops pmd_ops;
int pmd_port_close(struct rte_eth_dev *ethdev);

// burst.c
uint16_t pmd_rx_burst(void *queue, struct rte_mbuf **packets, uint16_t count);
uint16_t pmd_tx_burst(void *queue, struct rte_mbuf **packets, uint16_t count);

// statistics.c
int pmd_stats_get(struct rte_eth_dev *ethdev, struct rte_eth_stats *stats);
int pmd_stats_reset(struct rte_eth_dev *ethdev);
int pmd_xstats_get(struct rte_eth_dev *ethdev, struct rte_eth_xstat *values, unsigned count);
int pmd_xstats_names(struct rte_eth_dev *ethdev, struct rte_eth_xstat_name *names, unsigned count);

// probe.c: stop the device and forget it, when its last port is closed.
void pmd_device_close(struct pmd_device *device);

#endif
