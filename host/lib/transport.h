// SPDX-License-Identifier: Apache-2.0
// How the library reaches a device: registers, ring memory, and for simulated devices time and lanes. A PCIe transport
// leaves the simulated part NULL.
#ifndef SLUICE_TRANSPORT_H
#define SLUICE_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/sluice.h"

// SLUICE_RING_QUEUE + SLUICE_HOST_QUEUES * n + q: to the host, queue q of lane n. Once one of these is there,
// SLUICE_RING_TO_HOST gets nothing, and packets for a queue without a ring are dropped.
enum sluice_ring { SLUICE_RING_TO_HOST = 0, SLUICE_RING_FROM_HOST = 1, SLUICE_RING_QUEUE = 2 };

// A register access; a read leaves the value.
struct sluice_access {
    uint32_t address, value;
    bool is_read;
};

struct sluice_transport {
    // 0, -EFAULT (the device answered with an error), -ETIMEDOUT.
    int (*reg_read)(struct sluice_transport *transport, uint32_t address, uint32_t *value);
    int (*reg_write)(struct sluice_transport *transport, uint32_t address, uint32_t value);
    // Memory that the device can reach, for a ring of `buffers` self-described buffers; NULL where there is none, or no
    // such queue. It stays until the device is closed.
    uint8_t *(*ring_attach)(struct sluice_transport *transport, unsigned ring, uint32_t buffers);
    // The same for counters of rules: `records` of them (rule_mirror_t), all 0. One of that size that is there already
    // stays as it is. NULL, as a function too: there is none.
    uint8_t *(*mirror_attach)(struct sluice_transport *transport, uint32_t records);
    int (*ring_release)(struct sluice_transport *transport, unsigned ring, uint32_t count);
    int (*ring_submit)(struct sluice_transport *transport, uint32_t count);
    uint64_t (*ring_sent)(struct sluice_transport *transport);
    void (*close)(struct sluice_transport *transport);
    // Simulated devices only.
    uint64_t (*cycles)(struct sluice_transport *transport);
    void (*advance)(struct sluice_transport *transport, uint32_t cycles);
    bool (*idle)(struct sluice_transport *transport);
    int (*lane_send)(struct sluice_transport *transport, unsigned lane, const uint8_t *bytes, uint32_t size,
                     unsigned flags);
    int (*lane_receive)(struct sluice_transport *transport, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info);
    // Any device: accesses one after the other up to the first that fails, and how many were done. NULL: there is only
    // one at a time.
    int (*reg_batch)(struct sluice_transport *transport, struct sluice_access *accesses, unsigned count,
                     unsigned *done);
};

// `options` is the URI behind "sim:", "sim-process:", "functional:". NULL with the error text set where there is no
// device.
struct sluice_transport *sluice_transport_sim(const char *options);
struct sluice_transport *sluice_transport_process(const char *options);
struct sluice_transport *sluice_transport_functional(const char *options);
// The simulated device's library that such options name: lib=PATH, or nothing and SLUICE_SIM_LIB. NULL with the error
// text.
const char *sluice_transport_sim_path(const char *options);

#endif
