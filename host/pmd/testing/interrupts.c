// SPDX-License-Identifier: Apache-2.0
// Waits for packets through DPDK's receive interrupts on four queues of port 0, whose lane is the datagram socket that
// is named: `interrupts EAL-ARGUMENTS -- SOCKET,ROUNDS`. Prints `ok` and the times that a packet woke it up, or what
// went wrong, and ends with 1.
#define _GNU_SOURCE // pthread_tryjoin_np
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_interrupts.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { QUEUES = 4, ENTRIES = 128, FRAME = 60 };
enum { QUIET = 60, LATE = 100, PATIENCE = 30000 }; // milliseconds

static struct rte_mempool *pool;
static struct sockaddr_un lane = {.sun_family = AF_UNIX};
static int sender;
static unsigned wakes, late; // late: the device's thread looks into its rings now and then anyway

static void fail(const char *text) {
    printf("failed: %s\n", text);
    exit(1);
}

static void send_packet(uint16_t source) {
    uint8_t frame[FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
    struct rte_ipv4_hdr ip = {.version_ihl = 0x45,
                              .total_length = RTE_BE16(FRAME - 14),
                              .time_to_live = 64,
                              .next_proto_id = IPPROTO_UDP,
                              .src_addr = RTE_BE32(0x0a000001),
                              .dst_addr = RTE_BE32(0x0a000002)};
    struct rte_udp_hdr udp = {
        .src_port = rte_cpu_to_be_16(source), .dst_port = RTE_BE16(9), .dgram_len = RTE_BE16(FRAME - 34)};
    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(frame + 14, &ip, sizeof ip);
    memcpy(frame + 34, &udp, sizeof udp);
    if (sendto(sender, frame, sizeof frame, 0, (const struct sockaddr *)&lane, sizeof lane) != FRAME)
        fail("a packet is not sent");
}

static void configure(uint16_t interrupts) {
    struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS},
                                .rx_adv_conf = {.rss_conf = {.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP}},
                                .intr_conf = {.rxq = interrupts & 1U}};
    if (rte_eth_dev_configure(0, QUEUES, 1, &conf) || rte_eth_tx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL))
        fail("configure");
    for (uint16_t queue = 0; queue < QUEUES; queue++)
        if (rte_eth_rx_queue_setup(0, queue, 512, (unsigned)SOCKET_ID_ANY, NULL, pool))
            fail("queue");
    if (rte_eth_dev_start(0) || rte_eth_promiscuous_enable(0))
        fail("start");
}

static int watch(uint16_t queue, int operation) {
    return rte_eth_dev_rx_intr_ctl_q(0, queue, RTE_EPOLL_PER_THREAD, operation, (void *)(uintptr_t)queue);
}

// All packets from now on are for this queue.
static void lead_to(uint16_t queue) {
    struct rte_eth_rss_reta_entry64 entries[ENTRIES / RTE_ETH_RETA_GROUP_SIZE];
    for (unsigned i = 0; i < ENTRIES; i++) {
        entries[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
        entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = queue;
    }
    if (rte_eth_dev_rss_reta_update(0, entries, ENTRIES))
        fail("the redirection table");
}

static void arm(uint16_t queue) {
    if (rte_eth_dev_rx_intr_enable(0, queue))
        fail("arm");
}

// The queue that a packet has woken us for.
static uint16_t sleep_until_packet(void) {
    struct rte_epoll_event events[QUEUES];
    uint64_t begin = rte_get_timer_cycles();
    if (rte_epoll_wait(RTE_EPOLL_PER_THREAD, events, QUEUES, PATIENCE) != 1)
        fail("a packet does not wake us, or two queues do");
    wakes++;
    late += rte_get_timer_cycles() - begin > LATE * rte_get_timer_hz() / 1000;
    return (uint16_t)(uintptr_t)events[0].epdata.data;
}

static void stay_asleep(void) {
    struct rte_epoll_event event;
    if (rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, QUIET))
        fail("woken without a packet");
}

static unsigned poll(uint16_t queue) {
    struct rte_mbuf *burst[32];
    uint16_t count = rte_eth_rx_burst(0, queue, burst, RTE_DIM(burst));
    rte_pktmbuf_free_bulk(burst, count);
    return count;
}

static void poll_one(uint16_t queue) {
    uint64_t end = rte_get_timer_cycles() + PATIENCE / 1000 * rte_get_timer_hz();
    unsigned found = 0;
    while (found == 0 && rte_get_timer_cycles() < end)
        found = poll(queue);
    if (found != 1 || poll(queue))
        fail("another number of packets than was sent");
}

static void refuse_where_it_was_not_asked_for(void) {
    configure(0);
    if (rte_eth_dev_rx_intr_enable(0, 0) != -ENOTSUP || rte_eth_dev_rx_intr_disable(0, 0) != -ENOTSUP ||
        watch(0, RTE_INTR_EVENT_ADD) >= 0)
        fail("interrupts that were not configured");
    if (rte_eth_dev_stop(0))
        fail("stop");
}

