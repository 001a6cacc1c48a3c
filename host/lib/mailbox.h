// SPDX-License-Identifier: Apache-2.0
// Between the library and a simulated device in a process of its own (host/device): what is in their shared memory, and
// the messages of the socket that joins them. One command is under way at a time; the device answers each, after it has
// brought `status` up to date. Everything else in the memory belongs to whoever holds the command. When either end is
// gone, the other sees the socket end.
#ifndef SLUICE_MAILBOX_H
#define SLUICE_MAILBOX_H

#include <stdint.h>

#include "device.h"
#include "sim_model.h"

enum mailbox_operation {
    MAILBOX_REG_READ,      // address; the answer's value
    MAILBOX_REG_WRITE,     // address, value
    MAILBOX_RING_ATTACH,   // enum sluice_ring, buffers
    MAILBOX_RING_RELEASE,  // enum sluice_ring, count
    MAILBOX_RING_SUBMIT,   // count
    MAILBOX_ADVANCE,       // cycles
    MAILBOX_LANE_SEND,     // lane, size, flags; the bytes in `packet`
    MAILBOX_MIRROR_ATTACH, // records
    MAILBOX_LANE_RECEIVE,  // lane, capacity; the bytes in `packet`, their cycles in `info`
};

struct mailbox_command {
    uint32_t operation; // enum mailbox_operation
    uint32_t arguments[3];
};

struct mailbox_answer {
    int32_t result; // what the function of sim_model.h returned
    uint32_t value;
};

struct mailbox_status {
    uint64_t cycles, ring_sent;
    uint32_t idle;
    uint32_t lanes_left; // bit of a lane: a packet that left it is waiting
};

enum { MAILBOX_RECORDS = 1 << 17 };
enum { MAILBOX_RINGS = SLUICE_RING_QUEUE + SLUICE_HOST_PORT * SLUICE_HOST_QUEUES };

struct mailbox_memory {
    struct mailbox_status status;
    struct sim_packet_info info;
    char text[200]; // why the device does not start
    uint8_t packet[UINT16_MAX + 1];
    uint8_t rings[MAILBOX_RINGS][SLUICE_RING_MOST * SLUICE_BUFFER_SIZE]; // untouched where there is no such ring
    _Alignas(SLUICE_RULE_MIRROR_BYTES) uint8_t mirror[MAILBOX_RECORDS * SLUICE_RULE_MIRROR_BYTES];
};

#endif
