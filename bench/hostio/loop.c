// SPDX-License-Identifier: Apache-2.0
// For `sluice bench hostio`: packets go out of one port and come back into another. `loop EAL-ARGUMENTS -- SENDER
// RECEIVER SIZE COUNT` prints as JSON what the calls of DPDK cost the thread that makes them: cycles of the time stamp
// counter a packet, the median over bursts of 32, so that a burst in which the thread had to wait does not count.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 32, IN_FLIGHT = 128, SAMPLES = 1 << 16, PATIENCE_S = 60 };

struct samples {
    uint32_t count;
    uint32_t cycles[SAMPLES]; // of a burst
};

static struct samples sends, receives, polls;
static struct rte_mempool *pool;

static void fail(const char *text) {
    fprintf(stderr, "failed: %s\n", text);
    exit(1);
}

static void start(uint16_t port) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = RTE_ETHER_MTU}};
    if (rte_eth_dev_configure(port, 1, 1, &conf) ||
        rte_eth_rx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("a port does not start");
}

static struct rte_mbuf *packet(uint16_t size) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    if (!mbuf)
        fail("no mbuf");
    memset(rte_pktmbuf_append(mbuf, size), 0xff, size); // broadcast, of no protocol
    return mbuf;
}

static void note(struct samples *samples, uint64_t begin) {
    uint64_t cycles = rte_rdtsc() - begin;
    if (samples->count < SAMPLES)
        samples->cycles[samples->count++] = cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

static int is_above(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double median(struct samples *samples, unsigned packets) {
    if (samples->count == 0)
        fail("no whole burst");
    qsort(samples->cycles, samples->count, sizeof samples->cycles[0], is_above);
    return (double)samples->cycles[samples->count / 2] / packets;
}

static uint16_t receive_burst(uint16_t port) {
    struct rte_mbuf *burst[BURST];
    uint64_t begin = rte_rdtsc();
    uint16_t got = rte_eth_rx_burst(port, 0, burst, BURST);
    if (got == BURST)
        note(&receives, begin);
    else if (got == 0)
        note(&polls, begin);
    rte_pktmbuf_free_bulk(burst, got);
    return got;
}

static uint16_t send_burst(uint16_t port, uint16_t size, uint16_t count) {
    struct rte_mbuf *burst[BURST];
    for (uint16_t i = 0; i < count; i++)
        burst[i] = packet(size);
    uint64_t begin = rte_rdtsc();
    uint16_t taken = rte_eth_tx_burst(port, 0, burst, count);
    if (taken == BURST)
        note(&sends, begin);
    rte_pktmbuf_free_bulk(burst + taken, count - taken);
    return taken;
}

static void loop(uint16_t sender, uint16_t receiver, uint16_t size, uint32_t total) {
    uint64_t end = rte_rdtsc() + PATIENCE_S * rte_get_tsc_hz();
    for (uint32_t sent = 0, received = 0; received < total;) {
        if (sent - received <= IN_FLIGHT - BURST && sent < total)
            sent += send_burst(sender, size, BURST);
        uint16_t got = receive_burst(receiver);
        received += got;
        for (unsigned i = 0; i < 200 && got < BURST; i++) // until a whole burst is there
            rte_pause();
        if (rte_rdtsc() > end)
            fail("packets do not come back");
    }
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    if (used < 0 || count - used != 5)
        fail("loop EAL-ARGUMENTS -- SENDER RECEIVER SIZE COUNT");
    uint16_t sender = (uint16_t)atoi(arguments[used + 1]), receiver = (uint16_t)atoi(arguments[used + 2]);
    uint16_t size = (uint16_t)atoi(arguments[used + 3]);
    uint32_t total = (uint32_t)atoi(arguments[used + 4]) / BURST * BURST;
    pool = rte_pktmbuf_pool_create("pool", 4095, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || size < RTE_ETHER_HDR_LEN || size > RTE_ETHER_MAX_LEN - RTE_ETHER_CRC_LEN)
        fail("no memory, or a size that cannot be");
    start(sender);
    if (receiver != sender)
        start(receiver);
    loop(sender, receiver, size, total);
    for (unsigned i = 0; i < 1000; i++) // nothing is under way any more
        receive_burst(receiver);
    printf("{\"send\": %.1f, \"receive\": %.1f, \"empty_poll\": %.1f, \"tsc_hz\": %llu}\n", median(&sends, BURST),
           median(&receives, BURST), median(&polls, 1), (unsigned long long)rte_get_tsc_hz());
    for (uint16_t port = 0; port < rte_eth_dev_count_total(); port++)
        if (port == sender || port == receiver)
            if (rte_eth_dev_stop(port) || rte_eth_dev_close(port))
                fail("a port does not close");
    return rte_eal_cleanup() ? 1 : 0;
}
