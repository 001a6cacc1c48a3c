// SPDX-License-Identifier: Apache-2.0
// The run loop: feed the lanes, let cycles pass, collect what leaves, decide what missed, install rules behind the
// fence. Lossless: nothing is dropped for want of room, so a run repeats exactly.
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum {
    STUCK_LIMIT = 200000, // steps without any packet moving
    PROGRESS_STEPS = 256
};

struct lane_state {
    uint64_t next, matched; // next packet to send; next that the host may show (both over all rounds)
};

struct run {
    struct engine engine; // first: the calls find the run by it
    const struct sluice_run_options *options;
    struct sluice_run_result *result;
    struct sluice_run_traffic *traffic;
    struct lane_state lanes[SLUICE_RUN_LANES];
    uint64_t idle_steps, series_step;
};

// Read the inputs, add up what is to be sent.
static int load(struct run *run) {
    char text[512];
    run->engine.start_time = UINT64_MAX;
    for (uint32_t lane = 0; lane < run->options->lanes; lane++) {
        struct capture *input = &run->traffic->inputs[lane];
        if (!run->options->inputs[lane])
            continue;
        int status = capture_read(input, run->options->inputs[lane], text, sizeof text);
        if (status)
            run_note(run->result, "%s\n", text);
        if (status < 0)
            return status;
        run->result->snapped += input->snapped;
        run->result->packets += input->count * run->options->repeat;
        run->result->bytes += input->used * run->options->repeat;
        if (input->count && input->packets[0].time < run->engine.start_time)
            run->engine.start_time = input->packets[0].time;
    }
    return 0;
}

static int feed(struct run *run) {
    int moved = 0;
    for (uint32_t lane = 0; lane < run->options->lanes; lane++) {
        struct lane_state *it = &run->lanes[lane];
        const struct capture *input = &run->traffic->inputs[lane];
        while (it->next < input->count * run->options->repeat) {
            uint64_t index = it->next % input->count;
            const struct capture_packet *packet = &input->packets[index];
            int result = sluice_lane_send(run->engine.device, lane, capture_bytes(input, index), packet->size, 0);
            if (result == -EAGAIN)
                break;
            if (result)
                return result;
            if (packet->time > run->engine.now)
                run->engine.now = packet->time;
            run->result->flits_in += engine_flits(packet->size);
            run->result->sent++;
            it->next++;
            moved = 1;
        }
    }
    return moved;
}

// The number of the packet that the host is shown, in its lane's capture over all rounds, or -1: packets of a lane keep
// their order.
static int64_t match(struct run *run, const struct sluice_packet *packet) {
    struct lane_state *it = &run->lanes[packet->ingress_port];
    const struct capture *input = &run->traffic->inputs[packet->ingress_port];
    for (uint64_t number = it->matched; number < it->next; number++) {
        uint64_t index = number % input->count;
        if (input->packets[index].size == packet->size &&
            memcmp(capture_bytes(input, index), packet->bytes, packet->size) == 0) {
            it->matched = number + 1;
            return (int64_t)number;
        }
    }
    return -1;
}

static int see(struct sluice_run_traffic *traffic, uint32_t lane, uint64_t number) {
    if (traffic->seen_count == traffic->seen_room) {
        traffic->seen_room = traffic->seen_room ? 2 * traffic->seen_room : 4096;
        struct sluice_run_seen *more = realloc(traffic->seen, traffic->seen_room * sizeof *more);
        if (!more)
            return sluice_fail(-ENOMEM, "out of memory");
        traffic->seen = more;
    }
    traffic->seen[traffic->seen_count++] = (struct sluice_run_seen){lane, number};
    return 0;
}

static int show(struct engine *engine, const struct sluice_packet *packet, uint64_t *time) {
    struct run *run = (struct run *)engine;
    const struct capture *input = &run->traffic->inputs[packet->ingress_port];
    int64_t number = match(run, packet);
    if (number < 0) {
        run_note(run->result, "the device delivered a packet of %u bytes that was not sent on lane %u\n", packet->size,
                 packet->ingress_port);
        run->result->strays++;
        return 0;
    }
    *time = input->packets[(uint64_t)number % input->count].time;
    return see(run->traffic, packet->ingress_port, (uint64_t)number) ? -ENOMEM : 1;
}

