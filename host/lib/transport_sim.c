// SPDX-License-Identifier: Apache-2.0
// The `sim:` transport: the Verilated shell (shell/sim) as a shared library in this process. Time passes only when the
// library's user lets it: runs over captures repeat exactly.
#include "transport.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_model.h"

// clang-format off
#define CALLS(X) \
    X(new) X(free) X(cycles) X(step) X(idle) X(reg_read) X(reg_write) X(lane_send) X(lane_recv) X(ring_attach) \
    X(ring_release) X(ring_submit) X(ring_sent)
// clang-format on

struct sim_transport {
    struct sluice_transport base;
    void *library;
    struct sim_model *model;
    uint8_t *rings[2];
#define DECLARE(name) __typeof__(&sim_model_##name) name;
    CALLS(DECLARE)
#undef DECLARE
};

static struct sim_transport *sim(struct sluice_transport *transport) {
    return (struct sim_transport *)transport;
}

static int reg_read(struct sluice_transport *t, uint32_t address, uint32_t *value) {
    return sim(t)->reg_read(sim(t)->model, address, value);
}

static int reg_write(struct sluice_transport *t, uint32_t address, uint32_t value) {
    return sim(t)->reg_write(sim(t)->model, address, value);
}

static uint8_t *ring_attach(struct sluice_transport *t, enum sluice_ring ring, uint32_t buffers) {
    uint8_t *memory = calloc(buffers, SLUICE_BUFFER_SIZE);
    if (memory && sim(t)->ring_attach(sim(t)->model, (enum sim_ring)ring, memory, buffers) != 0) {
        free(memory);
        memory = NULL;
    }
    sim(t)->rings[ring] = memory;
    return memory;
}

static int ring_release(struct sluice_transport *t, uint32_t count) {
    return sim(t)->ring_release(sim(t)->model, count);
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

static int idle(struct sluice_transport *t) {
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
    if (sim(t)->model)
        sim(t)->free(sim(t)->model);
    free(sim(t)->rings[0]);
    free(sim(t)->rings[1]);
    if (sim(t)->library)
        dlclose(sim(t)->library);
    free(t);
}

static int load(struct sim_transport *it, const char *path) {
    it->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!it->library)
        return sluice_fail(-ENODEV, "sim: %s; build the device with shell/sim/build.py", dlerror());
#define RESOLVE(name)                                                                                                  \
    *(void **)&it->name = dlsym(it->library, "sim_model_" #name);                                                      \
    if (!it->name)                                                                                                     \
        return sluice_fail(-ENODEV, "sim: %s has no sim_model_" #name "; it is no simulated device", path);
    CALLS(RESOLVE)
#undef RESOLVE
    it->model = it->new ();
    return it->model ? 0 : sluice_fail(-ENODEV, "sim: the device in %s does not start", path);
}

struct sluice_transport *sluice_transport_sim(const char *options) {
    const char *path = strncmp(options, "lib=", 4) == 0 ? options + 4 : getenv("SLUICE_SIM_LIB");
    struct sim_transport *it;
    if (!path || !*path || (*options && strncmp(options, "lib=", 4) != 0)) {
        sluice_fail(-EINVAL, "sim: '%s' names no library; write sim:lib=PATH, or set SLUICE_SIM_LIB", options);
        return NULL;
    }
    it = calloc(1, sizeof *it);
    if (!it) {
        sluice_fail(-ENOMEM, "sim: out of memory");
        return NULL;
    }
    it->base = (struct sluice_transport){.reg_read = reg_read,
                                         .reg_write = reg_write,
                                         .ring_attach = ring_attach,
                                         .ring_release = ring_release,
                                         .ring_submit = ring_submit,
                                         .ring_sent = ring_sent,
                                         .close = close_sim,
                                         .cycles = cycles,
                                         .advance = advance,
                                         .idle = idle,
                                         .lane_send = lane_send,
                                         .lane_receive = lane_receive};
    if (load(it, path) != 0) {
        close_sim(&it->base);
        return NULL;
    }
    return &it->base;
}
