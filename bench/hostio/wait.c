// SPDX-License-Identifier: Apache-2.0
// For `sluice bench hostio`: what waiting for packets costs, by polling or by receive interrupts. Packets come one by
// one, with pauses, through the datagram socket that is the lane of port 0; each has the time in it when it was sent.
// `wait EAL-ARGUMENTS -- poll|interrupt SOCKET PAUSE COUNT`, the pause in microseconds. Printed as JSON: microseconds
// from the program that sends to the one that waits, median and of 99 in 100; and the seconds of processor time a
// second of the thread that waits, and of all threads but the one that sends, the device's among them.
#define _GNU_SOURCE // RUSAGE_THREAD
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { FRAME = 60, TIME_AT = 16, BURST = 32, MOST = 1 << 16, PATIENCE_MS = 10000, WARM_UP = 20 };

static struct sockaddr_un lane = {.sun_family = AF_UNIX};
static unsigned pause_us, total;
static double latencies[MOST], sender_seconds;
static unsigned sleeps_count;

static void fail(const char *text) {
    fprintf(stderr, "failed: %s\n", text);
    exit(1);
}

static double processor_seconds(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void *send_all(void *unused) {
    uint8_t frame[FRAME];
    int end = socket(AF_UNIX, SOCK_DGRAM, 0);
    memset(frame, 0xff, sizeof frame);
    for (unsigned i = 0; i < total; i++) {
        rte_delay_us_sleep(pause_us);
        uint64_t now = rte_rdtsc();
        memcpy(frame + TIME_AT, &now, sizeof now);
        if (sendto(end, frame, sizeof frame, 0, (const struct sockaddr *)&lane, sizeof lane) != FRAME)
            fail("a packet is not sent");
    }
    sender_seconds = processor_seconds(RUSAGE_THREAD);
    return unused;
}

static void start(bool sleeps) {
    struct rte_eth_conf conf = {.intr_conf = {.rxq = sleeps}};
    struct rte_mempool *pool = rte_pktmbuf_pool_create("pool", 4095, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || rte_eth_dev_configure(0, 1, 1, &conf) ||
        rte_eth_rx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(0))
        fail("the port does not start");
    if (sleeps && rte_eth_dev_rx_intr_ctl_q(0, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL))
        fail("no receive interrupts");
}

static void sleep_until_packet(void) {
    struct rte_epoll_event event;
    if (rte_eth_dev_rx_intr_enable(0, 0) || rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, PATIENCE_MS) != 1)
        fail("no packet woke us up");
    sleeps_count++;
}

static void receive_all(bool sleeps) {
    struct rte_mbuf *burst[BURST];
    uint64_t last = rte_rdtsc();
    for (unsigned received = 0; received < total;) {
        uint16_t got = rte_eth_rx_burst(0, 0, burst, BURST);
        uint64_t now = rte_rdtsc(), sent;
        for (uint16_t i = 0; i < got; i++) {
            memcpy(&sent, rte_pktmbuf_mtod_offset(burst[i], void *, TIME_AT), sizeof sent);
            latencies[received++] = (double)(now - sent) * 1e6 / (double)rte_get_tsc_hz();
        }
        rte_pktmbuf_free_bulk(burst, got);
        if (got)
            last = now;
        else if (now - last > PATIENCE_MS / 1000 * rte_get_tsc_hz())
            fail("packets do not come");
        if (sleeps && got == 0)
            sleep_until_packet();
    }
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    char **own = arguments + used + 1;
    pthread_t sender;
    if (used < 0 || count - used != 5)
        fail("wait EAL-ARGUMENTS -- poll|interrupt SOCKET PAUSE COUNT");
    bool sleeps = strcmp(own[0], "interrupt") == 0;
    snprintf(lane.sun_path, sizeof lane.sun_path, "%s", own[1]);
    pause_us = (unsigned)atoi(own[2]);
    total = (unsigned)atoi(own[3]);
    if (total <= WARM_UP || total > MOST)
        fail("a count that cannot be");
    start(sleeps);
    double own_begin = processor_seconds(RUSAGE_THREAD), all_begin = processor_seconds(RUSAGE_SELF);
    uint64_t begin = rte_rdtsc();
    if (pthread_create(&sender, NULL, send_all, NULL))
        fail("no thread");
    receive_all(sleeps);
    pthread_join(sender, NULL);
    double seconds = (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz();
    double thread = processor_seconds(RUSAGE_THREAD) - own_begin;
    double all = processor_seconds(RUSAGE_SELF) - all_begin - sender_seconds;
    unsigned kept = total - WARM_UP;
    qsort(latencies + WARM_UP, kept, sizeof *latencies, by_value);
    if (rte_eth_dev_stop(0) || rte_eth_dev_close(0))
        fail("the port does not close");
    printf("{\"latency_us\": %.1f, \"latency_99_us\": %.1f, \"thread\": %.3f, \"process\": %.3f, \"sleeps\": %u}\n",
           latencies[WARM_UP + kept / 2], latencies[WARM_UP + kept * 99ULL / 100], thread / seconds, all / seconds,
           sleeps_count);
    return rte_eal_cleanup() ? 1 : 0;
}
