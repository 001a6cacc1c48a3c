// SPDX-License-Identifier: Apache-2.0
// The jobs of the benchmark by hand, for DPDK: what a good engineer writes in a day, with bulk look-ups and prefetches.
//
// `by_hand JOB RULES SECONDS MBUFS -- EAL OPTIONS`: one port, from its receive queue back into its transmit queue.
// Jobs: `count` and `io` (RULES is -), `router` (lines: address/length source next-hop), `exact` (five fields of a
// flow, and a MAC address), `balancer` (a line of our MAC and IP address, TUNNELS lines of those of a tunnel and its
// subnet, then lines of five fields of a flow and its tunnel), `firewall` (value/mask of five fields, priority, 1 to
// pass). Numbers in hex. A line of JSON on stdout.
#include <rte_acl.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_lpm.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BURST = 64, MOST_RULES = 131072, TUNNELS = 256 };

struct flow {
    uint32_t source, destination;
    uint16_t source_port, destination_port;
    uint8_t protocol, zero[3];
};

struct next_hop {
    struct rte_ether_addr source, destination;
};

// Ethernet, IPv4 and NVGRE (RFC 7637).
struct outer {
    struct rte_ether_hdr ether;
    struct rte_ipv4_hdr ip;
    rte_be16_t flags, protocol;
    rte_be32_t key;
} __rte_packed __rte_aligned(2);

static struct rte_lpm *lpm;
static struct rte_hash *hash;
static struct rte_acl_ctx *acl;
static struct next_hop hops[MOST_RULES];
static struct outer tunnels[TUNNELS]; // with length 0, and the sum of the rest in place of the checksum
static uint8_t tunnel_of[MOST_RULES]; // by the number of the flow
static uint64_t counted;

static int fail(const char *text) {
    fprintf(stderr, "by_hand: %s\n", text);
    return 1;
}

static void set_mac(struct rte_ether_addr *address, uint64_t number) {
    for (int i = 0; i < 6; i++)
        address->addr_bytes[i] = (uint8_t)(number >> (40 - 8 * i));
}

// Of IPv4 without options; NULL of others.
static struct rte_ipv4_hdr *ip_of(struct rte_mbuf *packet) {
    struct rte_ether_hdr *ether = rte_pktmbuf_mtod(packet, struct rte_ether_hdr *);
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
    const bool is_plain = ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && ip->version_ihl == 0x45;
    return is_plain && packet->data_len >= 34 ? ip : NULL;
}

static struct flow flow_of(const struct rte_ipv4_hdr *ip) {
    const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);
    return (struct flow){ip->src_addr, ip->dst_addr, udp->src_port, udp->dst_port, ip->next_proto_id, {0}};
}

// Each job leaves what passes at the front of the array and frees the rest; the number of the former.
static uint16_t io(struct rte_mbuf **packets, uint16_t count) {
    (void)packets;
    return count;
}

static uint16_t count_them(struct rte_mbuf **packets, uint16_t count) {
    (void)packets;
    counted += count;
    return count;
}

static uint16_t route(struct rte_mbuf **packets, uint16_t count) {
    struct rte_ipv4_hdr *headers[BURST];
    uint32_t addresses[BURST], found[BURST];
    for (uint16_t i = 0; i < count; i++)
        rte_prefetch0(rte_pktmbuf_mtod(packets[i], void *));
    for (uint16_t i = 0; i < count; i++) {
        headers[i] = ip_of(packets[i]);
        addresses[i] = headers[i] ? rte_be_to_cpu_32(headers[i]->dst_addr) : 0;
    }
    rte_lpm_lookup_bulk(lpm, addresses, found, count);
    uint16_t left = 0;
    for (uint16_t i = 0; i < count; i++) {
        struct rte_ipv4_hdr *ip = headers[i];
        if (!ip || ip->time_to_live <= 1 || !(found[i] & RTE_LPM_LOOKUP_SUCCESS)) {
            rte_pktmbuf_free(packets[i]);
            continue;
        }
        ip->time_to_live--;
        uint32_t sum = ip->hdr_checksum + RTE_BE16(0x0100);
        ip->hdr_checksum = (uint16_t)(sum + (sum >> 16));
        struct rte_ether_hdr *ether = rte_pktmbuf_mtod(packets[i], struct rte_ether_hdr *);
        const struct next_hop *hop = &hops[found[i] & 0xffffff];
        ether->dst_addr = hop->destination;
        ether->src_addr = hop->source;
        packets[left++] = packets[i];
    }
    return left;
}

