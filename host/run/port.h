// SPDX-License-Identifier: Apache-2.0
// An interface of this machine as a lane: an existing one by AF_PACKET, or a TAP that lives as long as the run. Frames
// as they are on the wire, VLAN tags in their place, without FCS.
#ifndef SLUICE_PORT_H
#define SLUICE_PORT_H

#include <stdint.h>

#include "run.h"

enum { PORT_FRAME = 65536 }; // a frame with a tag that the kernel had taken off

// Why a frame was not sent, and how many were not read: the order of `interface_drops`.
enum port_drop { PORT_UNREAD = 0, PORT_TOO_LONG, PORT_BUSY, PORT_ERROR };

struct port {
    int fd; // to poll for input
    uint32_t lane;
    uint8_t is_tap, told_checksum, told_down;
    const char *name;
    struct sluice_run_result *result;
};

// Open the interface `name`, or the TAP for "tap:NAME". Notes of the result tell of what is likely to be wrong (it is
// down, offloads are on). 0, or a negative errno with sluice_error_text().
int port_open(struct port *port, uint32_t lane, const char *name, struct sluice_run_result *result);
void port_close(struct port *port);

// The next frame: its size, at most PORT_FRAME; 0: none now; a negative errno where the interface is gone.
int port_receive(struct port *port, uint8_t *bytes);

// Send a frame; what the interface does not take is counted.
void port_send(struct port *port, const uint8_t *bytes, uint32_t size);

// Count what the kernel could not keep for us. Before port_close.
void port_count(struct port *port);

#endif
