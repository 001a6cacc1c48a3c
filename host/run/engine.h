// SPDX-License-Identifier: Apache-2.0
// What runs over captures and live runs share: a device with its rules, the software switch behind it, the cache and
// the fence. The run puts packets before the lanes and lets cycles pass; the engine does the rest of a step.
#ifndef SLUICE_ENGINE_H
#define SLUICE_ENGINE_H

#include "flows.h"
#include "run.h"

enum {
    ENGINE_STEP = 16, // cycles between looks at lanes and ring; a lane of the simulation holds that many packets
    ENGINE_PACKET = SLUICE_PACKET_MAX + SLUICE_PACKET_GROWTH,
    ENGINE_LATENCIES = 1 << 22 // that percentiles are of: the latest
};

struct engine;

struct engine_calls {
    // A packet left by a lane of the run. 0 or a negative errno.
    int (*leave)(struct engine *engine, uint32_t lane, const uint8_t *bytes, uint32_t size,
                 const struct sluice_lane_info *info);
    // The device shows the host a packet of a lane of the run; `*time` gets when it came (microseconds). 1: it is to be
    // decided; 0: it is not; a negative errno.
    int (*show)(struct engine *engine, const struct sluice_packet *packet, uint64_t *time);
};

struct engine {
    struct sluice_device *device;
    const struct sluice_rules *rules;
    uint32_t lanes, lossless;
    struct sluice_run_result *result;
    const struct engine_calls *calls;
    uint64_t start_time, now; // microseconds; the run moves `now`
    // The engine's own.
    struct sluice_switch *sw;
    struct flows *flows;
    uint64_t last_tick, last_expire, waited_steps;
    uint32_t *latencies;
    uint64_t latency_room;
    uint8_t *buffer, *decided; // a packet that left, and one that the software made
};

// Give the device its routes and addresses, make the switch. The fields above "own" are set, the others 0.
int engine_open(struct engine *engine);
void engine_close(struct engine *engine);

// Each: 1 where something moved, 0, or a negative errno. Collect: take what left the lanes. Serve: decide what the
// device shows the host. Cache: tick, idle rules, and the fence where new rules wait long enough.
int engine_collect(struct engine *engine);
int engine_serve(struct engine *engine);
int engine_cache(struct engine *engine);

// Whether flows wait for the fence: steps must go on.
bool engine_is_waiting(const struct engine *engine);

// Cycles and the counters of the graph into the result: cheap enough for every report.
void engine_report(struct engine *engine);
// All counters and the latencies. 0 or a negative errno.
int engine_finish(struct engine *engine);

static inline uint64_t engine_flits(uint32_t size) {
    return (size + SLUICE_DATA_BYTES - 1) / SLUICE_DATA_BYTES;
}

double engine_seconds(void); // monotonic

// A line for people, as long as there is room.
void run_note(struct sluice_run_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