static void keys_of(struct rte_mbuf **packets, uint16_t count, struct flow *keys, const void **pointers) {
    for (uint16_t i = 0; i < count; i++)
        rte_prefetch0(rte_pktmbuf_mtod(packets[i], void *));
    for (uint16_t i = 0; i < count; i++) {
        const struct rte_ipv4_hdr *ip = ip_of(packets[i]);
        keys[i] = ip ? flow_of(ip) : (struct flow){0};
        pointers[i] = &keys[i];
    }
}

// The number of each packet's flow; below 0: none.
static void look_up(struct rte_mbuf **packets, uint16_t count, int32_t *found) {
    struct flow keys[BURST];
    const void *pointers[BURST];
    keys_of(packets, count, keys, pointers);
    rte_hash_lookup_bulk(hash, pointers, count, found);
}

static uint16_t known(struct rte_mbuf **packets, uint16_t count) {
    int32_t found[BURST];
    look_up(packets, count, found);
    uint16_t left = 0;
    for (uint16_t i = 0; i < count; i++) {
        if (found[i] < 0) {
            rte_pktmbuf_free(packets[i]);
            continue;
        }
        rte_pktmbuf_mtod(packets[i], struct rte_ether_hdr *)->dst_addr = hops[found[i]].destination;
        packets[left++] = packets[i];
    }
    return left;
}

static bool encapsulate(struct rte_mbuf *packet, const struct outer *tunnel) {
    struct outer *outer = (struct outer *)rte_pktmbuf_prepend(packet, sizeof *outer);
    if (!outer)
        return false;
    const rte_be16_t length = rte_cpu_to_be_16((uint16_t)(rte_pktmbuf_pkt_len(packet) - sizeof(struct rte_ether_hdr)));
    *outer = *tunnel;
    uint32_t sum = (uint32_t)tunnel->ip.hdr_checksum + length;
    sum = (sum & 0xffff) + (sum >> 16);
    outer->ip.total_length = length;
    outer->ip.hdr_checksum = (rte_be16_t) ~((sum & 0xffff) + (sum >> 16));
    return true;
}

static uint16_t balance(struct rte_mbuf **packets, uint16_t count) {
    int32_t found[BURST];
    look_up(packets, count, found);
    uint16_t left = 0;
    for (uint16_t i = 0; i < count; i++) {
        if (found[i] < 0 || !encapsulate(packets[i], &tunnels[tunnel_of[found[i]]])) {
            rte_pktmbuf_free(packets[i]);
            continue;
        }
        packets[left++] = packets[i];
    }
    return left;
}

static uint16_t filter(struct rte_mbuf **packets, uint16_t count) {
    struct flow keys[BURST];
    const void *pointers[BURST];
    uint32_t found[BURST];
    keys_of(packets, count, keys, pointers);
    rte_acl_classify(acl, (const uint8_t **)pointers, found, count, 1);
    uint16_t left = 0;
    for (uint16_t i = 0; i < count; i++)
        if (found[i] == 2)
            packets[left++] = packets[i];
        else
            rte_pktmbuf_free(packets[i]);
    return left;
}

static int read_routes(FILE *file) {
    const struct rte_lpm_config config = {.max_rules = MOST_RULES, .number_tbl8s = 4096};
    uint64_t address, length, source, destination;
    lpm = rte_lpm_create("routes", SOCKET_ID_ANY, &config);
    for (uint32_t n = 0; fscanf(file, "%lx/%lx %lx %lx", &address, &length, &source, &destination) == 4; n++) {
        set_mac(&hops[n].source, source);
        set_mac(&hops[n].destination, destination);
        if (rte_lpm_add(lpm, (uint32_t)address, (uint8_t)length, n) != 0)
            return -1;
    }
    return lpm ? 0 : -1;
}

