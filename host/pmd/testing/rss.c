// SPDX-License-Identifier: Apache-2.0
// Receives on the four queues of port 0 what its lane repeats, and asks DPDK's own functions whether each mbuf is
// right: hash, queue, packet type, checksums. `rss EAL-ARGUMENTS -- SEED`; with a seed other than 0 key and redirection
// table are its own. Prints `ok`, then packets, packets with a hash, with good and with bad checksums, and those of
// each queue; or what is wrong, and ends with 1.
#define ALLOW_EXPERIMENTAL_API // rte_ipv4_udptcp_cksum_verify
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_thash.h>
#include <rte_udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, KEY = 40, ENTRIES = 128, WANTED = 400, SECONDS = 60, L4 = RTE_PTYPE_L4_TCP | RTE_PTYPE_L4_UDP };

static uint8_t key[KEY];
static uint16_t table[ENTRIES];
static unsigned hashed, good, bad, of_queue[QUEUES];

static void fail(const char *text) {
    printf("failed: %s\n", text);
    exit(1);
}

// The port, its table and key as they are set, and what it says of them.
static void start(unsigned seed) {
    struct rte_eth_conf conf = {
        .rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_CHECKSUM},
        .rx_adv_conf = {.rss_conf = {.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP}}};
    struct rte_eth_rss_reta_entry64 entries[ENTRIES / RTE_ETH_RETA_GROUP_SIZE], read[ENTRIES / RTE_ETH_RETA_GROUP_SIZE];
    struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = KEY};
    struct rte_mempool *pool = rte_pktmbuf_pool_create("pool", 4096, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (rte_eth_dev_configure(0, QUEUES, 1, &conf))
        fail("configure");
    for (uint16_t queue = QUEUES; queue-- > 0;)
        if (rte_eth_rx_queue_setup(0, queue, 512, (unsigned)SOCKET_ID_ANY, NULL, pool))
            fail("queue");
    srand(seed);
    for (unsigned i = 0; i < ENTRIES; i++) {
        entries[i / RTE_ETH_RETA_GROUP_SIZE].mask = read[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
        entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)(rand() % QUEUES);
    }
    for (unsigned i = 0; i < KEY; i++)
        key[i] = (uint8_t)rand();
    rss.rss_hf = conf.rx_adv_conf.rss_conf.rss_hf;
    if (seed && (rte_eth_dev_rss_reta_update(0, entries, ENTRIES) || rte_eth_dev_rss_hash_update(0, &rss)))
        fail("update");
    entries[1].reta[3] = QUEUES;
    if (rte_eth_dev_rss_reta_update(0, entries, ENTRIES) != -EINVAL)
        fail("a queue that is not there");
    if (rte_eth_dev_rss_reta_query(0, read, ENTRIES) || rte_eth_dev_rss_hash_conf_get(0, &rss) ||
        (rss.rss_hf & conf.rx_adv_conf.rss_conf.rss_hf) != conf.rx_adv_conf.rss_conf.rss_hf)
        fail("query");
    for (unsigned i = 0; i < ENTRIES; i++)
        table[i] = read[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
    if (rte_eth_tx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(0) ||
        rte_eth_promiscuous_enable(0))
        fail("start");
}

// The words that DPDK hashes; how many.
static unsigned tuple(const struct rte_mbuf *mbuf, uint32_t type, const struct rte_net_hdr_lens *lens,
                      uint32_t *words) {
    const uint8_t *l3 = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, lens->l2_len);
    unsigned count = RTE_ETH_IS_IPV4_HDR(type) ? 2 : RTE_ETH_IS_IPV6_HDR(type) ? 8 : 0, at = count == 2 ? 12 : 8;
    for (unsigned i = 0; i < count; i++) {
        memcpy(&words[i], l3 + at + 4 * i, 4);
        words[i] = rte_be_to_cpu_32(words[i]);
    }
    if (count && ((type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP || (type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_UDP)) {
        memcpy(&words[count], l3 + lens->l3_len, 4);
        words[count] = rte_be_to_cpu_32(words[count]);
        count++;
    }
    return count;
}

static void check_hash(const struct rte_mbuf *mbuf, uint16_t queue, uint32_t type,
                       const struct rte_net_hdr_lens *lens) {
    uint32_t words[9];
    unsigned count = tuple(mbuf, type, lens, words);
    if (!(mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != !count)
        fail("a hash where there is none, or none where there is one");
    if (count && mbuf->hash.rss != rte_softrss(words, count, key))
        fail("another hash than rte_softrss has");
    if (queue != (count ? table[mbuf->hash.rss % ENTRIES] : 0))
        fail("another queue than the table has");
    hashed += count != 0;
}

// Whole packets without IPv6 extension headers only: of the others nothing is said.
static void check_sums(const struct rte_mbuf *mbuf, uint32_t type, const struct rte_net_hdr_lens *lens) {
    const void *l3 = rte_pktmbuf_mtod_offset(mbuf, const void *, lens->l2_len);
    const void *l4 = (const uint8_t *)l3 + lens->l3_len;
    uint64_t ip = mbuf->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, sum = mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    bool is_ipv4 = RTE_ETH_IS_IPV4_HDR(type);
    if (is_ipv4 && rte_raw_cksum(l3, lens->l3_len) == 0xffff ? ip != RTE_MBUF_F_RX_IP_CKSUM_GOOD
                                                             : is_ipv4 && ip != RTE_MBUF_F_RX_IP_CKSUM_BAD)
        fail("the checksum of IPv4");
    good += sum == RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    bad += sum == RTE_MBUF_F_RX_L4_CKSUM_BAD;
    if (sum == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN)
        return;
    int wrong = is_ipv4 ? rte_ipv4_udptcp_cksum_verify(l3, l4) : rte_ipv6_udptcp_cksum_verify(l3, l4);
    if (!wrong != (sum == RTE_MBUF_F_RX_L4_CKSUM_GOOD))
        fail("the checksum of TCP or UDP");
}

static void check(const struct rte_mbuf *mbuf, uint16_t queue) {
    struct rte_net_hdr_lens lens = {0};
    uint32_t type =
        rte_net_get_ptype(mbuf, &lens, RTE_PTYPE_ALL_MASK & ~RTE_PTYPE_TUNNEL_MASK & ~RTE_PTYPE_INNER_L2_MASK);
    uint32_t l4 = type & RTE_PTYPE_L4_MASK, told = mbuf->packet_type;
    if (RTE_ETH_IS_IPV4_HDR(type) != RTE_ETH_IS_IPV4_HDR(told) ||
        RTE_ETH_IS_IPV6_HDR(type) != RTE_ETH_IS_IPV6_HDR(told))
        fail("the type of the network header");
    if ((l4 == RTE_PTYPE_L4_TCP || l4 == RTE_PTYPE_L4_UDP) && (told & RTE_PTYPE_L4_MASK) != l4)
        fail("the type of the transport header");
    check_hash(mbuf, queue, type, &lens);
    check_sums(mbuf, type, &lens);
    of_queue[queue]++;
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    struct rte_mbuf *burst[32];
    unsigned received = 0;
    if (used < 0 || used + 1 >= count || rte_eth_dev_count_avail() < 1)
        fail("no device");
    start((unsigned)atoi(arguments[used + 1]));
    uint64_t end = rte_rdtsc() + SECONDS * rte_get_tsc_hz();
    for (uint16_t queue = 0; received < WANTED && rte_rdtsc() < end; queue = (uint16_t)((queue + 1) % QUEUES)) {
        uint16_t got = rte_eth_rx_burst(0, queue, burst, RTE_DIM(burst));
        for (uint16_t i = 0; i < got; i++)
            check(burst[i], queue);
        rte_pktmbuf_free_bulk(burst, got);
        received += got;
    }
    struct rte_eth_stats stats;
    if (rte_eth_stats_get(0, &stats) || received < WANTED)
        fail("packets are missing");
    for (unsigned queue = 0; queue < QUEUES; queue++)
        if (stats.q_ipackets[queue] != of_queue[queue])
            fail("the counters of a queue");
    printf("ok %u %u %u %u %u %u %u %u\n", received, hashed, good, bad, of_queue[0], of_queue[1], of_queue[2],
           of_queue[3]);
    if (rte_eth_dev_stop(0) || rte_eth_dev_close(0))
        fail("close");
    return rte_eal_cleanup() ? 1 : 0;
}
