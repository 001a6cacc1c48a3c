// SPDX-License-Identifier: Apache-2.0
// A simulated device as a process of its own: `sluice-device LIBRARY SOCKET MEMORY`, started by the `sim-process:`
// transport with the descriptors of its socket and of its shared memory (mailbox.h). It serves commands until the
// socket ends: it never outlives whoever holds the other end.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "mailbox.h"
#include "sim_library.h"

enum { STEP = 4096 }; // cycles between looks whether the owner is still there

struct device {
    struct sim_library sim;
    struct mailbox_memory *memory;
    int socket;
};

static bool owner_is_gone(const struct device *device) {
    struct pollfd look = {.fd = device->socket};
    return poll(&look, 1, 0) > 0;
}

static int advance(struct device *device, uint32_t cycles) {
    for (uint32_t left = cycles, step; left > 0 && !owner_is_gone(device); left -= step) {
        step = left < STEP ? left : STEP;
        device->sim.step(device->sim.model, step);
    }
    return 0;
}

static int serve(struct device *device, const struct mailbox_command *command, uint32_t *value) {
    struct sim_library *sim = &device->sim;
    struct mailbox_memory *memory = device->memory;
    const uint32_t *arguments = command->arguments;
    switch (command->operation) {
    case MAILBOX_REG_READ:
        return sim->reg_read(sim->model, arguments[0], value);
    case MAILBOX_REG_WRITE:
        return sim->reg_write(sim->model, arguments[0], arguments[1]);
    case MAILBOX_RING_ATTACH:
        if (arguments[0] >= MAILBOX_RINGS || arguments[1] > SLUICE_RING_MOST)
            return -EINVAL;
        return sim->ring_attach(sim->model, arguments[0], memory->rings[arguments[0]], arguments[1]);
    case MAILBOX_RING_RELEASE:
        return sim->ring_release(sim->model, arguments[0], arguments[1]);
    case MAILBOX_RING_SUBMIT:
        return sim->ring_submit(sim->model, arguments[0]);
    case MAILBOX_MIRROR_ATTACH:
        return arguments[0] > MAILBOX_RECORDS ? -EINVAL : sim->mirror_attach(sim->model, memory->mirror, arguments[0]);
    case MAILBOX_ADVANCE:
        return advance(device, arguments[0]);
    case MAILBOX_LANE_SEND:
        if (arguments[1] > sizeof memory->packet)
            return -EINVAL;
        return sim->lane_send(sim->model, arguments[0], memory->packet, arguments[1], arguments[2]);
    case MAILBOX_LANE_RECEIVE:
        if (arguments[1] > sizeof memory->packet)
            return -EINVAL;
        return sim->lane_recv(sim->model, arguments[0], memory->packet, arguments[1], &memory->info);
    default:
        return -EINVAL;
    }
}

static void tell_status(struct device *device) {
    struct sim_library *sim = &device->sim;
    struct mailbox_status *status = &device->memory->status;
    status->cycles = sim->cycles(sim->model);
    status->ring_sent = sim->ring_sent(sim->model);
    status->idle = (uint32_t)sim->idle(sim->model);
    status->lanes_left = 0;
    for (unsigned lane = 0; lane < sim->lanes(sim->model); lane++) {
        // Without room a packet stays, and the answer says that there is one.
        int size = sim->lane_recv(sim->model, lane, NULL, 0, NULL);
        status->lanes_left |= size == -ENOSPC ? 1U << lane : 0U;
    }
}

static int answer(const struct device *device, int result, uint32_t value) {
    struct mailbox_answer message = {result, value};
    return send(device->socket, &message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message;
}

int main(int count, char **arguments) {
    struct mailbox_command command;
    struct device device = {0};
    if (count != 4) {
        fprintf(stderr, "sluice-device: is started by the sim-process: transport of libsluice\n");
        return 2;
    }
    device.socket = atoi(arguments[2]);
    device.memory = mmap(NULL, sizeof *device.memory, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(arguments[3]), 0);
    if (device.memory == MAP_FAILED)
        return 1;
    int result = sim_library_open(&device.sim, arguments[1], device.memory->text, sizeof device.memory->text);
    if (result == 0)
        tell_status(&device);
    if (!answer(&device, result, 0) || result)
        return 1;
    while (recv(device.socket, &command, sizeof command, 0) == (ssize_t)sizeof command) {
        uint32_t value = 0;
        result = serve(&device, &command, &value);
        tell_status(&device);
        if (!answer(&device, result, value))
            break;
    }
    sim_library_close(&device.sim);
    return 0;
}
