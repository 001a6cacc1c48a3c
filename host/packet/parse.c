// SPDX-License-Identifier: Apache-2.0
// The parser in software: elements/parse/README.md, field by field. Nothing in a packet makes it read outside the
// packet or stop: what is malformed gets a fault, and the fields of the headers before it stay. A tunnel to the device
// itself is opened: what is inside is parsed once more, as a packet of its own.

#include "packet.h"

#define MAX_OUTER 126U          // bytes before an inner Ethernet header
#define FRAGMENT_OFFSET 0x1fffU // of `ip_fragment`
#define EXTENSION_LEAST 8U      // bytes of an IPv6 extension header

// A packet on its way through the parser. The functions below answer a fault; FAULT_NONE goes on.
struct cursor {
    const uint8_t *packet;
    uint32_t length; // of the packet
    uint32_t window; // bytes of it that are read
    uint32_t limit;  // end of what the headers so far say belongs to them
    uint32_t at;     // next header
    struct sluice_phv_record *record;
};

static uint16_t be16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint64_t be48(const uint8_t *bytes) {
    uint64_t value = 0;
    for (unsigned n = 0; n < 6; n++)
        value = value << 8 | bytes[n];
    return value;
}

static void reverse(uint8_t *to, const uint8_t *from, unsigned size) {
    for (unsigned n = 0; n < size; n++)
        to[n] = from[size - 1 - n];
}

static uint8_t need(const struct cursor *c, uint32_t end) {
    if (end > c->limit)
        return SLUICE_FAULT_TRUNCATED;
    return end > c->window ? SLUICE_FAULT_WINDOW : SLUICE_FAULT_NONE;
}

bool sluice_is_tag(uint32_t type) {
    return type == SLUICE_ETHERTYPE_VLAN || type == SLUICE_ETHERTYPE_QINQ || type == SLUICE_ETHERTYPE_VLAN_OLD;
}

static uint8_t parse_tags(struct cursor *c, uint16_t *type) {
    struct sluice_phv_record *record = c->record;
    while (sluice_is_tag(*type)) {
        if (record->info.tags == SLUICE_MAX_TAGS)
            return SLUICE_FAULT_TAGS;
        uint8_t fault = need(c, c->at + SLUICE_VLAN_BYTES);
        if (fault)
            return fault;
        uint16_t tci = be16(c->packet + c->at);
        if (record->info.tags == 0)
            record->phv.vlan0_tci = tci;
        else
            record->phv.vlan1_tci = tci;
        *type = be16(c->packet + c->at + 2);
        c->at += SLUICE_VLAN_BYTES;
        record->info.tags++;
    }
    return SLUICE_FAULT_NONE;
}

static uint8_t parse_ipv4(struct cursor *c) {
    const uint8_t *ip = c->packet + c->at;
    struct sluice_phv *phv = &c->record->phv;
    struct sluice_header_info *info = &c->record->info;
    uint8_t fault = need(c, c->at + SLUICE_IPV4_BYTES);
    if (fault)
        return fault;
    uint32_t size = (ip[0] & 15U) * 4, total = be16(ip + 2);
    if (ip[0] >> 4 != 4)
        return SLUICE_FAULT_VERSION;
    if (size < SLUICE_IPV4_BYTES)
        return SLUICE_FAULT_HEADER_SIZE;
    fault = need(c, c->at + size);
    if (fault)
        return fault;
    if (total < size || total > c->length - c->at)
        return SLUICE_FAULT_LENGTH;
    info->l3_kind = SLUICE_L3_IPV4;
    reverse(phv->ip_src, ip + 12, 4);
    reverse(phv->ip_dst, ip + 16, 4);
    phv->ip_protocol = ip[9];
    phv->ip_tos = ip[1];
    phv->ip_ttl = ip[8];
    phv->ip_fragment = be16(ip + 6) & 0x3fff;
    info->is_fragment = phv->ip_fragment != 0;
    info->ip_options = size != SLUICE_IPV4_BYTES;
    info->ip_checksum = be16(ip + 10);
    c->limit = c->at + total;
    c->at += size;
    info->header_length = (uint8_t)c->at;
    return SLUICE_FAULT_NONE;
}

