// SPDX-License-Identifier: Apache-2.0
// The edits of a record applied to its packet: elements/deparse/README.md, "How edits are applied". A record that does
// not belong to the packet writes nothing outside of it.

#include "packet.h"

#include <errno.h>

// The packet as it leaves.
struct edited {
    uint8_t *bytes;
    uint32_t size;
};

static void put(const struct edited *to, uint32_t at, unsigned size, uint64_t value) {
    if ((uint64_t)at + size > to->size)
        return;
    for (unsigned n = 0; n < size; n++)
        to->bytes[at + n] = (uint8_t)(value >> 8 * (size - 1 - n));
}

static void put_address(const struct edited *to, uint32_t at, unsigned size, const uint8_t *value) {
    if ((uint64_t)at + size > to->size)
        return;
    for (unsigned n = 0; n < size; n++)
        to->bytes[at + n] = value[size - 1 - n];
}

static bool is_dirty(const struct sluice_phv_record *record, unsigned field) {
    return record->edits.dirty >> field & 1;
}

static void write_ethernet(const struct edited *to, const struct sluice_phv_record *record) {
    const struct sluice_phv *phv = &record->phv;
    const struct sluice_edits *edits = &record->edits;
    const uint16_t tci[SLUICE_MAX_TAGS] = {phv->vlan0_tci, phv->vlan1_tci};
    bool moved = edits->pushed || edits->popped;
    if (moved || is_dirty(record, SLUICE_FIELD_ETH_DST))
        put(to, 0, 6, phv->eth_dst);
    if (moved || is_dirty(record, SLUICE_FIELD_ETH_SRC))
        put(to, 6, 6, phv->eth_src);
    for (unsigned n = 0; n < edits->pushed; n++) {
        put(to, 12 + 4 * n, 2, edits->service_tag >> n & 1 ? SLUICE_ETHERTYPE_QINQ : SLUICE_ETHERTYPE_VLAN);
        put(to, 14 + 4 * n, 2, tci[n]);
    }
    for (unsigned n = 0; n < edits->tags && n < SLUICE_MAX_TAGS; n++)
        if (is_dirty(record, SLUICE_FIELD_VLAN0_TCI + n))
            put(to, 14 + 4 * n, 2, tci[n]);
    if (is_dirty(record, SLUICE_FIELD_ETH_TYPE))
        put(to, 12 + 4U * edits->tags, 2, phv->eth_type);
}

static void write_ipv4(const struct edited *to, const struct sluice_phv_record *record, uint32_t ip) {
    const struct sluice_phv *phv = &record->phv;
    if (is_dirty(record, SLUICE_FIELD_IP_TOS))
        put(to, ip + 1, 1, phv->ip_tos);
    if (is_dirty(record, SLUICE_FIELD_IP_TTL))
        put(to, ip + 8, 1, phv->ip_ttl);
    if (is_dirty(record, SLUICE_FIELD_IP_SRC))
        put_address(to, ip + 12, 4, phv->ip_src);
    if (is_dirty(record, SLUICE_FIELD_IP_DST))
        put_address(to, ip + 16, 4, phv->ip_dst);
}

static void write_ipv6(const struct edited *to, const struct sluice_phv_record *record, uint32_t ip) {
    const struct sluice_phv *phv = &record->phv;
    if (is_dirty(record, SLUICE_FIELD_IP_TOS) && ip + 2 <= to->size) {
        unsigned word = (unsigned)(to->bytes[ip] << 8 | to->bytes[ip + 1]);
        put(to, ip, 2, (word & 0xf00fU) | (unsigned)phv->ip_tos << 4);
    }
    if (is_dirty(record, SLUICE_FIELD_IP_TTL))
        put(to, ip + 7, 1, phv->ip_ttl);
    if (is_dirty(record, SLUICE_FIELD_IP_SRC))
        put_address(to, ip + 8, 16, phv->ip_src);
    if (is_dirty(record, SLUICE_FIELD_IP_DST))
        put_address(to, ip + 24, 16, phv->ip_dst);
}

