// SPDX-License-Identifier: Apache-2.0
// A run: captures through a simulated device with the software switch as its slow path, and the check of every output
// packet against the software switch alone.
#ifndef SLUICE_RUN_H
#define SLUICE_RUN_H

#include <stdint.h>

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
    uint32_t lanes;                        // captures and outputs, at most the device's lanes
    const char *inputs[SLUICE_RUN_LANES];  // pcap or pcapng; NULL: nothing comes in there
    const char *outputs[SLUICE_RUN_LANES]; // pcap; NULL: not written
    const struct sluice_rules *rules;
    uint32_t repeat; // send every capture this often, 1 or more
    uint32_t check;  // 1: compare with the software switch alone
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
    uint64_t expected, differing, missing, extra;                     // the check
    uint64_t snapped; // input packets of which the capture holds a part only; sent as they are
    double seconds, device_seconds, check_seconds;
    uint32_t series_count, sample_count;
    uint32_t finished;
    struct sluice_run_point series[SLUICE_RUN_SERIES];
    struct sluice_run_sample samples[SLUICE_RUN_SAMPLES];
    char notes[4096]; // lines: damaged inputs, the first differing packets
};

// Called now and then with the counts so far; not 0: stop (what has left is written and checked).
typedef int (*sluice_run_progress)(const struct sluice_run_result *result, void *context);

// Run. 0, also where packets differ (see `differing`, `missing`, `extra`); a negative errno with sluice_error_text()
// where an input cannot be read at all, an output cannot be written, or the device fails. Outputs are written whole.
int sluice_run(struct sluice_device *device, const struct sluice_run_options *options, struct sluice_run_result *result,
               sluice_run_progress progress, void *context);

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
