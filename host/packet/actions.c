// SPDX-License-Identifier: Apache-2.0
// Action sets in software: rtl/action/README.md, field by field. Never fails: an opcode or field that does not exist
// does nothing, and what the hardware cannot do sends the packet to the host.

#include "packet.h"

#define HOST_ONLY (1U << SLUICE_HOST_PORT)

static bool is_final(uint8_t verdict) {
    return verdict == SLUICE_VERDICT_DROP || verdict == SLUICE_VERDICT_TO_HOST ||
           verdict == SLUICE_VERDICT_TO_CONTROLLER;
}

static bool is_ip(const struct sluice_phv_record *record) {
    return record->info.l3_kind == SLUICE_L3_IPV4 || record->info.l3_kind == SLUICE_L3_IPV6;
}

static bool has_ports(const struct sluice_phv_record *record) {
    return record->info.l4_kind == SLUICE_L4_TCP || record->info.l4_kind == SLUICE_L4_UDP;
}

static bool is_present(const struct sluice_phv_record *record, uint32_t field) {
    switch (field) {
    case SLUICE_FIELD_ETH_DST:
    case SLUICE_FIELD_ETH_SRC:
    case SLUICE_FIELD_ETH_TYPE:
    case SLUICE_FIELD_TUNNEL_ID:
        return true;
    case SLUICE_FIELD_VLAN0_TCI:
        return record->edits.tags >= 1;
    case SLUICE_FIELD_VLAN1_TCI:
        return record->edits.tags >= 2;
    case SLUICE_FIELD_IP_SRC:
    case SLUICE_FIELD_IP_DST:
    case SLUICE_FIELD_IP_TOS:
    case SLUICE_FIELD_IP_TTL:
        return is_ip(record);
    case SLUICE_FIELD_L4_SRC:
    case SLUICE_FIELD_L4_DST:
        return has_ports(record);
    default:
        return false;
    }
}

static uint16_t low16(const uint8_t *value) {
    return (uint16_t)(value[0] | value[1] << 8);
}

static uint64_t low48(const uint8_t *value) {
    uint64_t result = 0;
    for (unsigned n = 6; n-- > 0;)
        result = result << 8 | value[n];
    return result;
}

// `value`: 16 bytes, lowest first.
static void set_field(struct sluice_phv_record *record, uint32_t field, const uint8_t *value) {
    struct sluice_phv *phv = &record->phv;
    unsigned address_size = record->info.l3_kind == SLUICE_L3_IPV4 ? 4 : 16; // behind it is 0
    if (!is_present(record, field))
        return;
    record->edits.dirty = (uint16_t)(record->edits.dirty | 1U << field);
    switch (field) {
    case SLUICE_FIELD_ETH_DST:
        phv->eth_dst = low48(value);
        break;
    case SLUICE_FIELD_ETH_SRC:
        phv->eth_src = low48(value);
        break;
    case SLUICE_FIELD_ETH_TYPE:
        phv->eth_type = low16(value);
        break;
    case SLUICE_FIELD_VLAN0_TCI:
        phv->vlan0_tci = low16(value);
        break;
    case SLUICE_FIELD_VLAN1_TCI:
        phv->vlan1_tci = low16(value);
        break;
    case SLUICE_FIELD_IP_SRC:
        memcpy(phv->ip_src, value, address_size);
        break;
    case SLUICE_FIELD_IP_DST:
        memcpy(phv->ip_dst, value, address_size);
        break;
    case SLUICE_FIELD_IP_TOS:
        phv->ip_tos = value[0];
        break;
    case SLUICE_FIELD_IP_TTL:
        phv->ip_ttl = value[0];
        break;
    case SLUICE_FIELD_L4_SRC:
        phv->l4_src = low16(value);
        break;
    case SLUICE_FIELD_L4_DST:
        phv->l4_dst = low16(value);
        break;
    case SLUICE_FIELD_TUNNEL_ID:
        phv->tunnel_id = (uint32_t)low48(value) & 0xffffff;
        break;
    }
}

