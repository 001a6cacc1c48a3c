// SPDX-License-Identifier: Apache-2.0
// Calls of the operations of ports on a device of two lanes, whose answers are compared as a whole: what ports tell of
// themselves, how they start, stop and are set up, which vdevs are refused, and handles that are of no rule.
// `ports EAL-ARGUMENTS -- -` prints `ok`, or the line of what went wrong, and ends with 1.
#define ALLOW_EXPERIMENTAL_API // rte_flow_dev_dump
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OVERHEAD = 22, ROOM = 2048, RING = 512 };

static struct rte_mempool *pool;

#define CHECK(is_right)                                                                                                \
    do {                                                                                                               \
        if (!(is_right)) {                                                                                             \
            printf("failed: line %d: %s, rte_errno %d\n", __LINE__, #is_right, rte_errno);                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int set_up(uint16_t port, uint16_t queues, struct rte_eth_conf conf) {
    int result = rte_eth_dev_configure(port, queues, queues, &conf);
    for (uint16_t i = 0; i < queues && result == 0; i++)
        result = rte_eth_rx_queue_setup(port, i, RING, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
                 rte_eth_tx_queue_setup(port, i, RING, (unsigned)SOCKET_ID_ANY, NULL);
    return result;
}

static void has_mac(uint16_t port, const char *expected) {
    struct rte_ether_addr address;
    char text[RTE_ETHER_ADDR_FMT_SIZE];
    CHECK(rte_eth_macaddr_get(port, &address) == 0);
    rte_ether_format_addr(text, sizeof text, &address);
    CHECK(strcasecmp(text, expected) == 0);
}

static void tells(void) {
    struct rte_eth_dev_info info;
    CHECK(rte_eth_dev_info_get(0, &info) == 0);
    CHECK(info.min_rx_bufsize == 64 && info.max_rx_pktlen == 9216 && info.min_mtu == 68 &&
          info.max_mtu == 9216 - OVERHEAD);
    CHECK(info.max_rx_queues >= 1 && info.max_rx_queues <= 16 && info.max_tx_queues == 64 && info.max_mac_addrs == 16);
    CHECK(info.rx_offload_capa ==
          (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_CHECKSUM));
    CHECK(info.tx_offload_capa == (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                                   RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM));
    CHECK(info.flow_type_rss_offloads == (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP));
    CHECK(info.reta_size == 128 && info.hash_key_size == 40);
    CHECK(info.rx_desc_lim.nb_max == 2048 && info.rx_desc_lim.nb_min == 1 && info.rx_desc_lim.nb_align == 1);
    CHECK(memcmp(&info.rx_desc_lim, &info.tx_desc_lim, sizeof info.rx_desc_lim) == 0);
    CHECK(info.default_rxportconf.burst_size == 32 && info.default_rxportconf.ring_size == RING &&
          info.default_rxportconf.nb_queues == 1);
    CHECK(memcmp(&info.default_rxportconf, &info.default_txportconf, sizeof info.default_rxportconf) == 0);
    CHECK(info.dev_capa == RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP && strcmp(info.driver_name, "net_sluice") == 0);
    has_mac(0, "02:53:51:8f:48:00");
    has_mac(1, "02:53:51:8f:48:01");
    char text[100], cut[100];
    CHECK(rte_eth_dev_fw_version_get(0, text, sizeof text) == 0 && strncmp(text, "layouts 0x", 10) == 0);
    int size = (int)strlen(text);
    CHECK(strstr(text, " lanes, ") && strcmp(text + size - 4, " kHz") == 0);
    CHECK(rte_eth_dev_fw_version_get(0, cut, (size_t)size + 1) == 0 && strcmp(cut, text) == 0);
    CHECK(rte_eth_dev_fw_version_get(0, cut, (size_t)size) == size + 1 && strlen(cut) == (size_t)size - 1);
    CHECK(rte_eth_dev_fw_version_get(0, cut, 1) == size + 1);
}

static void link_is(uint16_t port, unsigned up) {
    struct rte_eth_link link;
    CHECK(rte_eth_link_get_nowait(port, &link) == 0);
    CHECK(link.link_status == up && link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN && link.link_duplex == 1);
}

static void queues_are(uint16_t port, uint8_t state, uint8_t scattered, uint16_t count) {
    struct rte_eth_rxq_info info;
    for (uint16_t i = 0; i < count; i++) {
        CHECK(rte_eth_rx_queue_info_get(port, i, &info) == 0);
        CHECK(info.mp == pool && info.nb_desc == RING && info.scattered_rx == scattered && info.queue_state == state);
    }
}

static void starts(void) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = 1500}}, wrong = conf;
    wrong.lpbk_mode = 1;
    CHECK(rte_eth_dev_configure(0, 1, 1, &wrong) == -ENOTSUP);
    wrong = conf;
    wrong.dcb_capability_en = 1;
    CHECK(rte_eth_dev_configure(0, 1, 1, &wrong) == -ENOTSUP);
    CHECK(rte_eth_dev_configure(0, 1, 1, &conf) == 0 && rte_eth_dev_start(0) == -EINVAL); // no queue was set up
    struct rte_eth_rxconf rx = {.rx_deferred_start = 1};
    struct rte_eth_txconf tx = {.tx_deferred_start = 1};
    CHECK(rte_eth_rx_queue_setup(0, 0, RING, (unsigned)SOCKET_ID_ANY, &rx, pool) == -ENOTSUP);
    CHECK(rte_eth_tx_queue_setup(0, 0, RING, (unsigned)SOCKET_ID_ANY, &tx) == -ENOTSUP);
    CHECK(rte_eth_dev_start(0) == -EINVAL);
    CHECK(rte_eth_tx_queue_setup(0, 0, RING, (unsigned)SOCKET_ID_ANY, NULL) == 0 && rte_eth_dev_start(0) == -EINVAL);
    CHECK(rte_eth_rx_queue_setup(0, 0, RING, (unsigned)SOCKET_ID_ANY, NULL, pool) == 0);
    link_is(0, 0);
    CHECK(rte_eth_dev_start(0) == 0);
    for (unsigned round = 0; round < 2; round++) {
        link_is(0, 1);
        queues_are(0, RTE_ETH_QUEUE_STATE_STARTED, 0, 1);
        CHECK(rte_eth_dev_set_link_down(0) == 0);
        link_is(0, 0);
        CHECK(rte_eth_dev_set_link_up(0) == 0);
        link_is(0, 1);
        CHECK(rte_eth_dev_stop(0) == 0);
        queues_are(0, RTE_ETH_QUEUE_STATE_STOPPED, 0, 1);
        link_is(0, 0);
        CHECK(rte_eth_dev_set_link_up(0) == 0);
        link_is(0, 0);
        CHECK(rte_eth_dev_start(0) == 0);
    }
    CHECK(rte_eth_dev_rx_intr_enable(0, 0) == -ENOTSUP && rte_eth_dev_rx_intr_disable(0, 0) == -ENOTSUP);
    CHECK(rte_eth_dev_stop(0) == 0);
}

