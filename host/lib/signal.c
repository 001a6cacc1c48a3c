// SPDX-License-Identifier: Apache-2.0
// Messages on the signal chain of a compiled configuration, through the mailbox of its window (graph_registers).
#include <errno.h>

#include "device.h"

enum { POLLS = 100000, TAKES = 1, WAITS = 2, IS_LAST = 4 }; // bits of its status

// The mailbox's status, once a bit of it is on: time passes with each read.
static int wait_for(struct sluice_device *device, uint32_t window, uint32_t bit, uint32_t *status) {
    int result = 0;
    for (unsigned n = 0; n < POLLS && result == 0; n++) {
        result = sluice_read_locked(device, window + SLUICE_GRAPH_REGISTERS_STATUS, status);
        if (result == 0 && (*status & bit))
            return 0;
    }
    return result ? result : sluice_fail(-ETIMEDOUT, "the configuration does not answer the signal");
}

// What is left of an answer that nobody waited for.
static int clear(struct sluice_device *device, uint32_t window) {
    uint32_t status, word;
    for (unsigned n = 0; n < POLLS; n++) {
        int result = sluice_read_locked(device, window + SLUICE_GRAPH_REGISTERS_STATUS, &status);
        if (result || !(status & WAITS))
            return result;
        if ((result = sluice_read_locked(device, window + SLUICE_GRAPH_REGISTERS_REPLY, &word)))
            return result;
    }
    return sluice_fail(-ETIMEDOUT, "the configuration answers without end");
}

static int send(struct sluice_device *device, uint32_t window, const uint32_t *words, unsigned count) {
    uint32_t status;
    int result = clear(device, window);
    for (unsigned i = 0; i < count && result == 0; i++) {
        if ((result = wait_for(device, window, TAKES, &status)))
            break;
        uint32_t place = i + 1 == count ? SLUICE_GRAPH_REGISTERS_SIGNAL_LAST : SLUICE_GRAPH_REGISTERS_SIGNAL;
        result = sluice_write_locked(device, window + place, words[i]);
    }
    return result;
}

static int receive(struct sluice_device *device, uint32_t window, uint32_t *reply, unsigned capacity) {
    unsigned count = 0;
    for (;;) {
        uint32_t status, word;
        int result = wait_for(device, window, WAITS, &status);
        result = result ? result : sluice_read_locked(device, window + SLUICE_GRAPH_REGISTERS_REPLY, &word);
        if (result)
            return result;
        if (count < capacity)
            reply[count] = word;
        count++;
        if (status & IS_LAST)
            return count > capacity ? sluice_fail(-ENOSPC, "the answer has %u words", count) : (int)count;
        if (count > POLLS)
            return sluice_fail(-ETIMEDOUT, "the configuration answers without end");
    }
}

int sluice_signal(struct sluice_device *device, const uint32_t *words, unsigned count, uint32_t *reply,
                  unsigned capacity) {
    if (count == 0)
        return sluice_fail(-EINVAL, "a signal has one word or more");
    int window = sluice_window_of(device, SLUICE_ELEMENT_GRAPH);
    if (window < 0)
        return window;
    uint32_t at = (uint32_t)window * SLUICE_WINDOW_SIZE;
    pthread_mutex_lock(&device->lock);
    int result = send(device, at, words, count);
    result = result ? result : receive(device, at, reply, capacity);
    pthread_mutex_unlock(&device->lock);
    return result;
}
