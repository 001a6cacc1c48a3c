// SPDX-License-Identifier: Apache-2.0
// The live loop: frames of the interfaces enter the device, cycles pass while there is work, what leaves is sent. What
// a lane does not take yet is held, and the kernel's queue behind it grows until the kernel drops, which is counted.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"
#include "port.h"

enum { REPORT_MILLISECONDS = 250, LOOK_STEPS = 32, DRAIN_STEPS = 10000 };

struct live {
    struct engine engine; // first: the calls find the run by it
    const struct sluice_live_options *options;
    struct sluice_run_result *result;
    struct port ports[SLUICE_RUN_LANES];
    struct capture_file *outputs[SLUICE_RUN_LANES];
    uint8_t *frames;                 // one a lane: what the device has not taken yet
    uint32_t held[SLUICE_RUN_LANES]; // its size; 0: none
    uint64_t wall_time;              // microseconds between the monotonic clock and the calendar's, for captures
    double start, end;               // 0: none
};

static uint64_t microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

static int show(struct engine *engine, const struct sluice_packet *packet, uint64_t *time) {
    (void)packet;
    *time = engine->now;
    return 1;
}

static int leave(struct engine *engine, uint32_t lane, const uint8_t *bytes, uint32_t size,
                 const struct sluice_lane_info *info) {
    struct live *live = (struct live *)engine;
    (void)info;
    if (live->ports[lane].fd >= 0)
        port_send(&live->ports[lane], bytes, size);
    else if (!live->outputs[lane])
        live->result->interface_drops[PORT_ERROR]++; // the rules name a lane that has no interface
    if (live->outputs[lane])
        capture_put(live->outputs[lane], bytes, size, live->wall_time + microseconds(CLOCK_MONOTONIC));
    return 0;
}

static int feed_lane(struct live *live, uint32_t lane) {
    uint8_t *frame = live->frames + (size_t)lane * PORT_FRAME;
    int moved = 0;
    for (;;) {
        if (!live->held[lane]) {
            int size = port_receive(&live->ports[lane], frame);
            if (size <= 0)
                return size < 0 ? size : moved;
            live->held[lane] = (uint32_t)size < UINT16_MAX ? (uint32_t)size : UINT16_MAX;
            live->result->packets++;
            live->result->bytes += (uint32_t)size;
        }
        int result = sluice_lane_send(live->engine.device, lane, frame, live->held[lane], 0);
        if (result == -EAGAIN)
            return moved;
        if (result)
            return result;
        live->result->sent++;
        live->result->flits_in += engine_flits(live->held[lane]);
        live->held[lane] = 0;
        moved = 1;
    }
}

static int feed(struct live *live) {
    int moved = 0;
    for (uint32_t lane = 0; lane < live->options->lanes; lane++) {
        int result = live->ports[lane].fd < 0 ? 0 : feed_lane(live, lane);
        if (result < 0)
            return result;
        moved |= result;
    }
    return moved;
}

// Sleep until a frame comes, a signal, or the next report is due. 1: it was a signal.
static int wait_for_work(struct live *live) {
    struct pollfd waits[SLUICE_RUN_LANES];
    double left = live->end > 0 ? (live->end - engine_seconds()) * 1000 : REPORT_MILLISECONDS;
    nfds_t count = 0;
    for (uint32_t lane = 0; lane < live->options->lanes; lane++)
        if (live->ports[lane].fd >= 0)
            waits[count++] = (struct pollfd){.fd = live->ports[lane].fd, .events = POLLIN};
    int woken = poll(waits, count, left < 0 ? 0 : left < REPORT_MILLISECONDS ? (int)left + 1 : REPORT_MILLISECONDS);
    return woken < 0 && errno == EINTR;
}

// One step; 1 where there may be more to do at once.
static int step(struct live *live) {
    struct engine *engine = &live->engine;
    int cached, fed, collected, served;
    engine->now = microseconds(CLOCK_MONOTONIC);
    if ((cached = engine_cache(engine)) < 0 || (fed = feed(live)) < 0)
        return cached < 0 ? cached : fed;
    bool idle = !fed && sluice_device_idle(engine->device);
    if (!idle)
        sluice_device_advance(engine->device, ENGINE_STEP);
    if ((collected = engine_collect(engine)) < 0 || (served = engine_serve(engine)) < 0)
        return collected < 0 ? collected : served;
    return !idle || collected || served || engine_is_waiting(engine);
}

