// SPDX-License-Identifier: Apache-2.0
// The shell of the functional device: packets from lanes through parser, flow table, actions and deparser, or through
// the programmable pipeline, to lanes and to the host's ring, and from the host's other ring to lanes. A packet goes
// all its way within one cycle, so nothing is ever in flight. What has no room is dropped and counted, or waits where
// the device is lossless. Nothing that the host wrote into its rings is believed.
#include <errno.h>

#include "functional.h"

enum {
    WAITING = 16,
    VALID_PLACE = 16,
    BEHIND_VALID = VALID_PLACE + 4,
    HEAD = SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE,
    RUNT = 14
};

_Static_assert(FUNCTIONAL_OUT_BYTES <= SLUICE_EGRESS_BYTES, "what was edited can leave");

static uint32_t buffers_of(uint32_t size) {
    return (size + SLUICE_BUFFER_DATA_SIZE - 1) / SLUICE_BUFFER_DATA_SIZE;
}

static uint8_t *buffer_at(const struct functional_ring *ring, uint64_t index) {
    return ring->memory + (index % ring->buffers) * SLUICE_BUFFER_SIZE;
}

static uint32_t generation(const struct functional_ring *ring, uint64_t index) {
    uint32_t round = (uint32_t)(index / ring->buffers) + 1;
    return round == 0 ? 1 : round;
}

// A ring that could never hold so much has room when it is empty.
static bool ring_has_room(const struct functional_ring *ring, uint32_t size) {
    uint32_t wanted = buffers_of(size) < ring->buffers ? buffers_of(size) : ring->buffers;
    return wanted <= ring->buffers - (ring->filled - ring->freed);
}

// ---- To the host

// Key and payload first; metadata with the chained buffers first; the first buffer's valid word last of all. `key`:
// NULL where the device makes none.
static void write_ring(struct functional_ring *ring, const uint8_t *bytes, uint32_t size, const uint8_t *key,
                       struct sluice_buffer_meta *meta) {
    uint32_t count = buffers_of(size);
    uint8_t packed[SLUICE_BUFFER_META_BYTES];
    if (key)
        memcpy(buffer_at(ring, ring->filled) + SLUICE_BUFFER_META_SIZE, key, SLUICE_BUFFER_KEY_SIZE);
    meta->length = (uint16_t)size;
    for (uint32_t i = count; i-- > 0;) {
        uint64_t index = ring->filled + i;
        uint8_t *buffer = buffer_at(ring, index);
        uint32_t at = i * SLUICE_BUFFER_DATA_SIZE, rest = size - at;
        meta->buffer_length = (uint16_t)(rest < SLUICE_BUFFER_DATA_SIZE ? rest : SLUICE_BUFFER_DATA_SIZE);
        meta->address = (index % ring->buffers) * SLUICE_BUFFER_SIZE;
        meta->next = i + 1 == count ? 0 : ((index + 1) % ring->buffers) * SLUICE_BUFFER_SIZE;
        memcpy(buffer + HEAD, bytes + at, meta->buffer_length);
        sluice_buffer_meta_pack(meta, packed);
        memcpy(buffer, packed, VALID_PLACE);
        memcpy(buffer + BEHIND_VALID, packed + BEHIND_VALID, sizeof packed - BEHIND_VALID);
        // Whoever polls in another thread reads this all the time, and sees the rest once it sees this.
        __atomic_store_n((uint32_t *)(void *)(buffer + VALID_PLACE), htole32(generation(ring, index)),
                         __ATOMIC_RELEASE);
    }
    ring->filled += count;
}

// A packet of no lane is for queue 0 of lane 0.
static struct functional_ring *ring_of(struct functional *it, struct sluice_buffer_meta *meta) {
    uint32_t lane = meta->ingress_port < it->size.lanes ? meta->ingress_port : 0;
    meta->slot = it->queue_rings ? 1 + lane * SLUICE_HOST_QUEUES + meta->receive_queue : 0;
    return &it->ring[it->queue_rings ? SLUICE_RING_QUEUE - 1 + meta->slot : SLUICE_RING_TO_HOST];
}

