// SPDX-License-Identifier: Apache-2.0
// Counters of a port: the lane's, read out of the device, and the driver's own of what the host did not take. Those of
// the host's ring and of the graph are the whole device's, and so equal at all of its ports.
#include "pmd.h"

#include <errno.h>
#include <rte_malloc.h>
#include <stdio.h>

// Names as Linux drivers and Open vSwitch have them where there is such a counter. Width in bits: some wrap.
#define COUNTERS(X)                                                                                                    \
    X(RX_PACKETS, "rx_good_lane_packets", 64)                                                                          \
    X(RX_BYTES, "rx_good_lane_bytes", 64)                                                                              \
    X(TX_PACKETS, "tx_good_lane_packets", 64)                                                                          \
    X(TX_BYTES, "tx_good_lane_bytes", 64)                                                                              \
    X(RX_ERROR, "rx_crc_errors", 32)                                                                                   \
    X(RX_OVERSIZE, "rx_oversize_errors", 32)                                                                           \
    X(RX_OVERFLOW, "rx_fifo_dropped", 32)                                                                              \
    X(RX_RUNT, "rx_undersize_errors", 32)                                                                              \
    X(TX_OVERFLOW, "tx_fifo_dropped", 32)                                                                              \
    X(TX_ERROR, "tx_element_errors", 32)                                                                               \
    X(HOST_PACKETS, "rx_host_packets", 64)                                                                             \
    X(HOST_BYTES, "rx_host_bytes", 64)                                                                                 \
    X(FILTERED, "rx_filtered", 64)                                                                                     \
    X(ABOVE_MTU, "rx_above_mtu_errors", 64)                                                                            \
    X(UNSCATTERED, "rx_above_buffer_errors", 64)                                                                       \
    X(NO_BUFFER, "rx_no_mbuf_dropped", 64)                                                                             \
    X(STRAY, "rx_stopped_dropped", 64)                                                                                 \
    X(SENT_PACKETS, "tx_host_packets", 64)                                                                             \
    X(SENT_BYTES, "tx_host_bytes", 64)                                                                                 \
    X(SENT_ERRORS, "tx_host_errors", 64)                                                                               \
    X(LANE_UNREAD, "lane_rx_outside_dropped", 64)                                                                      \
    X(LANE_LOST, "lane_tx_outside_dropped", 64)                                                                        \
    X(TO_HOST_OVERFLOW, "device_to_host_dropped", 32)                                                                  \
    X(TO_HOST_ERROR, "device_to_host_errors", 32)                                                                      \
    X(RING_OVERFLOW, "device_not_polled_dropped", 32)                                                                  \
    X(FROM_HOST_INVALID, "device_from_host_errors", 32)                                                                \
    X(FROM_HOST_UNFILLED, "device_from_host_unfilled", 32)                                                             \
    X(FORWARDED, "device_forwarded_packets", 64)                                                                       \
    X(DROP_RULE, "device_drop_rule_packets", 32)                                                                       \
    X(DROP_TTL, "device_drop_ttl_packets", 32)                                                                         \
    X(DROP_NO_PORT, "device_drop_no_port_packets", 32)                                                                 \
    X(FAULTS, "device_malformed_packets", 32)                                                                          \
    X(NOT_ELIGIBLE, "device_not_admitted_packets", 32)                                                                 \
    X(MISSES, "device_missed_packets", 32)                                                                             \
    X(FENCE_HELD, "device_flow_fence_held", 32)                                                                        \
    X(FENCE_FORCED, "device_flow_fence_forced", 32)

#define COUNTER_NUMBER(number, name, width) number,
#define COUNTER_NAME(number, name, width) {name, width},
enum counter { COUNTERS(COUNTER_NUMBER) COUNTER_COUNT };

static const struct {
    const char *name;
    unsigned width;
} counters[] = {COUNTERS(COUNTER_NAME)};

