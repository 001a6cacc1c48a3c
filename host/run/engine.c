// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FENCE_STEP = 16,
    FENCE_LIMIT = 100000,  // steps until the device counts as stuck
    INSTALL_AT = 8,        // waiting flows that make a fence worth it
    INSTALL_AFTER = 8,     // steps after which fewer do
    TICK_STEP = 50000,     // microseconds of time between writes of the tick
    EXPIRE_STEP = 1000000, // the same between looks for idle rules
};

double engine_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void run_note(struct sluice_run_result *result, const char *format, ...) {
    size_t used = strlen(result->notes);
    va_list arguments;
    va_start(arguments, format);
    if (used + 2 < sizeof result->notes)
        vsnprintf(result->notes + used, sizeof result->notes - used, format, arguments);
    va_end(arguments);
}

static int out_of_memory(void) {
    return sluice_fail(-ENOMEM, "out of memory");
}

static int add_route(struct engine *engine, const struct sluice_route *route) {
    uint32_t edit_count;
    const uint8_t(*edits)[SLUICE_EDIT_DATA_BYTES] = sluice_rules_edit_data(engine->rules, &edit_count);
    struct sluice_rule_op op = {.kind = SLUICE_INSTRUCTION_POPULATE,
                                .table_id = route->version == 4 ? SLUICE_TABLE_IPV4 : SLUICE_TABLE_IPV6};
    op.rule.id = SLUICE_RULE_CHOOSE;
    op.rule.rule_priority = route->length;
    memcpy(op.rule.value, route->value, sizeof route->value);
    memcpy(op.rule.mask, route->mask, sizeof route->mask);
    op.rule.actions = route->actions;
    for (uint8_t slot = 0; slot < SLUICE_ACTION_SLOTS; slot++) {
        if (route->actions.slots[slot].opcode != SLUICE_ACTION_SET_LONG)
            continue;
        struct sluice_edit *edit = &op.rule.edits[op.rule.edit_count++];
        edit->slot = slot;
        memcpy(edit->value, edits[route->actions.slots[slot].operand & 0xffff], sizeof edit->value);
    }
    return sluice_rule_ops(engine->device, SLUICE_ELEMENT_LPM, &op);
}

// Longest prefixes first: a route that has no room must never be hidden by a shorter one that has.
static int add_routes(struct engine *engine) {
    uint32_t count = sluice_rules_route_count(engine->rules);
    for (int length = 128; length >= 0; length--) {
        for (uint32_t i = 0; i < count; i++) {
            const struct sluice_route *route = sluice_rules_route(engine->rules, i);
            if (route->length != length)
                continue;
            int result = add_route(engine, route);
            if (result == -ENOSPC)
                engine->result->routes_left++;
            else if (result)
                return result;
            else
                engine->result->routes++;
        }
    }
    return 0;
}

static int add_templates(struct engine *engine) {
    uint32_t count;
    const struct sluice_template *templates = sluice_rules_templates(engine->rules, &count);
    int result = 0;
    for (uint32_t n = 0; n < count && result == 0; n++)
        result = sluice_template_set(engine->device, n, templates[n].bytes, templates[n].info.size);
    return result;
}

static int set_up(struct engine *engine) {
    const struct sluice_rules *rules = engine->rules;
    bool has_acl = sluice_rules_acl_count(rules) != 0;
    int result;
    unsigned required = 1U << SLUICE_TABLE_LPM | (has_acl ? 1U << SLUICE_TABLE_EXACT : 0U);
    if ((result = sluice_device_set_tick(engine->device, 0)) ||
        (result = sluice_device_set_lossless(engine->device, engine->lossless)) ||
        (result = sluice_ofu_init(engine->device, SLUICE_ELEMENT_LPM)) ||
        (result = has_acl ? sluice_ofu_init(engine->device, SLUICE_ELEMENT_EXACT)
                          : sluice_ofu_uninit(engine->device, SLUICE_ELEMENT_EXACT)) ||
        (result = add_templates(engine)) || (result = add_routes(engine)))
        return result;
    for (uint8_t lane = 0; lane < sluice_device_lanes(engine->device); lane++) {
        uint64_t address = sluice_rules_lane_mac(rules, lane);
        uint8_t mac[6];
        for (int i = 0; i < 6; i++)
            mac[i] = (uint8_t)(address >> (40 - 8 * i));
        // A lane without an address of the router admits nothing: 0 is nobody's address.
        if ((result = sluice_admit_set_mac(engine->device, lane, mac)))
            return result;
    }
    struct sluice_own own;
    sluice_rules_own(rules, 0, &own);
    if ((result =
             sluice_admit_set_tunnels(engine->device, own.has_ipv4 ? own.ipv4 : NULL, own.has_ipv6 ? own.ipv6 : NULL)))
        return result;
    // Options, fragments and tagged packets are decided in software, whose decision reads them.
    if ((result = sluice_admit_set(engine->device, required, 1U << 8 | 1U << 9 | 1U << 10)))
        return result;
    if (has_acl && !(engine->flows = flows_new(engine->device, sluice_rules_policy(rules))))
        return out_of_memory();
    return sluice_switch_new(rules, (uint8_t)engine->lanes, &engine->sw);
}

