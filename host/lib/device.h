// SPDX-License-Identifier: Apache-2.0
// What the files of the library share about a device. Functions with `_locked` expect the caller to hold its lock.
#ifndef SLUICE_DEVICE_H
#define SLUICE_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "transport.h"

enum { SLUICE_MAX_WINDOWS = 16, SLUICE_RING_BUFFERS = 512, SLUICE_TABLES = 2 };

struct sluice_rule_store; // rules.c

struct sluice_window {
    uint16_t kind; // enum sluice_element_kind
    struct sluice_rule_store *rules;
};

struct sluice_device {
    struct sluice_transport *transport;
    pthread_mutex_t lock;
    unsigned lanes, host_lanes, windows;
    uint32_t clock_khz, control;
    struct sluice_window window[SLUICE_MAX_WINDOWS];
    uint8_t *to_host, *from_host; // rings
    // Buffers since the start. Pollers write and read these; whoever lets time pass tells and hears the device.
    uint64_t received, submitted, sent;
    uint64_t told_received, told_submitted;
    pthread_mutex_t receive_lock, send_lock; // taken alone, or inside `lock`
    uint32_t held;                           // buffers of the packets the host is reading
    bool is_chained;                         // the last of them is in `chained`
    uint8_t *chained;                        // a packet of several buffers, put together
};

int sluice_read_locked(struct sluice_device *device, uint32_t address, uint32_t *value);
int sluice_write_locked(struct sluice_device *device, uint32_t address, uint32_t value);
// Before time passes: what pollers have released and submitted becomes known to the device. After: what it has taken.
int sluice_tell_rings_locked(struct sluice_device *device);
void sluice_hear_rings_locked(struct sluice_device *device);
// The window of the element of a kind, or -ENOENT with the error text set.
int sluice_window_of(const struct sluice_device *device, uint16_t kind);

void sluice_rule_store_free(struct sluice_rule_store *store);

#endif
