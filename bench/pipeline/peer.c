// SPDX-License-Identifier: Apache-2.0
// The function of the benchmark as DPDK code on one core, as in the MPSoC paper (6.1): receive a burst, look each
// destination up in STAGES tables of the same routes in turn, rewrite MAC addresses, TTL and checksum, send.
//
// usage: pipeline_peer STAGES ROUTES [EAL options]; port 0 receives, port 1 sends.
// ROUTES has a line for each route: ADDRESS/LENGTH. Prints packets a second of this core's time, a JSON array of
// windows.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_lpm.h>

enum { BURST = 32, WINDOWS = 5, MAX_STAGES = 16, MBUFS = 16383, ROUTES = 1024 };

static struct rte_lpm *tables[MAX_STAGES];

static double core_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(const char *what) {
    fprintf(stderr, "pipeline_peer: %s\n", what);
    exit(1);
}

static void load(unsigned stages, const char *path) {
    const struct rte_lpm_config config = {.max_rules = ROUTES, .number_tbl8s = 256};
    for (unsigned s = 0; s < stages; s++) {
        char name[16], address[64];
        unsigned length, route = 0;
        snprintf(name, sizeof name, "stage%u", s);
        FILE *file = fopen(path, "r");
        tables[s] = rte_lpm_create(name, SOCKET_ID_ANY, &config);
        if (!file || !tables[s])
            fail("no routes, or no table");
        while (fscanf(file, "%63[0-9.]/%u\n", address, &length) == 2)
            if (rte_lpm_add(tables[s], ntohl(inet_addr(address)), (uint8_t)length, route++) != 0)
                fail("a route that the table does not take");
        fclose(file);
    }
}

static void open_port(uint16_t port, struct rte_mempool *pool) {
    const struct rte_eth_conf config = {0};
    if (rte_eth_dev_configure(port, 1, 1, &config) || rte_eth_rx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("a port that does not start");
}

// Looks the burst up; packets without a route in one of the stages are freed. Returns how many are left.
static uint16_t look_up(struct rte_mbuf **packets, uint16_t count, unsigned stages) {
    for (unsigned s = 0; s < stages; s++) {
        uint32_t address[BURST], route[BURST];
        uint16_t left = 0;
        for (uint16_t i = 0; i < count; i++)
            address[i] = ntohl(
                rte_pktmbuf_mtod_offset(packets[i], struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr))->dst_addr);
        rte_lpm_lookup_bulk(tables[s], address, route, count);
        for (uint16_t i = 0; i < count; i++) {
            if (route[i] & RTE_LPM_LOOKUP_SUCCESS)
                packets[left++] = packets[i];
            else
                rte_pktmbuf_free(packets[i]);
        }
        count = left;
    }
    return count;
}

static uint64_t forward(unsigned stages) {
    struct rte_mbuf *packets[BURST];
    uint16_t count = look_up(packets, rte_eth_rx_burst(0, 0, packets, BURST), stages);
    for (uint16_t i = 0; i < count; i++) {
        struct rte_ether_hdr *ethernet = rte_pktmbuf_mtod(packets[i], struct rte_ether_hdr *);
        struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ethernet + 1);
        ethernet->dst_addr.addr_bytes[5] = 1;
        ethernet->src_addr.addr_bytes[5] = 2;
        ip->time_to_live--;
        uint32_t sum = ip->hdr_checksum + RTE_BE16(0x0100);
        ip->hdr_checksum = (uint16_t)(sum + (sum >> 16));
    }
    uint16_t sent = rte_eth_tx_burst(1, 0, packets, count);
    for (uint16_t i = sent; i < count; i++)
        rte_pktmbuf_free(packets[i]);
    return sent;
}

int main(int argc, char **argv) {
    if (argc < 3 || atoi(argv[1]) < 1 || atoi(argv[1]) > MAX_STAGES)
        fail("usage: pipeline_peer STAGES ROUTES [EAL options]");
    unsigned stages = (unsigned)atoi(argv[1]);
    const char *path = argv[2];
    argv[2] = argv[0];
    if (rte_eal_init(argc - 2, argv + 2) < 0)
        fail("EAL does not start");
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("packets", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || rte_eth_dev_count_avail() < 2)
        fail("no memory, or not two ports");
    load(stages, path);
    open_port(0, pool);
    open_port(1, pool);
    for (int window = 0; window <= WINDOWS; window++) { // the first warms the caches
        uint64_t sent = 0;
        double begin = core_seconds(), now;
        do {
            for (int turn = 0; turn < 256; turn++)
                sent += forward(stages);
            now = core_seconds();
        } while (now - begin < 0.4);
        if (window)
            printf("%s%.0f", window > 1 ? ", " : "[", (double)sent / (now - begin));
    }
    puts("]");
    return rte_eal_cleanup() == 0 ? 0 : 1;
}
