// SPDX-License-Identifier: Apache-2.0
// What the files of the library share about a device. Functions with `_locked` expect the caller to hold its lock.
#ifndef SLUICE_DEVICE_H
#define SLUICE_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "transport.h"

enum { SLUICE_MAX_WINDOWS = 16, SLUICE_TABLES = 2 };
// Buffers of a ring: of the common one to the host, which are the fewest; of the one from the host, which are the most.
// The number of each is a power of two.
enum { SLUICE_RING_BUFFERS = 512, SLUICE_RING_MOST = SLUICE_QUEUE_MOST_BUFFERS };
enum { SLUICE_MOST_RULES = 1 << 22 }; // of a table

struct sluice_rule_store; // rules.c

struct sluice_window {
    uint16_t kind; // enum sluice_element_kind
    struct sluice_rule_store *rules;
};

// A ring to the host, of a receive queue or the common one. Whoever polls it writes `received`; whoever lets time pass
// tells the device.
struct sluice_queue {
    uint8_t *ring;
    unsigned number;                  // enum sluice_ring
    unsigned shift;                   // its buffers: 1 << shift
    uint64_t received, told_received; // buffers since the start
    uint32_t held;                    // buffers of the packets the host is reading
    bool is_chained;                  // the last of them is in `chained`
    uint8_t *chained;                 // a packet of several buffers, put together
};

enum { SLUICE_FENCE_LANES = 8 };
enum sluice_fence_step {
    SLUICE_FENCE_NOTHING,   // the device knows what is handled, or may not be told yet
    SLUICE_FENCE_SUBMITTED, // what was submitted by then is on its way into the device
    SLUICE_FENCE_TAKEN      // it is in the device, on its way to the merge
};

// order_fence.c: a round tells the device up to which timestamp the packets of the lanes are through the host.
struct sluice_order_fence {
    uint32_t window; // of the flow table
    bool is_on;
    uint64_t handled[SLUICE_FENCE_LANES]; // by lane; pollers write it
    uint64_t told[SLUICE_FENCE_LANES];    // what the device knows
    uint64_t wanted[SLUICE_FENCE_LANES];  // and after this round
    uint64_t goal, cycle;                 // buffers submitted when it began; when the last one ended
    uint32_t taken;                       // packets of the host in the device when all of these were
    enum sluice_fence_step step;
};

struct sluice_device {
    struct sluice_transport *transport;
    pthread_mutex_t lock;
    unsigned lanes, host_lanes, windows;
    uint32_t clock_khz, control;
    struct sluice_window window[SLUICE_MAX_WINDOWS];
    unsigned queues;                                                   // of each lane; 0: none
    struct sluice_queue common;                                        // ring to the host
    struct sluice_queue *queue[SLUICE_HOST_PORT * SLUICE_HOST_QUEUES]; // those that are open
    unsigned open_queues;
    uint8_t *from_host; // ring
    // Buffers since the start. Pollers write and read these; whoever lets time pass tells and hears the device.
    uint64_t submitted, sent, told_submitted;
    pthread_mutex_t receive_lock, send_lock; // of `common` and of sending; taken alone, or inside `lock`
    struct sluice_order_fence fence;
    uint32_t push_cycles; // until counts are in host memory; 0: at once, or never
};

// All ones where the magic is not right either: -ENODEV, the device is gone.
int sluice_read_locked(struct sluice_device *device, uint32_t address, uint32_t *value);
// What sizes memory, or bounds a loop: -EPROTO above `most`.
int sluice_read_fact_locked(struct sluice_device *device, uint32_t address, uint32_t most, uint32_t *value);
int sluice_check_fact(uint32_t address, uint32_t value, uint32_t most);
// What a table answered to an instruction on a rule: 0, its negative errno, or -EPROTO where there is no such answer.
int sluice_check_response(const struct sluice_response *response);
int sluice_write_locked(struct sluice_device *device, uint32_t address, uint32_t value);
// Accesses one after the other, up to the first that fails.
int sluice_batch_locked(struct sluice_device *device, struct sluice_access *accesses, unsigned count);
// Memory of a ring to the host, of at least so many buffers. 0, or -ENOMEM, also where the device has no such queue.
int sluice_queue_attach(struct sluice_device *device, struct sluice_queue *queue, unsigned number, unsigned buffers);
// Before time passes: what pollers have released and submitted becomes known to the device. After: what it has taken.
int sluice_tell_rings_locked(struct sluice_device *device);
void sluice_hear_rings_locked(struct sluice_device *device);
// Time passes: the round goes on. And whether the device has not been told all yet.
void sluice_fence_step_locked(struct sluice_device *device);
bool sluice_fence_has_news(const struct sluice_device *device);
// The window of the element of a kind, or -ENOENT with the error text set.
int sluice_window_of(const struct sluice_device *device, uint16_t kind);

void sluice_rule_store_free(struct sluice_rule_store *store);

#endif