// Frames up to the buffers of a queue's pool, or of any length where they are scattered.
static void fits(void) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = ROOM - OVERHEAD}};
    CHECK(set_up(0, 1, conf) == 0 && rte_eth_dev_start(0) == 0);
    CHECK(rte_eth_dev_set_mtu(0, ROOM - OVERHEAD + 1) == -EINVAL && rte_eth_dev_set_mtu(0, 68) == 0);
    CHECK(rte_eth_dev_set_mtu(0, ROOM - OVERHEAD) == 0);
    CHECK(rte_eth_dev_stop(0) == 0 && rte_eth_dev_set_mtu(0, ROOM - OVERHEAD + 1) == 0);
    conf.rxmode.mtu = ROOM - OVERHEAD + 1;
    CHECK(set_up(0, 1, conf) == 0 && rte_eth_dev_start(0) == -EINVAL);
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
    CHECK(set_up(0, 1, conf) == 0 && rte_eth_dev_start(0) == 0);
    queues_are(0, RTE_ETH_QUEUE_STATE_STARTED, 1, 1);
    CHECK(rte_eth_dev_set_mtu(0, 9216 - OVERHEAD) == 0);
    CHECK(rte_eth_dev_stop(0) == 0);
    conf.rxmode.offloads = 0;
    conf.rxmode.mtu = 1500;
    CHECK(set_up(0, 1, conf) == 0 && rte_eth_dev_start(0) == 0);
    queues_are(0, RTE_ETH_QUEUE_STATE_STARTED, 0, 1);
    struct rte_ether_addr many[65];
    for (unsigned i = 0; i < RTE_DIM(many); i++)
        many[i] = (struct rte_ether_addr){{1, 0, 0x5e, 0, 0, (uint8_t)i}};
    CHECK(rte_eth_dev_set_mc_addr_list(0, many, 65) == -ENOSPC && rte_eth_dev_set_mc_addr_list(0, many, 64) == 0);
    CHECK(rte_eth_dev_set_mc_addr_list(0, many, 0) == 0);
    struct rte_eth_xstat values[100];
    struct rte_eth_xstat_name names[100];
    int count = rte_eth_xstats_get_names(0, NULL, 0);
    CHECK(count > 30 && count < 100 && rte_eth_xstats_get(0, NULL, 0) == count);
    CHECK(rte_eth_xstats_get(0, values, (unsigned)count - 1) == count && rte_eth_xstats_get(0, values, 100) == count);
    CHECK(rte_eth_xstats_get_names(0, names, 100) == count);
    for (unsigned i = 0; i < (unsigned)count; i++)
        CHECK(values[i].id == i && values[i].value == 0 && names[i].name[0] != 0);
    CHECK(rte_eth_dev_stop(0) == 0);
}

