// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTED = 5, OUT_SIZE = SLUICE_SWITCH_PACKET_MAX + SLUICE_SWITCH_GROWTH };

struct leaving {
    uint64_t flow, order;
    const uint8_t *bytes;
    uint32_t size;
};

void run_note(struct sluice_run_result *result, const char *format, ...) {
    size_t used = strlen(result->notes);
    va_list arguments;
    va_start(arguments, format);
    if (used + 2 < sizeof result->notes)
        vsnprintf(result->notes + used, sizeof result->notes - used, format, arguments);
    va_end(arguments);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211ULL;
    return hash;
}

// Where the packet is a tunnel's, the record of what is inside: a tunnel without ports carries many flows.
static void parse_innermost(const uint8_t *packet, uint32_t size, struct sluice_phv_record *record) {
    struct sluice_phv_record inside;
    sluice_parse(packet, size, NULL, record);
    if (record->fault || (record->phv.ip_protocol != SLUICE_IP_PROTOCOL_GRE && record->info.l4_kind != SLUICE_L4_UDP))
        return;
    struct sluice_own own = {.mac = record->phv.eth_dst, .has_ipv4 = 1, .has_ipv6 = 1};
    memcpy(own.ipv4, record->phv.ip_dst, sizeof own.ipv4);
    memcpy(own.ipv6, record->phv.ip_dst, sizeof own.ipv6);
    sluice_parse(packet, size, &own, &inside);
    if (inside.fault)
        return;
    inside.info.ip_options |= record->info.ip_options; // what has them outside is not in hardware either
    *record = inside;
}

uint64_t check_flow(const uint8_t *packet, uint32_t size) {
    struct sluice_phv_record record;
    uint64_t hash = 14695981039346656037ULL;
    parse_innermost(packet, size, &record);
    hash = mix(hash, packet, size < 12 ? size : 12);
    if (record.fault)
        return hash;
    hash = mix(hash, &record.phv.vlan0_tci, sizeof record.phv.vlan0_tci);
    hash = mix(hash, &record.phv.eth_type, sizeof record.phv.eth_type);
    hash = mix(hash, record.phv.ip_src, sizeof record.phv.ip_src);
    hash = mix(hash, record.phv.ip_dst, sizeof record.phv.ip_dst);
    hash = mix(hash, &record.phv.ip_protocol, sizeof record.phv.ip_protocol);
    // The tables' key. Fragments and packets with options are never in hardware, so they are flows of their own.
    if (!record.info.is_fragment) { // of fragments, only the first has ports
        hash = mix(hash, &record.phv.l4_src, sizeof record.phv.l4_src);
        hash = mix(hash, &record.phv.l4_dst, sizeof record.phv.l4_dst);
    }
    hash = mix(hash, &record.info.is_fragment, sizeof record.info.is_fragment);
    hash = mix(hash, &record.info.ip_options, sizeof record.info.ip_options);
    return hash;
}