static bool is_extension(uint8_t protocol) {
    switch (protocol) {
    case SLUICE_IP_PROTOCOL_HOP_BY_HOP:
    case SLUICE_IP_PROTOCOL_ROUTING:
    case SLUICE_IP_PROTOCOL_FRAGMENT:
    case SLUICE_IP_PROTOCOL_AH:
    case SLUICE_IP_PROTOCOL_DESTINATION:
    case SLUICE_IP_PROTOCOL_MOBILITY:
        return true;
    default:
        return false;
    }
}

// Of an IPv6 extension header, by its kind and its size field.
static uint32_t extension_size(uint8_t kind, uint8_t field) {
    if (kind == SLUICE_IP_PROTOCOL_FRAGMENT)
        return SLUICE_IPV6_FRAGMENT_BYTES;
    return kind == SLUICE_IP_PROTOCOL_AH ? (field + 2U) * 4 : (field + 1U) * 8;
}

static uint8_t parse_extensions(struct cursor *c) {
    struct sluice_phv *phv = &c->record->phv;
    struct sluice_header_info *info = &c->record->info;
    for (unsigned count = 0; is_extension(phv->ip_protocol) && !(phv->ip_fragment & FRAGMENT_OFFSET); count++) {
        if (count == SLUICE_MAX_EXTENSIONS)
            return SLUICE_FAULT_CHAIN;
        uint8_t fault = need(c, c->at + EXTENSION_LEAST);
        if (fault)
            return fault;
        const uint8_t *header = c->packet + c->at;
        uint8_t kind = phv->ip_protocol;
        uint32_t size = extension_size(kind, header[1]);
        fault = need(c, c->at + size);
        if (fault)
            return fault;
        phv->ip_protocol = header[0];
        info->ip_options = 1;
        if (kind == SLUICE_IP_PROTOCOL_FRAGMENT) {
            uint16_t word = be16(header + 2);
            phv->ip_fragment = (uint16_t)((word & 1) << 13 | word >> 3);
            info->is_fragment |= phv->ip_fragment != 0;
        }
        c->at += size;
        info->header_length = (uint8_t)c->at;
    }
    return SLUICE_FAULT_NONE;
}

static uint8_t parse_ipv6(struct cursor *c) {
    const uint8_t *ip = c->packet + c->at;
    struct sluice_phv *phv = &c->record->phv;
    uint8_t fault = need(c, c->at + SLUICE_IPV6_BYTES);
    if (fault)
        return fault;
    uint32_t total = SLUICE_IPV6_BYTES + be16(ip + 4);
    if (ip[0] >> 4 != 6)
        return SLUICE_FAULT_VERSION;
    if (total > c->length - c->at)
        return SLUICE_FAULT_LENGTH;
    c->record->info.l3_kind = SLUICE_L3_IPV6;
    reverse(phv->ip_src, ip + 8, 16);
    reverse(phv->ip_dst, ip + 24, 16);
    phv->ip_protocol = ip[6];
    phv->ip_tos = (uint8_t)(be16(ip) >> 4);
    phv->ip_ttl = ip[7];
    c->limit = c->at + total;
    c->at += SLUICE_IPV6_BYTES;
    c->record->info.header_length = (uint8_t)c->at;
    return parse_extensions(c);
}

// Where a transport header passed: what every kind sets.
static uint8_t set_transport(struct cursor *c, uint8_t kind, uint16_t src, uint16_t dst, uint16_t checksum,
                             uint32_t size) {
    struct sluice_header_info *info = &c->record->info;
    info->l4_kind = kind;
    info->l4_checksum = checksum;
    info->l4_offset = (uint8_t)c->at;
    info->header_length = (uint8_t)(c->at + size);
    c->record->phv.l4_src = src;
    c->record->phv.l4_dst = dst;
    c->record->phv.l4_length = (uint16_t)(c->limit - c->at);
    return SLUICE_FAULT_NONE;
}

static uint8_t parse_tcp(struct cursor *c) {
    const uint8_t *l4 = c->packet + c->at;
    uint8_t fault = need(c, c->at + SLUICE_TCP_BYTES);
    if (fault)
        return fault;
    uint32_t size = (uint32_t)(l4[12] >> 4) * 4;
    if (size < SLUICE_TCP_BYTES)
        return SLUICE_FAULT_HEADER_SIZE;
    fault = need(c, c->at + size);
    if (fault)
        return fault;
    c->record->phv.tcp_flags = l4[13];
    return set_transport(c, SLUICE_L4_TCP, be16(l4), be16(l4 + 2), be16(l4 + 16), size);
}

