// SPDX-License-Identifier: Apache-2.0
// The simulated device: the Verilated shell behind a small C interface. Not thread-safe; the transport serialises.
// Time passes only in sim_model_step and in the register calls. Functions that fail return a negative errno.
#ifndef SLUICE_SIM_MODEL_H
#define SLUICE_SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_model;

// What is known of a packet that left through a lane; cycles are core cycles since reset.
struct sim_packet_info {
    uint64_t ingress_cycle; // when its first flit came into its lane; 0: the host's
    uint64_t first_cycle;   // when its first flit left
    uint64_t last_cycle;    // when its last flit left
};

// SIM_RING_QUEUE + SLUICE_HOST_QUEUES * n + q: to the host, queue q of lane n. Once one of these is there,
// SIM_RING_TO_HOST gets nothing, and packets for a queue without a ring are dropped.
enum sim_ring { SIM_RING_TO_HOST = 0, SIM_RING_FROM_HOST = 1, SIM_RING_QUEUE = 2 };

// Build a device, reset it, and wait until its tables are ready. NULL where memory is short. With SLUICE_SIM_SEED in
// the environment a hostile build (build.py) starts from random contents, by that seed.
struct sim_model *sim_model_new(void);
// The one that was made last, for a test whose device is otherwise in the hands of host/lib; NULL where that is freed.
struct sim_model *sim_model_last(void);
void sim_model_free(struct sim_model *model);

// Reset the whole device again. Lanes go on with what they send, also in the middle of a packet. -ETIMEDOUT.
int sim_model_reset(struct sim_model *model);

// Packets before a lane of which no word has gone into it.
uint32_t sim_model_lane_waiting(const struct sim_model *model, unsigned lane);
// Take those back; how many they were.
uint32_t sim_model_lane_forget(struct sim_model *model, unsigned lane);
// Lanes with clocks of their own become MACs of 100 Gbps that cannot wait: a packet's words follow each other in every
// cycle of 322 MHz, whatever the device says; the core has this period. -EINVAL: it has no such clocks.
int sim_model_macs(struct sim_model *model, uint32_t core_period_ps);
// 0: a lane's clock stops; 1: it goes on. -EINVAL: no such lane, or it has no clock of its own.
int sim_model_lane_clock(struct sim_model *model, unsigned lane, int runs);

unsigned sim_model_lanes(const struct sim_model *model);
uint64_t sim_model_cycles(const struct sim_model *model);

// Let `cycles` clock cycles pass.
void sim_model_step(struct sim_model *model, uint32_t cycles);

// 1 where nothing is in the device, on its lanes, or waiting in the from-host ring.
bool sim_model_idle(const struct sim_model *model);

// 0; -EFAULT: the device answered with an error; -ETIMEDOUT: it did not answer.
int sim_model_reg_read(struct sim_model *model, uint32_t address, uint32_t *value);
int sim_model_reg_write(struct sim_model *model, uint32_t address, uint32_t value);

// Put a packet (without FCS, 1 to 65535 bytes) before a lane. `flags` bit 0: its FCS is bad. 0; -EAGAIN: the lane has
// enough waiting; -EINVAL.
int sim_model_lane_send(struct sim_model *model, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags);

// Take a packet that left through a lane: its size, or -EAGAIN; -ENOSPC: `capacity` is too small (it stays).
int sim_model_lane_recv(struct sim_model *model, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sim_packet_info *info);

// 0: packets that leave a lane stop at it (its receiver does not listen).
void sim_model_lane_listen(struct sim_model *model, unsigned lane, int listens);

// Give the device a ring of `buffers` self-described buffers (layouts/host/buffer.sl), for as long as it is there.
// -EINVAL: too few for the largest packet, or the device has no such queue.
int sim_model_ring_attach(struct sim_model *model, unsigned ring, uint8_t *memory, uint32_t buffers);
// The host has read `count` more buffers of a ring to it, in ring order; -EINVAL: more than it was given.
int sim_model_ring_release(struct sim_model *model, unsigned ring, uint32_t count);
// The host has written `count` more from-host buffers, in ring order; -EINVAL: more than the ring has free.
int sim_model_ring_submit(struct sim_model *model, uint32_t count);
// From-host buffers the device has taken so far.
uint64_t sim_model_ring_sent(const struct sim_model *model);
// Memory for `records` counters of rules (rule_mirror_t), at a multiple of 32; the device writes into it for as long as
// it is there, each 64-bit word at once. -EINVAL: no memory.
int sim_model_mirror_attach(struct sim_model *model, uint8_t *memory, uint32_t records);
// From-host packets it refused: lengths or chains that cannot be.
uint64_t sim_model_ring_invalid(const struct sim_model *model);
// Writes of the device into host memory that were refused, because they lie outside of what the host gave it or would
// have no end there: counters of a rule without a record, and packets that begin in their middle, begin twice, or are
// longer than EGRESS_BYTES. The first is also told on stderr.
uint64_t sim_model_refused(const struct sim_model *model);

#ifdef __cplusplus
}
#endif
#endif
