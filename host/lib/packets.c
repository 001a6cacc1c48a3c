// SPDX-License-Identifier: Apache-2.0
// Packets between host and device: rings of self-described buffers, and the lanes of a simulated device.
#include "device.h"

#include <errno.h>
#include <string.h>

enum { HEAD = SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE };

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
    const uint8_t *at = buffer + 16;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// A broken device must not make the host read or write elsewhere, nor wait for ever.
static uint32_t length_of(const struct sluice_buffer_meta *meta) {
    uint32_t length = meta->length ? meta->length : 1;
    return length < SLUICE_EGRESS_BYTES ? length : SLUICE_EGRESS_BYTES;
}

static const uint8_t *whole(struct sluice_device *device, const struct sluice_buffer_meta *meta) {
    if (meta->length <= SLUICE_BUFFER_DATA_SIZE)
        return buffer_at(device->to_host, device->received) + HEAD;
    for (uint32_t at = 0, i = 0; at < meta->length; at += SLUICE_BUFFER_DATA_SIZE, i++) {
        uint32_t size = meta->length - at;
        memcpy(device->chained + at, buffer_at(device->to_host, device->received + i) + HEAD,
               size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
    }
    return device->chained;
}

int sluice_packet_receive(struct sluice_device *device, struct sluice_packet *packet) {
    struct sluice_buffer_meta meta;
    int found = 0;
    pthread_mutex_lock(&device->lock);
    const uint8_t *buffer = buffer_at(device->to_host, device->received);
    if (device->held == 0 && valid_word(buffer) == generation(device->received)) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        sluice_buffer_meta_unpack(&meta, buffer);
        meta.length = (uint16_t)length_of(&meta);
        packet->bytes = whole(device, &meta);
        packet->size = meta.length;
        packet->ingress_port = meta.ingress_port;
        packet->egress_mask = meta.egress_mask;
        packet->queue = meta.queue;
        packet->verdict = meta.verdict;
        packet->fault = meta.fault;
        packet->mark = meta.mark;
        packet->timestamp = meta.timestamp;
        device->held = buffers_of(meta.length);
        found = 1;
    }
    pthread_mutex_unlock(&device->lock);
    return found;
}

void sluice_packet_release(struct sluice_device *device) {
    pthread_mutex_lock(&device->lock);
    device->received += device->held;
    device->transport->ring_release(device->transport, device->held);
    device->held = 0;
    pthread_mutex_unlock(&device->lock);
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

// `meta` has all but what `fill` writes.
static int submit(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    pthread_mutex_lock(&device->lock);
    uint32_t count = buffers_of(meta->length);
    int result = 0;
    if (device->submitted + count - device->transport->ring_sent(device->transport) > SLUICE_RING_BUFFERS) {
        result = sluice_fail(-EAGAIN, "the from-host ring is full");
    } else {
        fill(device, bytes, meta);
        result = device->transport->ring_submit(device->transport, count);
        device->submitted += count;
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_packet_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
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
    return submit(device, bytes, &meta);
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
    return submit(device, packet->bytes, &meta);
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
