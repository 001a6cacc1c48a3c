// SPDX-License-Identifier: Apache-2.0
// Packets between host and device: rings of self-described buffers, and the lanes of a simulated device.
#include "device.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { HEAD = SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE, VALID_PLACE = 16 }; // bytes

// Of a buffer, which are counted from the start, in a ring of `1 << shift`: its bytes, and the generation that makes it
// valid.
static uint64_t offset_of(uint64_t index, unsigned shift) {
    return (index & ((1U << shift) - 1)) * SLUICE_BUFFER_SIZE;
}

static uint32_t generation(uint64_t index, unsigned shift) {
    uint32_t round = (uint32_t)(index >> shift) + 1;
    return round == 0 ? 1 : round;
}

static const uint8_t *buffer_at(const struct sluice_queue *queue, uint64_t index) {
    return queue->ring + offset_of(index, queue->shift);
}

// The ring from the host.
enum { SEND_SHIFT = 11 };
_Static_assert(1 << SEND_SHIFT == SLUICE_RING_MOST, "its buffers");

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

static const uint8_t *whole(struct sluice_queue *queue, uint64_t index, const struct sluice_buffer_meta *meta) {
    if (meta->length <= SLUICE_BUFFER_DATA_SIZE)
        return buffer_at(queue, index) + HEAD;
    for (uint32_t at = 0, i = 0; at < meta->length; at += SLUICE_BUFFER_DATA_SIZE, i++) {
        uint32_t size = meta->length - at;
        memcpy(queue->chained + at, buffer_at(queue, index + i) + HEAD,
               size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
    }
    return queue->chained;
}

static void show(struct sluice_queue *queue, uint64_t index, const struct sluice_buffer_meta *meta,
                 struct sluice_packet *packet) {
    const uint8_t *key = buffer_at(queue, index) + SLUICE_BUFFER_META_SIZE;
    *packet = (struct sluice_packet){.bytes = whole(queue, index, meta),
                                     .flow_key = meta->has_key ? key : NULL,
                                     .size = meta->length,
                                     .ingress_port = meta->ingress_port,
                                     .egress_mask = meta->egress_mask,
                                     .queue = meta->queue,
                                     .verdict = meta->verdict,
                                     .fault = meta->fault,
                                     .mark = meta->mark,
                                     .timestamp = meta->timestamp,
                                     .hash = meta->hash,
                                     .l4_sum = meta->l4_sum,
                                     .hash_kind = meta->hash_kind,
                                     .receive_queue = meta->receive_queue,
                                     .checksum_verified = meta->checksum_verified,
                                     .tags = meta->tags,
                                     .l3_kind = meta->l3_kind,
                                     .l4_kind = meta->l4_kind,
                                     .l3_offset = meta->l3_offset,
                                     .l4_offset = meta->l4_offset};
}

unsigned sluice_queue_receive(struct sluice_queue *queue, struct sluice_packet *packets, unsigned count) {
    struct sluice_buffer_meta meta;
    unsigned found = 0;
    while (found < count) {
        uint64_t index = queue->received + queue->held;
        const uint8_t *buffer = buffer_at(queue, index);
        if (queue->held >> queue->shift || queue->is_chained || valid_word(buffer) != generation(index, queue->shift))
            break;
        sluice_buffer_meta_unpack(&meta, buffer);
        meta.length = (uint16_t)length_of(&meta);
        show(queue, index, &meta, &packets[found++]);
        queue->held += buffers_of(meta.length);
        queue->is_chained = meta.length > SLUICE_BUFFER_DATA_SIZE;
    }
    return found;
}

bool sluice_queue_waits(const struct sluice_queue *queue) {
    uint64_t index = __atomic_load_n(&queue->received, __ATOMIC_ACQUIRE);
    return valid_word(buffer_at(queue, index)) == generation(index, queue->shift);
}

void sluice_queue_release(struct sluice_queue *queue) {
    __atomic_store_n(&queue->received, queue->received + queue->held, __ATOMIC_RELEASE);
    queue->held = 0;
    queue->is_chained = false;
}

unsigned sluice_poll_receive(struct sluice_device *device, struct sluice_packet *packets, unsigned count) {
    pthread_mutex_lock(&device->receive_lock);
    unsigned found = sluice_queue_receive(&device->common, packets, count);
    pthread_mutex_unlock(&device->receive_lock);
    return found;
}

void sluice_poll_release(struct sluice_device *device) {
    pthread_mutex_lock(&device->receive_lock);
    sluice_queue_release(&device->common);
    pthread_mutex_unlock(&device->receive_lock);
}

int sluice_packet_receive(struct sluice_device *device, struct sluice_packet *packet) {
    pthread_mutex_lock(&device->receive_lock);
    unsigned found = device->common.held ? 0 : sluice_queue_receive(&device->common, packet, 1);
    pthread_mutex_unlock(&device->receive_lock);
    return (int)found;
}

void sluice_packet_release(struct sluice_device *device) {
    sluice_poll_release(device);
    pthread_mutex_lock(&device->lock);
    sluice_tell_rings_locked(device);
    pthread_mutex_unlock(&device->lock);
}

static int tell_queue(struct sluice_device *device, struct sluice_queue *queue) {
    uint64_t received = __atomic_load_n(&queue->received, __ATOMIC_ACQUIRE);
    uint32_t count = (uint32_t)(received - queue->told_received);
    queue->told_received = received;
    return count ? device->transport->ring_release(device->transport, queue->number, count) : 0;
}

int sluice_tell_rings_locked(struct sluice_device *device) {
    struct sluice_transport *transport = device->transport;
    uint64_t submitted = __atomic_load_n(&device->submitted, __ATOMIC_ACQUIRE);
    int result = tell_queue(device, &device->common);
    for (unsigned i = 0; i < device->open_queues; i++) {
        int released = tell_queue(device, device->queue[i]);
        result = result ? result : released;
    }
    if (submitted != device->told_submitted) {
        int told = transport->ring_submit(transport, (uint32_t)(submitted - device->told_submitted));
        result = told ? told : result;
    }
    device->told_submitted = submitted;
    return result;
}

void sluice_hear_rings_locked(struct sluice_device *device) {
    __atomic_store_n(&device->sent, device->transport->ring_sent(device->transport), __ATOMIC_RELEASE);
}

static void fill(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    uint8_t packed[SLUICE_BUFFER_META_BYTES];
    uint32_t count = buffers_of(meta->length);
    for (uint32_t i = count; i-- > 0;) {
        uint64_t index = device->submitted + i;
        uint8_t *buffer = device->from_host + offset_of(index, SEND_SHIFT);
        uint32_t at = i * SLUICE_BUFFER_DATA_SIZE, size = meta->length - at;
        meta->buffer_length = (uint16_t)(size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
        meta->address = offset_of(index, SEND_SHIFT);
        meta->next = i + 1 == count ? 0 : offset_of(index + 1, SEND_SHIFT);
        meta->valid = generation(index, SEND_SHIFT);
        memcpy(buffer + HEAD, bytes + at, meta->buffer_length);
        sluice_buffer_meta_pack(meta, packed);
        memcpy(buffer, packed, sizeof packed);
    }
}

// Write a packet into the ring; `meta` has all but what `fill` writes.
static int post_locked(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    uint32_t count = buffers_of(meta->length);
    if (device->submitted + count - __atomic_load_n(&device->sent, __ATOMIC_ACQUIRE) > SLUICE_RING_MOST)
        return -EAGAIN;
    fill(device, bytes, meta);
    __atomic_store_n(&device->submitted, device->submitted + count, __ATOMIC_RELEASE);
    return 0;
}

static int post(struct sluice_device *device, const uint8_t *bytes, struct sluice_buffer_meta *meta) {
    pthread_mutex_lock(&device->send_lock);
    int result = post_locked(device, bytes, meta);
    pthread_mutex_unlock(&device->send_lock);
    return result ? sluice_fail(result, "the from-host ring is full") : 0;
}

// The device is to know at once.
static int submit(struct sluice_device *device, int posted) {
    pthread_mutex_lock(&device->lock);
    int told = sluice_tell_rings_locked(device);
    pthread_mutex_unlock(&device->lock);
    return posted ? posted : told;
}

// Whether packets can leave by the lanes of the mask.
static int check_lanes(const struct sluice_device *device, uint8_t egress_mask) {
    if (device->host_lanes)
        return sluice_fail(-ENOTSUP, "the host's side of this device is lanes to a NIC");
    if ((egress_mask & ((1U << device->lanes) - 1)) == 0)
        return sluice_fail(-EINVAL, "port mask %#x names no lane of %u", egress_mask, device->lanes);
    return 0;
}

static struct sluice_buffer_meta meta_of(uint32_t size, uint8_t egress_mask, uint8_t queue) {
    return (struct sluice_buffer_meta){.length = (uint16_t)size,
                                       .ingress_port = SLUICE_HOST_PORT,
                                       .egress_mask = egress_mask,
                                       .queue = queue,
                                       .verdict = SLUICE_VERDICT_FORWARD,
                                       .is_soft = 1};
}

static bool is_size(uint32_t size) {
    return size > 0 && size <= SLUICE_EGRESS_BYTES;
}

int sluice_poll_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
                     uint8_t queue) {
    int result = check_lanes(device, egress_mask);
    if (result)
        return result;
    if (!is_size(size))
        return sluice_fail(-EINVAL, "a packet of %u bytes; 1 to %u", size, SLUICE_EGRESS_BYTES);
    struct sluice_buffer_meta meta = meta_of(size, egress_mask, queue);
    return post(device, bytes, &meta);
}

// What the device is to fill in, as `mark` says it.
static uint32_t mark_of(const struct sluice_transmit_checksum *checksum) {
    uint32_t mark = 0;
    if (checksum->ipv4 || checksum->l4 != SLUICE_TRANSMIT_L4_NONE)
        sluice_transmit_checksum_pack(checksum, (uint8_t *)&mark);
    return le32toh(mark);
}

unsigned sluice_poll_send_many(struct sluice_device *device, const struct sluice_outgoing *packets, unsigned count,
                               uint8_t egress_mask, uint8_t queue) {
    unsigned done = 0;
    if (check_lanes(device, egress_mask))
        return 0;
    pthread_mutex_lock(&device->send_lock);
    for (; done < count && is_size(packets[done].size); done++) {
        struct sluice_buffer_meta meta = meta_of(packets[done].size, egress_mask, queue);
        meta.mark = mark_of(&packets[done].checksum);
        if (post_locked(device, packets[done].bytes, &meta))
            break;
    }
    pthread_mutex_unlock(&device->send_lock);
    return done;
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
