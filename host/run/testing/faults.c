// SPDX-License-Identifier: Apache-2.0
// One fault in a run, for tests: linked into a host library of their own with --wrap, chosen by SLUICE_FAULT=KIND:N.
// `software`: the N-th packet that the software forwarder makes has its last byte flipped. Of what leaves the lanes,
// the N-th packet is flipped (`flip`), dropped (`drop`), doubled (`double`) or changes places with the next (`swap`).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sluice.h"
#include "switch.h"

void faults_restart(void); // counts begin again
int __real_sluice_lane_receive(struct sluice_device *, unsigned, uint8_t *, uint32_t, struct sluice_lane_info *);
int __wrap_sluice_lane_receive(struct sluice_device *, unsigned, uint8_t *, uint32_t, struct sluice_lane_info *);
int __real_sluice_switch_process(struct sluice_switch *, const uint8_t *, uint32_t, uint8_t, uint64_t, uint8_t *,
                                 uint32_t, struct sluice_decision *);
int __wrap_sluice_switch_process(struct sluice_switch *, const uint8_t *, uint32_t, uint8_t, uint64_t, uint8_t *,
                                 uint32_t, struct sluice_decision *);

static unsigned left, made, held_lane;
static int held_size;
static uint8_t held[65536];

// Whether the fault is due for packet `number` of its kind.
static bool is_due(const char *kind, unsigned number) {
    char wanted[16] = "";
    unsigned at = 0;
    const char *fault = getenv("SLUICE_FAULT");
    return fault && sscanf(fault, "%15[^:]:%u", wanted, &at) == 2 && strcmp(wanted, kind) == 0 && at == number;
}

void faults_restart(void) {
    left = made = 0;
    held_size = 0;
}

int __wrap_sluice_lane_receive(struct sluice_device *device, unsigned lane, uint8_t *bytes, uint32_t capacity,
                               struct sluice_lane_info *info) {
    if (held_size && held_lane == lane && !is_due("swap", left)) { // the held one is next
        int size = held_size;
        memcpy(bytes, held, (size_t)size);
        held_size = 0;
        return size;
    }
    int size = __real_sluice_lane_receive(device, lane, bytes, capacity, info);
    if (size <= 0)
        return size;
    left++;
    if (is_due("drop", left))
        return __real_sluice_lane_receive(device, lane, bytes, capacity, info);
    if (is_due("flip", left))
        bytes[size - 1] ^= 0x80;
    if (is_due("double", left) || is_due("swap", left)) {
        memcpy(held, bytes, (size_t)size);
        held_size = size;
        held_lane = lane;
    }
    return is_due("swap", left) ? __wrap_sluice_lane_receive(device, lane, bytes, capacity, info) : size;
}

int __wrap_sluice_switch_process(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane,
                                 uint64_t now_us, uint8_t *out, uint32_t capacity, struct sluice_decision *decision) {
    int result = __real_sluice_switch_process(sw, packet, size, lane, now_us, out, capacity, decision);
    if (result > 0 && is_due("software", ++made))
        out[result - 1] ^= 0x80;
    return result;
}
