// SPDX-License-Identifier: Apache-2.0
// The run loop: feed the lanes, let cycles pass, collect what leaves, decide what missed, install rules behind the
// fence. Lossless: nothing is dropped for want of room, so a run repeats exactly.
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "check.h"
#include "engine.h"

enum {
    STUCK_LIMIT = 200000, // steps without any packet moving
    PROGRESS_STEPS = 256
};

struct lane_state {
    struct capture input, output;
    uint64_t next, matched; // next packet to send; next that the host may show (both over all rounds)
};

struct run {
    struct engine engine; // first: the calls find the run by it
    const struct sluice_run_options *options;
    struct sluice_run_result *result;
    struct lane_state lanes[SLUICE_RUN_LANES];
    struct check_seen *seen;
    uint64_t seen_count, seen_room, idle_steps, series_step;
};

// Read the inputs, add up what is to be sent.
static int load(struct run *run) {
    char text[512];
    run->engine.start_time = UINT64_MAX;
    for (uint32_t lane = 0; lane < run->options->lanes; lane++) {
        struct capture *input = &run->lanes[lane].input;
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
        while (it->next < it->input.count * run->options->repeat) {
            uint64_t index = it->next % it->input.count;
            const struct capture_packet *packet = &it->input.packets[index];
            int result = sluice_lane_send(run->engine.device, lane, capture_bytes(&it->input, index), packet->size, 0);
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

// Which packet of its lane's capture the host is shown: packets of a lane keep their order.
static int64_t match(struct run *run, const struct sluice_packet *packet) {
    struct lane_state *it = &run->lanes[packet->ingress_port];
    for (; it->matched < it->next; it->matched++) {
        uint64_t index = it->matched % it->input.count;
        const struct capture_packet *candidate = &it->input.packets[index];
        if (candidate->size == packet->size &&
            memcmp(capture_bytes(&it->input, index), packet->bytes, packet->size) == 0) {
            it->matched++;
            return (int64_t)index;
        }
    }
    return -1;
}

static int see(struct run *run, uint32_t lane, uint64_t index) {
    if (run->seen_count == run->seen_room) {
        run->seen_room = run->seen_room ? 2 * run->seen_room : 4096;
        struct check_seen *more = realloc(run->seen, run->seen_room * sizeof *more);
        if (!more)
            return sluice_fail(-ENOMEM, "out of memory");
        run->seen = more;
    }
    run->seen[run->seen_count++] = (struct check_seen){lane, index};
    return 0;
}

static int show(struct engine *engine, const struct sluice_packet *packet, uint64_t *time) {
    struct run *run = (struct run *)engine;
    int64_t index = match(run, packet);
    if (index < 0) {
        run_note(run->result, "the device shows a packet of %u bytes that lane %u did not get\n", packet->size,
                 packet->ingress_port);
        run->result->extra++;
        return 0;
    }
    *time = run->lanes[packet->ingress_port].input.packets[index].time;
    return see(run, packet->ingress_port, (uint64_t)index) ? -ENOMEM : 1;
}

static int leave(struct engine *engine, uint32_t lane, const uint8_t *bytes, uint32_t size,
                 const struct sluice_lane_info *info) {
    struct run *run = (struct run *)engine;
    uint64_t clock_khz = run->result->clock_khz ? run->result->clock_khz : 1;
    return capture_add(&run->lanes[lane].output, bytes, size,
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
static int is_over(struct run *run) {
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
        if (!moved && (over = is_over(run)))
            return over < 0 ? over : 0;
        run->idle_steps = moved ? 0 : run->idle_steps + 1;
        if (run->idle_steps > STUCK_LIMIT)
            return sluice_fail(-ENODEV, "the device has stopped: %llu of %llu packets were taken",
                               (unsigned long long)run->result->sent, (unsigned long long)run->result->packets);
        if (progress && step % PROGRESS_STEPS == 0) {
            engine_report(&run->engine);
            if (progress(run->result, context))
                return 0;
        }
    }
}

static int write_outputs(struct run *run) {
    char text[512];
    int result = 0;
    for (uint32_t lane = 0; lane < run->options->lanes; lane++) {
        if (!run->options->outputs[lane])
            continue;
        int status = capture_write(&run->lanes[lane].output, run->options->outputs[lane], text, sizeof text);
        if (status) {
            run_note(run->result, "%s\n", text);
            result = sluice_fail(status, "%s", text);
        }
    }
    return result;
}

static int compare(struct run *run) {
    struct capture inputs[SLUICE_RUN_LANES], outputs[SLUICE_RUN_LANES];
    for (uint32_t lane = 0; lane < run->options->lanes; lane++) {
        inputs[lane] = run->lanes[lane].input;
        outputs[lane] = run->lanes[lane].output;
    }
    struct check check = {
        inputs, outputs, run->seen, run->seen_count, run->options->rules, run->options->lanes, run->options->repeat};
    return check_run(&check, run->result);
}

static void tear_down(struct run *run) {
    for (uint32_t lane = 0; lane < SLUICE_RUN_LANES; lane++) {
        capture_free(&run->lanes[lane].input);
        capture_free(&run->lanes[lane].output);
    }
    free(run->seen);
    engine_close(&run->engine);
}

int sluice_run(struct sluice_device *device, const struct sluice_run_options *options, struct sluice_run_result *result,
               sluice_run_progress progress, void *context) {
    static const struct engine_calls calls = {leave, show};
    struct run run = {.engine = {.device = device,
                                 .rules = options->rules,
                                 .lanes = options->lanes,
                                 .lossless = 1,
                                 .result = result,
                                 .calls = &calls},
                      .options = options,
                      .result = result};
    double start = engine_seconds();
    int status;
    memset(result, 0, sizeof *result);
    if (options->lanes == 0 || options->lanes > sluice_device_lanes(device) || options->repeat == 0)
        status = sluice_fail(-EINVAL, "%u lanes of %u, repeated %u times", options->lanes, sluice_device_lanes(device),
                             options->repeat);
    else if ((status = load(&run)))
        sluice_fail(status, "%.*s", (int)strcspn(result->notes, "\n"), result->notes);
    else if (!(status = engine_open(&run.engine))) {
        double device_start = engine_seconds();
        run.series_step = result->packets / SLUICE_RUN_SERIES + 1;
        status = loop(&run, progress, context);
        result->device_seconds = engine_seconds() - device_start;
        int counted = engine_finish(&run.engine), written = write_outputs(&run);
        status = status ? status : counted ? counted : written;
        if (!status && options->check) {
            double check_start = engine_seconds();
            status = compare(&run);
            result->check_seconds = engine_seconds() - check_start;
        }
    }
    tear_down(&run);
    result->seconds = engine_seconds() - start;
    result->finished = status == 0;
    return status;
}
