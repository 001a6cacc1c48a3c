// SPDX-License-Identifier: Apache-2.0
// Where flows are, as software. One key has its place before the next one comes, so there is no key ahead to look at.
#include "functional_stateful.h"

#include <errno.h>
#include <stdlib.h>

int functional_place_new(struct functional_place *place, uint32_t key_bits, uint32_t sets, uint32_t ways) {
    *place = (struct functional_place){.sets = sets, .ways = ways};
    place->hands = calloc(sets, sizeof *place->hands);
    place->entries = calloc((size_t)sets * ways, sizeof *place->entries);
    if (!place->hands || !place->entries) {
        functional_place_free(place);
        return -ENOMEM;
    }
    functional_hash_start(&place->hash, key_bits, sets, 1);
    return 0;
}

void functional_place_free(struct functional_place *place) {
    free(place->hands);
    free(place->entries);
    place->hands = NULL;
    place->entries = NULL;
}

void functional_place_clear(struct functional_place *place) {
    memset(place->hands, 0, place->sets * sizeof *place->hands);
    memset(place->entries, 0, (size_t)place->sets * place->ways * sizeof *place->entries);
}

void functional_place_secret(struct functional_place *place, const uint64_t secret[2]) {
    functional_hash_secret(&place->hash, secret);
}

static bool is_expired(const struct functional_place *place, const struct functional_place_entry *entry, uint32_t now) {
    return entry->is_live && place->timeout && now - entry->time >= place->timeout;
}

// The way of a key; place->ways: it has none.
static uint32_t way_of(const struct functional_place *place, const struct functional_place_entry *entries,
                       const uint64_t *key) {
    uint32_t way = 0;
    while (way < place->ways &&
           !(entries[way].is_live && memcmp(entries[way].key, key, sizeof *key * place->hash.words) == 0))
        way++;
    return way;
}

// The lowest way that is free, dead or expired; place->ways: there is none.
static uint32_t usable_way(const struct functional_place *place, const struct functional_place_entry *entries,
                           uint32_t now) {
    uint32_t way = 0;
    while (way < place->ways && entries[way].is_live && !is_expired(place, &entries[way], now))
        way++;
    return way;
}

struct functional_placement functional_place_find(struct functional_place *place, const uint64_t *key, uint32_t now,
                                                  bool insert) {
    uint32_t set = (uint32_t)functional_hash_of(&place->hash, key);
    struct functional_place_entry *entries = &place->entries[(size_t)set * place->ways];
    uint32_t own = way_of(place, entries, key);
    if (own < place->ways && !is_expired(place, &entries[own], now)) {
        entries[own].time = now;
        return (struct functional_placement){
            .set = set, .way = own, .generation = entries[own].generation, .is_found = true};
    }
    if (!insert)
        return (struct functional_placement){.set = set};
    uint32_t usable = usable_way(place, entries, now), hand = place->hands[set];
    if (own == place->ways && usable == place->ways && place->keeps)
        return (struct functional_placement){.set = set};
    uint32_t way = own < place->ways ? own : usable < place->ways ? usable : hand;
    struct functional_place_entry *entry = &entries[way];
    struct functional_placement taken = {.set = set,
                                         .way = way,
                                         .generation = entry->generation + 1,
                                         .is_new = true,
                                         .is_evicted = usable == place->ways,
                                         .is_expired = is_expired(place, entry, now)};
    *entry = (struct functional_place_entry){.time = now, .generation = taken.generation, .is_live = true};
    memcpy(entry->key, key, sizeof *key * place->hash.words);
    if (way == hand)
        place->hands[set] = (uint8_t)((hand + 1) % place->ways);
    return taken;
}

void functional_place_remove(struct functional_place *place, uint32_t set, uint32_t way, uint32_t generation) {
    struct functional_place_entry *entry = &place->entries[(size_t)set * place->ways + way];
    if (entry->generation == generation)
        entry->is_live = false;
}