static int by_flow(const void *a, const void *b) {
    const struct leaving *x = a, *y = b;
    if (x->flow != y->flow)
        return x->flow < y->flow ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static struct leaving *sorted(const struct capture *capture) {
    struct leaving *all = malloc((capture->count + 1) * sizeof *all);
    for (uint64_t i = 0; all && i < capture->count; i++) {
        const uint8_t *bytes = capture_bytes(capture, i);
        all[i] = (struct leaving){check_flow(bytes, capture->packets[i].size), i, bytes, capture->packets[i].size};
    }
    if (all)
        qsort(all, capture->count, sizeof *all, by_flow);
    return all;
}

static void hex(char *out, const uint8_t *bytes, uint32_t size, uint32_t most) {
    for (uint32_t i = 0; i < size && i < most; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

static void note_difference(struct sluice_run_result *result, uint32_t lane, const struct leaving *expected,
                            const struct leaving *got) {
    char wanted_text[161] = "", got_text[161] = "";
    if (result->differing > NOTED)
        return;
    hex(wanted_text, expected->bytes, expected->size, 80);
    hex(got_text, got->bytes, got->size, 80);
    run_note(result, "lane %u, output %llu: expected %u bytes %s, got %u bytes %s\n", lane,
             (unsigned long long)got->order, expected->size, wanted_text, got->size, got_text);
}

static void note_lost(struct sluice_run_result *result, const char *what, uint32_t lane, const struct leaving *it) {
    char text[161] = "";
    if (result->missing + result->extra > NOTED)
        return;
    hex(text, it->bytes, it->size, 80);
    run_note(result, "lane %u: %s packet of %u bytes %s\n", lane, what, it->size, text);
}

// Both sides sorted by flow, then by order: the n-th packet of a flow must be the n-th on the other side.
static int compare(uint32_t lane, const struct capture *expected, const struct capture *got,
                   struct sluice_run_result *result) {
    struct leaving *want = sorted(expected), *have = sorted(got);
    uint64_t i = 0, j = 0;
    if (!want || !have) {
        free(want);
        free(have);
        return -ENOMEM;
    }
    while (i < expected->count || j < got->count) {
        if (j == got->count || (i < expected->count && want[i].flow < have[j].flow)) {
            result->missing++;
            note_lost(result, "missing", lane, &want[i++]);
        } else if (i == expected->count || have[j].flow < want[i].flow) {
            result->extra++;
            note_lost(result, "unexpected", lane, &have[j++]);
        } else {
            if (want[i].size != have[j].size || memcmp(want[i].bytes, have[j].bytes, want[i].size) != 0) {
                result->differing++;
                note_difference(result, lane, &want[i], &have[j]);
            }
            i++;
            j++;
        }
    }
    result->expected += expected->count;
    free(want);
    free(have);
    return 0;
}

// What the device receives it hands on; the rest its lanes drop, and so does the check.
static int received(const struct capture_packet *packet) {
    return packet->size >= SLUICE_ETHERNET_BYTES && packet->size <= SLUICE_MTU_BYTES;
}

static int software(const struct check *check, struct sluice_switch *sw, uint32_t lane, uint64_t index, uint8_t *out,
                    struct capture *expected, int routed, uint64_t *bridged) {
    struct sluice_decision decision;
    const struct capture_packet *packet = &check->inputs[lane].packets[index];
    const uint8_t *bytes = capture_bytes(&check->inputs[lane], index);
    int size =
        sluice_switch_process(sw, bytes, packet->size, (uint8_t)lane, (uint32_t)packet->time, out, OUT_SIZE, &decision);
    if (size >= 0 && !decision.is_routed)
        ++*bridged;
    if (size <= 0 || decision.is_routed != routed)
        return size < 0 ? size : 0;
    for (uint32_t i = 0; i < check->lanes; i++)
        if (decision.egress_mask >> i & 1 && capture_add(&expected[i], out, (uint32_t)size, packet->time))
            return -ENOMEM;
    return 0;
}

// Routed packets: any order, they teach nothing. Bridged ones: in the order in which the host saw them, which must be
// all.
static int expect(const struct check *check, struct sluice_switch *router, struct sluice_switch *bridge, uint8_t *out,
                  struct capture *expected, struct sluice_run_result *report) {
    uint64_t wanted = 0, seen = 0;
    int result = 0;
    for (uint32_t round = 0; round < check->repeat; round++)
        for (uint32_t lane = 0; lane < check->lanes; lane++)
            for (uint64_t i = 0; i < check->inputs[lane].count && result == 0; i++)
                if (received(&check->inputs[lane].packets[i]))
                    result = software(check, router, lane, i, out, expected, 1, &wanted);
    for (uint64_t i = 0; i < check->seen_count && result == 0; i++)
        result = software(check, bridge, check->seen[i].lane, check->seen[i].index, out, expected, 0, &seen);
    if (result == 0 && wanted != seen) {
        report->missing += wanted > seen ? wanted - seen : seen - wanted;
        run_note(report, "the host saw %llu of the %llu packets that only it can decide\n", (unsigned long long)seen,
                 (unsigned long long)wanted);
    }
    return result;
}

int check_run(const struct check *check, struct sluice_run_result *result) {
    struct capture expected[SLUICE_RUN_LANES] = {{0}};
    struct sluice_switch *router = NULL, *bridge = NULL;
    uint8_t *out = malloc(OUT_SIZE);
    int status = out ? 0 : -ENOMEM;
    if (!status && !(status = sluice_switch_new(check->rules, (uint8_t)check->lanes, &router)) &&
        !(status = sluice_switch_new(check->rules, (uint8_t)check->lanes, &bridge)))
        status = expect(check, router, bridge, out, expected, result);
    for (uint32_t lane = 0; lane < check->lanes && status == 0; lane++)
        status = compare(lane, &expected[lane], &check->outputs[lane], result);
    for (uint32_t lane = 0; lane < check->lanes; lane++)
        capture_free(&expected[lane]);
    sluice_switch_free(router);
    sluice_switch_free(bridge);
    free(out);
    return status;
}
