// SPDX-License-Identifier: Apache-2.0
// Header templates: what of them is repaired for each packet, and the repair. elements/deparse/README.md, "Header
// templates".

#include "packet.h"

#include <errno.h>

#define TUNNEL_ID 12U // of VXLAN and Geneve, from the UDP header on
#define GRE_KEY 4U    // from the GRE header on

static uint32_t get16(const uint8_t *bytes, uint32_t at) {
    return (uint32_t)bytes[at] << 8 | bytes[at + 1];
}

static uint32_t folded(uint32_t sum) {
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

// `size` bytes at a place; nothing behind the end.
static void put(uint8_t *out, uint32_t end, uint32_t place, unsigned size, uint32_t value) {
    for (unsigned n = 0; n < size; n++)
        if (2 * place + n < end)
            out[2 * place + n] = (uint8_t)(value >> 8 * (size - 1 - n));
}

static void find_udp(struct sluice_template *template, uint32_t at) {
    struct sluice_template_info *info = &template->info;
    if (info->size < at + SLUICE_UDP_BYTES)
        return;
    uint32_t port = get16(template->bytes, at + 2);
    info->has_udp = 1;
    info->udp_place = (uint8_t)(at / 2);
    put(template->bytes, info->size, at / 2, 2, 0);
    put(template->bytes, info->size, at / 2 + 2, 4, 0); // length and checksum
    if ((port == SLUICE_VXLAN_PORT || port == SLUICE_GENEVE_PORT) && info->size >= at + TUNNEL_ID + 4) {
        info->has_id = 1;
        info->id_place = (uint8_t)((at + TUNNEL_ID) / 2);
    }
}

// GRE with a key, and neither checksum nor sequence number, around Ethernet.
static void find_gre(struct sluice_template *template, uint32_t at) {
    struct sluice_template_info *info = &template->info;
    if (info->size < at + SLUICE_NVGRE_BYTES || (template->bytes[at] & 0xb0) != 0x20 ||
        get16(template->bytes, at + 2) != SLUICE_ETHERTYPE_TEB)
        return;
    info->has_id = 1;
    info->id_place = (uint8_t)((at + GRE_KEY) / 2);
}

static void find_transport(struct sluice_template *template, uint8_t protocol, uint32_t at) {
    if (protocol == SLUICE_IP_PROTOCOL_UDP)
        find_udp(template, at);
    else if (protocol == SLUICE_IP_PROTOCOL_GRE)
        find_gre(template, at);
}

static void find_ipv4(struct sluice_template *template, uint32_t at) {
    struct sluice_template_info *info = &template->info;
    uint8_t *bytes = template->bytes;
    uint32_t size = info->size > at ? 4U * (bytes[at] & 15U) : 0, sum = 0;
    if (size < SLUICE_IPV4_BYTES || bytes[at] >> 4 != 4 || info->size < at + size)
        return;
    put(bytes, info->size, at / 2 + 1, 2, 0);
    put(bytes, info->size, at / 2 + 5, 2, 0);
    for (uint32_t n = 0; n < size; n += 2)
        sum += get16(bytes, at + n);
    info->is_ipv4 = 1;
    info->ip_place = (uint8_t)(at / 2);
    info->ip_sum = (uint16_t)folded(sum);
    find_transport(template, bytes[at + 9], at + size);
}

static void find_ipv6(struct sluice_template *template, uint32_t at) {
    struct sluice_template_info *info = &template->info;
    if (info->size < at + SLUICE_IPV6_BYTES || template->bytes[at] >> 4 != 6)
        return;
    put(template->bytes, info->size, at / 2 + 2, 2, 0);
    info->is_ipv6 = 1;
    info->ip_place = (uint8_t)(at / 2);
    find_transport(template, template->bytes[at + 6], at + SLUICE_IPV6_BYTES);
}

int sluice_template_make(const uint8_t *bytes, uint32_t size, struct sluice_template *template) {
    if (size % 2 || size > SLUICE_TEMPLATE_BYTES)
        return -EINVAL;
    memset(template, 0, sizeof *template);
    memcpy(template->bytes, bytes, size);
    template->info.size = (uint8_t)size;
    uint32_t at = SLUICE_ETHERNET_BYTES;
    while (at + SLUICE_VLAN_BYTES <= size && sluice_is_tag(get16(bytes, at - 2)))
        at += SLUICE_VLAN_BYTES;
    uint32_t type = at <= size ? get16(bytes, at - 2) : 0;
    if (type == SLUICE_ETHERTYPE_IPV4)
        find_ipv4(template, at);
    else if (type == SLUICE_ETHERTYPE_IPV6)
        find_ipv6(template, at);
    return 0;
}

static uint16_t crc16(uint16_t crc, uint8_t byte) {
    crc ^= (uint16_t)(byte << 8);
    for (unsigned bit = 0; bit < 8; bit++)
        crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0));
    return crc;
}

// A UDP source port that is the same for all packets of a flow.
static uint16_t entropy(const struct sluice_phv *phv) {
    const uint8_t rest[] = {phv->ip_protocol, (uint8_t)(phv->l4_src >> 8), (uint8_t)phv->l4_src,
                            (uint8_t)(phv->l4_dst >> 8), (uint8_t)phv->l4_dst};
    uint16_t crc = 0;
    for (unsigned n = 16; n-- > 0;)
        crc = crc16(crc, phv->ip_src[n]);
    for (unsigned n = 16; n-- > 0;)
        crc = crc16(crc, phv->ip_dst[n]);
    for (unsigned n = 0; n < sizeof rest; n++)
        crc = crc16(crc, rest[n]);
    return (uint16_t)(0xc000 | (crc & 0x3fff));
}

void sluice_template_write(const struct sluice_template *template, const struct sluice_phv_record *record,
                           uint32_t length, uint8_t *out) {
    const struct sluice_template_info *info = &template->info;
    uint32_t end = info->size, whole = length + end;
    uint32_t ip_length = whole - 2U * info->ip_place - (info->is_ipv6 ? SLUICE_IPV6_BYTES : 0);
    memcpy(out, template->bytes, end);
    if (info->has_udp) {
        put(out, end, info->udp_place, 2, entropy(&record->phv));
        put(out, end, info->udp_place + 2U, 2, whole - 2U * info->udp_place);
    }
    if (info->is_ipv4 || info->is_ipv6)
        put(out, end, info->ip_place + (info->is_ipv4 ? 1U : 2U), 2, ip_length);
    if (info->is_ipv4)
        put(out, end, info->ip_place + 5U, 2, ~folded(info->ip_sum + (ip_length & 0xffff)));
    if (info->has_id && record->edits.write_tunnel_id)
        put(out, end, info->id_place, 3, record->phv.tunnel_id);
}
