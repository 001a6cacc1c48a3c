// SPDX-License-Identifier: Apache-2.0
// Receive queues: a ring of its own for each, and how a lane's packets are spread over them.
#include "device.h"

#include <errno.h>
#include <stdlib.h>

unsigned sluice_device_queues(const struct sluice_device *device) {
    return device->queues;
}

unsigned sluice_queue_buffers(const struct sluice_queue *queue) {
    return 1U << queue->shift;
}

int sluice_queue_attach(struct sluice_device *device, struct sluice_queue *queue, unsigned number, unsigned buffers) {
    *queue = (struct sluice_queue){.number = number, .chained = malloc(SLUICE_EGRESS_BYTES)};
    while (sluice_queue_buffers(queue) < SLUICE_RING_BUFFERS || sluice_queue_buffers(queue) < buffers)
        queue->shift++;
    if (queue->chained)
        queue->ring = device->transport->ring_attach(device->transport, number, sluice_queue_buffers(queue));
    if (queue->ring)
        return 0;
    free(queue->chained);
    queue->chained = NULL;
    return sluice_fail(-ENOMEM, "no memory for ring %u", number);
}

static int check(const struct sluice_device *device, unsigned lane, unsigned queue) {
    if (device->queues == 0)
        return sluice_fail(-ENOENT, "the device has no receive queues: build it with --host-queues 4");
    if (lane < device->lanes && queue < device->queues)
        return 0;
    return sluice_fail(-EINVAL, "queue %u of lane %u: the device has %u lanes with %u queues each", queue, lane,
                       device->lanes, device->queues);
}

static struct sluice_queue *find(const struct sluice_device *device, unsigned number) {
    for (unsigned i = 0; i < device->open_queues; i++)
        if (device->queue[i]->number == number)
            return device->queue[i];
    return NULL;
}

static int make_locked(struct sluice_device *device, unsigned number, unsigned buffers, struct sluice_queue **out) {
    struct sluice_queue *made = malloc(sizeof *made);
    if (!made)
        return sluice_fail(-ENOMEM, "out of memory");
    int result = sluice_queue_attach(device, made, number, buffers);
    if (result) {
        free(made);
        return result;
    }
    *out = device->queue[device->open_queues++] = made;
    return 0;
}

static int open_locked(struct sluice_device *device, unsigned number, unsigned buffers, struct sluice_queue **out) {
    struct sluice_queue *there = find(device, number);
    if (!there)
        return make_locked(device, number, buffers, out);
    if (sluice_queue_buffers(there) < buffers)
        return sluice_fail(-EBUSY, "the queue has a ring of %u buffers until the device is closed, not %u",
                           sluice_queue_buffers(there), buffers);
    *out = there;
    return 0;
}

int sluice_queue_open(struct sluice_device *device, unsigned lane, unsigned queue, unsigned buffers,
                      struct sluice_queue **out) {
    int result = check(device, lane, queue);
    if (result)
        return result;
    if (buffers > SLUICE_QUEUE_MOST_BUFFERS)
        return sluice_fail(-EINVAL, "a ring of %u buffers; there can be %u", buffers, SLUICE_QUEUE_MOST_BUFFERS);
    pthread_mutex_lock(&device->lock);
    result = open_locked(device, SLUICE_RING_QUEUE + lane * SLUICE_HOST_QUEUES + queue, buffers, out);
    pthread_mutex_unlock(&device->lock);
    return result;
}

// A register of a lane's in the window of the receive queues.
static int write_locked(struct sluice_device *device, unsigned lane, uint32_t at, uint32_t value) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_HOST);
    if (window < 0)
        return window;
    uint32_t base = (uint32_t)window * SLUICE_WINDOW_SIZE;
    int result = sluice_write_locked(device, base + SLUICE_HOST_REGISTERS_LANE, lane);
    return result ? result : sluice_write_locked(device, base + at, value);
}

static int write_entry_locked(struct sluice_device *device, unsigned lane, unsigned table, unsigned entry,
                              unsigned queue) {
    int result = write_locked(device, lane, SLUICE_HOST_REGISTERS_TABLE_INDEX, table);
    return result ? result : write_locked(device, lane, SLUICE_HOST_REGISTERS_TABLE + 4 * entry, queue);
}

static int write_lane(struct sluice_device *device, unsigned lane, uint32_t at, uint32_t value) {
    pthread_mutex_lock(&device->lock);
    int result = write_locked(device, lane, at, value);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_spread_set_kinds(struct sluice_device *device, unsigned lane, uint8_t kinds) {
    int result = check(device, lane, 0);
    return result ? result : write_lane(device, lane, SLUICE_HOST_REGISTERS_HASH_KINDS, kinds);
}

int sluice_spread_set_key(struct sluice_device *device, unsigned lane, const uint8_t key[SLUICE_RSS_KEY_BITS / 8]) {
    int result = check(device, lane, 0);
    for (unsigned i = 0; i < SLUICE_HOST_REGISTERS_KEY_COUNT && result == 0; i++) {
        const uint8_t *from = key + 4 * (SLUICE_HOST_REGISTERS_KEY_COUNT - 1 - i); // word 0 is the end of the key
        uint32_t word = (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
        result = write_lane(device, lane, SLUICE_HOST_REGISTERS_KEY + 4 * i, word);
    }
    return result;
}

int sluice_spread_set_entry(struct sluice_device *device, unsigned lane, unsigned table, unsigned entry,
                            unsigned queue) {
    int result = check(device, lane, queue);
    if (result)
        return result;
    if (table >= SLUICE_RSS_TABLES || entry >= SLUICE_RSS_ENTRIES)
        return sluice_fail(-EINVAL, "entry %u of table %u: a lane has %u tables of %u entries", entry, table,
                           SLUICE_RSS_TABLES, SLUICE_RSS_ENTRIES);
    pthread_mutex_lock(&device->lock);
    result = write_entry_locked(device, lane, table, entry, queue);
    pthread_mutex_unlock(&device->lock);
    return result;
}