// `record` is of these bytes.
static void to_host(struct functional *it, const uint8_t *bytes, uint32_t size, const struct sluice_phv_record *record,
                    struct sluice_buffer_meta *meta) {
    uint8_t key[SLUICE_BUFFER_KEY_SIZE] = {0};
    if (it->size.queues)
        functional_host_describe(it, bytes, size, record, meta, key);
    struct functional_ring *ring = ring_of(it, meta);
    if (!it->queue_rings && !ring_has_room(ring, size)) {
        it->host.to_host_overflow++;
        return;
    }
    it->host.to_host_packets++;
    it->host.to_host_bytes += size;
    if (it->queue_rings && (!ring->memory || !ring_has_room(ring, SLUICE_EGRESS_BYTES)))
        it->host.ring_overflow++;
    else
        write_ring(ring, bytes, size, it->size.queues ? key : NULL, meta);
}

// ---- To lanes

static void to_lane(struct functional *it, struct functional_lane *lane, const uint8_t *bytes, uint32_t size,
                    uint64_t ingress_cycle) {
    struct functional_packet *left = functional_store_put(&lane->left, bytes, size);
    if (!left) {
        lane->counters.tx_overflow++;
    } else {
        left->ingress_cycle = ingress_cycle;
        left->egress_cycle = it->cycles;
        lane->counters.tx_packets++;
        lane->counters.tx_bytes += size;
    }
}

static void to_lanes(struct functional *it, unsigned mask, const uint8_t *bytes, uint32_t size,
                     uint64_t ingress_cycle) {
    for (unsigned lane = 0; lane < it->size.lanes; lane++)
        if (mask >> lane & 1)
            to_lane(it, &it->lane[lane], bytes, size, ingress_cycle);
}

// A packet that cannot be written (its header template is not there) leaves as a bad one, which is dropped at the end.
static void drop_bad(struct functional *it, const struct functional_job *job) {
    it->host.to_host_error += job->verdict != SLUICE_VERDICT_FORWARD;
    for (unsigned lane = 0; lane < it->size.lanes && job->verdict == SLUICE_VERDICT_FORWARD; lane++)
        it->lane[lane].counters.tx_error += job->egress_mask >> lane & 1;
}

// Whether the largest packet has room wherever it may go, each time that it may leave.
static bool has_room(const struct functional *it, bool is_host_packet) {
    uint32_t times = is_host_packet || !it->pipeline ? 1 : it->size.pipeline_units;
    for (unsigned lane = 0; lane < it->size.lanes; lane++)
        if (!functional_store_has_room(&it->lane[lane].left, times * SLUICE_EGRESS_BYTES))
            return false;
    if (is_host_packet || !it->queue_rings)
        return is_host_packet || ring_has_room(&it->ring[SLUICE_RING_TO_HOST], times * SLUICE_EGRESS_BYTES);
    for (unsigned i = SLUICE_RING_QUEUE; i < FUNCTIONAL_RINGS; i++)
        if (it->ring[i].memory && !ring_has_room(&it->ring[i], times * SLUICE_EGRESS_BYTES))
            return false;
    return true;
}

// ---- From lanes

static void process_flow(struct functional *it, unsigned lane, const struct functional_packet *packet) {
    struct sluice_phv_record record;
    sluice_parse(packet->bytes, packet->size, NULL, &record);
    record.ingress_port = (uint8_t)lane;
    functional_flow_run(it->flow, packet, functional_tick(it), &record);
    struct functional_job job = functional_deparse_decide(&record, &it->graph);
    const uint8_t *bytes = packet->bytes;
    int size = (int)packet->size;
    if (job.is_dropped)
        return;
    if (job.is_edited) {
        bytes = it->out;
        size = sluice_deparse(&record, it->deparse.templates, SLUICE_TEMPLATES, packet->bytes, packet->size, it->out,
                              sizeof it->out);
        if (size < 0) {
            drop_bad(it, &job);
            return;
        }
    }
    struct sluice_buffer_meta meta = {.ingress_port = (uint8_t)lane,
                                      .egress_mask = job.egress_mask,
                                      .queue = job.is_edited ? record.queue : 0,
                                      .verdict = job.verdict,
                                      .fault = record.fault,
                                      .mark = job.is_edited ? record.mark : 0,
                                      .timestamp = packet->ingress_cycle};
    if (job.verdict == SLUICE_VERDICT_FORWARD) {
        to_lanes(it, job.egress_mask, bytes, (uint32_t)size, packet->ingress_cycle);
        return;
    }
    if (job.is_edited && it->size.queues) { // the host is told of what it gets
        sluice_parse(bytes, (uint32_t)size, NULL, &record);
        record.ingress_port = (uint8_t)lane;
    }
    to_host(it, bytes, (uint32_t)size, &record, &meta);
}