static uint8_t parse_udp(struct cursor *c) {
    const uint8_t *l4 = c->packet + c->at;
    uint8_t fault = need(c, c->at + SLUICE_UDP_BYTES);
    if (fault)
        return fault;
    uint16_t length = be16(l4 + 4);
    if (length < SLUICE_UDP_BYTES || (!c->record->info.is_fragment && length > c->limit - c->at))
        return SLUICE_FAULT_LENGTH;
    return set_transport(c, SLUICE_L4_UDP, be16(l4), be16(l4 + 2), be16(l4 + 6), SLUICE_UDP_BYTES);
}

static uint8_t parse_transport(struct cursor *c) {
    const uint8_t *l4 = c->packet + c->at;
    uint8_t protocol = c->record->phv.ip_protocol, fault;
    bool is_ipv4 = c->record->info.l3_kind == SLUICE_L3_IPV4;
    if (c->record->phv.ip_fragment & FRAGMENT_OFFSET)
        return SLUICE_FAULT_NONE;
    if (protocol == SLUICE_IP_PROTOCOL_TCP)
        return parse_tcp(c);
    if (protocol == SLUICE_IP_PROTOCOL_UDP)
        return parse_udp(c);
    if (protocol == (is_ipv4 ? SLUICE_IP_PROTOCOL_ICMP : SLUICE_IP_PROTOCOL_ICMPV6)) {
        fault = need(c, c->at + SLUICE_ICMP_BYTES);
        return fault ? fault
                     : set_transport(c, is_ipv4 ? SLUICE_L4_ICMP : SLUICE_L4_ICMPV6, l4[0], l4[1], be16(l4 + 2),
                                     SLUICE_ICMP_BYTES);
    }
    if (protocol == SLUICE_IP_PROTOCOL_SCTP) {
        fault = need(c, c->at + SLUICE_SCTP_BYTES);
        return fault ? fault : set_transport(c, SLUICE_L4_SCTP, be16(l4), be16(l4 + 2), 0, SLUICE_SCTP_BYTES);
    }
    return SLUICE_FAULT_NONE;
}

static uint8_t parse_network(struct cursor *c, uint16_t type) {
    uint8_t fault;
    switch (type) {
    case SLUICE_ETHERTYPE_IPV4:
        fault = parse_ipv4(c);
        return fault ? fault : parse_transport(c);
    case SLUICE_ETHERTYPE_IPV6:
        fault = parse_ipv6(c);
        return fault ? fault : parse_transport(c);
    case SLUICE_ETHERTYPE_ARP:
        fault = need(c, c->at + SLUICE_ARP_BYTES);
        if (!fault) {
            c->record->info.l3_kind = SLUICE_L3_ARP;
            c->record->info.header_length = (uint8_t)(c->at + SLUICE_ARP_BYTES);
        }
        return fault;
    case SLUICE_ETHERTYPE_MPLS:
    case SLUICE_ETHERTYPE_MPLS_MULTICAST:
        return SLUICE_FAULT_MPLS;
    default:
        return SLUICE_FAULT_NONE;
    }
}

// Reads one stack of headers. What its record is to keep of before stays in it.
static void parse_stack(struct cursor *c) {
    struct sluice_phv_record *record = c->record;
    record->fault = need(c, SLUICE_ETHERNET_BYTES);
    if (record->fault)
        return;
    record->phv.eth_dst = be48(c->packet);
    record->phv.eth_src = be48(c->packet + 6);
    uint16_t type = be16(c->packet + 12);
    c->at = SLUICE_ETHERNET_BYTES;
    record->fault = parse_tags(c, &type);
    record->phv.eth_type = type >= SLUICE_ETHERTYPE_LEAST ? type : 0;
    record->info.l3_offset = (uint8_t)c->at;
    record->info.header_length = record->info.l3_offset;
    record->edits.tags = record->info.tags;
    if (!record->fault)
        record->fault = parse_network(c, type);
}

static bool is_own(const struct sluice_own *own, const struct sluice_phv_record *record) {
    if (own->mac == 0 || record->phv.eth_dst != own->mac)
        return false;
    if (record->info.l3_kind == SLUICE_L3_IPV4)
        return own->has_ipv4 && memcmp(record->phv.ip_dst, own->ipv4, 4) == 0;
    return record->info.l3_kind == SLUICE_L3_IPV6 && own->has_ipv6 && memcmp(record->phv.ip_dst, own->ipv6, 16) == 0;
}

