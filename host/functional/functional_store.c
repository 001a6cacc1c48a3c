// SPDX-License-Identifier: Apache-2.0
// A ring of bytes in which every packet is in one piece: one that does not fit before the end of the memory goes to its
// start, and `end` says where the last one before it stops.
#include <errno.h>
#include <stdlib.h>

#include "functional.h"

enum { ALIGNMENT = 8, NOWHERE = -1 };

static uint32_t place_of(uint32_t size) {
    return ((uint32_t)sizeof(struct functional_packet) + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct functional_packet *packet_at(const struct functional_store *store, uint32_t at) {
    return (struct functional_packet *)(void *)(store->memory + at);
}

int functional_store_new(struct functional_store *store, uint32_t capacity) {
    *store = (struct functional_store){.memory = malloc(capacity), .capacity = capacity, .end = capacity};
    return store->memory ? 0 : -ENOMEM;
}

void functional_store_free(struct functional_store *store) {
    free(store->memory);
}

// Where a packet that takes `place` bytes would start.
static int64_t find_place(const struct functional_store *store, uint32_t place) {
    bool is_wrapped = store->count && store->tail <= store->head;
    if (is_wrapped)
        return place <= store->head - store->tail ? (int64_t)store->tail : NOWHERE;
    if (place <= store->capacity - store->tail)
        return store->tail;
    return place <= store->head ? 0 : NOWHERE;
}

bool functional_store_has_room(const struct functional_store *store, uint32_t size) {
    return find_place(store, place_of(size)) != NOWHERE;
}

struct functional_packet *functional_store_put(struct functional_store *store, const uint8_t *bytes, uint32_t size) {
    int64_t at = find_place(store, place_of(size));
    if (at == NOWHERE)
        return NULL;
    if (at < store->tail)
        store->end = store->tail;
    struct functional_packet *packet = packet_at(store, (uint32_t)at);
    *packet = (struct functional_packet){.size = size, .place = place_of(size)};
    memcpy(packet->bytes, bytes, size);
    store->tail = (uint32_t)at + packet->place;
    store->count++;
    return packet;
}

struct functional_packet *functional_store_first(const struct functional_store *store) {
    return store->count ? packet_at(store, store->head) : NULL;
}

void functional_store_drop(struct functional_store *store) {
    store->head += packet_at(store, store->head)->place;
    if (--store->count == 0) // the memory that is in the cache is used again
        store->head = store->tail = 0;
    else if (store->head == store->end && store->tail <= store->head)
        store->head = 0;
}