// What leaves the pipeline in a pass.
static void leave_pipeline(struct functional *it, unsigned lane, const struct functional_pass *left, uint64_t ingress,
                           struct sluice_buffer_meta *meta) {
    bool is_to_host = meta->verdict == SLUICE_VERDICT_TO_HOST || meta->verdict == SLUICE_VERDICT_TO_CONTROLLER ||
                      (meta->egress_mask >> SLUICE_HOST_PORT & 1);
    if (meta->verdict == SLUICE_VERDICT_FORWARD)
        to_lanes(it, meta->egress_mask, left->bytes, left->size, ingress);
    if (!is_to_host)
        return;
    struct sluice_phv_record record;
    if (it->size.queues) { // the host is told of what it gets
        sluice_parse(left->bytes, left->size, NULL, &record);
        record.ingress_port = (uint8_t)lane;
    }
    to_host(it, left->bytes, left->size, &record, meta);
}

static void process_pipeline(struct functional *it, unsigned lane, const struct functional_packet *packet) {
    struct functional_pass pass = {
        .bytes = packet->bytes, .size = packet->size, .longest = packet->size + SLUICE_PASS_GROWTH};
    do {
        struct sluice_buffer_meta meta = {.ingress_port = (uint8_t)lane, .timestamp = packet->ingress_cycle};
        uint8_t *out = pass.bytes == it->out ? it->other_out : it->out;
        if (functional_pipeline_run(it->pipeline, &pass, functional_tick(it), &meta, &it->graph, out))
            leave_pipeline(it, lane, &pass, packet->ingress_cycle, &meta);
    } while (pass.begins);
}

static bool take_lane(struct functional *it, unsigned lane) {
    struct functional_store *waiting = &it->lane[lane].waiting;
    const struct functional_packet *packet = waiting->count ? functional_store_first(waiting) : NULL;
    if (!packet || (functional_control(it) & FUNCTIONAL_PAUSE) ||
        ((functional_control(it) & FUNCTIONAL_LOSSLESS) && !has_room(it, false)))
        return false;
    if (it->pipeline)
        process_pipeline(it, lane, packet);
    else
        process_flow(it, lane, packet);
    functional_store_drop(waiting);
    it->waiting--;
    return true;
}

int functional_lane_send(struct functional *it, unsigned lane, const uint8_t *bytes, uint32_t size, bool is_bad) {
    struct functional_lane *to = &it->lane[lane];
    if (to->waiting.count >= WAITING)
        return -EAGAIN;
    if (size > SLUICE_MTU_BYTES) {
        to->counters.rx_oversize++;
    } else if (is_bad) {
        to->counters.rx_error++;
    } else if (size < RUNT) {
        to->counters.rx_runt++;
    } else {
        struct functional_packet *packet = functional_store_put(&to->waiting, bytes, size);
        if (!packet)
            return -EAGAIN;
        packet->ingress_cycle = it->cycles >= to->last_ingress ? it->cycles + 1 : to->last_ingress + 1;
        to->last_ingress = packet->ingress_cycle;
        it->waiting++;
        to->counters.rx_packets++;
        to->counters.rx_bytes += size;
    }
    return 0;
}

// ---- From the host

