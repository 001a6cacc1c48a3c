// SPDX-License-Identifier: Apache-2.0
// The receive queues of the functional device (shell/core/sh_host_describe.sv, sh_host_hash.sv): what the host is told
// of a packet's headers and checksums, the hash that spreads packets over the queues of their lane, and its window.
#include <errno.h>

#include "functional.h"

enum { NIBBLES = (SLUICE_RSS_KEY_BITS - 32) / 4, UDP_LENGTH_PLACE = 4, NO_SUM = 0xffff, IPV4_LEAST = 20 };

static uint16_t be16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

// ---- Hash

// The 32 bits of the key from bit `at` on.
static uint32_t key_bits(const uint8_t *key, unsigned at) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 5; i++)
        word = word << 8 | (at / 8 + i < SLUICE_RSS_KEY_BITS / 8 ? key[at / 8 + i] : 0);
    return (uint32_t)(word >> (8 - at % 8));
}

// What each value of each four bits of the input adds.
static void prepare(struct functional_spread *spread) {
    for (unsigned nibble = 0; nibble < NIBBLES; nibble++)
        for (unsigned value = 0; value < 16; value++) {
            uint32_t part = 0;
            for (unsigned bit = 0; bit < 4; bit++)
                part ^= value >> (3 - bit) & 1 ? key_bits(spread->key, 4 * nibble + bit) : 0;
            spread->parts[nibble][value] = part;
        }
}

static uint32_t toeplitz(const struct functional_spread *spread, const uint8_t *bytes, unsigned size, unsigned at) {
    uint32_t hash = 0;
    for (unsigned i = 0; i < size; i++)
        hash ^= spread->parts[2 * (at + i)][bytes[i] >> 4] ^ spread->parts[2 * (at + i) + 1][bytes[i] & 15];
    return hash;
}

static void hash(const struct functional_spread *spread, const uint8_t *packet, const struct sluice_header_info *info,
                 struct sluice_buffer_meta *meta) {
    bool is_ipv4 = info->l3_kind == SLUICE_L3_IPV4;
    unsigned plain = is_ipv4 ? SLUICE_HASH_IPV4 : info->l3_kind == SLUICE_L3_IPV6 ? SLUICE_HASH_IPV6 : SLUICE_HASH_NONE;
    unsigned shift = info->l4_kind == SLUICE_L4_TCP    ? 1
                     : info->l4_kind == SLUICE_L4_UDP  ? 2
                     : info->l4_kind == SLUICE_L4_SCTP ? 3
                                                       : 0;
    bool has_ports = shift && !info->is_fragment && (plain << shift & spread->kinds);
    unsigned kind = has_ports ? plain << shift : plain & spread->kinds, size = is_ipv4 ? 8 : 32;
    unsigned table = meta->queue < SLUICE_RSS_TABLES ? meta->queue : 0; // that a rule chose
    meta->receive_queue = table ? spread->table[table][0] : 0;
    if (!kind)
        return;
    meta->hash_kind = (uint8_t)kind;
    meta->hash = toeplitz(spread, packet + info->l3_offset + (is_ipv4 ? 12 : 8), size, 0);
    if (has_ports)
        meta->hash ^= toeplitz(spread, packet + info->l4_offset, 4, size);
    meta->receive_queue = spread->table[table][meta->hash % SLUICE_RSS_ENTRIES];
}

// ---- Checksums

// One's complement sum of 16-bit words, from a sum before.
static uint32_t sum(const uint8_t *bytes, uint32_t size, uint32_t before) {
    uint64_t total = 0;
    for (uint32_t i = 0; i + 2 <= size; i += 2) {
        uint16_t word;
        memcpy(&word, bytes + i, sizeof word);
        total += word;
    }
    uint64_t both = be16toh((uint16_t)(total % 0xffff)) + before + (size % 2 ? (uint64_t)bytes[size - 1] << 8 : 0);
    both += total && total % 0xffff == 0 ? 0xffff : 0;
    while (both >> 16)
        both = (both & 0xffff) + (both >> 16);
    return (uint32_t)both;
}

// Of TCP or UDP, where it can be told.
static unsigned verify_transport(const uint8_t *packet, const struct sluice_phv_record *record, uint32_t l4_sum) {
    const struct sluice_header_info *info = &record->info;
    bool is_ipv4 = info->l3_kind == SLUICE_L3_IPV4, is_udp = info->l4_kind == SLUICE_L4_UDP;
    uint32_t length = record->phv.l4_length;
    if (info->is_fragment || (!is_ipv4 && info->ip_options) || (!is_udp && info->l4_kind != SLUICE_L4_TCP))
        return 0;
    if (is_udp && (!info->l4_checksum || be16(packet + info->l4_offset + UDP_LENGTH_PLACE) != length))
        return 0;
    const uint8_t *addresses = packet + info->l3_offset + (is_ipv4 ? 12 : 8);
    uint32_t whole = sum(addresses, is_ipv4 ? 8 : 32, l4_sum + length + record->phv.ip_protocol);
    return whole == NO_SUM ? SLUICE_CHECKSUM_L4_GOOD : SLUICE_CHECKSUM_L4_BAD;
}

