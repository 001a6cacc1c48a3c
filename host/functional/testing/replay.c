// SPDX-License-Identifier: Apache-2.0
// Sends packets through a functional device as fast as one thread does, over the calls that any program has: what
// `overlay_speed.py` measures.
#include <errno.h>
#include <time.h>

#include "sluice/sluice.h"

enum { BURST = 16 }; // packets that wait before a lane

struct replayed {
    double seconds;
    uint64_t left, to_host; // packets
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void take(struct sluice_device *device, struct replayed *done) {
    static uint8_t bytes[UINT16_MAX];
    struct sluice_packet packet;
    for (unsigned lane = 0; lane < sluice_device_lanes(device); lane++)
        while (sluice_lane_receive(device, lane, bytes, sizeof bytes, NULL) > 0)
            done->left++;
    while (sluice_packet_receive(device, &packet) > 0) {
        done->to_host++;
        sluice_packet_release(device);
    }
}

// `count` packets of `size` bytes, one behind the other, `rounds` times into lane 0.
void functional_replay(struct sluice_device *device, const uint8_t *packets, unsigned count, unsigned size,
                       unsigned rounds, struct replayed *done) {
    double begin = now();
    *done = (struct replayed){0};
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < count; i++)
            while (sluice_lane_send(device, 0, packets + (size_t)i * size, size, 0) == -EAGAIN) {
                sluice_device_advance(device, BURST);
                take(device, done);
            }
    sluice_device_advance(device, BURST);
    take(device, done);
    done->seconds = now() - begin;
}
