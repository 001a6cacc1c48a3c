// SPDX-License-Identifier: Apache-2.0
// The `sim:` transport: the Verilated shell (shell/sim) as a shared library in this process. Time passes only when the
// library's user lets it: runs over captures repeat exactly.
#define _GNU_SOURCE // secure_getenv
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule_mirror.h"
#include "sim_library.h"
#include "transport.h"

enum { RINGS = SLUICE_RING_QUEUE + SLUICE_HOST_PORT * SLUICE_HOST_QUEUES };

struct sim_transport {
    struct sluice_transport base;
    struct sim_library sim;
    uint8_t *rings[RINGS];
    struct sluice_mirror mirror;
};

static struct sim_library *sim(struct sluice_transport *transport) {
    return &((struct sim_transport *)transport)->sim;
}

static int reg_read(struct sluice_transport *t, uint32_t address, uint32_t *value) {
    return sim(t)->reg_read(sim(t)->model, address, value);
}

static int reg_write(struct sluice_transport *t, uint32_t address, uint32_t value) {
    return sim(t)->reg_write(sim(t)->model, address, value);
}

static uint8_t *ring_attach(struct sluice_transport *t, unsigned ring, uint32_t buffers) {
    struct sim_transport *it = (struct sim_transport *)t;
    uint8_t *memory = ring < RINGS ? calloc(buffers, SLUICE_BUFFER_SIZE) : NULL;
    if (memory && sim(t)->ring_attach(sim(t)->model, ring, memory, buffers) != 0) {
        free(memory);
        return NULL;
    }
    if (memory)
        it->rings[ring] = memory;
    return memory;
}

static uint8_t *mirror_attach(struct sluice_transport *t, uint32_t records) {
    struct sluice_mirror *mirror = &((struct sim_transport *)t)->mirror;
    uint8_t *memory = sluice_mirror_make(mirror, records);
    return memory && sim(t)->mirror_attach(sim(t)->model, memory, records) == 0 ? memory : NULL;
}

static int ring_release(struct sluice_transport *t, unsigned ring, uint32_t count) {
    return sim(t)->ring_release(sim(t)->model, ring, count);
}

static int ring_submit(struct sluice_transport *t, uint32_t count) {
    return sim(t)->ring_submit(sim(t)->model, count);
}

static uint64_t ring_sent(struct sluice_transport *t) {
    return sim(t)->ring_sent(sim(t)->model);
}

static uint64_t cycles(struct sluice_transport *t) {
    return sim(t)->cycles(sim(t)->model);
}

static void advance(struct sluice_transport *t, uint32_t count) {
    sim(t)->step(sim(t)->model, count);
}

static bool idle(struct sluice_transport *t) {
    return sim(t)->idle(sim(t)->model);
}

static int lane_send(struct sluice_transport *t, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags) {
    return sim(t)->lane_send(sim(t)->model, lane, bytes, size, flags);
}

static int lane_receive(struct sluice_transport *t, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info) {
    struct sim_packet_info seen = {0};
    int size = sim(t)->lane_recv(sim(t)->model, lane, bytes, capacity, &seen);
    if (size >= 0 && info) {
        info->ingress_cycle = seen.ingress_cycle;
        info->first_cycle = seen.first_cycle;
        info->last_cycle = seen.last_cycle;
    }
    return size;
}

static void close_sim(struct sluice_transport *t) {
    sim_library_close(sim(t));
    for (unsigned i = 0; i < RINGS; i++)
        free(((struct sim_transport *)t)->rings[i]);
    free(((struct sim_transport *)t)->mirror.memory);
    free(t);
}

const char *sluice_transport_sim_path(const char *options) {
    const char *path = strncmp(options, "lib=", 4) == 0 ? options + 4
                       : *options                       ? NULL
                                                        : secure_getenv("SLUICE_SIM_LIB");
    if (!path || !*path)
        sluice_fail(-EINVAL, "'%s' names no simulated device; write lib=PATH, or set SLUICE_SIM_LIB", options);
    return path && *path ? path : NULL;
}

struct sluice_transport *sluice_transport_sim(const char *options) {
    const char *path = sluice_transport_sim_path(options);
    struct sim_transport *it;
    char text[200];
    if (!path)
        return NULL;
    it = calloc(1, sizeof *it);
    if (!it) {
        sluice_fail(-ENOMEM, "sim: out of memory");
        return NULL;
    }
    if (sim_library_open(&it->sim, path, text, sizeof text)) {
        sluice_fail(-ENODEV, "sim: %s", text);
        free(it);
        return NULL;
    }
    it->base = (struct sluice_transport){.reg_read = reg_read,
                                         .reg_write = reg_write,
                                         .ring_attach = ring_attach,
                                         .mirror_attach = mirror_attach,
                                         .ring_release = ring_release,
                                         .ring_submit = ring_submit,
                                         .ring_sent = ring_sent,
                                         .close = close_sim,
                                         .cycles = cycles,
                                         .advance = advance,
                                         .idle = idle,
                                         .lane_send = lane_send,
                                         .lane_receive = lane_receive};
    return &it->base;
}