// RFC 1624, equation 3: the checksum after a change of `delta` under it.
static uint16_t changed_checksum(uint16_t old_checksum, uint16_t delta) {
    uint32_t total = (uint32_t)(old_checksum ^ 0xffff) + delta;
    return (uint16_t)(((total & 0xffff) + (total >> 16)) ^ 0xffff);
}

static void write_checksums(const struct edited *to, const struct sluice_phv_record *record, uint32_t ip, uint32_t l4) {
    const struct sluice_header_info *info = &record->info;
    const struct sluice_edits *edits = &record->edits;
    if (info->l3_kind == SLUICE_L3_IPV4 && edits->ip_delta)
        put(to, ip + 10, 2, changed_checksum(info->ip_checksum, edits->ip_delta));
    if (!edits->l4_delta)
        return;
    uint16_t sum = changed_checksum(info->l4_checksum, edits->l4_delta);
    if (info->l4_kind == SLUICE_L4_TCP)
        put(to, l4 + 16, 2, sum);
    else if (info->l4_kind == SLUICE_L4_UDP && info->l4_checksum)
        put(to, l4 + 6, 2, sum ? sum : 0xffff);
    else if (info->l4_kind == SLUICE_L4_ICMPV6)
        put(to, l4 + 2, 2, sum);
}

// The packet without what it came in; `size` bytes, no header in front yet.
static int edit(const struct sluice_phv_record *record, const uint8_t *packet, uint32_t size, uint8_t *out,
                uint32_t capacity) {
    const struct sluice_edits *edits = &record->edits;
    uint32_t start = 12 + 4U * edits->popped;
    bool moved = edits->pushed || edits->popped;
    if (edits->pushed > SLUICE_MAX_TAGS || edits->popped > SLUICE_MAX_TAGS || (moved && size < start))
        return -EINVAL;
    const struct edited to = {.bytes = out, .size = size + 4U * edits->pushed - 4U * edits->popped};
    if (to.size > capacity)
        return -ENOSPC;
    if (moved) // write_ethernet writes what is in front of the tags
        memcpy(out + 12 + 4U * edits->pushed, packet + start, size - start);
    else
        memcpy(out, packet, size);
    uint32_t ip = 14 + 4U * edits->tags;
    uint32_t l4 = record->info.l4_offset + 4U * edits->pushed - 4U * edits->popped;
    write_ethernet(&to, record);
    if (record->info.l3_kind == SLUICE_L3_IPV4)
        write_ipv4(&to, record, ip);
    else if (record->info.l3_kind == SLUICE_L3_IPV6)
        write_ipv6(&to, record, ip);
    if (record->info.l4_kind == SLUICE_L4_TCP || record->info.l4_kind == SLUICE_L4_UDP) {
        if (is_dirty(record, SLUICE_FIELD_L4_SRC))
            put(&to, l4, 2, record->phv.l4_src);
        if (is_dirty(record, SLUICE_FIELD_L4_DST))
            put(&to, l4 + 2, 2, record->phv.l4_dst);
    }
    if (edits->checksums)
        write_checksums(&to, record, ip, l4);
    return (int)to.size;
}

int sluice_deparse(const struct sluice_phv_record *record, const struct sluice_template *templates,
                   uint32_t template_count, const uint8_t *packet, uint32_t size, uint8_t *out, uint32_t capacity) {
    const struct sluice_edits *edits = &record->edits;
    const struct sluice_template *front = NULL;
    uint32_t outer = record->info.outer_length;
    if (size > SLUICE_PACKET_MAX || outer > size)
        return -EINVAL;
    if (outer && !edits->strip_outer) { // still in its tunnel: nothing of it can be edited
        if (size > capacity)
            return -ENOSPC;
        memcpy(out, packet, size);
        return (int)size;
    }
    if (edits->encapsulate) {
        if (edits->template_index >= template_count || templates[edits->template_index].info.size == 0)
            return -EINVAL;
        front = &templates[edits->template_index];
    }
    uint32_t head = front ? front->info.size : 0;
    if (head > capacity)
        return -ENOSPC;
    int edited = edit(record, packet + outer, size - outer, out + head, capacity - head);
    if (edited < 0)
        return edited;
    if (front)
        sluice_template_write(front, record, (uint32_t)edited, out);
    return (int)head + edited;
}
