// SPDX-License-Identifier: Apache-2.0
// A bare DPDK program on the driver, for the tests: what testpmd cannot ask of it. `bare EAL-ARGUMENTS -- MODE`:
//   threads   ten threads create, query and destroy rules on two ports of a device
//   restart   rules and their handles survive stop, configure, a new MTU and start
//   prepare   packets that ask for checksums that cannot be are refused, or sent as they are and counted
//   calls     calls of a port that are refused, and what they leave as it was; statistics and short bursts on joined
//   lanes loop      packets go out of port 0 and come back into port 1, whose lanes are joined outside; cycles a packet
// Prints a line that begins with `ok`, or what went wrong, and ends with 1.
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 10, ROUNDS = 3, RULES = 2, BURST = 32, LOOPED = 4096 };

static struct rte_mempool *pool;

static void fail(const char *text) {
    printf("failed: %s\n", text);
    exit(1);
}

static void start(uint16_t port, uint16_t mtu) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = mtu}};
    if (rte_eth_dev_configure(port, 1, 2, &conf) ||
        rte_eth_rx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) ||
        rte_eth_tx_queue_setup(port, 1, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("start");
}

// A rule for one UDP connection, as Open vSwitch writes it: the raw header of a packet under masks.
static struct rte_flow *create(uint16_t port, unsigned number, struct rte_flow_error *error) {
    struct rte_flow_attr attributes = {.transfer = 1};
    struct rte_flow_item_eth eth = {.hdr = {.dst_addr = {{2, 0, 0, 0, 0, 1}}, .ether_type = RTE_BE16(0x0800)}};
    struct rte_flow_item_eth eth_mask = {.hdr = {.dst_addr = {{255, 255, 255, 255, 255, 255}}, .ether_type = 0xffff},
                                         .has_vlan = 1};
    struct rte_flow_item_ipv4 ip, ip_mask = {.hdr = {.src_addr = UINT32_MAX,
                                                     .dst_addr = UINT32_MAX,
                                                     .next_proto_id = 0xff,
                                                     .fragment_offset = RTE_BE16(0x3fff)}};
    struct rte_flow_item_udp udp = {.hdr = {.src_port = RTE_BE16(1000), .dgram_len = 0xffff, .dgram_cksum = 0xffff}};
    struct rte_flow_item_udp udp_mask = {.hdr = {.src_port = 0xffff, .dst_port = 0xffff}};
    struct rte_flow_action_port_id out = {.id = 1};
    memset(&ip, 0xff, sizeof ip);
    ip.hdr.fragment_offset = RTE_BE16(0x4000);
    ip.hdr.next_proto_id = IPPROTO_UDP;
    ip.hdr.src_addr = RTE_BE32(0x0a000001);
    ip.hdr.dst_addr = rte_cpu_to_be_32(0x0a010000 + number);
    udp.hdr.dst_port = rte_cpu_to_be_16((uint16_t)number);
    struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &eth_mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_END}};
    struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
                                        {.type = RTE_FLOW_ACTION_TYPE_PORT_ID, .conf = &out},
                                        {.type = RTE_FLOW_ACTION_TYPE_END}};
    return rte_flow_create(port, &attributes, pattern, actions, error);
}

static void query(uint16_t port, struct rte_flow *flow) {
    struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_query_count result = {.reset = 1};
    struct rte_flow_error error;
    if (rte_flow_query(port, flow, count, &result, &error) || !result.hits_set || result.hits)
        fail("query");
}

static void *one_thread(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;
    struct rte_flow *flows[RULES];
    struct rte_flow_error error;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < RULES; i++) {
            if (!(flows[i] = create(0, number * RULES + i, &error)))
                fail(error.message ? error.message : "create");
            if (create(0, number * RULES + i, &error))
                fail("a rule was accepted twice");
        }
        for (unsigned i = 0; i < RULES; i++) {
            query(0, flows[i]);
            if (rte_flow_destroy(0, flows[i], &error))
                fail("destroy");
        }
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    struct rte_flow_error error;
    struct rte_flow *keep = create(1, 1, &error); // of another port, through all that
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, one_thread, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    if (!keep || rte_flow_destroy(1, keep, &error) || !create(1, 1, &error))
        fail("the rule of the other port is gone, or stayed");
    printf("ok: %d rules\n", THREADS * ROUNDS * RULES);
}

