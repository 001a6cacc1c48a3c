// SPDX-License-Identifier: Apache-2.0
// The `sim-process:` transport: the simulated device as a process of its own (host/device), which a debugger, a
// profiler or a limit can be put on, and whose crash is not the owner's. Registers, lanes and time are commands over a
// socket, rings and packets are in shared memory. Time passes only when the library's user lets it, as with `sim:`.
//
// A device that ends is -ENODEV, one that does not answer in time is -ETIMEDOUT and is ended; every later call is
// -ENODEV at once. The device ends when the socket does: with its owner, however that ends.
#define _GNU_SOURCE // memfd_create, secure_getenv
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mailbox.h"
#include "transport.h"

#ifndef SLUICE_DEVICE_PROGRAM
#define SLUICE_DEVICE_PROGRAM "sluice-device" // searched in PATH
#endif

enum {
    ANSWER_MILLISECONDS = 10000, // for a command; cycles to pass come on top
    CYCLES_A_MILLISECOND = 1,    // the slowest simulation that counts as running
    START_FACTOR = 12,           // loading and clearing the tables of a large device
    END_MILLISECONDS = 1000
};

struct process_transport {
    struct sluice_transport base;
    struct mailbox_memory *memory;
    int socket, pidfd; // -1: the device is gone
    uint64_t patience; // milliseconds
};

extern char **environ;

static struct process_transport *process(struct sluice_transport *transport) {
    return (struct process_transport *)transport;
}

// Let it end by itself, or else end it; what became of it.
static siginfo_t end_process(struct process_transport *it, int grace) {
    struct pollfd wait = {.fd = it->pidfd, .events = POLLIN};
    siginfo_t info = {0};
    close(it->socket);
    it->socket = -1;
    if (poll(&wait, 1, grace) <= 0)
        pidfd_send_signal(it->pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)it->pidfd, &info, WEXITED) != 0 && errno == EINTR)
        ;
    close(it->pidfd);
    it->pidfd = -1;
    return info;
}

