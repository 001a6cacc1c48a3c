// SPDX-License-Identifier: Apache-2.0
// The `functional:` transport: a device of the flow-table configuration as software in this process. It measures the
// host's side, and runs as long as one likes; the differential tests compare it with the RTL. Options, all with the
// reference size as default: lanes=4,groups=16,entries=4096,ternary=256,queues=4; and join: a cable between lanes 0 and
// 1, one between 2 and 3, ... instead of what is outside; nopush: counters of rules are in registers only.
// pipeline_units=N: with the programmable pipeline of N units in place of the flow table; stateful_units=M: bit n of M
// makes unit n a stateful one, with flow_sets=1024 sets of 4 flows.
#include <errno.h>
#include <stdlib.h>

#include "functional.h"
#include "functional_pipeline.h"

enum {
    LEFT_BYTES = 1 << 20,
    MAX_GROUPS = 256,
    MAX_RULES = 65536,
    MAX_TERNARY = 4096,
    MAX_SETS = 1 << 20,
    RING_LEAST = 5
};
_Static_assert(RING_LEAST *SLUICE_BUFFER_DATA_SIZE >= SLUICE_EGRESS_BYTES, "the largest packet fits into a ring");

static struct functional *device_of(struct sluice_transport *transport) {
    return (struct functional *)transport;
}

static int reg_read(struct sluice_transport *transport, uint32_t address, uint32_t *value) {
    return functional_register_read(device_of(transport), address, value);
}

static int reg_write(struct sluice_transport *transport, uint32_t address, uint32_t value) {
    return functional_register_write(device_of(transport), address, value);
}

static int reg_batch(struct sluice_transport *transport, struct sluice_access *accesses, unsigned count,
                     unsigned *done) {
    return functional_register_batch(device_of(transport), accesses, count, done);
}

static uint8_t *ring_attach(struct sluice_transport *transport, unsigned which, uint32_t buffers) {
    struct functional *it = device_of(transport);
    uint32_t queue = which - SLUICE_RING_QUEUE;
    bool is_queue = which >= SLUICE_RING_QUEUE;
    if (buffers < RING_LEAST || (is_queue && (queue >= it->size.lanes * SLUICE_HOST_QUEUES ||
                                              queue % SLUICE_HOST_QUEUES >= it->size.queues || it->ring[which].memory)))
        return NULL;
    struct functional_ring *ring = &it->ring[which];
    uint8_t *memory = calloc(buffers, SLUICE_BUFFER_SIZE);
    if (!memory)
        return NULL;
    free(ring->memory);
    *ring = (struct functional_ring){.memory = memory, .buffers = buffers};
    it->queue_rings += is_queue;
    return memory;
}

static uint8_t *mirror_attach(struct sluice_transport *transport, uint32_t records) {
    struct functional *it = device_of(transport);
    if (!it->flow || records < functional_flow_records(it->flow))
        return NULL;
    uint8_t *memory = sluice_mirror_make(&it->mirror, records);
    functional_flow_mirror(it->flow, (uint64_t *)memory);
    return memory;
}

static int ring_release(struct sluice_transport *transport, unsigned which, uint32_t count) {
    if (which == SLUICE_RING_FROM_HOST || which >= FUNCTIONAL_RINGS)
        return -EINVAL;
    struct functional_ring *ring = &device_of(transport)->ring[which];
    if (count > ring->filled - ring->freed)
        return -EINVAL;
    ring->freed += count;
    return 0;
}

static int ring_submit(struct sluice_transport *transport, uint32_t count) {
    struct functional_ring *ring = &device_of(transport)->ring[SLUICE_RING_FROM_HOST];
    if (count > ring->buffers - (ring->filled - ring->freed))
        return -EINVAL;
    ring->filled += count;
    return 0;
}

static uint64_t ring_sent(struct sluice_transport *transport) {
    return device_of(transport)->ring[SLUICE_RING_FROM_HOST].freed;
}

static uint64_t cycles(struct sluice_transport *transport) {
    return device_of(transport)->cycles;
}

static void advance(struct sluice_transport *transport, uint32_t count) {
    functional_advance(device_of(transport), count);
}

static bool idle(struct sluice_transport *transport) {
    struct functional *it = device_of(transport);
    for (unsigned lane = 0; lane < it->size.lanes; lane++)
        if (it->lane[lane].waiting.count || (it->is_joined && it->lane[lane].left.count))
            return false;
    return it->ring[SLUICE_RING_FROM_HOST].freed == it->ring[SLUICE_RING_FROM_HOST].filled;
}

static int lane_send(struct sluice_transport *transport, unsigned lane, const uint8_t *bytes, uint32_t size,
                     unsigned flags) {
    struct functional *it = device_of(transport);
    if (lane >= it->size.lanes || size == 0 || size > UINT16_MAX)
        return -EINVAL;
    return functional_lane_send(it, lane, bytes, size, flags & 1);
}

static int lane_receive(struct sluice_transport *transport, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info) {
    struct functional *it = device_of(transport);
    if (lane >= it->size.lanes)
        return -EINVAL;
    const struct functional_packet *packet = functional_store_first(&it->lane[lane].left);
    if (!packet || it->is_joined)
        return -EAGAIN;
    if (packet->size > capacity)
        return -ENOSPC;
    int size = (int)packet->size;
    memcpy(bytes, packet->bytes, packet->size);
    if (info)
        *info = (struct sluice_lane_info){packet->ingress_cycle, packet->egress_cycle, packet->egress_cycle};
    functional_store_drop(&it->lane[lane].left);
    return size;
}

