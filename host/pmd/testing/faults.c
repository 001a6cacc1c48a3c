// SPDX-License-Identifier: Apache-2.0
// A bad DPDK program on the driver, for the tests: `faults EAL-ARGUMENTS -- MODE`; the lanes of its two ports are
// joined outside.
//   hoard   never gives the buffers of a port back
//   deaf    does not poll one port, then none
// Every packet that was sent is received or counted as lost, the other port goes on, and afterwards everything is right
// again. Prints a line that begins with `ok`, or what went wrong, and ends with 1.
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 32, FEW = 64, MANY = 4096, FRAME = 60, PATIENCE = 30, QUIET_MS = 100 };

static struct rte_mempool *many, *few; // buffers: enough, and of port 1 while they are hoarded

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("failed: ");
    vprintf(format, arguments);
    putchar('\n');
    exit(1);
}

static void start(uint16_t port, struct rte_mempool *pool) {
    struct rte_eth_conf conf = {0};
    if (rte_eth_dev_configure(port, 1, 1, &conf) ||
        rte_eth_rx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("start of port %u", port);
}

static uint64_t counter(uint16_t port, const char *name) {
    uint64_t id, value;
    if (rte_eth_xstats_get_id_by_name(port, name, &id) || rte_eth_xstats_get_by_id(port, &id, &value, 1) != 1)
        fail("port %u has no counter %s", port, name);
    return value;
}

// Packets that were lost anywhere, and counted.
static uint64_t lost(void) {
    static const char *const names[] = {"rx_fifo_dropped",    "tx_fifo_dropped",         "rx_no_mbuf_dropped",
                                        "rx_stopped_dropped", "lane_rx_outside_dropped", "lane_tx_outside_dropped"};
    uint64_t sum = counter(1, "device_to_host_dropped") + counter(1, "device_not_polled_dropped");
    for (uint16_t port = 0; port < 2; port++)
        for (unsigned i = 0; i < RTE_DIM(names); i++)
            sum += counter(port, names[i]);
    return sum;
}

// Broadcast frames of no protocol.
static void send_from(uint16_t port, unsigned count) {
    uint64_t end = rte_rdtsc() + PATIENCE * rte_get_tsc_hz();
    while (count > 0) {
        struct rte_mbuf *burst[BURST];
        uint16_t wanted = (uint16_t)RTE_MIN(count, (unsigned)BURST);
        if (rte_pktmbuf_alloc_bulk(many, burst, wanted))
            fail("no mbuf to send");
        for (unsigned i = 0; i < wanted; i++)
            memset(rte_pktmbuf_append(burst[i], FRAME), 0xff, FRAME);
        uint16_t taken = rte_eth_tx_burst(port, 0, burst, wanted);
        rte_pktmbuf_free_bulk(burst + taken, wanted - taken);
        count -= taken;
        if (rte_rdtsc() > end)
            fail("port %u takes no more packets", port);
    }
}

// What comes to a port until `wanted` have come, or nothing for a while; kept where there is a place for it, else
// freed.
static unsigned receive_at(uint16_t port, unsigned wanted, struct rte_mbuf **kept) {
    unsigned sum = 0;
    uint64_t last = rte_rdtsc();
    while (sum < wanted && rte_rdtsc() - last < QUIET_MS * rte_get_tsc_hz() / 1000) {
        struct rte_mbuf *burst[BURST];
        uint16_t got = rte_eth_rx_burst(port, 0, burst, BURST);
        if (kept)
            memcpy(kept + sum, burst, got * sizeof *burst);
        else
            rte_pktmbuf_free_bulk(burst, got);
        sum += got;
        last = got ? rte_rdtsc() : last;
    }
    return sum;
}

// A burst from the other port to this one, all of which comes.
static void one_burst(uint16_t port, const char *when) {
    unsigned got = 0;
    send_from(!port, BURST);
    for (unsigned i = 0; i < PATIENCE && got < BURST; i++)
        got += receive_at(port, BURST - got, NULL);
    if (got != BURST)
        fail("%s, port %u got %u of %d packets", when, port, got, BURST);
}

static void is_right(const char *when) {
    for (unsigned round = 0; round < 4; round++)
        for (uint16_t port = 0; port < 2; port++)
            one_burst(port, when);
}

static void hoard(void) {
    static struct rte_mbuf *kept[FEW + BURST];
    unsigned number = 0;
    rte_eth_dev_stop(1);
    start(1, few);
    is_right("before");
    uint64_t before = counter(1, "rx_no_mbuf_dropped");
    for (unsigned round = 0; round < 10; round++) {
        send_from(0, BURST);
        number += receive_at(1, BURST, kept + number);
        one_burst(0, "while the other port's buffers are kept");
    }
    uint64_t counted = counter(1, "rx_no_mbuf_dropped") - before;
    if (number != FEW || number + counted != 10 * BURST)
        fail("%u packets received and %" PRIu64 " counted of %d", number, counted, 10 * BURST);
    rte_pktmbuf_free_bulk(kept, number);
    is_right("with the buffers back");
    printf("ok: %u kept, %" PRIu64 " counted\n", number, counted);
}

static void deaf(void) {
    uint64_t before = lost();
    for (unsigned sent = 0; sent < MANY; sent += BURST) { // one port is not polled
        send_from(0, BURST);
        one_burst(0, "while the other port is not polled");
    }
    unsigned got = receive_at(1, MANY, NULL);
    uint64_t one = lost() - before;
    if (got + one != MANY || one == 0)
        fail("%u packets received late and %" PRIu64 " counted of %d", got, one, MANY);
    is_right("after one was not polled");
    before = lost();
    send_from(0, MANY); // no port is polled
    got = receive_at(1, MANY, NULL);
    for (unsigned i = 0; i < PATIENCE && got + lost() - before < MANY; i++)
        got += receive_at(1, MANY, NULL);
    uint64_t none = lost() - before;
    if (got + none != MANY || none == 0)
        fail("%u packets received late and %" PRIu64 " counted of %d, none polled", got, none, MANY);
    is_right("after none was polled");
    printf("ok: %" PRIu64 " and %" PRIu64 " counted\n", one, none);
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    if (used < 0 || used + 1 >= count || rte_eth_dev_count_avail() != 2)
        fail("no device of two ports, or no mode");
    many = rte_pktmbuf_pool_create("many", 4 * MANY - 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    few = rte_pktmbuf_pool_create("few", FEW, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!many || !few)
        fail("no memory");
    start(0, many);
    start(1, many);
    if (strcmp(arguments[used + 1], "hoard") == 0)
        hoard();
    else
        deaf();
    for (uint16_t port = 0; port < 2; port++)
        if (rte_eth_dev_stop(port) || rte_eth_dev_close(port))
            fail("close");
    return rte_eal_cleanup() ? 1 : 0;
}
