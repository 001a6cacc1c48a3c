// SPDX-License-Identifier: Apache-2.0
// Packets of random_rules.c: fields drawn from few values, so that rules meet them, and the bytes built from them.
#ifndef SLUICE_RANDOM_PACKETS_H
#define SLUICE_RANDOM_PACKETS_H

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <stdbool.h>
#include <string.h>

enum { FRAME = 256, PAYLOAD = 20, OTHER_TAG = 0x2005, LATER_OFFSET = 16 };
enum kind { ARP, IPV4, IPV6, KINDS };
enum fragment { WHOLE, FIRST, LATER, FRAGMENTS };

// A packet, from which its bytes are built; and the values and masks of a rule. Addresses are their last byte.
struct fields {
    uint8_t dst_mac, src_mac, source, destination, tos, ttl, protocol, flags;
    uint16_t tci, source_port, destination_port;
};

struct packet {
    struct fields of;
    enum kind kind;
    enum fragment fragment;
    bool tagged, is_group; // is_group: for a group of stations
    uint32_t number;
};

static uint64_t state;

static uint32_t draw(uint32_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % limit;
}

#define PICK(...) ((uint32_t[]){__VA_ARGS__})[draw(sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t))]

static uint32_t put_link(const struct packet *packet, uint8_t *at) {
    static const uint16_t types[KINDS] = {RTE_ETHER_TYPE_ARP, RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6};
    uint8_t macs[] = {packet->is_group ? 3 : 2, 0, 0, 0, 0, packet->of.dst_mac, 2, 0, 0, 0, 1, packet->of.src_mac};
    uint16_t words[] = {rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(packet->of.tci),
                        rte_cpu_to_be_16(types[packet->kind])};
    unsigned count = packet->tagged ? 3 : 1;
    memcpy(at, macs, sizeof macs);
    memcpy(at + sizeof macs, words + 3 - count, 2 * count);
    return sizeof macs + 2 * count;
}

static uint32_t put_transport(const struct packet *packet, uint8_t *at) {
    struct rte_udp_hdr udp = {.src_port = rte_cpu_to_be_16(packet->of.source_port),
                              .dst_port = rte_cpu_to_be_16(packet->of.destination_port),
                              .dgram_len = rte_cpu_to_be_16(sizeof udp + PAYLOAD)};
    struct rte_tcp_hdr tcp = {
        .src_port = udp.src_port, .dst_port = udp.dst_port, .data_off = 0x50, .tcp_flags = packet->of.flags};
    bool is_tcp = packet->of.protocol == IPPROTO_TCP;
    uint32_t size = packet->fragment == LATER ? 0 : is_tcp ? sizeof tcp : sizeof udp;
    memcpy(at, is_tcp ? (const void *)&tcp : (const void *)&udp, size);
    memset(at + size, 0xa5, PAYLOAD - 4);
    memcpy(at + size + PAYLOAD - 4, &packet->number, 4);
    return size + PAYLOAD;
}

// The checksum of a whole TCP segment; UDP has none.
static void put_checksum(const struct packet *packet, uint8_t *network, uint8_t *segment) {
    struct rte_tcp_hdr *tcp = (void *)segment;
    if (packet->of.protocol != IPPROTO_TCP || packet->fragment == LATER)
        return;
    tcp->cksum = packet->kind == IPV4 ? rte_ipv4_udptcp_cksum((void *)network, tcp)
                                      : rte_ipv6_udptcp_cksum((void *)network, tcp);
}

static uint32_t put_ipv4(const struct packet *packet, uint8_t *at) {
    static const uint16_t fragments[FRAGMENTS] = {0, RTE_IPV4_HDR_MF_FLAG, LATER_OFFSET};
    struct rte_ipv4_hdr ip = {.version_ihl = RTE_IPV4_VHL_DEF,
                              .type_of_service = packet->of.tos,
                              .fragment_offset = rte_cpu_to_be_16(fragments[packet->fragment]),
                              .time_to_live = packet->of.ttl,
                              .next_proto_id = packet->of.protocol,
                              .src_addr = rte_cpu_to_be_32(0x0a000000U | packet->of.source),
                              .dst_addr = rte_cpu_to_be_32(0x0a010000U | packet->of.destination)};
    uint32_t size = put_transport(packet, at + sizeof ip);
    ip.total_length = rte_cpu_to_be_16((uint16_t)(sizeof ip + size));
    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(at, &ip, sizeof ip);
    put_checksum(packet, at, at + sizeof ip);
    return sizeof ip + size;
}

static uint32_t put_ipv6(const struct packet *packet, uint8_t *at) {
    struct rte_ipv6_hdr ip = {.vtc_flow = rte_cpu_to_be_32(6U << 28 | (uint32_t)packet->of.tos << 20),
                              .proto = packet->of.protocol,
                              .hop_limits = packet->of.ttl,
                              .src_addr = {0x20, 1, [15] = packet->of.source},
                              .dst_addr = {0x20, 2, [15] = packet->of.destination}};
    uint32_t size = put_transport(packet, at + sizeof ip);
    ip.payload_len = rte_cpu_to_be_16((uint16_t)size);
    memcpy(at, &ip, sizeof ip);
    put_checksum(packet, at, at + sizeof ip);
    return sizeof ip + size;
}

static uint32_t build(const struct packet *packet, uint8_t frame[FRAME]) {
    uint32_t size = put_link(packet, frame);
    if (packet->kind != ARP)
        return size + (packet->kind == IPV4 ? put_ipv4(packet, frame + size) : put_ipv6(packet, frame + size));
    memset(frame + size, 0x11, 46);
    memcpy(frame + size + 42, &packet->number, 4);
    return size + 46;
}

static struct packet draw_packet(void) {
    struct packet packet = {.kind = (enum kind)PICK(IPV4, IPV4, IPV4, IPV6, IPV6, ARP), .tagged = draw(3) == 0};
    packet.of = (struct fields){.dst_mac = (uint8_t)draw(4),
                                .src_mac = (uint8_t)draw(4),
                                .source = (uint8_t)draw(16),
                                .destination = (uint8_t)draw(16),
                                .tos = (uint8_t)PICK(0, 0, 0x20, 0x2e),
                                .ttl = (uint8_t)PICK(64, 64, 64, 2, 1, 0, 255),
                                .protocol = (uint8_t)PICK(IPPROTO_UDP, IPPROTO_TCP),
                                .flags = (uint8_t)PICK(2, 0x10, 0x18, 1),
                                .tci = (uint16_t)PICK(5, 6, OTHER_TAG),
                                .source_port = (uint16_t)PICK(53, 80, 1000, 1001),
                                .destination_port = (uint16_t)PICK(53, 80, 443, 8080)};
    packet.is_group = draw(6) == 0;
    if (packet.kind == IPV4)
        packet.fragment = (enum fragment)PICK(WHOLE, WHOLE, WHOLE, FIRST, LATER);
    return packet;
}

#endif
