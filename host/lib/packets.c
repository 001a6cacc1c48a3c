// SPDX-License-Identifier: Apache-2.0
// Packets between host and device: rings of self-described buffers, and the lanes of a simulated device.
#include "device.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { HEAD = SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE, VALID_PLACE = 16 }; // bytes

static uint8_t *buffer_at(uint8_t *ring, uint64_t index) {
    return ring + (index % SLUICE_RING_BUFFERS) * SLUICE_BUFFER_SIZE;
}

static uint32_t generation(uint64_t index) {
    uint32_t round = (uint32_t)(index / SLUICE_RING_BUFFERS) + 1;
    return round == 0 ? 1 : round;
}

static uint32_t buffers_of(uint32_t size) {
    return (size + SLUICE_BUFFER_DATA_SIZE - 1) / SLUICE_BUFFER_DATA_SIZE;
}

// The valid word alone, so that polling an empty ring reads four bytes.
static uint32_t valid_word(const uint8_t *buffer) {
    return le32toh(__atomic_load_n((const uint32_t *)(const void *)(buffer + VALID_PLACE), __ATOMIC_ACQUIRE));
}

// A broken device must not make the host read or write elsewhere, nor wait for ever.
static uint32_t length_of(const struct sluice_buffer_meta *meta) {
    uint32_t length = meta->length ? meta->length : 1;
    return length < SLUICE_EGRESS_BYTES ? length : SLUICE_EGRESS_BYTES;
}