static int read_device(struct pmd_port *port, uint64_t *values) {
    struct sluice_lane_counters lane;
    struct sluice_host_counters host;
    struct sluice_graph_counters graph;
    struct pmd_device *device = port->device;
    service_begin(device->service);
    int result = sluice_lane_counters_read(device->sluice, port->lane, &lane);
    result = result ? result : sluice_host_counters_read(device->sluice, &host);
    result = result ? result : sluice_graph_counters_read(device->sluice, &graph);
    uint32_t held = 0, forced = 0;
    int fence = result ? result : sluice_fence_read(device->sluice, &held, &forced);
    service_end(device->service);
    if (result || (fence && fence != -ENOENT))
        return result ? result : fence;
    const uint64_t read[] = {[RX_PACKETS] = lane.rx_packets,
                             [RX_BYTES] = lane.rx_bytes,
                             [TX_PACKETS] = lane.tx_packets,
                             [TX_BYTES] = lane.tx_bytes,
                             [RX_ERROR] = lane.rx_error,
                             [RX_OVERSIZE] = lane.rx_oversize,
                             [RX_OVERFLOW] = lane.rx_overflow,
                             [RX_RUNT] = lane.rx_runt,
                             [TX_OVERFLOW] = lane.tx_overflow,
                             [TX_ERROR] = lane.tx_error,
                             [TO_HOST_OVERFLOW] = host.to_host_overflow,
                             [TO_HOST_ERROR] = host.to_host_error,
                             [RING_OVERFLOW] = host.ring_overflow,
                             [FROM_HOST_INVALID] = host.from_host_invalid,
                             [FROM_HOST_UNFILLED] = host.from_host_unfilled,
                             [FORWARDED] = graph.forwarded_packets,
                             [DROP_RULE] = graph.drop_rule,
                             [DROP_TTL] = graph.drop_ttl,
                             [DROP_NO_PORT] = graph.drop_no_port,
                             [FAULTS] = graph.faults,
                             [NOT_ELIGIBLE] = graph.not_eligible,
                             [MISSES] = graph.misses,
                             [FENCE_HELD] = held,
                             [FENCE_FORCED] = forced};
    memcpy(values, read, sizeof read);
    return 0;
}

static int read_all(struct pmd_port *port, uint64_t values[COUNTER_COUNT]) {
    memset(values, 0, COUNTER_COUNT * sizeof *values);
    int result = read_device(port, values);
    if (result)
        return result;
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++) {
        const struct pmd_rx_counters none = {0}, *rx = port->rx[i] ? &port->rx[i]->counters : &none;
        values[HOST_PACKETS] += rx->packets;
        values[HOST_BYTES] += rx->bytes;
        values[FILTERED] += rx->filtered;
        values[ABOVE_MTU] += rx->oversize;
        values[UNSCATTERED] += rx->unscattered;
        values[NO_BUFFER] += rx->no_buffer;
    }
    for (unsigned i = 0; i < PMD_TX_QUEUES; i++) {
        const struct pmd_tx_queue *queue = port->tx[i];
        values[SENT_PACKETS] += queue ? queue->packets : 0;
        values[SENT_BYTES] += queue ? queue->bytes : 0;
        values[SENT_ERRORS] += queue ? queue->errors : 0;
    }
    for (enum port_drop why = PORT_UNREAD; why < PORT_DROPS; why++)
        values[why == PORT_UNREAD ? LANE_UNREAD : LANE_LOST] += service_drops(port->device->service, port->lane, why);
    values[STRAY] = port->stray;
    return 0;
}

// Since the last reset. 0 or a negative errno.
static int read_since(struct pmd_port *port, uint64_t values[COUNTER_COUNT]) {
    pthread_mutex_lock(&port->statistics);
    int result = read_all(port, values);
    for (unsigned i = 0; i < COUNTER_COUNT && port->base; i++) {
        values[i] -= port->base[i];
        if (counters[i].width == 32)
            values[i] = (uint32_t)values[i];
    }
    pthread_mutex_unlock(&port->statistics);
    return result;
}