static void close_functional(struct sluice_transport *transport) {
    struct functional *it = device_of(transport);
    for (unsigned lane = 0; lane < FUNCTIONAL_LANES; lane++) {
        functional_store_free(&it->lane[lane].waiting);
        functional_store_free(&it->lane[lane].left);
    }
    for (unsigned i = 0; i < FUNCTIONAL_RINGS; i++)
        free(it->ring[i].memory);
    functional_flow_free(it->flow);
    functional_pipeline_free(it->pipeline);
    free(it->mirror.memory);
    free(it);
}

// ---- Options

static int read_option(const char *text, size_t length, struct functional *it) {
    const struct {
        const char *name;
        uint32_t *value, least, most;
    } options[] = {{"lanes=", &it->size.lanes, 1, FUNCTIONAL_LANES},
                   {"groups=", &it->size.groups, 1, MAX_GROUPS},
                   {"entries=", &it->size.group_entries, 1, MAX_RULES},
                   {"ternary=", &it->size.ternary_entries, 1, MAX_TERNARY},
                   {"queues=", &it->size.queues, 0, SLUICE_HOST_QUEUES},
                   {"pipeline_units=", &it->size.pipeline_units, 0, PIPELINE_UNITS},
                   {"stateful_units=", &it->size.stateful_units, 0, (1U << PIPELINE_UNITS) - 1},
                   {"flow_sets=", &it->size.flow_sets, 2, MAX_SETS}};
    if (length == strlen("join") && strncmp(text, "join", length) == 0) {
        it->is_joined = true;
        return 0;
    }
    if (length == strlen("nopush") && strncmp(text, "nopush", length) == 0) {
        it->size.push = 0;
        return 0;
    }
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        size_t name = strlen(options[i].name);
        if (strncmp(text, options[i].name, name) != 0)
            continue;
        char *end;
        unsigned long value = strtoul(text + name, &end, 10);
        if (end != text + length || length == name || value < options[i].least || value > options[i].most)
            return sluice_fail(-EINVAL, "functional: %s takes a number from %u to %u", options[i].name,
                               options[i].least, options[i].most);
        *options[i].value = (uint32_t)value;
        return 0;
    }
    return sluice_fail(-EINVAL,
                       "functional: '%.*s' is none of lanes=, groups=, entries=, ternary=, queues=, pipeline_units=, "
                       "stateful_units=, flow_sets=, join, nopush",
                       (int)length, text);
}

static int read_options(const char *options, struct functional *it) {
    while (*options) {
        size_t length = strcspn(options, ",");
        int result = read_option(options, length, it);
        if (result)
            return result;
        options += length + (options[length] == ',');
    }
    if (it->size.groups * it->size.group_entries > MAX_RULES)
        return sluice_fail(-EINVAL, "functional: %u groups of %u entries; the most is %d rules", it->size.groups,
                           it->size.group_entries, MAX_RULES);
    if (it->size.flow_sets & (it->size.flow_sets - 1))
        return sluice_fail(-EINVAL, "functional: flow_sets=%u is no power of two", it->size.flow_sets);
    if (it->size.stateful_units >> it->size.pipeline_units)
        return sluice_fail(-EINVAL, "functional: stateful_units=%u names units beyond pipeline_units=%u",
                           it->size.stateful_units, it->size.pipeline_units);
    return 0;
}

static int make(struct functional *it, const char *options) {
    it->size = (struct functional_size){.lanes = 4,
                                        .groups = 16,
                                        .group_entries = 4096,
                                        .ternary_entries = 256,
                                        .queues = 4,
                                        .push = 1,
                                        .flow_sets = 1024};
    int result = read_options(options, it);
    for (unsigned lane = 0; lane < it->size.lanes && result == 0; lane++) {
        result = functional_store_new(&it->lane[lane].left, LEFT_BYTES);
        result = result ? result : functional_store_new(&it->lane[lane].waiting, LEFT_BYTES);
        if (result)
            sluice_fail(result, "functional: out of memory");
    }
    functional_registers_start(it);
    if (result)
        return result;
    if (it->size.pipeline_units)
        it->pipeline = functional_pipeline_new(&it->size);
    else
        it->flow = functional_flow_new(&it->size);
    return it->pipeline || it->flow ? 0 : sluice_fail(-ENOMEM, "functional: out of memory");
}

struct sluice_transport *sluice_transport_functional(const char *options) {
    struct functional *it = calloc(1, sizeof *it);
    if (!it) {
        sluice_fail(-ENOMEM, "functional: out of memory");
        return NULL;
    }
    it->base = (struct sluice_transport){.reg_read = reg_read,
                                         .reg_write = reg_write,
                                         .ring_attach = ring_attach,
                                         .mirror_attach = mirror_attach,
                                         .ring_release = ring_release,
                                         .ring_submit = ring_submit,
                                         .ring_sent = ring_sent,
                                         .close = close_functional,
                                         .cycles = cycles,
                                         .advance = advance,
                                         .idle = idle,
                                         .lane_send = lane_send,
                                         .lane_receive = lane_receive,
                                         .reg_batch = reg_batch};
    if (make(it, options)) {
        close_functional(&it->base);
        return NULL;
    }
    return &it->base;
}