// Several queues, then one, then several: nothing of those that were there before is left.
static void queues(void) {
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf = {.rxmode = {.mtu = 1500}};
    CHECK(rte_eth_dev_info_get(0, &info) == 0);
    const uint16_t counts[] = {info.max_rx_queues, 1, info.max_rx_queues};
    for (unsigned i = 0; i < RTE_DIM(counts); i++) {
        CHECK(set_up(0, counts[i], conf) == 0);
        CHECK(rte_eth_dev_start(0) == 0);
        queues_are(0, RTE_ETH_QUEUE_STATE_STARTED, 0, counts[i]);
        link_is(0, 1);
        CHECK(rte_eth_dev_set_link_up(0) == 0);
        link_is(0, 1);
        CHECK(rte_eth_dev_stop(0) == 0);
    }
}

static void vdevs(void) {
    static const struct {
        const char *arguments;
        int result;
    } cases[] = {
        {"device=functional:join,lanes=[none,none],lossless=1", 0},
        {"device=functional:join,lanes=[none,none],lossless=0,fence=1", 0},
        {"device=functional:join,lanes=[none,none],fence=0,mac=02:00:00:00:00:f7", 0},
        {"device=functional:join,lanes=[none,none],lossless=2", -EINVAL},
        {"device=functional:join,lanes=[none,none],lossless=11", -EINVAL},
        {"device=functional:join,lanes=[none,none],fence=x", -EINVAL},
        {"device=functional:join,lanes=[none,none],mac=02:00:00:00:00:f8", -EINVAL},
        {"device=functional:join,lanes=[none,none],mac=01:00:00:00:00:00", -EINVAL},
        {"device=functional:join,lanes=[none,none],mac=00:00:00:00:00:00", -EINVAL},
        {"device=functional:join,lanes=[none,none],mac=02:00", -EINVAL},
        {"device=functional:join,lanes=[none,none],unknown=1", -EINVAL},
        {"device=functional:join,lanes=[none,none,none,none,none,none,none,none,none]", -EINVAL},
        {"device=nothing", -EINVAL},
        {"device=functional:nothing", -ENODEV},
    };
    char longest[2000], name[RTE_DEV_NAME_MAX_LEN];
    uint16_t port;
    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        int result = rte_vdev_init("net_sluice1", cases[i].arguments);
        if (result != cases[i].result)
            printf("failed: '%s' answers %d\n", cases[i].arguments, result);
        CHECK(result == cases[i].result && rte_eth_dev_count_avail() == (result ? 2 : 4));
        if (result)
            continue;
        CHECK(rte_eth_dev_get_port_by_name("net_sluice1_lane1", &port) == 0);
        CHECK(rte_eth_dev_get_name_by_port(port, name) == 0 && strcmp(name, "net_sluice1_lane1") == 0);
        has_mac(port, i == 2 ? "02:00:00:00:00:f8" : "02:53:51:90:db:01");
        CHECK(rte_vdev_init("net_sluice1", cases[i].arguments) == -EEXIST);
        CHECK(rte_vdev_uninit("net_sluice1_lane1") == 0 && rte_eth_dev_count_avail() == 3);
        CHECK(rte_vdev_init("net_sluice1_lane2", NULL) != 0 && rte_vdev_init("net_sluice1_lane0", NULL) != 0);
        CHECK(rte_eth_dev_count_avail() == 3);
        CHECK(rte_vdev_init("net_sluice1_lane1", NULL) == 0 && rte_eth_dev_count_avail() == 4);
        CHECK(rte_eth_dev_get_port_by_name("net_sluice1_lane1", &port) == 0);
        CHECK(set_up(port, 1, (struct rte_eth_conf){.rxmode = {.mtu = 1500}}) == 0 && rte_eth_dev_start(port) == 0);
        CHECK(rte_vdev_uninit("net_sluice1") == 0 && rte_eth_dev_count_avail() == 3); // lane 1 is in use
        CHECK(rte_vdev_init("net_sluice1", "device=functional:join,lanes=[none,none],mac=02:00:00:00:00:55") == -EBUSY);
        CHECK(rte_vdev_init("net_sluice1", cases[i].arguments) == 0 && rte_eth_dev_count_avail() == 4);
        CHECK(rte_eth_dev_stop(port) == 0 && rte_vdev_uninit("net_sluice1") == 0 && rte_eth_dev_count_avail() == 2);
        rte_vdev_uninit("net_sluice1_lane1");
    }
    for (size_t i = 0; i < 2; i++) { // a name of a device, and of lanes, that are too long
        memset(longest, 'x', sizeof longest);
        memcpy(longest, i ? "lanes=" : "device=", i ? 6 : 7);
        longest[(i ? 6 : 7) + (i ? 1024 : 512)] = 0;
        CHECK(rte_vdev_init("net_sluice1", longest) == -EINVAL && rte_eth_dev_count_avail() == 2);
    }
}