static void drop(struct sluice_phv_record *record, uint8_t cause) {
    record->verdict = SLUICE_VERDICT_DROP;
    record->drop_cause = cause;
}

static void subtract_ttl(struct sluice_phv_record *record) {
    if (!is_ip(record))
        return;
    if (record->phv.ip_ttl <= 1) {
        drop(record, SLUICE_DROP_TTL);
        return;
    }
    record->phv.ip_ttl--;
    record->edits.dirty |= 1U << SLUICE_FIELD_IP_TTL;
}

static void punt(struct sluice_phv_record *record) {
    record->verdict = SLUICE_VERDICT_TO_HOST;
    record->edits = (struct sluice_edits){.tags = record->info.tags};
}

static void move_dirty(struct sluice_edits *edits, unsigned vlan0, unsigned vlan1) {
    unsigned clear = ~(1U << SLUICE_FIELD_VLAN0_TCI | 1U << SLUICE_FIELD_VLAN1_TCI);
    edits->dirty =
        (uint16_t)((edits->dirty & clear) | vlan0 << SLUICE_FIELD_VLAN0_TCI | vlan1 << SLUICE_FIELD_VLAN1_TCI);
}

static void insert_vlan(struct sluice_phv_record *record, uint32_t operand) {
    struct sluice_edits *edits = &record->edits;
    if (edits->tags >= SLUICE_MAX_TAGS) {
        punt(record);
        return;
    }
    record->phv.vlan1_tci = record->phv.vlan0_tci;
    record->phv.vlan0_tci = (uint16_t)operand;
    move_dirty(edits, 1, edits->dirty >> SLUICE_FIELD_VLAN0_TCI & 1);
    edits->service_tag = (uint8_t)((edits->service_tag & 1U) << 1 | (operand >> 16 & 1U));
    edits->tags++;
    edits->pushed++;
}

static void delete_vlan(struct sluice_phv_record *record) {
    struct sluice_edits *edits = &record->edits;
    if (edits->tags == 0)
        return;
    record->phv.vlan0_tci = record->phv.vlan1_tci;
    record->phv.vlan1_tci = 0;
    move_dirty(edits, edits->dirty >> SLUICE_FIELD_VLAN1_TCI & 1, 0);
    edits->service_tag >>= 1;
    edits->tags--;
    if (edits->pushed)
        edits->pushed--;
    else
        edits->popped++;
}

// A header template in front; a later one replaces it.
static void insert_front(struct sluice_edits *edits, uint32_t operand, uint8_t write_id) {
    edits->encapsulate = 1;
    edits->write_tunnel_id = write_id;
    edits->template_index = (uint8_t)operand;
}

static void output(struct sluice_phv_record *record, uint32_t mask) {
    if (mask == 0) {
        drop(record, SLUICE_DROP_NO_PORT);
    } else if (mask == HOST_ONLY) {
        record->verdict = SLUICE_VERDICT_TO_HOST;
    } else if (mask & HOST_ONLY) {
        punt(record);
    } else {
        record->verdict = SLUICE_VERDICT_FORWARD;
        record->egress_mask = (uint8_t)mask;
    }
}

