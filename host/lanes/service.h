// SPDX-License-Identifier: Apache-2.0
// A simulated device that runs by itself, in a thread of its own: frames of its lanes' connections enter it, cycles
// pass while there is work, what leaves is sent. Whoever polls its rings (sluice_poll_...) never waits for it.
#ifndef SLUICE_SERVICE_H
#define SLUICE_SERVICE_H

#include "lane.h"

enum { SERVICE_LANES = 8 };

struct service;

// Connect the lanes of a device; `texts` says each lane's connection (lane.h), as many as `lanes`. All lanes are off.
// 0, or a negative errno with sluice_error_text().
int service_new(struct service **service, struct sluice_device *device, const char *const *texts, unsigned lanes,
                port_note note, void *context);
// Run the device until service_stop: what the thread does. 0, or the negative errno with which the device failed.
int service_run(struct service *service);
void service_stop(struct service *service);
// After service_run has returned; closes the connections, not the device. 0, or a negative errno of a capture.
int service_free(struct service *service);

// What was sent into the rings is there: wake the device if it sleeps. Cheap where it does not.
void service_wake(struct service *service);

// Calls of other threads that read or write registers stand between these, so that they wait for one step at most.
void service_begin(struct service *service);
void service_end(struct service *service);

// A lane that is off loses what comes to it, but for a capture, which waits, and what leaves it.
void service_lane_set(struct service *service, unsigned lane, bool on);

// For who sleeps until a packet is there: the event (an eventfd, 8 bytes) of a lane's queue; made when it is asked for
// first, there until service_free. A negative errno: there is none.
int service_event(struct service *service, unsigned lane, unsigned queue);
// The event comes once, when a packet is in the ring of the queue and the lane is on; at once where that is so now. Any
// thread. An event that has come stays when the queue is disarmed: who wakes up may find nothing.
void service_arm(struct service *service, unsigned lane, unsigned queue, const struct sluice_queue *ring);
void service_disarm(struct service *service, unsigned lane, unsigned queue);
bool service_is_armed(const struct service *service, unsigned lane, unsigned queue);

// 0 while the device runs, or the negative errno with which it failed.
int service_status(const struct service *service);
uint64_t service_drops(struct service *service, unsigned lane, enum port_drop why);

#endif