// Whether a buffer says of itself that it is at `index`, written in this round, with the `rest` of a packet from there.
static bool is_in_order(const struct functional_ring *ring, uint64_t index, const struct sluice_buffer_meta *meta,
                        uint32_t rest) {
    bool is_last = rest <= SLUICE_BUFFER_DATA_SIZE;
    uint64_t next = is_last ? 0 : ((index + 1) % ring->buffers) * SLUICE_BUFFER_SIZE;
    return meta->address == (index % ring->buffers) * SLUICE_BUFFER_SIZE && meta->next == next &&
           meta->valid == generation(ring, index) && meta->buffer_length == (is_last ? rest : SLUICE_BUFFER_DATA_SIZE);
}

// The packet that begins at the ring's oldest buffer, put together. Its buffers; 0 where it cannot be one.
static uint32_t read_ring(struct functional *it, struct sluice_buffer_meta *meta) {
    const struct functional_ring *ring = &it->ring[SLUICE_RING_FROM_HOST];
    struct sluice_buffer_meta behind;
    sluice_buffer_meta_unpack(meta, buffer_at(ring, ring->freed));
    uint32_t length = meta->length, count = buffers_of(length);
    if (length == 0 || length > SLUICE_EGRESS_BYTES || count > ring->filled - ring->freed ||
        !is_in_order(ring, ring->freed, meta, length))
        return 0;
    for (uint32_t i = 1; i < count; i++) {
        sluice_buffer_meta_unpack(&behind, buffer_at(ring, ring->freed + i));
        if (!is_in_order(ring, ring->freed + i, &behind, length - i * SLUICE_BUFFER_DATA_SIZE))
            return 0;
    }
    for (uint32_t i = 0, at = 0; i < count; i++, at += SLUICE_BUFFER_DATA_SIZE)
        memcpy(it->out + at, buffer_at(ring, ring->freed + i) + HEAD,
               length - at < SLUICE_BUFFER_DATA_SIZE ? length - at : SLUICE_BUFFER_DATA_SIZE);
    return count;
}

static bool take_host(struct functional *it) {
    struct functional_ring *ring = &it->ring[SLUICE_RING_FROM_HOST];
    struct sluice_buffer_meta meta;
    if (ring->freed == ring->filled || ((functional_control(it) & FUNCTIONAL_LOSSLESS) && !has_room(it, true)))
        return false;
    uint32_t count = read_ring(it, &meta);
    unsigned mask = meta.egress_mask & ((1U << it->size.lanes) - 1);
    ring->freed += count ? count : 1;
    if (count == 0 || mask == 0 || meta.length < RUNT) {
        it->host.from_host_invalid++;
        return true;
    }
    it->host.from_host_packets++;
    it->host.from_host_merged++;
    it->host.from_host_bytes += meta.length;
    if (it->size.queues)
        it->host.from_host_unfilled += functional_host_fill(it->out, meta.length, meta.mark) != 0;
    to_lanes(it, mask, it->out, meta.length, 0);
    return true;
}

// Over the cable: what has left a lane comes to the other end, as long as it is taken there.
static bool carry(struct functional *it, unsigned lane) {
    struct functional_store *left = &it->lane[lane].left;
    unsigned end = (lane ^ 1) < it->size.lanes ? lane ^ 1 : lane;
    bool moved = false;
    for (const struct functional_packet *packet; (packet = functional_store_first(left)); moved = true) {
        if (functional_lane_send(it, end, packet->bytes, packet->size, false))
            break;
        functional_store_drop(left);
    }
    return moved;
}

// What no cycle of an idle device needs to look at.
static bool move(struct functional *it) {
    bool moved = false;
    for (unsigned lane = 0; lane < it->size.lanes; lane++)
        moved |= take_lane(it, lane);
    moved |= take_host(it);
    for (unsigned lane = 0; lane < it->size.lanes && it->is_joined; lane++)
        moved |= carry(it, lane);
    return moved;
}

bool functional_cycle(struct functional *it) {
    const struct functional_ring *from_host = &it->ring[SLUICE_RING_FROM_HOST];
    it->cycles++;
    return (it->waiting || it->is_joined || from_host->freed != from_host->filled) && move(it);
}

void functional_advance(struct functional *it, uint32_t cycles) {
    while (cycles > 0) {
        cycles--;
        if (!functional_cycle(it)) { // the rest is as empty as this one
            it->cycles += cycles;
            return;
        }
    }
}