// Flows, each with a number that goes to `take`.
static int read_keys(FILE *file, void (*take)(int32_t at, uint64_t number)) {
    const struct rte_hash_parameters parameters = {
        .name = "flows", .entries = 2 * MOST_RULES, .key_len = sizeof(struct flow), .hash_func = rte_hash_crc};
    uint64_t field[5], address;
    hash = rte_hash_create(&parameters);
    while (hash && fscanf(file, "%lx %lx %lx %lx %lx %lx", &field[0], &field[1], &field[2], &field[3], &field[4],
                          &address) == 6) {
        const struct flow key = {rte_cpu_to_be_32((uint32_t)field[0]),
                                 rte_cpu_to_be_32((uint32_t)field[1]),
                                 rte_cpu_to_be_16((uint16_t)field[2]),
                                 rte_cpu_to_be_16((uint16_t)field[3]),
                                 (uint8_t)field[4],
                                 {0}};
        const int32_t at = rte_hash_add_key(hash, &key);
        if (at < 0 || at >= MOST_RULES)
            return -1;
        take(at, address);
    }
    return hash ? 0 : -1;
}

static void take_address(int32_t at, uint64_t number) {
    set_mac(&hops[at].destination, number);
}

static int read_flows(FILE *file) {
    return read_keys(file, take_address);
}

static void take_tunnel(int32_t at, uint64_t number) {
    tunnel_of[at] = (uint8_t)number;
}

static int read_balancer(FILE *file) {
    uint64_t own_mac, own_ip, mac, ip, subnet;
    if (fscanf(file, "%lx %lx", &own_mac, &own_ip) != 2)
        return -1;
    for (int i = 0; i < TUNNELS; i++) {
        struct outer *one = &tunnels[i];
        if (fscanf(file, "%lx %lx %lx", &mac, &ip, &subnet) != 3)
            return -1;
        set_mac(&one->ether.dst_addr, mac);
        set_mac(&one->ether.src_addr, own_mac);
        one->ether.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
        one->ip = (struct rte_ipv4_hdr){.version_ihl = 0x45, .fragment_offset = RTE_BE16(0x4000), .time_to_live = 64};
        one->ip.next_proto_id = IPPROTO_GRE;
        one->ip.src_addr = rte_cpu_to_be_32((uint32_t)own_ip);
        one->ip.dst_addr = rte_cpu_to_be_32((uint32_t)ip);
        one->ip.hdr_checksum = rte_raw_cksum(&one->ip, sizeof one->ip);
        one->flags = RTE_BE16(0x2000);
        one->protocol = RTE_BE16(0x6558);
        one->key = rte_cpu_to_be_32((uint32_t)subnet << 8);
    }
    return read_keys(file, take_tunnel);
}

RTE_ACL_RULE_DEF(rule, 5);

// rte_acl wants a field of a byte first.
static const struct rte_acl_field_def FIELDS[5] = {
    {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct flow, protocol)},
    {RTE_ACL_FIELD_TYPE_BITMASK, 4, 1, 1, offsetof(struct flow, source)},
    {RTE_ACL_FIELD_TYPE_BITMASK, 4, 2, 2, offsetof(struct flow, destination)},
    {RTE_ACL_FIELD_TYPE_BITMASK, 2, 3, 3, offsetof(struct flow, source_port)},
    {RTE_ACL_FIELD_TYPE_BITMASK, 2, 4, 3, offsetof(struct flow, destination_port)},
};

