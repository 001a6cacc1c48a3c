// SPDX-License-Identifier: Apache-2.0
// The model of random_rules.c: a plain scan of rules in rte_flow's terms over the fields that a packet was built from,
// and what therefore becomes of a packet. No code of the host library decides here.
#ifndef SLUICE_RANDOM_MODEL_H
#define SLUICE_RANDOM_MODEL_H

#include <rte_flow.h>
#include <string.h>

#include "random_ports.h"

enum { RULES = 4096, BATCH = 8, TABLES = 7 }; // redirection tables of a port for rules

struct rule {
    struct rte_flow *handle;
    uint16_t port;
    uint32_t priority;
    struct match match;
    struct change change;
    uint64_t packets, bytes;
};

struct expected {
    uint8_t frame[FRAME];
    uint32_t size, mark;
    uint8_t lanes; // where it is still to come
    bool host;
    uint16_t port;
    struct change change; // whose queues it is for
    struct packet packet; // as it came in
    bool is_malformed;
};

static struct rule rules[RULES];
static unsigned rule_count, ternary;
static struct rte_flow *stale; // a handle that was destroyed
static unsigned strays[PORTS]; // frames for a lane that was off, which the device may still hold when it is on
static struct expected expected[BATCH + PORTS];
static unsigned expected_count;
static uint32_t first_number;
static struct {
    uint64_t created, validated, destroyed, queried, flushed, restarted, dumped, packets, refused, full, twice, gone,
        forwarded, to_host, dropped, filtered, spread, tables_full, sequences, replugged, without_queue;
} counts;

static bool has_bits(const struct fields *value, const struct fields *mask, const struct fields *of) {
    const uint8_t *v = (const void *)value, *m = (const void *)mask, *o = (const void *)of;
    for (size_t i = 0; i < sizeof *of; i++)
        if ((v[i] ^ o[i]) & m[i])
            return false;
    return true;
}

static bool matches(const struct match *match, const struct packet *packet) {
    if (match->tag ? !packet->tagged : packet->tagged && (match->network || match->tells_tag))
        return false;
    if (match->network && match->kind != packet->kind)
        return false;
    if (match->has_fragment && match->fragment != packet->fragment)
        return false;
    if (match->transport && packet->fragment == LATER)
        return false;
    return has_bits(&match->value, &match->mask, &packet->of);
}

static struct rule *winner(uint16_t port, const struct packet *packet) {
    struct rule *best = NULL;
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].port == port && (!best || rules[i].priority < best->priority) && matches(&rules[i].match, packet))
            best = &rules[i];
    return best;
}

static const struct change to_port = {.to_host = true};

static bool has_list(const struct change *change, const struct change *other) {
    return change->queue_count == other->queue_count &&
           !memcmp(change->queues, other->queues, change->queue_count * sizeof *change->queues);
}

// Needs a redirection table.
static bool has_table(const struct change *change) {
    return change->queue_count > 1;
}

// Whether the port has no table for a rule: others have all of them.
static bool is_out_of_tables(const struct rule *rule) {
    const struct change *lists[TABLES];
    unsigned count = 0;
    for (unsigned i = 0; i < rule_count && has_table(&rule->change); i++) {
        const struct change *change = &rules[i].change;
        bool is_new = rules[i].port == rule->port && has_table(change);
        for (unsigned n = 0; n < count; n++)
            is_new &= !has_list(change, lists[n]);
        if (is_new && has_list(change, &rule->change))
            return false;
        if (is_new)
            lists[count++] = change;
    }
    return count == TABLES;
}

// What becomes of a packet that came into a port.
static void expect(uint16_t port, struct packet packet) {
    struct expected *it = &expected[expected_count++];
    uint8_t frame[FRAME];
    struct rule *rule = winner(port, &packet);
    const struct change *change = rule ? &rule->change : &to_port;
    uint32_t size = build(&packet, frame);
    *it = (struct expected){.port = port, .mark = change->mark, .change = *change, .packet = packet};
    it->host =
        change->to_host && (rule || takes(&ports[port], &packet)) && size <= ports[port].mtu + (uint32_t)OVERHEAD;
    if (rule) {
        rule->packets++;
        rule->bytes += size;
    }
    bool expires = change->decrements && packet.of.ttl <= 1;
    for (uint16_t lane = 0; lane < PORTS && !expires; lane++) {
        it->lanes |= (uint8_t)(is_receiving(lane) ? change->lanes & 1 << lane : 0);
        strays[lane] += !is_receiving(lane) && (change->lanes >> lane & 1);
    }
    packet.of.ttl = (uint8_t)(packet.of.ttl - change->decrements);
    packet.is_group &= !change->sets_mac;
    packet.of.dst_mac = change->sets_mac ? change->mac : packet.of.dst_mac;
    packet.of.destination = change->sets_destination ? change->destination : packet.of.destination;
    packet.tagged = change->pushes || (packet.tagged && !change->pops);
    packet.of.tci = change->pushes ? NEW_TAG : packet.of.tci;
    it->size = build(&packet, it->frame);
    counts.to_host += it->host;
    counts.forwarded += it->lanes != 0;
    counts.filtered += change->to_host && !it->host;
    counts.dropped += !it->host && !it->lanes;
}

#endif
