// SPDX-License-Identifier: Apache-2.0
// For `sluice bench hostio`: packets go out of one end and come back into another. What a call costs the thread that
// makes it is printed as JSON: cycles of the time stamp counter a packet, the median over bursts of 32: a burst is far
// shorter than a time slice, so in the median the thread had the core all the time. Beside them `core_share`, the
// thread's processor time over the time that passed, and how many packets the device or software parsed.
//
// `loop EAL-ARGUMENTS -- driver SENDER RECEIVER SIZE COUNT`: between ports of DPDK, as mbufs, which software parses.
// `loop EAL-ARGUMENTS -- offload SENDER RECEIVER SIZE COUNT`: the same, but the device parses.
// `loop EAL-ARGUMENTS -- buffers URI SIZE COUNT`: between lanes 0 and 1 of a device, in its self-described buffers:
// what the driver does without making mbufs of them. `parse` is what knowing a received packet costs behind receiving
// it. By software, of an mbuf: rte_net_get_ptype and the 5-tuple, its Toeplitz hash, and both checksums; with offload:
// what of it is in the mbuf; of a buffer: the host library's parser, which makes the record that the device's parser
// makes.
// `loop EAL-ARGUMENTS -- software|key URI SIZE COUNT`: the same, and `parse` finds the packet's flow among 1,024 in the
// host library's index of rules: by the flow key that software makes of parsing it, or that the device put beside it.
#define ALLOW_EXPERIMENTAL_API // rte_ipv4_udptcp_cksum_verify
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_pause.h>
#include <rte_thash.h>
#include <rte_udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "functional.h"
#include "packet.h"
#include "service.h"
#include "sluice/sluice.h"

enum { BURST = 32, IN_FLIGHT = 128, SAMPLES = 1 << 16, PATIENCE_S = 60, HEADERS = 42 };
enum { FLOWS = 1024, RECEIVER = 1 }; // RECEIVER: the lane

struct samples {
    uint32_t count;
    uint32_t cycles[SAMPLES]; // of a burst
};

// Two ends of a cable. Both calls note what they cost; `receive` also what parsing costs.
struct ends {
    uint16_t (*send)(const struct ends *ends);             // a burst; how many were taken
    uint16_t (*receive)(const struct ends *ends);          // up to a burst; how many came
    uint16_t sender, receiver, size;                       // of `driver`; bytes of a packet
    bool is_parsed;                                        // by the device
    uint32_t (*parse)(const struct sluice_packet *packet); // of `buffers`
    struct sluice_device *device;
    struct sluice_queue *queue;
    struct service *service;
};

static struct samples sends, receives, polls, parses;
static struct rte_mempool *pool;
static struct sluice_flow_model *flows;
static uint8_t frame[RTE_ETHER_MAX_LEN];
static volatile uint32_t seen; // what was parsed is used
static uint64_t parsed_by_software_count, parsed_by_device_count;
static const uint64_t offloads =
    RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
static const uint8_t hash_key[40] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa}; // Microsoft's

static void fail(const char *text) {
    fprintf(stderr, "failed: %s\n", text);
    exit(1);
}

// Broadcast, UDP over IPv4.
static void make_frame(uint16_t size) {
    struct rte_ether_hdr *ether = (struct rte_ether_hdr *)frame;
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
    struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
    memset(ether, 0xff, sizeof *ether);
    ether->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
    *ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
                                .total_length = rte_cpu_to_be_16((uint16_t)(size - sizeof *ether)),
                                .time_to_live = 64,
                                .next_proto_id = IPPROTO_UDP,
                                .src_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 1)),
                                .dst_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 2))};
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    *udp = (struct rte_udp_hdr){RTE_BE16(1000), RTE_BE16(2000),
                                rte_cpu_to_be_16((uint16_t)(size - sizeof *ether - sizeof *ip)), 0};
    udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
}