static int leave(struct engine *engine, uint32_t lane, const uint8_t *bytes, uint32_t size,
                 const struct sluice_lane_info *info) {
    struct run *run = (struct run *)engine;
    uint64_t clock_khz = run->result->clock_khz ? run->result->clock_khz : 1;
    return capture_add(&run->traffic->outputs[lane], bytes, size,
                       engine->start_time + info->first_cycle * 1000 / clock_khz);
}

// A point of the series for every 512th of the packets.
static void trace(struct run *run) {
    struct sluice_run_result *result = run->result;
    if (result->series_count == SLUICE_RUN_SERIES || result->sent < run->series_step * result->series_count)
        return;
    uint64_t done = result->host;
    result->series[result->series_count++] =
        (struct sluice_run_point){sluice_device_cycles(run->engine.device), result->sent,
                                  result->sent > done ? result->sent - done : 0, result->host};
}

// Nothing is left: 1, 0, or a negative errno. Rule operations let cycles pass, so an idle device may have put packets
// before the lanes since they were last looked at.
static int check_end(struct run *run) {
    int collected, served;
    if (run->result->sent < run->result->packets || !sluice_device_idle(run->engine.device))
        return 0;
    if ((collected = engine_collect(&run->engine)) < 0 || (served = engine_serve(&run->engine)) < 0)
        return collected < 0 ? collected : served;
    return !collected && !served;
}

static int loop(struct run *run, sluice_run_progress progress, void *context) {
    for (uint64_t step = 0;; step++) {
        int fed = feed(run), collected, served, cached, over;
        if (fed < 0)
            return fed;
        sluice_device_advance(run->engine.device, ENGINE_STEP);
        if ((collected = engine_collect(&run->engine)) < 0 || (served = engine_serve(&run->engine)) < 0 ||
            (cached = engine_cache(&run->engine)) < 0)
            return collected < 0 ? collected : served < 0 ? served : cached;
        trace(run);
        int moved = fed || collected || served;
        if (!moved && (over = check_end(run)))
            return over < 0 ? over : 0;
        run->idle_steps = moved ? 0 : run->idle_steps + 1;
        if (run->idle_steps > STUCK_LIMIT)
            return sluice_fail(-ENODEV, "the device stopped after %llu of %llu packets",
                               (unsigned long long)run->result->sent, (unsigned long long)run->result->packets);
        if (progress && step % PROGRESS_STEPS == 0) {
            engine_report(&run->engine);
            if (progress(run->result, context))
                return sluice_fail(-EINTR, "stopped");
        }
    }
}

int sluice_run_write(const struct sluice_run_traffic *traffic, uint32_t lane, const char *path) {
    char text[512];
    int status = capture_write(&traffic->outputs[lane], path, text, sizeof text);
    return status ? sluice_fail(status, "%s", text) : 0;
}

void sluice_run_traffic_free(struct sluice_run_traffic *traffic) {
    for (uint32_t lane = 0; lane < SLUICE_RUN_LANES; lane++) {
        capture_free(&traffic->inputs[lane]);
        capture_free(&traffic->outputs[lane]);
    }
    free(traffic->seen);
    memset(traffic, 0, sizeof *traffic);
}

int sluice_run(struct sluice_device *device, const struct sluice_run_options *options, struct sluice_run_result *result,
               struct sluice_run_traffic *traffic, sluice_run_progress progress, void *context) {
    static const struct engine_calls calls = {leave, show};
    struct run run = {.engine = {.device = device,
                                 .rules = options->rules,
                                 .lanes = options->lanes,
                                 .lossless = 1,
                                 .result = result,
                                 .calls = &calls},
                      .options = options,
                      .result = result,
                      .traffic = traffic};
    double start = engine_seconds();
    int status;
    memset(result, 0, sizeof *result);
    if (options->lanes == 0 || options->lanes > sluice_device_lanes(device) || options->repeat == 0)
        status = sluice_fail(-EINVAL, "invalid run: %u lanes, the device has %u; repeated %u times", options->lanes,
                             sluice_device_lanes(device), options->repeat);
    else if ((status = load(&run)))
        sluice_fail(status, "%.*s", (int)strcspn(result->notes, "\n"), result->notes);
    else if (!(status = engine_open(&run.engine))) {
        double device_start = engine_seconds();
        run.series_step = result->packets / SLUICE_RUN_SERIES + 1;
        status = loop(&run, progress, context);
        result->device_seconds = engine_seconds() - device_start;
        status = status ? status : engine_finish(&run.engine);
    }
    engine_close(&run.engine);
    result->seconds = engine_seconds() - start;
    result->finished = status == 0;
    return status;
}