_Static_assert((int)SLUICE_HOST_QUEUES <= RTE_ETHDEV_QUEUE_STAT_CNTRS && RTE_ETHDEV_QUEUE_STAT_CNTRS <= PMD_TX_QUEUES,
               "DPDK counts all receive queues, and no transmit queues that are not there");

int pmd_stats_get(struct rte_eth_dev *ethdev, struct rte_eth_stats *stats) {
    uint64_t values[COUNTER_COUNT];
    int result = read_since(ethdev->data->dev_private, values);
    if (result)
        return result;
    stats->ipackets = values[RX_PACKETS];
    stats->ibytes = values[RX_BYTES];
    stats->opackets = values[TX_PACKETS];
    stats->obytes = values[TX_BYTES];
    stats->imissed = values[RX_OVERFLOW] + values[STRAY] + values[LANE_UNREAD];
    stats->ierrors = values[RX_ERROR] + values[RX_OVERSIZE] + values[RX_RUNT] + values[ABOVE_MTU] + values[UNSCATTERED];
    stats->oerrors = values[TX_OVERFLOW] + values[TX_ERROR] + values[SENT_ERRORS] + values[LANE_LOST];
    stats->rx_nombuf = values[NO_BUFFER];
    const struct pmd_port *port = ethdev->data->dev_private;
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++) {
        const struct pmd_rx_queue *queue = port->rx[i];
        stats->q_ipackets[i] = queue ? queue->counters.packets - queue->base_packets : 0;
        stats->q_ibytes[i] = queue ? queue->counters.bytes - queue->base_bytes : 0;
    }
    for (unsigned i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
        const struct pmd_tx_queue *queue = port->tx[i];
        stats->q_opackets[i] = queue ? queue->packets - queue->base_packets : 0;
        stats->q_obytes[i] = queue ? queue->bytes - queue->base_bytes : 0;
    }
    return 0;
}

int pmd_stats_reset(struct rte_eth_dev *ethdev) {
    struct pmd_port *port = ethdev->data->dev_private;
    uint64_t values[COUNTER_COUNT];
    pthread_mutex_lock(&port->statistics);
    int result = read_all(port, values);
    if (result == 0 && !port->base && !(port->base = rte_zmalloc("sluice_base", sizeof values, 0)))
        result = -ENOMEM;
    if (result == 0)
        memcpy(port->base, values, sizeof values);
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES && result == 0; i++)
        if (port->rx[i]) {
            port->rx[i]->base_packets = port->rx[i]->counters.packets;
            port->rx[i]->base_bytes = port->rx[i]->counters.bytes;
        }
    for (unsigned i = 0; i < PMD_TX_QUEUES && result == 0; i++)
        if (port->tx[i]) {
            port->tx[i]->base_packets = port->tx[i]->packets;
            port->tx[i]->base_bytes = port->tx[i]->bytes;
        }
    pthread_mutex_unlock(&port->statistics);
    return result;
}

int pmd_xstats_get(struct rte_eth_dev *ethdev, struct rte_eth_xstat *values, unsigned count) {
    uint64_t read[COUNTER_COUNT];
    if (count < COUNTER_COUNT)
        return COUNTER_COUNT;
    int result = read_since(ethdev->data->dev_private, read);
    for (unsigned i = 0; i < COUNTER_COUNT && result == 0; i++)
        values[i] = (struct rte_eth_xstat){.id = i, .value = read[i]};
    return result ? result : COUNTER_COUNT;
}

int pmd_xstats_names(struct rte_eth_dev *ethdev, struct rte_eth_xstat_name *names, unsigned count) {
    (void)ethdev;
    for (unsigned i = 0; names && i < COUNTER_COUNT && i < count; i++)
        snprintf(names[i].name, sizeof names[i].name, "%s", counters[i].name);
    return COUNTER_COUNT;
}