static void wake_each_queue(void) {
    for (uint16_t queue = 0; queue < QUEUES; queue++) {
        if (watch(queue, RTE_INTR_EVENT_ADD))
            fail("watch");
        arm(queue);
    }
    stay_asleep();
    for (uint16_t queue = 0; queue < QUEUES; queue++) {
        lead_to(queue);
        send_packet(1);
        if (sleep_until_packet() != queue)
            fail("another queue");
        poll_one(queue);
        send_packet(2); // it is not armed again
        stay_asleep();
        arm(queue); // the packet has come before
        if (sleep_until_packet() != queue)
            fail("another queue");
        poll_one(queue);
        arm(queue);
        if (rte_eth_dev_rx_intr_disable(0, queue))
            fail("disarm");
        send_packet(3);
        stay_asleep();
        poll_one(queue);
        arm(queue);
    }
}

static atomic_uint asked;

static void *send_when_asked(void *rounds) {
    for (unsigned round = 1; round <= (uintptr_t)rounds; round++) {
        while (atomic_load(&asked) < round)
            rte_delay_us_sleep(5);
        rte_delay_us_sleep(round * 7 % 50);
        send_packet((uint16_t)round);
    }
    return NULL;
}

// The next packet comes at any time: before, while and after the queue is armed. Each must be seen.
static void lose_no_wake_up(unsigned rounds) {
    pthread_t thread;
    pthread_create(&thread, NULL, send_when_asked, (void *)(uintptr_t)rounds);
    for (unsigned got = 0; got < rounds;) {
        atomic_store(&asked, got + 1);
        rte_delay_us_sleep(got * 11 % 250); // asleep: the device's thread needs a core
        arm(QUEUES - 1);
        if (sleep_until_packet() != QUEUES - 1)
            fail("another queue");
        for (unsigned more; (more = poll(QUEUES - 1)); got += more)
            ; // until it is empty: else arming would wake the device's thread
    }
    pthread_join(thread, NULL);
    if (late > wakes / 10) // a busy machine is late at times
        fail("packets that were there when a queue was armed woke us late");
    arm(QUEUES - 1);
}

// A queue that sleeps holds no flow in the order fence: a rule for it is in force soon.
static void sleep_behind_the_fence(void) {
    struct rte_flow_attr attributes = {.transfer = 1};
    struct rte_flow_item_udp udp = {.hdr.src_port = RTE_BE16(77)}, mask = {.hdr.src_port = 0xffff};
    struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
                                      {.type = RTE_FLOW_ITEM_TYPE_IPV4},
                                      {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_END}};
    struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_error error;
    lead_to(0);
    send_packet(77);
    if (sleep_until_packet() != 0)
        fail("another queue");
    poll_one(0);
    arm(0);
    struct rte_flow *flow = rte_flow_create(0, &attributes, pattern, actions, &error);
    if (!flow)
        fail("a rule");
    rte_delay_us_sleep(QUIET * 1000);
    send_packet(77);
    stay_asleep(); // hardware drops it
    if (rte_flow_destroy(0, flow, &error))
        fail("destroy");
}

static void *wait_elsewhere(void *milliseconds) {
    struct rte_epoll_event event;
    if (watch(1, RTE_INTR_EVENT_ADD))
        fail("watch");
    arm(1);
    atomic_store(&asked, 0);
    return (void *)(intptr_t)rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, (int)(intptr_t)milliseconds);
}

static pthread_t begin_waiting(intptr_t milliseconds) {
    pthread_t thread;
    atomic_store(&asked, 1);
    pthread_create(&thread, NULL, wait_elsewhere, (void *)milliseconds);
    while (atomic_load(&asked))
        rte_pause();
    rte_delay_us_sleep(QUIET * 1000);
    return thread;
}

static void stop_and_close_under_a_waiter(void) {
    void *events;
    for (uint16_t queue = 0; queue < QUEUES; queue++)
        if (watch(queue, RTE_INTR_EVENT_DEL))
            fail("watch no more");
    lead_to(1);
    pthread_t thread = begin_waiting(PATIENCE);
    if (rte_eth_dev_stop(0))
        fail("stop");
    send_packet(1); // is lost: the port is stopped
    rte_delay_us_sleep(QUIET * 1000);
    if (pthread_tryjoin_np(thread, NULL) == 0)
        fail("woken by a stopped port");
    if (rte_eth_dev_start(0))
        fail("start");
    send_packet(2);
    if (pthread_join(thread, &events) || (intptr_t)events != 1)
        fail("a packet does not wake who waited while the port was stopped");
    poll_one(1);
    if (rte_eth_dev_stop(0))
        fail("stop");
    configure(1);
    thread = begin_waiting(5 * QUIET);
    if (rte_eth_dev_stop(0) || rte_eth_dev_close(0))
        fail("close");
    if (pthread_join(thread, &events) || events)
        fail("woken by a port that is closed");
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    char *own = used > 0 && used + 1 < count ? arguments[used + 1] : NULL, *comma = own ? strchr(own, ',') : NULL;
    if (!comma || rte_eth_dev_count_avail() < 1)
        fail("no device");
    snprintf(lane.sun_path, sizeof lane.sun_path, "%.*s", (int)(comma - own), own);
    if ((sender = socket(AF_UNIX, SOCK_DGRAM, 0)) < 0)
        fail("socket");
    pool = rte_pktmbuf_pool_create("pool", 4096, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    refuse_where_it_was_not_asked_for();
    configure(1);
    wake_each_queue();
    lose_no_wake_up((unsigned)atoi(comma + 1));
    sleep_behind_the_fence();
    stop_and_close_under_a_waiter();
    printf("ok %u\n", wakes);
    close(sender);
    return rte_eal_cleanup() ? 1 : 0;
}