static void verify(const uint8_t *packet, const struct sluice_phv_record *record, struct sluice_buffer_meta *meta) {
    const struct sluice_header_info *info = &record->info;
    unsigned found = 0;
    if (info->l3_kind == SLUICE_L3_IPV4) {
        const uint8_t *header = packet + info->l3_offset;
        bool is_good = sum(header, 4U * (header[0] & 15), 0) == NO_SUM;
        found = is_good ? SLUICE_CHECKSUM_IP_GOOD : SLUICE_CHECKSUM_IP_BAD;
    }
    if (info->l4_kind != SLUICE_L4_NONE) {
        uint32_t l4_sum = sum(packet + info->l4_offset, record->phv.l4_length, 0);
        meta->l4_sum = (uint16_t)l4_sum;
        found |= verify_transport(packet, record, l4_sum);
    }
    meta->checksum_verified = (uint8_t)found;
}

void functional_host_describe(const struct functional *it, const uint8_t *packet, uint32_t size,
                              const struct sluice_phv_record *record, struct sluice_buffer_meta *meta, uint8_t *key) {
    const struct sluice_header_info *info = &record->info;
    meta->tags = info->tags;
    meta->l3_kind = info->l3_kind;
    meta->l4_kind = info->l4_kind;
    meta->l3_offset = info->l3_offset;
    meta->l4_offset = info->l4_offset;
    if (meta->ingress_port < it->size.lanes)
        hash(&it->lane[meta->ingress_port].spread, packet, info, meta);
    unsigned chosen = meta->queue - SLUICE_CHOSEN_QUEUE; // by a rule
    if (chosen < it->size.queues)
        meta->receive_queue = (uint8_t)chosen;
    meta->has_key = functional_flow_key(packet, size, record, key);
    verify(packet, record, meta);
}

// ---- Checksums of packets from the host

static void put16(uint8_t *bytes, uint32_t value) {
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

int functional_host_fill(uint8_t *packet, uint32_t size, uint32_t mark) {
    struct sluice_transmit_checksum asked;
    uint32_t low = htole32(mark);
    sluice_transmit_checksum_unpack(&asked, (const uint8_t *)&low);
    uint32_t l3 = asked.l3_offset, l4 = asked.l4_offset, field = l4 + (asked.l4 == SLUICE_TRANSMIT_L4_UDP ? 6 : 16);
    if (!asked.ipv4 && asked.l4 == SLUICE_TRANSMIT_L4_NONE)
        return 0;
    if (l4 % 2 || (asked.ipv4 && (l3 % 2 || l4 < l3 + IPV4_LEAST || l4 > size)) ||
        (asked.l4 != SLUICE_TRANSMIT_L4_NONE && (asked.l4 > SLUICE_TRANSMIT_L4_UDP || field + 2 > size)))
        return -EINVAL;
    if (asked.ipv4)
        put16(packet + l3 + 10, NO_SUM - sum(packet + l3, l4 - l3, 0));
    if (asked.l4 != SLUICE_TRANSMIT_L4_NONE) {
        uint32_t checksum = NO_SUM - sum(packet + l4, size - l4, 0);
        put16(packet + field, checksum || asked.l4 != SLUICE_TRANSMIT_L4_UDP ? checksum : NO_SUM);
    }
    return 0;
}

// ---- Window

int functional_host_read(const struct functional *it, uint32_t offset, uint32_t *value) {
    int result = functional_window_read(&it->spread, offset, value);
    if (result == 0 && offset == SLUICE_HOST_REGISTERS_HASH_KINDS)
        *value = it->lane[functional_window_get(&it->spread, SLUICE_HOST_REGISTERS_LANE)].spread.kinds;
    return result;
}

int functional_host_write(struct functional *it, uint32_t offset, uint32_t value) {
    struct functional_spread *spread = &it->lane[functional_window_get(&it->spread, SLUICE_HOST_REGISTERS_LANE)].spread;
    uint32_t key = (offset - SLUICE_HOST_REGISTERS_KEY) / 4, entry = (offset - SLUICE_HOST_REGISTERS_TABLE) / 4;
    bool is_key = offset >= SLUICE_HOST_REGISTERS_KEY && key < SLUICE_HOST_REGISTERS_KEY_COUNT;
    bool is_entry = offset >= SLUICE_HOST_REGISTERS_TABLE && entry < SLUICE_HOST_REGISTERS_TABLE_COUNT;
    bool is_refused = (offset == SLUICE_HOST_REGISTERS_LANE && value >= it->size.lanes) ||
                      (offset == SLUICE_HOST_REGISTERS_TABLE_INDEX && value >= SLUICE_RSS_TABLES) ||
                      (is_entry && value >= it->size.queues);
    if (is_refused || functional_window_write(&it->spread, offset, value))
        return -EFAULT;
    if (offset == SLUICE_HOST_REGISTERS_HASH_KINDS) {
        spread->kinds = (uint8_t)value;
    } else if (is_key) {
        uint32_t word = htobe32(value); // word 0 is the end of the key
        memcpy(spread->key + 4 * (SLUICE_HOST_REGISTERS_KEY_COUNT - 1 - key), &word, sizeof word);
        prepare(spread);
    } else if (is_entry) {
        spread->table[functional_window_get(&it->spread, SLUICE_HOST_REGISTERS_TABLE_INDEX)][entry] = (uint8_t)value;
    }
    return 0;
}
