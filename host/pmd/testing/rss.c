// SPDX-License-Identifier: Apache-2.0
// Receives on the four queues of port 0 what its lane repeats, and asks DPDK's own functions whether each mbuf is
// right: hash, queue, packet type, checksums. `rss EAL-ARGUMENTS -- SEED`; with a seed other than 0 key and redirection
// table are its own, and there are rules with RSS over lists of queues. Prints `ok`, then packets, packets with a hash,
// with good and with bad checksums, and those of each queue; or what is wrong, and ends with 1.
#define ALLOW_EXPERIMENTAL_API // rte_ipv4_udptcp_cksum_verify
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_thash.h>
#include <rte_udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUES = 4,
    KEY = 40,
    LISTS = 7,
    ENTRIES = 128,
    WANTED = 400,
    SECONDS = 60,
    L4 = RTE_PTYPE_L4_TCP | RTE_PTYPE_L4_UDP
};

static uint8_t key[KEY];
static uint16_t table[ENTRIES];
static unsigned hashed, good, bad, of_queue[QUEUES];

static void fail(const char *text) {
    printf("failed: %s\n", text);
    exit(1);
}

// Packets without a tag, by what their EtherType is; those of ARP have no hash.
static const struct rule {
    uint16_t type;
    unsigned count;
    uint16_t queues[4];
} rules[] = {
    {RTE_ETHER_TYPE_IPV4, 3, {3, 1, 1}}, {RTE_ETHER_TYPE_IPV6, 2, {2, 0}}, {RTE_ETHER_TYPE_ARP, 4, {3, 2, 1, 0}}};
static bool has_rules;

static struct rte_flow *make(uint16_t type, const struct rte_flow_action_rss *rss, struct rte_flow_error *error) {
    const struct rte_flow_attr attributes = {.ingress = 1};
    struct rte_flow_item_eth spec = {.type = rte_cpu_to_be_16(type)}, mask = {.type = UINT16_MAX, .has_vlan = 1};
    struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &spec, .mask = &mask},
                                      {.type = RTE_FLOW_ITEM_TYPE_END}};
    struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = rss},
                                        {.type = RTE_FLOW_ACTION_TYPE_END}};
    return rte_flow_create(0, &attributes, pattern, actions, error);
}

// Refused with this status, as an action that cannot be.
static void refuse(const struct rte_flow_action_rss *rss, int status, const char *text) {
    struct rte_flow_error error;
    if (make(0x9000, rss, &error) || rte_errno != status || error.type != RTE_FLOW_ERROR_TYPE_ACTION)
        fail(text);
}

// A table for each list of queues, shared by rules with the same; there are as many as that, and they come back.
static void check_tables(void) {
    struct rte_flow *made[LISTS + 1];
    struct rte_flow_error error;
    uint16_t queues[2] = {0};
    struct rte_flow_action_rss list = {.queue = queues, .queue_num = 2};
    for (uint16_t i = 0; i <= LISTS; i++) {
        queues[0] = i / QUEUES;
        queues[1] = i % QUEUES;
        if (i == LISTS)
            refuse(&list, ENOSPC, "a list more than there are tables");
        else if (!(made[i] = make((uint16_t)(0x9000 + i), &list, &error)))
            fail(error.message);
    }
    queues[0] = queues[1] = 0; // as the first
    if (!(made[LISTS] = make(0x9200, &list, &error)) || rte_flow_destroy(0, made[0], &error))
        fail("a list that is there already");
    queues[0] = 3;
    refuse(&list, ENOSPC, "the table of a rule that is still there");
    if (rte_flow_destroy(0, made[LISTS], &error) || !(made[0] = make(0x9000, &list, &error)))
        fail("a table that is free again");
    for (unsigned i = 0; i < LISTS; i++)
        if (rte_flow_destroy(0, made[i], &error))
            fail("destroy");
}

// The rules that are there name their queues.
static void check_dump(void) {
    char text[4096] = {0};
    struct rte_flow_error error;
    FILE *file = tmpfile();
    if (!file || rte_flow_dev_dump(0, NULL, file, &error))
        fail("dump");
    rewind(file);
    if (!fread(text, 1, sizeof text - 1, file) || !strstr(text, "queue(3,1,1) host") ||
        !strstr(text, "queue(2,0) host"))
        fail(text);
    fclose(file);
}

static void make_rules(void) {
    static const uint16_t pair[] = {1, 2};
    const struct rte_flow_action_rss list = {.queue = pair, .queue_num = 2};
    struct rte_flow_action_rss wrong = list;
    struct rte_flow_error error;
    wrong.types = RTE_ETH_RSS_IP;
    refuse(&wrong, ENOTSUP, "other types than those of the port");
    wrong.types = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_L3_SRC_ONLY;
    refuse(&wrong, ENOTSUP, "types that the device does not have");
    wrong = list;
    wrong.func = RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ;
    refuse(&wrong, ENOTSUP, "another function");
    wrong = list;
    wrong.key = key;
    wrong.key_len = KEY;
    refuse(&wrong, ENOTSUP, "a key");
    check_tables();
    for (unsigned i = 0; i < RTE_DIM(rules); i++) {
        const struct rte_flow_action_rss rss = {.func = RTE_ETH_HASH_FUNCTION_TOEPLITZ,
                                                .level = i % 2,
                                                .types = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP,
                                                .queue_num = rules[i].count,
                                                .queue = rules[i].queues};
        if (!make(rules[i].type, &rss, &error))
            fail(error.message);
    }
    has_rules = true;
    check_dump();
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
    if (rte_eth_dev_rss_reta_update(0, entries, ENTRIES / 2) != -EINVAL ||
        rte_eth_dev_rss_reta_query(0, read, ENTRIES / 2) != -EINVAL)
        fail("half of the table");
    if (rte_eth_dev_rss_reta_query(0, read, ENTRIES) || rte_eth_dev_rss_hash_conf_get(0, &rss) ||
        (rss.rss_hf & conf.rx_adv_conf.rss_conf.rss_hf) != conf.rx_adv_conf.rss_conf.rss_hf)
        fail("query");
    for (unsigned i = 0; i < ENTRIES; i++)
        table[i] = read[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
    if (rte_eth_tx_queue_setup(0, 0, 512, (unsigned)SOCKET_ID_ANY, NULL))
        fail("queue");
    if (seed)
        make_rules(); // before the first packet
    if (rte_eth_dev_start(0) || rte_eth_promiscuous_enable(0))
        fail("start");
}

// Where a packet goes with this entry of a table; without a hash it is entry 0 of a rule's, and queue 0 else.
static uint16_t queue_of(const struct rte_mbuf *mbuf, bool is_hashed) {
    const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(mbuf, const struct rte_ether_hdr *);
    unsigned entry = is_hashed ? mbuf->hash.rss % ENTRIES : 0;
    for (unsigned i = 0; i < RTE_DIM(rules) && has_rules; i++)
        if (rte_be_to_cpu_16(ether->ether_type) == rules[i].type)
            return rules[i].queues[entry % rules[i].count];
    return is_hashed ? table[entry] : 0;
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
    if (queue != queue_of(mbuf, count))
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