static struct rte_flow *create(uint16_t port, uint8_t last, struct rte_flow_error *error) {
    struct rte_flow_attr attributes = {.transfer = 1};
    struct rte_flow_item_eth eth = {.hdr.dst_addr = {{2, 0, 0, 0, 0, last}}};
    struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &rte_flow_item_eth_mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_END}};
    struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    return rte_flow_create(port, &attributes, pattern, actions, error);
}

// The lines of a dump.
static int dumped(uint16_t port, struct rte_flow *flow, int *lines) {
    struct rte_flow_error error = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    int result = rte_flow_dev_dump(port, flow, file, &error);
    fclose(file);
    *lines = 0;
    for (size_t i = 0; i < size; i++)
        *lines += text[i] == '\n';
    free(text);
    return result;
}

static void handles(void) {
    struct rte_flow_action count[] = {
        {.type = RTE_FLOW_ACTION_TYPE_VOID}, {.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_action other[] = {{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_query_count query = {.reset = 1};
    struct rte_flow_error error = {0};
    struct rte_flow *first = create(0, 1, &error), *second = create(0, 2, &error), *third = create(1, 3, &error);
    int lines;
    CHECK(first && second && third);
    CHECK(rte_flow_query(0, first, count, &query, &error) == 0 && query.hits_set && query.bytes_set && !query.hits &&
          !query.bytes);
    CHECK(rte_flow_query(0, first, count + 2, &query, &error) == 0);
    CHECK(rte_flow_query(0, first, other, &query, &error) == -ENOTSUP && error.type == RTE_FLOW_ERROR_TYPE_ACTION &&
          error.cause == other);
    CHECK(dumped(0, NULL, &lines) == 0 && lines == 2);
    CHECK(dumped(1, NULL, &lines) == 0 && lines == 1);
    CHECK(dumped(0, second, &lines) == 0 && lines == 1);
    CHECK(rte_flow_isolate(0, 0, &error) == 0);
    CHECK(rte_flow_isolate(0, 1, &error) == -ENOTSUP && error.type == RTE_FLOW_ERROR_TYPE_UNSPECIFIED);
    CHECK(rte_flow_destroy(0, first, &error) == 0);
    struct rte_flow *none[] = {NULL,
                               first,
                               (struct rte_flow *)8,
                               (struct rte_flow *)((uint8_t *)second + 1),
                               (struct rte_flow *)((uint8_t *)second - (1 << 30)),
                               (struct rte_flow *)((uint8_t *)second + (1 << 30))};
    for (unsigned i = 0; i < RTE_DIM(none); i++) {
        CHECK(rte_flow_destroy(0, none[i], &error) == -ENOENT && error.type == RTE_FLOW_ERROR_TYPE_HANDLE &&
              error.cause == none[i]);
        if (i != 1)
            CHECK(rte_flow_query(0, none[i], count, &query, &error) == -ENOENT &&
                  error.type == RTE_FLOW_ERROR_TYPE_HANDLE);
        if (i > 0)
            CHECK(dumped(0, none[i], &lines) == -ENOENT && lines == 0);
    }
    CHECK(dumped(0, NULL, &lines) == 0 && lines == 1);
    CHECK(rte_flow_flush(0, &error) == 0 && dumped(0, NULL, &lines) == 0 && lines == 0);
    CHECK(dumped(1, third, &lines) == 0 && lines == 1);
    CHECK(rte_flow_destroy(0, second, &error) == -ENOENT && rte_flow_destroy(1, third, &error) == 0);
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    CHECK(used > 0 && rte_eth_dev_count_avail() == 2);
    pool = rte_pktmbuf_pool_create("pool", 16383, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, SOCKET_ID_ANY);
    CHECK(pool);
    tells();
    starts();
    fits();
    queues();
    vdevs();
    handles();
    for (uint16_t port = 0; port < 2; port++)
        CHECK(rte_eth_dev_close(port) == 0);
    CHECK(rte_eal_cleanup() == 0);
    printf("ok\n");
}