static int loop(struct live *live, sluice_run_progress progress, void *context) {
    double reported = 0;
    for (unsigned steps = 0;; steps++) {
        int busy = step(live);
        if (busy < 0)
            return busy;
        int interrupted = !busy && wait_for_work(live);
        if (busy && steps % LOOK_STEPS)
            continue;
        double now = engine_seconds();
        if (live->end > 0 && now >= live->end)
            return 0;
        if (!progress || (!interrupted && now - reported < REPORT_MILLISECONDS * 1e-3))
            continue;
        reported = now;
        engine_report(&live->engine);
        live->result->device_seconds = now - live->start;
        if (progress(live->result, context))
            return 0;
    }
}

// Let what is in the device leave, so that every packet that entered is counted somewhere.
static int drain(struct live *live) {
    struct engine *engine = &live->engine;
    int collected = 1, served = 1;
    for (unsigned i = 0; i < DRAIN_STEPS && (collected || served || !sluice_device_idle(engine->device)); i++) {
        sluice_device_advance(engine->device, ENGINE_STEP);
        if ((collected = engine_collect(engine)) < 0 || (served = engine_serve(engine)) < 0)
            return collected < 0 ? collected : served;
    }
    return 0;
}

static void note(void *result, const char *line) {
    run_note(result, "%s", line);
}

static int open_all(struct live *live) {
    const struct sluice_live_options *options = live->options;
    char text[512];
    for (uint32_t lane = 0; lane < options->lanes; lane++) {
        int status = options->interfaces[lane]
                         ? port_open(&live->ports[lane], lane, options->interfaces[lane], note, live->result)
                         : 0;
        if (status)
            return status;
        if (options->outputs[lane] &&
            !(live->outputs[lane] = capture_create(options->outputs[lane], text, sizeof text)))
            return sluice_fail(-EIO, "%s", text);
    }
    live->frames = malloc((size_t)options->lanes * PORT_FRAME);
    return live->frames ? 0 : sluice_fail(-ENOMEM, "out of memory");
}

static int close_all(struct live *live) {
    char text[512];
    int result = 0;
    for (uint32_t lane = 0; lane < SLUICE_RUN_LANES; lane++) {
        live->result->interface_drops[PORT_UNREAD] += live->held[lane] != 0;
        port_count(&live->ports[lane]);
        for (unsigned why = 0; why < PORT_DROPS; why++)
            live->result->interface_drops[why] += live->ports[lane].drops[why];
        port_close(&live->ports[lane]);
        int status = live->outputs[lane] ? capture_finish(live->outputs[lane], text, sizeof text) : 0;
        if (status)
            result = sluice_fail(status, "%s", text);
    }
    free(live->frames);
    engine_close(&live->engine);
    return result;
}

int sluice_run_live(struct sluice_device *device, const struct sluice_live_options *options,
                    struct sluice_run_result *result, sluice_run_progress progress, void *context) {
    static const struct engine_calls calls = {leave, show};
    struct live live = {.engine = {.device = device,
                                   .rules = options->rules,
                                   .lanes = options->lanes,
                                   .result = result,
                                   .calls = &calls},
                        .options = options,
                        .result = result};
    int status;
    memset(result, 0, sizeof *result);
    for (uint32_t lane = 0; lane < SLUICE_RUN_LANES; lane++)
        live.ports[lane].fd = -1;
    if (options->lanes == 0 || options->lanes > sluice_device_lanes(device))
        return sluice_fail(-EINVAL, "%u lanes; the device has %u", options->lanes, sluice_device_lanes(device));
    // Interfaces last: what comes while the routes are written would only wait.
    if (!(status = engine_open(&live.engine)) && !(status = open_all(&live))) {
        live.start = engine_seconds();
        live.engine.start_time = live.engine.now = microseconds(CLOCK_MONOTONIC);
        live.wall_time = microseconds(CLOCK_REALTIME) - live.engine.start_time;
        live.end = options->seconds > 0 ? live.start + options->seconds : 0;
        if (!(status = loop(&live, progress, context)))
            status = drain(&live);
        result->seconds = result->device_seconds = engine_seconds() - live.start;
        int counted = engine_finish(&live.engine);
        status = status ? status : counted;
    }
    int closed = close_all(&live);
    status = status ? status : closed;
    result->finished = status == 0;
    return status;
}
