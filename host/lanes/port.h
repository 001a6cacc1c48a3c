// SPDX-License-Identifier: Apache-2.0
// An interface of this machine as a lane: an existing one by AF_PACKET, or a TAP that lives as long as the run. Frames
// as they are on the wire, VLAN tags in their place, without FCS.
#ifndef SLUICE_PORT_H
#define SLUICE_PORT_H

#include <stdint.h>

#include "sluice/sluice.h"

enum { PORT_FRAME = 65536 }; // a frame with a tag that the kernel had taken off

// Why a frame was not sent, and how many were not read.
enum port_drop { PORT_UNREAD = 0, PORT_TOO_LONG, PORT_BUSY, PORT_ERROR, PORT_DROPS };

// Tells whoever runs the device, in a line, of what is likely to be wrong.
typedef void (*port_note)(void *context, const char *line);

struct port {
    int fd; // to poll for input
    uint32_t lane;
    bool is_tap, told_checksum, told_down;
    const char *name;
    uint64_t drops[PORT_DROPS];
    port_note note;
    void *context;
};

// Open the interface `name`, or the TAP for "tap:NAME". Notes tell of what is likely to be wrong (it is down, offloads
// are on). `name` must live as long as the port. 0, or a negative errno with sluice_error_text().
int port_open(struct port *port, uint32_t lane, const char *name, port_note note, void *context);
void port_close(struct port *port);

// The next frame: its size, at most PORT_FRAME; 0: none now; a negative errno where the interface is gone.
int port_receive(struct port *port, uint8_t *bytes);

// Send a frame; what the interface does not take is counted.
void port_send(struct port *port, const uint8_t *bytes, uint32_t size);

// Count what the kernel could not keep for us. Before port_close.
void port_count(struct port *port);

#endif