int engine_open(struct engine *engine) {
    engine->buffer = malloc(ENGINE_PACKET);
    engine->decided = malloc(ENGINE_PACKET);
    engine->result->clock_khz = sluice_device_clock_khz(engine->device);
    return engine->buffer && engine->decided ? set_up(engine) : out_of_memory();
}

void engine_close(struct engine *engine) {
    sluice_switch_free(engine->sw);
    flows_free(engine->flows);
    free(engine->latencies);
    free(engine->buffer);
    free(engine->decided);
}

static int note_latency(struct engine *engine, uint32_t size, uint32_t latency) {
    struct sluice_run_result *result = engine->result;
    if (result->latency_count == engine->latency_room && engine->latency_room < ENGINE_LATENCIES) {
        engine->latency_room = engine->latency_room ? 2 * engine->latency_room : 4096;
        uint32_t *more = realloc(engine->latencies, engine->latency_room * sizeof *more);
        if (!more)
            return out_of_memory();
        engine->latencies = more;
    }
    engine->latencies[result->latency_count++ % ENGINE_LATENCIES] = latency;
    if (result->sample_count < SLUICE_RUN_SAMPLES)
        result->samples[result->sample_count++] = (struct sluice_run_sample){size, latency};
    return 0;
}

int engine_collect(struct engine *engine) {
    struct sluice_lane_info info;
    int moved = 0, size, result;
    for (uint32_t lane = 0; lane < sluice_device_lanes(engine->device); lane++) {
        while ((size = sluice_lane_receive(engine->device, lane, engine->buffer, ENGINE_PACKET, &info)) >= 0) {
            moved = 1;
            engine->result->outputs++;
            engine->result->flits_out += engine_flits((uint32_t)size);
            if (info.ingress_cycle &&
                note_latency(engine, (uint32_t)size, (uint32_t)(info.first_cycle - info.ingress_cycle)))
                return -ENOMEM;
            if (lane >= engine->lanes) {
                engine->result->strays++;
                run_note(engine->result, "a packet left on lane %u, which is not part of the run\n", lane);
            } else if ((result = engine->calls->leave(engine, lane, engine->buffer, (uint32_t)size, &info))) {
                return result;
            }
        }
        if (size != -EAGAIN)
            return size;
    }
    return moved;
}

// Send what the software made; while the ring is full, let the device take some.
static int send_decided(struct engine *engine, uint32_t size, uint8_t mask) {
    int result;
    for (unsigned i = 0;
         (result = sluice_packet_send(engine->device, engine->decided, size, mask, 0)) == -EAGAIN && i < FENCE_LIMIT;
         i++) {
        sluice_device_advance(engine->device, FENCE_STEP);
        if ((result = engine_collect(engine)) < 0)
            break;
    }
    return result;
}

static int decide(struct engine *engine, const struct sluice_packet *packet) {
    struct sluice_decision decision;
    uint64_t time;
    if (packet->ingress_port >= engine->lanes) {
        run_note(engine->result, "the device delivered a packet of lane %u, which is not part of the run\n",
                 packet->ingress_port);
        engine->result->strays++;
        return 0;
    }
    int wanted = engine->calls->show(engine, packet, &time);
    if (wanted <= 0)
        return wanted;
    int size = sluice_switch_process(engine->sw, packet->bytes, packet->size, packet->ingress_port, time,
                                     engine->decided, ENGINE_PACKET, &decision);
    if (size < 0)
        return size;
    engine->result->host++;
    engine->result->software_drops[decision.cause < SLUICE_CAUSES ? decision.cause : 0] += size == 0;
    if (decision.cacheable && engine->flows)
        flows_seen(engine->flows, &decision);
    return size == 0 ? 0 : send_decided(engine, (uint32_t)size, decision.egress_mask);
}