static const uint8_t *whole(struct sluice_device *device, uint64_t index, const struct sluice_buffer_meta *meta) {
    if (meta->length <= SLUICE_BUFFER_DATA_SIZE)
        return buffer_at(device->to_host, index) + HEAD;
    for (uint32_t at = 0, i = 0; at < meta->length; at += SLUICE_BUFFER_DATA_SIZE, i++) {
        uint32_t size = meta->length - at;
        memcpy(device->chained + at, buffer_at(device->to_host, index + i) + HEAD,
               size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
    }
    return device->chained;
}

static unsigned receive_locked(struct sluice_device *device, struct sluice_packet *packets, unsigned count) {
    struct sluice_buffer_meta meta;
    unsigned found = 0;
    while (found < count) {
        uint64_t index = device->received + device->held;
        const uint8_t *buffer = buffer_at(device->to_host, index);
        if (device->held >= SLUICE_RING_BUFFERS || device->is_chained || valid_word(buffer) != generation(index))
            break;
        sluice_buffer_meta_unpack(&meta, buffer);
        meta.length = (uint16_t)length_of(&meta);
        packets[found++] = (struct sluice_packet){.bytes = whole(device, index, &meta),
                                                  .size = meta.length,
                                                  .ingress_port = meta.ingress_port,
                                                  .egress_mask = meta.egress_mask,
                                                  .queue = meta.queue,
                                                  .verdict = meta.verdict,
                                                  .fault = meta.fault,
                                                  .mark = meta.mark,
                                                  .timestamp = meta.timestamp};
        device->held += buffers_of(meta.length);
        device->is_chained = meta.length > SLUICE_BUFFER_DATA_SIZE;
    }
    return found;
}

unsigned sluice_poll_receive(struct sluice_device *device, struct sluice_packet *packets, unsigned count) {
    pthread_mutex_lock(&device->receive_lock);
    unsigned found = receive_locked(device, packets, count);
    pthread_mutex_unlock(&device->receive_lock);
    return found;
}

void sluice_poll_release(struct sluice_device *device) {
    pthread_mutex_lock(&device->receive_lock);
    __atomic_store_n(&device->received, device->received + device->held, __ATOMIC_RELEASE);
    device->held = 0;
    device->is_chained = false;
    pthread_mutex_unlock(&device->receive_lock);
}

int sluice_packet_receive(struct sluice_device *device, struct sluice_packet *packet) {
    pthread_mutex_lock(&device->receive_lock);
    unsigned found = device->held ? 0 : receive_locked(device, packet, 1);
    pthread_mutex_unlock(&device->receive_lock);
    return (int)found;
}

void sluice_packet_release(struct sluice_device *device) {
    sluice_poll_release(device);
    pthread_mutex_lock(&device->lock);
    sluice_tell_rings_locked(device);
    pthread_mutex_unlock(&device->lock);
}

int sluice_tell_rings_locked(struct sluice_device *device) {
    struct sluice_transport *transport = device->transport;
    uint64_t received = __atomic_load_n(&device->received, __ATOMIC_ACQUIRE);
    uint64_t submitted = __atomic_load_n(&device->submitted, __ATOMIC_ACQUIRE);
    int released = 0, result = 0;
    if (received != device->told_received)
        released = transport->ring_release(transport, (uint32_t)(received - device->told_received));
    if (submitted != device->told_submitted)
        result = transport->ring_submit(transport, (uint32_t)(submitted - device->told_submitted));
    device->told_received = received;
    device->told_submitted = submitted;
    return result ? result : released;
}

void sluice_hear_rings_locked(struct sluice_device *device) {
    __atomic_store_n(&device->sent, device->transport->ring_sent(device->transport), __ATOMIC_RELEASE);
}

static void fill(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    uint8_t packed[SLUICE_BUFFER_META_BYTES];
    uint32_t count = buffers_of(meta->length);
    for (uint32_t i = count; i-- > 0;) {
        uint64_t index = device->submitted + i;
        uint8_t *buffer = buffer_at(device->from_host, index);
        uint32_t at = i * SLUICE_BUFFER_DATA_SIZE, size = meta->length - at;
        meta->buffer_length = (uint16_t)(size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
        meta->address = (index % SLUICE_RING_BUFFERS) * SLUICE_BUFFER_SIZE;
        meta->next = i + 1 == count ? 0 : ((index + 1) % SLUICE_RING_BUFFERS) * SLUICE_BUFFER_SIZE;
        meta->valid = generation(index);
        memcpy(buffer + HEAD, bytes + at, meta->buffer_length);
        sluice_buffer_meta_pack(meta, packed);
        memcpy(buffer, packed, sizeof packed);
    }
}

// Write a packet into the ring; `meta` has all but what `fill` writes.
static int post(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    pthread_mutex_lock(&device->send_lock);
    uint32_t count = buffers_of(meta->length);
    int result = 0;
    if (device->submitted + count - __atomic_load_n(&device->sent, __ATOMIC_ACQUIRE) > SLUICE_RING_BUFFERS) {
        result = sluice_fail(-EAGAIN, "the from-host ring is full");
    } else {
        fill(device, bytes, meta);
        __atomic_store_n(&device->submitted, device->submitted + count, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&device->send_lock);
    return result;
}

// The device is to know at once.
static int submit(struct sluice_device *device, int posted) {
    pthread_mutex_lock(&device->lock);
    int told = sluice_tell_rings_locked(device);
    pthread_mutex_unlock(&device->lock);
    return posted ? posted : told;
}

int sluice_poll_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
                     uint8_t queue) {
    struct sluice_buffer_meta meta = {
        .length = (uint16_t)size, .egress_mask = egress_mask, .queue = queue, .is_soft = 1};
    if (device->host_lanes)
        return sluice_fail(-ENOTSUP, "the host's side of this device is lanes to a NIC");
    if (size == 0 || size > SLUICE_EGRESS_BYTES)
        return sluice_fail(-EINVAL, "a packet of %u bytes; 1 to %u", size, SLUICE_EGRESS_BYTES);
    if ((egress_mask & ((1U << device->lanes) - 1)) == 0)
        return sluice_fail(-EINVAL, "port mask %#x names no lane of %u", egress_mask, device->lanes);
    meta.ingress_port = SLUICE_HOST_PORT;
    meta.verdict = SLUICE_VERDICT_FORWARD;
    return post(device, bytes, &meta);
}

int sluice_packet_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
                       uint8_t queue) {
    return submit(device, sluice_poll_send(device, bytes, size, egress_mask, queue));
}

int sluice_channel_send(struct sluice_device *device, unsigned channel, const struct sluice_packet *packet) {
    struct sluice_buffer_meta meta = {.length = (uint16_t)packet->size,
                                      .ingress_port = packet->ingress_port,
                                      .egress_mask = packet->egress_mask,
                                      .queue = (uint8_t)channel,
                                      .verdict = SLUICE_VERDICT_PASS,
                                      .fault = packet->fault,
                                      .mark = packet->mark,
                                      .timestamp = packet->timestamp,
                                      .is_soft = 1};
    if (channel >= SLUICE_GRAPH_CHANNELS || packet->size == 0 || packet->size > SLUICE_EGRESS_BYTES)
        return sluice_fail(-EINVAL, "channel %u, a packet of %u bytes", channel, packet->size);
    if (sluice_window_of(device, SLUICE_ELEMENT_GRAPH) < 0)
        return -ENOENT;
    return submit(device, post(device, packet->bytes, &meta));
}

int sluice_lane_send(struct sluice_device *device, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags) {
    if (!device->transport->lane_send)
        return sluice_fail(-ENOTSUP, "the lanes of this device are real");
    if (lane >= device->lanes + device->host_lanes || size == 0 || size > UINT16_MAX)
        return sluice_fail(-EINVAL, "lane %u of %u, %u bytes", lane, device->lanes + device->host_lanes, size);
    pthread_mutex_lock(&device->lock);
    int result = device->transport->lane_send(device->transport, lane, bytes, size, flags);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_lane_receive(struct sluice_device *device, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info) {
    if (!device->transport->lane_receive)
        return sluice_fail(-ENOTSUP, "the lanes of this device are real");
    pthread_mutex_lock(&device->lock);
    int result = device->transport->lane_receive(device->transport, lane, bytes, capacity, info);
    pthread_mutex_unlock(&device->lock);
    return result;
}