// A tunnel header.
struct tunnel {
    uint8_t kind;
    uint32_t id;
    uint32_t start; // of the inner Ethernet header
    uint32_t end;   // of what the tunnel carries
};

// `header` has `room` bytes, 4 at least. Whether it is sound.
static bool read_tunnel(const struct sluice_phv_record *outer, const uint8_t *header, uint32_t room,
                        struct tunnel *tunnel) {
    bool is_udp = outer->info.l4_kind == SLUICE_L4_UDP, has_sum = header[0] >> 7, has_key = header[0] >> 5 & 1;
    bool is_sound;
    uint32_t key = 4, size = SLUICE_VXLAN_BYTES;
    if (is_udp && outer->phv.l4_dst == SLUICE_VXLAN_PORT) {
        tunnel->kind = SLUICE_TUNNEL_VXLAN;
        is_sound = header[0] >> 3 & 1;
    } else if (is_udp && outer->phv.l4_dst == SLUICE_GENEVE_PORT) {
        tunnel->kind = SLUICE_TUNNEL_GENEVE;
        is_sound = (header[0] & 0xc0) == 0 && (header[1] & 0xc0) == 0 && be16(header + 2) == SLUICE_ETHERTYPE_TEB;
        size = SLUICE_GENEVE_BYTES + 4 * (header[0] & 0x3fU);
    } else if (outer->phv.ip_protocol == SLUICE_IP_PROTOCOL_GRE) {
        tunnel->kind = has_key ? SLUICE_TUNNEL_NVGRE : SLUICE_TUNNEL_GRE;
        is_sound = (header[0] & 0x4c) == 0 && (header[1] & 7) == 0 && be16(header + 2) == SLUICE_ETHERTYPE_TEB;
        key = has_key ? SLUICE_GRE_BYTES + 4 * (uint32_t)has_sum : 0;
        size = SLUICE_GRE_BYTES + 4 * (uint32_t)(has_sum + has_key + (header[0] >> 4 & 1));
    } else {
        return false;
    }
    if (!is_sound || size > room)
        return false;
    tunnel->id = key ? (uint32_t)header[key] << 16 | be16(header + key + 1) : 0;
    tunnel->start += size;
    return tunnel->start <= MAX_OUTER;
}

// The tunnel header behind an outer stack; whether there is one, and it is sound.
static bool find_tunnel(const struct cursor *c, struct tunnel *tunnel) {
    const struct sluice_phv_record *outer = c->record;
    bool is_udp = outer->info.l4_kind == SLUICE_L4_UDP;
    if (outer->fault || outer->info.is_fragment)
        return false;
    tunnel->start = is_udp ? c->at + SLUICE_UDP_BYTES : c->at;
    tunnel->end = is_udp ? c->at + be16(c->packet + c->at + 4) : c->limit;
    return tunnel->start + SLUICE_GRE_BYTES <= tunnel->end && // what all kinds have at least
           read_tunnel(outer, c->packet + tunnel->start, tunnel->end - tunnel->start, tunnel);
}

void sluice_parse(const uint8_t *packet, uint32_t size, const struct sluice_own *own,
                  struct sluice_phv_record *record) {
    uint32_t length = size < 0xffff ? size : 0xffff;
    struct cursor c = {
        .packet = packet, .length = length, .window = SLUICE_WINDOW_BYTES, .limit = length, .record = record};
    struct tunnel tunnel;
    memset(record, 0, sizeof *record);
    record->length = (uint16_t)length;
    parse_stack(&c);
    if (!own || !is_own(own, record) || !find_tunnel(&c, &tunnel))
        return;
    uint64_t outer_src, outer_dst;
    memcpy(&outer_src, record->phv.ip_src, 8);
    memcpy(&outer_dst, record->phv.ip_dst, 8);
    memset(record, 0, sizeof *record);
    record->length = (uint16_t)length;
    record->info.outer_length = (uint8_t)tunnel.start;
    record->phv.tunnel_kind = tunnel.kind;
    record->phv.tunnel_id = tunnel.id;
    record->phv.outer_src = outer_src;
    record->phv.outer_dst = outer_dst;
    struct cursor inner = {.packet = packet + tunnel.start,
                           .length = tunnel.end - tunnel.start,
                           .limit = tunnel.end - tunnel.start,
                           .window = SLUICE_WINDOW_BYTES - tunnel.start,
                           .record = record};
    parse_stack(&inner);
}