int engine_serve(struct engine *engine) {
    struct sluice_packet packet;
    int moved = 0;
    while (sluice_packet_receive(engine->device, &packet)) {
        int result = decide(engine, &packet);
        sluice_packet_release(engine->device);
        if (result < 0)
            return result;
        moved = 1;
    }
    return moved;
}

// No packet enters; all that is on its way to or from the host leaves; then rules change; then packets enter again.
static int fence(struct engine *engine) {
    int result = sluice_device_pause(engine->device), drained = 0;
    for (unsigned i = 0; result == 0 && !drained; i++) {
        int moved, served;
        sluice_device_advance(engine->device, FENCE_STEP);
        drained = sluice_device_drained(engine->device);
        if ((moved = engine_collect(engine)) < 0 || (served = engine_serve(engine)) < 0 || drained < 0)
            return moved < 0 ? moved : served < 0 ? served : drained;
        drained = drained && !served;
        if (i == FENCE_LIMIT)
            return -ETIMEDOUT;
    }
    if (result == 0)
        result = flows_install(engine->flows, (uint32_t)(engine->now - engine->start_time), engine->result);
    engine->result->fences++;
    engine->waited_steps = 0;
    int resumed = sluice_device_resume(engine->device);
    return result ? result : resumed;
}

int engine_cache(struct engine *engine) {
    uint64_t tick = engine->now > engine->start_time ? engine->now - engine->start_time : 0;
    int result = 0;
    if (!engine->flows)
        return 0;
    if (tick - engine->last_tick >= TICK_STEP) {
        engine->last_tick = tick;
        if ((result = sluice_device_set_tick(engine->device, (uint32_t)tick)))
            return result;
    }
    if (tick - engine->last_expire >= EXPIRE_STEP) {
        engine->last_expire = tick;
        if ((result = flows_expire(engine->flows, (uint32_t)tick, engine->result)))
            return result;
    }
    if (flows_waiting(engine->flows) == 0)
        return 0;
    if (flows_waiting(engine->flows) >= INSTALL_AT || ++engine->waited_steps >= INSTALL_AFTER)
        return fence(engine);
    return 0;
}

bool engine_is_waiting(const struct engine *engine) {
    return engine->flows && flows_waiting(engine->flows) != 0;
}

void engine_report(struct engine *engine) {
    struct sluice_graph_counters graph;
    engine->result->cycles = sluice_device_cycles(engine->device);
    if (sluice_graph_counters_read(engine->device, &graph))
        return;
    engine->result->hits = graph.forwarded_packets + graph.drop_rule + graph.drop_ttl + graph.drop_no_port;
    engine->result->hardware_drops[0] = graph.drop_rule;
    engine->result->hardware_drops[1] = graph.drop_ttl;
    engine->result->hardware_drops[2] = graph.drop_no_port;
    engine->result->faults = graph.faults;
    engine->result->not_eligible = graph.not_eligible;
    engine->result->misses = graph.misses;
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_latencies(struct engine *engine) {
    struct sluice_run_result *result = engine->result;
    uint64_t count = result->latency_count < ENGINE_LATENCIES ? result->latency_count : ENGINE_LATENCIES;
    if (count == 0)
        return;
    qsort(engine->latencies, count, sizeof *engine->latencies, by_value);
    result->latency_min = engine->latencies[0];
    result->latency_median = engine->latencies[count / 2];
    result->latency_p99 = engine->latencies[count * 99 / 100];
}

int engine_finish(struct engine *engine) {
    struct sluice_run_result *result = engine->result;
    struct sluice_host_counters host;
    int status = sluice_host_counters_read(engine->device, &host);
    if (status)
        return status;
    result->host_drops[0] = host.to_host_overflow;
    result->host_drops[1] = host.to_host_error;
    result->host_drops[2] = host.from_host_invalid;
    engine_report(engine);
    for (unsigned lane = 0; lane < sluice_device_lanes(engine->device); lane++) {
        struct sluice_lane_counters counters;
        status = sluice_lane_counters_read(engine->device, lane, &counters);
        if (status)
            return status;
        result->receive_drops[0] += counters.rx_error;
        result->receive_drops[1] += counters.rx_oversize;
        result->receive_drops[2] += counters.rx_overflow;
        result->receive_drops[3] += counters.rx_runt;
        result->transmit_drops[0] += counters.tx_overflow;
        result->transmit_drops[1] += counters.tx_error;
    }
    sort_latencies(engine);
    return 0;
}
