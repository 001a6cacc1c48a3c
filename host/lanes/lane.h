// SPDX-License-Identifier: Apache-2.0
// What a lane of a simulated device is connected to, by a line of text:
//   none               nothing: what leaves is dropped
//   tap:NAME           a TAP interface, made, and gone with the lane
//   af_packet:NAME     an interface that is there
//   pcap:IN:OUT        frames out of a capture, once; what leaves goes into another; either may be empty
//   replay:IN          frames out of a capture, again and again; what leaves is dropped
//   unix:PATH[:PEER]   a Unix datagram socket, a frame a datagram; what leaves goes to PEER, or to who sent last
#ifndef SLUICE_LANE_H
#define SLUICE_LANE_H

#include <stdbool.h>

#include "port.h"

struct lane;

// 0, or a negative errno with sluice_error_text().
int lane_open(struct lane **lane, uint32_t number, const char *text, port_note note, void *context);
// 0, or a negative errno where what was captured cannot be written.
int lane_close(struct lane *lane);

// To poll for input; -1: there is nothing to wait for.
int lane_fd(const struct lane *lane);
// Whether frames wait that no descriptor tells of. Frames of a capture wait while the lane is off; others are lost.
bool lane_waits(const struct lane *lane);
bool lane_keeps(const struct lane *lane);

// The next frame: its size, at most PORT_FRAME; 0: none now; a negative errno where its source is gone.
int lane_receive(struct lane *lane, uint8_t *bytes);
// Send a frame; what the other side does not take is counted.
void lane_send(struct lane *lane, const uint8_t *bytes, uint32_t size);
// Frames lost outside the device, by cause.
uint64_t lane_drops(struct lane *lane, enum port_drop why);

#endif
