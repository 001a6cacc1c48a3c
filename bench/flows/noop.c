// SPDX-License-Identifier: Apache-2.0
// DPDK drivers that match nothing, for `sluice bench flows`: what a rule costs on them is what DPDK and the program
// that makes rules cost. Both take every rule of rte_flow.
//   net_noopN            keeps none: every rule has one handle, destroying is doing nothing
//   net_noopN,keep=1     has what rte_flow asks of every driver: a handle of its own for each rule, allocated as DPDK's
//                        drivers do, on a list of the port for its flush, under a lock since it says it is thread-safe
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <pthread.h>
#include <rte_flow_driver.h>
#include <rte_malloc.h>
#include <sys/queue.h>

static struct rte_flow *create(struct rte_eth_dev *ethdev, const struct rte_flow_attr *attributes,
                               const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
                               struct rte_flow_error *error) {
    (void)attributes, (void)pattern, (void)actions, (void)error;
    return (struct rte_flow *)ethdev->data; // any address that is not NULL
}

static int destroy(struct rte_eth_dev *ethdev, struct rte_flow *flow, struct rte_flow_error *error) {
    (void)ethdev, (void)flow, (void)error;
    return 0;
}

static int flush(struct rte_eth_dev *ethdev, struct rte_flow_error *error) {
    (void)ethdev, (void)error;
    return 0;
}

static const struct rte_flow_ops flow_ops = {.create = create, .destroy = destroy, .flush = flush};

// ---- With handles

struct rte_flow {
    LIST_ENTRY(rte_flow) entry;
};

static LIST_HEAD(, rte_flow) kept = LIST_HEAD_INITIALIZER(kept); // of the one port
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct rte_flow *keep(struct rte_eth_dev *ethdev, const struct rte_flow_attr *attributes,
                             const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
                             struct rte_flow_error *error) {
    (void)ethdev, (void)attributes, (void)pattern, (void)actions;
    struct rte_flow *flow = rte_zmalloc("noop", sizeof *flow, 0);
    if (!flow) {
        rte_flow_error_set(error, ENOMEM, RTE_FLOW_ERROR_TYPE_HANDLE, NULL, "out of memory");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&kept, flow, entry);
    pthread_mutex_unlock(&lock);
    return flow;
}

static int forget(struct rte_eth_dev *ethdev, struct rte_flow *flow, struct rte_flow_error *error) {
    (void)ethdev, (void)error;
    pthread_mutex_lock(&lock);
    LIST_REMOVE(flow, entry);
    pthread_mutex_unlock(&lock);
    rte_free(flow);
    return 0;
}

static int forget_all(struct rte_eth_dev *ethdev, struct rte_flow_error *error) {
    while (!LIST_EMPTY(&kept))
        forget(ethdev, LIST_FIRST(&kept), error);
    return 0;
}

static const struct rte_flow_ops keeping_ops = {.create = keep, .destroy = forget, .flush = forget_all};

// ---- The port

static bool keeps;

static int nothing(struct rte_eth_dev *ethdev) {
    (void)ethdev;
    return 0;
}

static int shut(struct rte_eth_dev *ethdev) {
    ethdev->data->mac_addrs = NULL; // not to be freed
    return 0;
}

static int info(struct rte_eth_dev *ethdev, struct rte_eth_dev_info *it) {
    (void)ethdev;
    it->max_rx_queues = it->max_tx_queues = 8;
    it->max_rx_pktlen = RTE_ETHER_MAX_LEN;
    it->max_mac_addrs = 1;
    it->flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
    return 0;
}

static int rx_setup(struct rte_eth_dev *ethdev, uint16_t queue, uint16_t count, unsigned node,
                    const struct rte_eth_rxconf *wanted, struct rte_mempool *pool) {
    (void)count, (void)node, (void)wanted, (void)pool;
    ethdev->data->rx_queues[queue] = ethdev->data;
    return 0;
}

static int tx_setup(struct rte_eth_dev *ethdev, uint16_t queue, uint16_t count, unsigned node,
                    const struct rte_eth_txconf *wanted) {
    (void)count, (void)node, (void)wanted;
    ethdev->data->tx_queues[queue] = ethdev->data;
    return 0;
}

static int link(struct rte_eth_dev *ethdev, int wait) {
    (void)ethdev, (void)wait;
    return 0;
}

static int ops(struct rte_eth_dev *ethdev, const struct rte_flow_ops **out) {
    (void)ethdev;
    *out = keeps ? &keeping_ops : &flow_ops;
    return 0;
}

static uint16_t burst(void *queue, struct rte_mbuf **packets, uint16_t count) {
    (void)queue, (void)packets, (void)count;
    return 0;
}

static const struct eth_dev_ops device_ops = {.dev_configure = nothing,
                                              .dev_start = nothing,
                                              .dev_stop = nothing,
                                              .dev_close = shut,
                                              .dev_infos_get = info,
                                              .promiscuous_enable = nothing,
                                              .promiscuous_disable = nothing,
                                              .rx_queue_setup = rx_setup,
                                              .tx_queue_setup = tx_setup,
                                              .link_update = link,
                                              .flow_ops_get = ops};

static struct rte_ether_addr address = {{2, 0, 0, 0, 0, 1}};

static int probe(struct rte_vdev_device *vdev) {
    const char *arguments = rte_vdev_device_args(vdev);
    keeps = arguments && strcmp(arguments, "keep=1") == 0;
    struct rte_eth_dev *ethdev = rte_eth_vdev_allocate(vdev, 0);
    if (!ethdev)
        return -ENOMEM;
    ethdev->data->mac_addrs = &address;
    ethdev->data->dev_flags |= RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE; // as of the driver beside it
    ethdev->dev_ops = &device_ops;
    ethdev->rx_pkt_burst = ethdev->tx_pkt_burst = burst;
    rte_eth_dev_probing_finish(ethdev);
    return 0;
}

static int detach(struct rte_vdev_device *vdev) {
    struct rte_eth_dev *ethdev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (!ethdev)
        return 0;
    shut(ethdev);
    return rte_eth_dev_release_port(ethdev);
}

static struct rte_vdev_driver driver = {.probe = probe, .remove = detach};

RTE_PMD_REGISTER_VDEV(net_noop, driver);
RTE_PMD_REGISTER_PARAM_STRING(net_noop, "keep=<0|1>");