static int read_filter(FILE *file) {
    const struct rte_acl_param parameters = {"rules", SOCKET_ID_ANY, RTE_ACL_RULE_SZ(5), MOST_RULES};
    static const int ORDER[5] = {1, 2, 3, 4, 0}; // of a line
    uint64_t value[5], mask[5], priority, passes;
    acl = rte_acl_create(&parameters);
    while (acl) {
        for (int i = 0; i < 5; i++)
            if (fscanf(file, "%lx/%lx", &value[i], &mask[i]) != 2)
                goto build;
        if (fscanf(file, "%lx %lx", &priority, &passes) != 2)
            return -1;
        struct rule one = {{1, (int32_t)priority, (uint32_t)passes + 1}, {{{0}, {0}}}};
        for (int i = 0; i < 5; i++) {
            one.field[ORDER[i]].value.u32 = (uint32_t)value[i];
            one.field[ORDER[i]].mask_range.u32 = (uint32_t)mask[i];
            if (ORDER[i] == 0) {
                one.field[0].value.u8 = (uint8_t)value[i];
                one.field[0].mask_range.u8 = (uint8_t)mask[i];
            } else if (ORDER[i] > 2) {
                one.field[ORDER[i]].value.u16 = (uint16_t)value[i];
                one.field[ORDER[i]].mask_range.u16 = (uint16_t)mask[i];
            }
        }
        if (rte_acl_add_rules(acl, (const struct rte_acl_rule *)&one, 1) != 0)
            return -1;
    }
build:;
    struct rte_acl_config config = {.num_categories = 1, .num_fields = 5};
    memcpy(config.defs, FIELDS, sizeof FIELDS);
    return acl ? rte_acl_build(acl, &config) : -1;
}

static const struct job {
    const char *name;
    uint16_t (*run)(struct rte_mbuf **packets, uint16_t count);
    int (*read)(FILE *file);
} JOBS[] = {{"io", io, NULL},
            {"count", count_them, NULL},
            {"router", route, read_routes},
            {"exact", known, read_flows},
            {"balancer", balance, read_balancer},
            {"firewall", filter, read_filter}};

// As rte_pktmbuf_pool_create, but several mbufs to a page: with small pages, too, their heads are in different sets of
// the first cache.
static struct rte_mempool *make_pool(unsigned mbufs) {
    struct rte_pktmbuf_pool_private room = {.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE};
    struct rte_mempool *pool =
        rte_mempool_create_empty("packets", mbufs, sizeof(struct rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, 256,
                                 sizeof room, SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (!pool)
        return NULL;
    rte_pktmbuf_pool_init(pool, &room);
    if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) != 0 ||
        rte_mempool_populate_default(pool) < 0)
        return NULL;
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return pool;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void loop(const struct job *job, double seconds) {
    struct rte_mbuf *packets[BURST];
    uint64_t received = 0, sent = 0;
    const double before = processor_seconds();
    const uint64_t begin = rte_get_tsc_cycles(), end = begin + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    while (rte_get_tsc_cycles() < end) {
        const uint16_t count = rte_eth_rx_burst(0, 0, packets, BURST);
        if (count == 0)
            continue;
        received += count;
        const uint16_t left = job->run(packets, count), gone = rte_eth_tx_burst(0, 0, packets, left);
        rte_pktmbuf_free_bulk(packets + gone, (unsigned)(left - gone));
        sent += gone;
    }
    printf("{\"received\": %lu, \"sent\": %lu, \"processor_seconds\": %.6f}\n", received, sent,
           processor_seconds() - before);
}

int main(int count, char **words) {
    if (count < 6 || strcmp(words[5], "--") != 0)
        return fail("JOB RULES SECONDS MBUFS -- EAL OPTIONS");
    const struct job *job = NULL;
    for (size_t i = 0; i < RTE_DIM(JOBS); i++)
        if (strcmp(JOBS[i].name, words[1]) == 0)
            job = &JOBS[i];
    const char *rules = words[2];
    const double seconds = atof(words[3]);
    const unsigned mbufs = (unsigned)atoi(words[4]);
    words[5] = words[0];
    if (!job || rte_eal_init(count - 5, words + 5) < 0)
        return fail("no such job, or DPDK does not start");
    struct rte_mempool *pool = make_pool(mbufs);
    const struct rte_eth_conf configuration = {0};
    if (!pool || rte_eth_dev_configure(0, 1, 1, &configuration) != 0 ||
        rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL, pool) != 0 ||
        rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL) != 0 || rte_eth_dev_start(0) != 0)
        return fail("the port does not start");
    FILE *file = job->read ? fopen(rules, "r") : NULL;
    if (job->read && (!file || job->read(file) != 0))
        return fail("the rules do not go in");
    loop(job, seconds);
    return 0;
}
