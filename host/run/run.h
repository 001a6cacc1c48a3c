// SPDX-License-Identifier: Apache-2.0
// A run: captures through a simulated device with the software switch as its slow path. What it moved is there for a
// check (host/judge).
#ifndef SLUICE_RUN_H
#define SLUICE_RUN_H

#include <stdint.h>

#include "capture.h"
#include "sluice/sluice.h"
#include "switch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SLUICE_RUN_LANES = SLUICE_SWITCH_LANES,
    SLUICE_RUN_SERIES = 512,   // points over time
    SLUICE_RUN_SAMPLES = 16384 // packets with size and latency
};

struct sluice_run_options {
    uint32_t lanes;                       // captures and outputs, at most the device's lanes
    const char *inputs[SLUICE_RUN_LANES]; // pcap or pcapng; NULL: nothing comes in there
    const struct sluice_rules *rules;
    uint32_t repeat; // send every capture this often, 1 or more
};

// A packet that the host saw.
struct sluice_run_seen {
    uint32_t lane;
    uint64_t number; // in the lane's capture, counted over all rounds
};

// What a run moved.
struct sluice_run_traffic {
    struct capture inputs[SLUICE_RUN_LANES], outputs[SLUICE_RUN_LANES];
    struct sluice_run_seen *seen; // in this order: bridged packets teach the switch
    uint64_t seen_count, seen_room;
};

struct sluice_run_point {
    uint64_t cycle, inputs, hits, host;
};

struct sluice_run_sample {
    uint32_t size, latency; // bytes as it leaves, cycles
};

// Counts so far, or at the end. `hits` left the device without the host; `host` were decided in software.
struct sluice_run_result {
    uint64_t packets, bytes;      // of the captures, to be sent
    uint64_t sent;                // given to lanes
    uint64_t hits, host, outputs; // outputs counts copies
    uint64_t cycles, clock_khz;
    uint64_t flits_in, flits_out; // of the packets sent and received
    uint64_t hardware_drops[3];   // rule, TTL, no port
    uint64_t receive_drops[4];    // error, oversize, overflow, runt
    uint64_t transmit_drops[2];   // overflow, error
    uint64_t host_drops[3];       // overflow, error, invalid
    uint64_t interface_drops[4];  // live: not read in time, too long to send, no room to send, other errors in sending
    uint64_t software_drops[SLUICE_CAUSES];
    uint64_t faults, not_eligible, misses;
    uint64_t installed, deleted, evicted, expired, refused, fences; // rule operations
    uint64_t routes, routes_left; // routes in the device's table, and those it has no room for
    uint64_t latency_min, latency_median, latency_p99, latency_count; // cycles, of hits
    uint64_t strays;  // packets at a lane that the run does not have, or shown to the host though no lane got them
    uint64_t snapped; // input packets of which the capture holds a part only; sent as they are
    double seconds, device_seconds;
    uint32_t series_count, sample_count;
    uint32_t finished;
    struct sluice_run_point series[SLUICE_RUN_SERIES];
    struct sluice_run_sample samples[SLUICE_RUN_SAMPLES];
    char notes[4096]; // lines: damaged inputs, strays
};

// Called now and then with the counts so far; not 0: stop.
typedef int (*sluice_run_progress)(const struct sluice_run_result *result, void *context);

// Run. 0; -EINTR where `progress` stopped it; another negative errno with sluice_error_text() where an input cannot be
// read at all or the device fails. `traffic` is all 0 before; sluice_run_traffic_free frees it, whatever is returned.
int sluice_run(struct sluice_device *device, const struct sluice_run_options *options, struct sluice_run_result *result,
               struct sluice_run_traffic *traffic, sluice_run_progress progress, void *context);
void sluice_run_traffic_free(struct sluice_run_traffic *traffic);

// Write what left a lane as pcap: whole or not at all. 0 or a negative errno.
int sluice_run_write(const struct sluice_run_traffic *traffic, uint32_t lane, const char *path);

struct sluice_live_options {
    uint32_t lanes;                           // interfaces and outputs, at most the device's lanes
    const char *interfaces[SLUICE_RUN_LANES]; // name of one, or "tap:NAME" for a TAP to be made; NULL: none
    const char *outputs[SLUICE_RUN_LANES];    // pcap of what leaves; NULL: not written
    const struct sluice_rules *rules;
    double seconds; // until the end; 0: until `progress` stops it
};

// Run over interfaces: what comes to them enters the device, what leaves it they send. Full FIFOs drop and count; time
// is the clock's; nothing is compared. While nothing is to be done the calling thread sleeps, at most a quarter of a
// second between calls of `progress`; a signal wakes it. Results as sluice_run.
int sluice_run_live(struct sluice_device *device, const struct sluice_live_options *options,
                    struct sluice_run_result *result, sluice_run_progress progress, void *context);

#ifdef __cplusplus
}
#endif
#endif