static void restart(void) {
    struct rte_flow_error error;
    struct rte_flow *flow = create(0, 5, &error);
    if (!flow)
        fail("create");
    if (rte_eth_dev_stop(0))
        fail("stop");
    start(0, 1400);
    query(0, flow);
    if (create(0, 5, &error))
        fail("the rule is gone");
    if (rte_flow_destroy(0, flow, &error) || !create(0, 5, &error))
        fail("destroy");
    printf("ok: rules survive\n");
}

static struct rte_mbuf *packet(void) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    if (!mbuf)
        fail("no mbuf");
    memset(rte_pktmbuf_append(mbuf, 60), 0xff, 60); // broadcast, of no protocol
    return mbuf;
}

static void loop(void) {
    struct rte_mbuf *burst[BURST];
    uint64_t sending = 0, receiving = 0, received = 0, full = 0;
    for (unsigned sent = 0; received < LOOPED;) {
        uint16_t count = 0, taken;
        while (count < BURST && sent + count < LOOPED && sent - received < 128)
            burst[count++] = packet();
        uint64_t begin = rte_rdtsc();
        taken = rte_eth_tx_burst(0, 0, burst, count);
        sending += taken == BURST ? rte_rdtsc() - begin : 0;
        full += taken == BURST ? taken : 0;
        sent += taken;
        rte_pktmbuf_free_bulk(burst + taken, count - taken);
        begin = rte_rdtsc();
        taken = rte_eth_rx_burst(1, 0, burst, BURST);
        if (taken)
            receiving += rte_rdtsc() - begin;
        received += taken;
        rte_pktmbuf_free_bulk(burst, taken);
        for (unsigned i = 0; i < 1000 && !taken; i++)
            rte_pause();
    }
    printf("ok: cycles a packet: %llu sent in bursts of %d, %llu received\n",
           (unsigned long long)(full ? sending / full : 0), BURST, (unsigned long long)(receiving / received));
}

static struct rte_mbuf *asking(uint16_t size, uint64_t flags, unsigned l2, unsigned l3) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    memset(rte_pktmbuf_append(mbuf, size), 0xff, size);
    mbuf->ol_flags = flags;
    mbuf->l2_len = l2 & 0x7f;
    mbuf->l3_len = l3 & 0x1ff;
    return mbuf;
}

static uint64_t unfilled(void) {
    uint64_t id, value;
    if (rte_eth_xstats_get_id_by_name(0, "device_from_host_unfilled", &id) ||
        rte_eth_xstats_get_by_id(0, &id, &value, 1) != 1)
        fail("xstats");
    return value;
}