static int lost(struct process_transport *it) {
    siginfo_t info = end_process(it, END_MILLISECONDS);
    if (info.si_pid == 0) // the owner has reaped it itself
        return sluice_fail(-ENODEV, "sim-process: the device's process has ended");
    const char *how = info.si_code == CLD_EXITED ? "ended with status" : "was ended by signal";
    return sluice_fail(-ENODEV, "sim-process: the device's process %s %d", how, info.si_status);
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

static int wait_answer(struct process_transport *it, uint64_t patience, struct mailbox_answer *answer) {
    uint64_t end = milliseconds() + patience;
    struct pollfd wait = {.fd = it->socket, .events = POLLIN};
    for (;;) {
        uint64_t now = milliseconds(), left = end > now ? end - now : 0;
        int ready = poll(&wait, 1, left < INT_MAX ? (int)left : INT_MAX);
        if (ready > 0)
            return recv(it->socket, answer, sizeof *answer, 0) == (ssize_t)sizeof *answer ? 0 : lost(it);
        if (ready == 0 && left == 0)
            break;
        if (ready < 0 && errno != EINTR)
            return lost(it);
    }
    end_process(it, 0);
    return sluice_fail(-ETIMEDOUT, "sim-process: no answer from the device's process for %llu ms; it was ended",
                       (unsigned long long)patience);
}

// One command and its answer: what the function of sim_model.h returned, or -ENODEV, -ETIMEDOUT.
static int command(struct process_transport *it, struct mailbox_command message, uint32_t *value) {
    struct mailbox_answer answer;
    uint64_t cycles = message.operation == MAILBOX_ADVANCE ? message.arguments[0] : 0;
    if (it->socket < 0)
        return sluice_fail(-ENODEV, "sim-process: the device's process has ended");
    if (send(it->socket, &message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message)
        return lost(it);
    int result = wait_answer(it, it->patience + cycles / CYCLES_A_MILLISECOND, &answer);
    if (result)
        return result;
    if (value)
        *value = answer.value;
    return answer.result;
}

static int reg_read(struct sluice_transport *t, uint32_t address, uint32_t *value) {
    return command(process(t), (struct mailbox_command){MAILBOX_REG_READ, {address}}, value);
}

static int reg_write(struct sluice_transport *t, uint32_t address, uint32_t value) {
    return command(process(t), (struct mailbox_command){MAILBOX_REG_WRITE, {address, value}}, NULL);
}

static uint8_t *ring_attach(struct sluice_transport *t, unsigned ring, uint32_t buffers) {
    struct mailbox_command message = {MAILBOX_RING_ATTACH, {ring, buffers}};
    return command(process(t), message, NULL) == 0 ? process(t)->memory->rings[ring] : NULL;
}

static uint8_t *mirror_attach(struct sluice_transport *t, uint32_t records) {
    struct mailbox_command message = {MAILBOX_MIRROR_ATTACH, {records}};
    return command(process(t), message, NULL) == 0 ? process(t)->memory->mirror : NULL;
}

static int ring_release(struct sluice_transport *t, unsigned ring, uint32_t count) {
    return command(process(t), (struct mailbox_command){MAILBOX_RING_RELEASE, {ring, count}}, NULL);
}

static int ring_submit(struct sluice_transport *t, uint32_t count) {
    return command(process(t), (struct mailbox_command){MAILBOX_RING_SUBMIT, {count}}, NULL);
}

static uint64_t ring_sent(struct sluice_transport *t) {
    return process(t)->memory->status.ring_sent;
}

static uint64_t cycles(struct sluice_transport *t) {
    return process(t)->memory->status.cycles;
}

static void advance(struct sluice_transport *t, uint32_t count) {
    command(process(t), (struct mailbox_command){MAILBOX_ADVANCE, {count}}, NULL);
}

static bool idle(struct sluice_transport *t) {
    return process(t)->memory->status.idle;
}

static int lane_send(struct sluice_transport *t, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags) {
    struct mailbox_memory *memory = process(t)->memory;
    if (size > sizeof memory->packet)
        return -EINVAL;
    memcpy(memory->packet, bytes, size);
    return command(process(t), (struct mailbox_command){MAILBOX_LANE_SEND, {lane, size, flags}}, NULL);
}

static int lane_receive(struct sluice_transport *t, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info) {
    struct mailbox_memory *memory = process(t)->memory;
    uint32_t room = capacity < sizeof memory->packet ? capacity : (uint32_t)sizeof memory->packet;
    if (process(t)->socket >= 0 && !(memory->status.lanes_left >> lane & 1))
        return -EAGAIN;
    int size = command(process(t), (struct mailbox_command){MAILBOX_LANE_RECEIVE, {lane, room}}, NULL);
    if (size < 0 || (uint32_t)size > room)
        return size < 0 ? size : -EPROTO;
    memcpy(bytes, memory->packet, (size_t)size);
    if (info) {
        info->ingress_cycle = memory->info.ingress_cycle;
        info->first_cycle = memory->info.first_cycle;
        info->last_cycle = memory->info.last_cycle;
    }
    return size;
}

static void close_process(struct sluice_transport *t) {
    if (process(t)->socket >= 0)
        end_process(process(t), END_MILLISECONDS);
    if (process(t)->memory)
        munmap(process(t)->memory, sizeof *process(t)->memory);
    free(t);
}

// In a process group of its own: Ctrl-C is for the owner, which ends the device when it has finished with it.
static int spawn(const char *path, int device_end, int memory, pid_t *pid) {
    char socket_text[12], memory_text[12];
    const char *program = secure_getenv("SLUICE_DEVICE_PROGRAM"); // not where the user is another than the caller
    program = program && *program ? program : SLUICE_DEVICE_PROGRAM;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    snprintf(socket_text, sizeof socket_text, "%d", device_end);
    snprintf(memory_text, sizeof memory_text, "%d", memory);
    char *arguments[] = {(char[]){"sluice-device"}, (char *)path, socket_text, memory_text, NULL};
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, device_end, device_end); // onto itself: it stays open
    posix_spawn_file_actions_adddup2(&actions, memory, memory);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawnp(pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error ? sluice_fail(-ENODEV, "sim-process: cannot start %s: %s", program, strerror(error)) : 0;
}

static int start(struct process_transport *it, const char *path) {
    struct mailbox_answer hello;
    int ends[2] = {-1, -1}, result;
    pid_t pid;
    int memory = memfd_create("sluice-device", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, sizeof *it->memory) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        result = sluice_fail(-ENODEV, "sim-process: no shared memory or socket: %s", strerror(errno));
    } else if ((it->memory = mmap(NULL, sizeof *it->memory, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)) ==
               MAP_FAILED) {
        it->memory = NULL;
        result = sluice_fail(-ENOMEM, "sim-process: no memory for the rings");
    } else if (!(result = spawn(path, ends[1], memory, &pid)) && (it->pidfd = pidfd_open(pid, 0)) < 0) {
        result = sluice_fail(-ENODEV, "sim-process: cannot watch the device's process: %s", strerror(errno));
    }
    if (result == 0)
        it->socket = ends[0];
    else if (ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (memory >= 0)
        close(memory);
    if (result || (result = wait_answer(it, START_FACTOR * it->patience, &hello)))
        return result;
    return hello.result ? sluice_fail(-ENODEV, "sim-process: %s", it->memory->text) : 0;
}

struct sluice_transport *sluice_transport_process(const char *options) {
    uint64_t patience = ANSWER_MILLISECONDS;
    struct process_transport *it;
    char *end;
    if (strncmp(options, "timeout=", 8) == 0) {
        patience = strtoul(options + 8, &end, 10);
        if (patience == 0 || *end != ',') {
            sluice_fail(-EINVAL, "sim-process: '%s': write timeout=MILLISECONDS,lib=PATH", options);
            return NULL;
        }
        options = end + 1;
    }
    const char *path = sluice_transport_sim_path(options);
    if (!path)
        return NULL;
    if (!(it = calloc(1, sizeof *it))) {
        sluice_fail(-ENOMEM, "sim-process: out of memory");
        return NULL;
    }
    it->socket = it->pidfd = -1;
    it->patience = patience;
    if (start(it, path) != 0) {
        close_process(&it->base);
        return NULL;
    }
    it->base = (struct sluice_transport){.reg_read = reg_read,
                                         .reg_write = reg_write,
                                         .ring_attach = ring_attach,
                                         .mirror_attach = mirror_attach,
                                         .ring_release = ring_release,
                                         .ring_submit = ring_submit,
                                         .ring_sent = ring_sent,
                                         .close = close_process,
                                         .cycles = cycles,
                                         .advance = advance,
                                         .idle = idle,
                                         .lane_send = lane_send,
                                         .lane_receive = lane_receive};
    return &it->base;
}