static void note(struct samples *samples, uint64_t begin) {
    uint64_t cycles = rte_rdtsc() - begin;
    if (samples->count < SAMPLES)
        samples->cycles[samples->count++] = cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

static int by_value(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double median(struct samples *samples, unsigned packets) {
    if (samples->count == 0)
        fail("no whole burst");
    qsort(samples->cycles, samples->count, sizeof samples->cycles[0], by_value);
    return (double)samples->cycles[samples->count / 2] / packets;
}

// ---- Ports of DPDK

static void start(uint16_t port, bool is_parsed) {
    struct rte_eth_conf conf = {.rxmode = {.mtu = RTE_ETHER_MTU}};
    if (is_parsed) {
        conf.rxmode.offloads = offloads;
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    }
    if (rte_eth_dev_configure(port, 1, 1, &conf) ||
        rte_eth_rx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("a port does not start");
}

static void stop(uint16_t port) {
    if (rte_eth_dev_stop(port) || rte_eth_dev_close(port))
        fail("a port does not close");
}

static struct rte_mbuf *packet(uint16_t size) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    if (!mbuf)
        fail("no mbuf");
    memcpy(rte_pktmbuf_append(mbuf, size), frame, size);
    return mbuf;
}

// Type, hash and checksums together: a packet that is not what was sent ends the run.
static uint32_t parse_by_software(const struct rte_mbuf *mbuf) {
    struct rte_net_hdr_lens lengths;
    parsed_by_software_count++;
    uint32_t type = rte_net_get_ptype(mbuf, &lengths, RTE_PTYPE_ALL_MASK);
    const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(mbuf, const struct rte_ipv4_hdr *, lengths.l2_len);
    const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)((const uint8_t *)ip + lengths.l3_len);
    if (!RTE_ETH_IS_IPV4_HDR(type) || (type & RTE_PTYPE_L4_MASK) != RTE_PTYPE_L4_UDP || rte_ipv4_cksum(ip) != 0 ||
        rte_ipv4_udptcp_cksum_verify(ip, udp))
        fail("a packet came changed");
    uint32_t ports = (uint32_t)rte_be_to_cpu_16(udp->src_port) << 16 | rte_be_to_cpu_16(udp->dst_port);
    uint32_t tuple[] = {rte_be_to_cpu_32(ip->src_addr), rte_be_to_cpu_32(ip->dst_addr), ports};
    return type ^ rte_softrss(tuple, 3, hash_key);
}

static uint32_t parsed_by_device(const struct rte_mbuf *mbuf) {
    const uint64_t expected = RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    if ((mbuf->ol_flags & expected) != expected || !RTE_ETH_IS_IPV4_HDR(mbuf->packet_type) ||
        (mbuf->packet_type & RTE_PTYPE_L4_MASK) != RTE_PTYPE_L4_UDP)
        fail("the device does not say what a packet is");
    parsed_by_device_count++;
    return mbuf->packet_type ^ mbuf->hash.rss;
}

static uint16_t receive_mbufs(const struct ends *ends) {
    struct rte_mbuf *burst[BURST];
    uint64_t begin = rte_rdtsc();
    uint16_t got = rte_eth_rx_burst(ends->receiver, 0, burst, BURST);
    if (got == BURST)
        note(&receives, begin);
    else if (got == 0)
        note(&polls, begin);
    begin = rte_rdtsc();
    for (uint16_t i = 0; i < got; i++)
        seen ^= ends->is_parsed ? parsed_by_device(burst[i]) : parse_by_software(burst[i]);
    if (got == BURST)
        note(&parses, begin);
    rte_pktmbuf_free_bulk(burst, got);
    return got;
}

static uint16_t send_mbufs(const struct ends *ends) {
    struct rte_mbuf *burst[BURST];
    for (uint16_t i = 0; i < BURST; i++)
        burst[i] = packet(ends->size);
    uint64_t begin = rte_rdtsc();
    uint16_t taken = rte_eth_tx_burst(ends->sender, 0, burst, BURST);
    if (taken == BURST)
        note(&sends, begin);
    rte_pktmbuf_free_bulk(burst + taken, BURST - taken);
    return taken;
}

// ---- Buffers of a device

static uint32_t parse_record(const struct sluice_packet *packet) {
    struct sluice_phv_record record;
    parsed_by_software_count++;
    sluice_parse(packet->bytes, packet->size, NULL, &record);
    return record.length;
}

// The number of a flow; that a packet has none ends the run.
static uint32_t find_flow(const uint8_t *key) {
    struct sluice_flow_found found;
    if (!key || !sluice_flow_model_look(flows, key, &found))
        fail("a packet is of no flow");
    return found.rule_id;
}

static const uint8_t *make_key(const uint8_t *packet, uint32_t size, uint8_t key[SLUICE_FLOW_KEY_BYTES]) {
    struct sluice_phv_record record;
    sluice_parse(packet, size, NULL, &record);
    record.ingress_port = RECEIVER;
    return functional_flow_key(packet, size, &record, key) ? key : NULL;
}

static uint32_t find_by_software(const struct sluice_packet *packet) {
    uint8_t key[SLUICE_FLOW_KEY_BYTES];
    parsed_by_software_count++;
    return find_flow(make_key(packet->bytes, packet->size, key));
}

static uint32_t find_by_key(const struct sluice_packet *packet) {
    parsed_by_device_count++;
    return find_flow(packet->flow_key);
}

// Flows that differ in their source port; those of the frame are one of them.
static void make_flows(uint16_t size) {
    struct sluice_flow_table table;
    struct sluice_flow_operation op = {.kind = SLUICE_INSTRUCTION_POPULATE, .table_id = SLUICE_TABLE_HASHED};
    struct sluice_flow_key key;
    uint8_t packed[sizeof op.value] = {0};
    flows = sluice_flow_model_new(1, FLOWS, FLOWS, 1);
    if (!flows || !make_key(frame, size, packed))
        fail("no memory for flows");
    sluice_flow_model_table(flows, &table);
    sluice_flow_key_unpack(&key, packed);
    memset(op.mask, 0xff, SLUICE_FLOW_KEY_BYTES);
    for (; op.rule_id < FLOWS; op.rule_id++, key.l4_src++) {
        sluice_flow_key_pack(&key, packed);
        memcpy(op.value, packed, sizeof packed);
        if (table.execute(table.context, &op))
            fail("a flow is refused");
    }
}

static uint16_t receive_buffers(const struct ends *ends) {
    struct sluice_packet burst[BURST];
    uint64_t begin = rte_rdtsc(), parsing, spent;
    unsigned got = sluice_queue_receive(ends->queue, burst, BURST);
    parsing = rte_rdtsc();
    for (unsigned i = 0; i < got; i++)
        seen ^= ends->parse(&burst[i]);
    if (got == BURST)
        note(&parses, parsing);
    spent = rte_rdtsc() - parsing;
    if (got)
        sluice_queue_release(ends->queue);
    if (got == BURST)
        note(&receives, begin + spent);
    else if (got == 0)
        note(&polls, begin);
    return (uint16_t)got;
}

static uint16_t send_buffers(const struct ends *ends) {
    uint64_t begin = rte_rdtsc();
    uint16_t taken = 0;
    while (taken < BURST && sluice_poll_send(ends->device, frame, ends->size, 1, 0) == 0)
        taken++;
    service_wake(ends->service);
    if (taken == BURST)
        note(&sends, begin);
    return taken;
}

static void *run(void *service) {
    return service_run(service) ? service : NULL;
}

// ----

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// What the thread had of a core while `loop` ran.
static double core_share;

static void loop(const struct ends *ends, uint32_t total) {
    double begin = seconds(CLOCK_MONOTONIC), spent = seconds(CLOCK_THREAD_CPUTIME_ID);
    uint64_t end = rte_rdtsc() + PATIENCE_S * rte_get_tsc_hz();
    for (uint32_t sent = 0, received = 0; received < total;) {
        if (sent - received <= IN_FLIGHT - BURST && sent < total)
            sent += ends->send(ends);
        uint16_t got = ends->receive(ends);
        received += got;
        for (unsigned i = 0; i < 200 && got < BURST; i++) // until a whole burst is there
            rte_pause();
        if (rte_rdtsc() > end)
            fail("packets do not come back");
    }
    for (unsigned i = 0; i < 1000; i++) // nothing is under way any more
        ends->receive(ends);
    core_share = (seconds(CLOCK_THREAD_CPUTIME_ID) - spent) / (seconds(CLOCK_MONOTONIC) - begin);
}

static void loop_driver(struct ends *ends, uint32_t total) {
    ends->send = send_mbufs;
    ends->receive = receive_mbufs;
    pool = rte_pktmbuf_pool_create("pool", 4095, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool)
        fail("no memory");
    start(ends->sender, ends->is_parsed);
    if (ends->receiver != ends->sender)
        start(ends->receiver, ends->is_parsed);
    loop(ends, total);
    stop(ends->sender);
    if (ends->receiver != ends->sender)
        stop(ends->receiver);
}

static void loop_buffers(struct ends *ends, const char *uri, uint32_t total) {
    const char *lanes[] = {"none", "none"};
    pthread_t thread;
    void *failed;
    ends->send = send_buffers;
    ends->receive = receive_buffers;
    if (sluice_device_open(uri, &ends->device) || sluice_queue_open(ends->device, RECEIVER, 0, 512, &ends->queue) ||
        service_new(&ends->service, ends->device, lanes, 2, NULL, NULL))
        fail(sluice_error_text());
    service_lane_set(ends->service, 0, true);
    service_lane_set(ends->service, 1, true);
    if (pthread_create(&thread, NULL, run, ends->service))
        fail("no thread");
    loop(ends, total);
    service_stop(ends->service);
    pthread_join(thread, &failed);
    if (service_free(ends->service) || failed)
        fail(sluice_error_text());
    sluice_device_close(ends->device);
    sluice_flow_model_free(flows);
}

// What is done with a received packet, by the program's first word; NULL: no such word.
static uint32_t (*parse_of(const char *word))(const struct sluice_packet *) {
    return strcmp(word, "buffers") == 0    ? parse_record
           : strcmp(word, "software") == 0 ? find_by_software
           : strcmp(word, "key") == 0      ? find_by_key
                                           : NULL;
}

int main(int count, char **arguments) {
    int used = rte_eal_init(count, arguments);
    char **own = arguments + used + 1;
    bool is_parsed = used >= 0 && count - used == 6 && strcmp(own[0], "offload") == 0;
    bool is_driver = is_parsed || (used >= 0 && count - used == 6 && strcmp(own[0], "driver") == 0);
    struct ends ends = {.size = (uint16_t)atoi(arguments[count - 2]), .is_parsed = is_parsed};
    if (!is_driver && (used < 0 || count - used != 5 || !(ends.parse = parse_of(own[0]))))
        fail("loop EAL-ARGUMENTS -- driver|offload SENDER RECEIVER SIZE COUNT, or buffers|software|key URI SIZE COUNT");
    uint32_t total = (uint32_t)atoi(arguments[count - 1]) / BURST * BURST;
    if (ends.size < HEADERS || ends.size > RTE_ETHER_MAX_LEN - RTE_ETHER_CRC_LEN)
        fail("a size that cannot be");
    make_frame(ends.size);
    if (is_driver) {
        ends.sender = (uint16_t)atoi(own[1]);
        ends.receiver = (uint16_t)atoi(own[2]);
        loop_driver(&ends, total);
    } else {
        make_flows(ends.size);
        loop_buffers(&ends, own[1], total);
    }
    printf("{\"send\": %.1f, \"receive\": %.1f, \"empty_poll\": %.1f, \"parse\": %.1f, \"tsc_hz\": %llu",
           median(&sends, BURST), median(&receives, BURST), median(&polls, 1), median(&parses, BURST),
           (unsigned long long)rte_get_tsc_hz());
    printf(", \"core_share\": %.3f, \"by_device\": %llu, \"by_software\": %llu}\n", core_share,
           (unsigned long long)parsed_by_device_count, (unsigned long long)parsed_by_software_count);
    return rte_eal_cleanup() ? 1 : 0;
}