static void prepare(void) {
    enum { IPV4 = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM };
    static const struct {
        uint64_t flags;
        uint16_t size;
        uint8_t l2, l3;
        int error;
        bool is_counted; // by the device, when it is sent all the same
        uint8_t l4;
    } cases[] = {{0, 60, 0, 0, 0, false, 0},
                 {IPV4, 60, 14, 20, 0, false, 0},
                 {IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 42, 14, 20, 0, false, 0},
                 {IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 41, 14, 20, EINVAL, true, 0},
                 {IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 51, 14, 20, EINVAL, true, 0},
                 {IPV4, 60, 15, 20, EINVAL, true, 0},
                 {IPV4, 60, 14, 21, EINVAL, true, 0},
                 {IPV4, 33, 14, 20, EINVAL, true, 0},
                 {IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 60, 14, 20, ENOTSUP, false, 200},
                 {RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM, 60, 127, 255, EINVAL, true, 0},
                 {RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_SCTP_CKSUM, 60, 14, 20, ENOTSUP, false, 0},
                 {IPV4 | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM, 60, 14, 20, ENOTSUP, false, 0},
                 {RTE_MBUF_F_TX_OUTER_IP_CKSUM, 60, 14, 20, ENOTSUP, false, 0}};
    uint64_t expected = unfilled(), end = rte_get_timer_cycles() + 10 * rte_get_timer_hz();
    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        struct rte_mbuf *mbuf = asking(cases[i].size, cases[i].flags, cases[i].l2, cases[i].l3);
        mbuf->l4_len = cases[i].l4;
        if (rte_eth_tx_prepare(0, 0, &mbuf, 1) != (cases[i].error ? 0 : 1) ||
            (cases[i].error && rte_errno != cases[i].error))
            fail("a packet is taken that cannot be sent as it asks, or refused for another reason");
        if (rte_eth_tx_burst(0, 0, &mbuf, 1) != 1)
            fail("a packet is not sent");
        expected += cases[i].is_counted;
    }
    while (unfilled() != expected)
        if (rte_get_timer_cycles() > end)
            fail("the device counts others than those that it cannot fill in");
    printf("ok\n");
}

// A port whose only transmit queue was not set up yet.
static void start_half(void) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = 1500}};
    if (rte_eth_dev_configure(0, 1, 1, &conf) || rte_eth_rx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool))
        fail("configure");
    if (rte_eth_dev_start(0) != -EINVAL)
        fail("a port without its transmit queue is not refused with EINVAL");
}

static void send_packets(unsigned count) {
    for (struct rte_mbuf *mbuf; count--;)
        for (mbuf = packet(); rte_eth_tx_burst(0, 0, &mbuf, 1) != 1;)
            rte_pause();
}

// Packets go round in bursts that are shorter than what waits, and are counted from the last reset on.
static void counted(void) {
    enum { SENT = 40, ASKED = 3 };
    struct rte_mbuf *burst[BURST] = {0};
    struct rte_eth_stats stats;
    for (unsigned round = 0; round < 2; round++) {
        uint64_t end = rte_get_timer_cycles() + 30 * rte_get_timer_hz();
        send_packets(SENT);
        for (unsigned received = 0, taken; received < SENT; received += taken) {
            if (rte_get_timer_cycles() > end)
                fail("packets do not come");
            taken = rte_eth_rx_burst(1, 0, burst, ASKED);
            if (taken > ASKED || burst[ASKED])
                fail("more packets than were asked for");
            rte_pktmbuf_free_bulk(burst, taken);
        }
        if (rte_eth_stats_get(1, &stats) || stats.ipackets != SENT || stats.ibytes != 60 * SENT ||
            stats.q_ipackets[0] != SENT || stats.q_ibytes[0] != 60 * SENT)
            fail("statistics");
        if (rte_eth_stats_reset(1) || rte_eth_stats_get(1, &stats) || stats.ipackets || stats.q_ipackets[0])
            fail("reset of the statistics");
    }
}

static void calls(void) {
    if (rte_eth_dev_set_mtu(0, 9000) != -EINVAL)
        fail("an MTU whose frames no buffer holds is not refused with EINVAL");
    counted();
    printf("ok\n");
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    const char *mode = used > 0 && used + 1 < count ? arguments[used + 1] : "";
    if (used < 0 || rte_eth_dev_count_avail() < 2)
        fail("no device");
    pool = rte_pktmbuf_pool_create("pool", 4096, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (strcmp(mode, "calls") == 0)
        start_half();
    start(0, 1500);
    start(1, 1500);
    if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "restart") == 0)
        restart();
    else if (strcmp(mode, "prepare") == 0)
        prepare();
    else if (strcmp(mode, "calls") == 0)
        calls();
    else
        loop();
    for (uint16_t port = 0; port < 2; port++)
        if (rte_eth_dev_stop(port) || rte_eth_dev_close(port))
            fail("close");
    return rte_eal_cleanup() ? 1 : 0;
}