static void step(struct sluice_phv_record *record, uint8_t opcode, uint32_t operand,
                 const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES], uint32_t edit_count) {
    uint8_t value[SLUICE_EDIT_DATA_BYTES] = {(uint8_t)operand, (uint8_t)(operand >> 8)};
    switch (opcode) {
    case SLUICE_ACTION_SUB:
        subtract_ttl(record);
        break;
    case SLUICE_ACTION_DROP:
        drop(record, SLUICE_DROP_RULE);
        break;
    case SLUICE_ACTION_SET:
        set_field(record, operand >> 20 & 15, value);
        break;
    case SLUICE_ACTION_SET_LONG:
        if (edit_count)
            set_field(record, operand >> 20 & 15, edit_data[(operand & 0xffff) % edit_count]);
        break;
    case SLUICE_ACTION_CHECKSUM:
        record->edits.checksums = 1;
        break;
    case SLUICE_ACTION_INSERT_VLAN:
        insert_vlan(record, operand);
        break;
    case SLUICE_ACTION_DELETE_VLAN:
        delete_vlan(record);
        break;
    case SLUICE_ACTION_OUTPUT:
        output(record, (operand & 0xff) < 8 ? 1U << (operand & 0xff) : 0);
        break;
    case SLUICE_ACTION_REPLICATE:
        output(record, operand & 0xff);
        break;
    case SLUICE_ACTION_MARK:
        record->mark = operand;
        break;
    case SLUICE_ACTION_QUEUE:
        record->queue = operand & 15;
        break;
    case SLUICE_ACTION_TO_HOST:
        record->verdict = SLUICE_VERDICT_TO_HOST;
        break;
    case SLUICE_ACTION_TO_CONTROLLER:
        record->verdict = SLUICE_VERDICT_TO_CONTROLLER;
        break;
    case SLUICE_ACTION_DELETE_TUNNEL:
        if (record->info.outer_length)
            record->edits.strip_outer = 1;
        break;
    case SLUICE_ACTION_INSERT_TUNNEL:
        insert_front(&record->edits, operand, 1);
        break;
    case SLUICE_ACTION_INSERT_RAW:
        insert_front(&record->edits, operand, 0);
        break;
    default:
        break;
    }
}

// Sums of the words that actions can change, under the IPv4 header checksum and under the transport checksum.
struct sums {
    uint32_t ip;
    uint32_t l4;
};

static struct sums sums_of(const struct sluice_phv *phv) {
    uint32_t addresses = 0;
    for (unsigned n = 0; n < 16; n += 2)
        addresses += (uint32_t)low16(phv->ip_src + n) + low16(phv->ip_dst + n);
    return (struct sums){.ip = addresses + phv->ip_tos + ((uint32_t)phv->ip_ttl << 8),
                         .l4 = addresses + phv->l4_src + phv->l4_dst};
}

// Sums are below 32 * 65535: adding that keeps the difference positive and changes nothing modulo 65535.
static uint16_t delta_of(uint16_t before, uint32_t old_sum, uint32_t new_sum) {
    uint32_t delta = (before + new_sum + 32U * 65535U - old_sum) % 65535U;
    return (uint16_t)(delta ? delta : 65535U);
}

void sluice_actions_execute(struct sluice_phv_record *record, const struct sluice_action_set *actions,
                            const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES], uint32_t edit_count) {
    struct sluice_edits *edits = &record->edits;
    struct sums old_sums = sums_of(&record->phv);
    for (unsigned n = 0; n < SLUICE_ACTION_SLOTS && !is_final(record->verdict); n++)
        step(record, actions->slots[n].opcode, actions->slots[n].operand & 0xffffff, edit_data, edit_count);
    struct sums new_sums = sums_of(&record->phv);
    unsigned addresses = 1U << SLUICE_FIELD_IP_SRC | 1U << SLUICE_FIELD_IP_DST;
    unsigned under_ip = addresses | 1U << SLUICE_FIELD_IP_TOS | 1U << SLUICE_FIELD_IP_TTL;
    unsigned under_l4 = addresses | 1U << SLUICE_FIELD_L4_SRC | 1U << SLUICE_FIELD_L4_DST;
    if (record->info.l3_kind == SLUICE_L3_IPV4 && edits->dirty & under_ip)
        edits->ip_delta = delta_of(edits->ip_delta, old_sums.ip, new_sums.ip);
    if ((has_ports(record) || record->info.l4_kind == SLUICE_L4_ICMPV6) && edits->dirty & under_l4)
        edits->l4_delta = delta_of(edits->l4_delta, old_sums.l4, new_sums.l4);
}
