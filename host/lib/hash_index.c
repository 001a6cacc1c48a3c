// SPDX-License-Identifier: Apache-2.0
// The part of the hash table (hash_index.h) that is not called for each lookup: its memory, and closing gaps.
#include "hash_index.h"

#include <errno.h>
#include <stdlib.h>

enum { LEAST_SLOTS = 16, TIDY_SLOTS = 8 };

// While the sweep passes all slots, an eighth of them can become gaps again. So records, `most_gaps` and that eighth
// leave a sixteenth of the slots free, ever.
int sluice_hash_index_new(struct sluice_hash_index *index, uint32_t limit) {
    uint32_t slots = LEAST_SLOTS;
    *index = (struct sluice_hash_index){0};
    if (limit > SLUICE_HASH_INDEX_MOST)
        return -ENOMEM;
    while (slots / 3 * 2 < limit)
        slots *= 2;
    size_t size = slots * (sizeof *index->slots + 1) + limit * sizeof *index->places;
    uint32_t most_gaps = slots / 16 * 13 - limit;
    struct sluice_hash_slot *memory = malloc(size);
    if (!memory)
        return -ENOMEM;
    memset(memory, 0, size); // fetches the memory now, not when records come
    uint8_t *tags = (uint8_t *)(memory + slots);
    *index = (struct sluice_hash_index){.mask = slots - 1,
                                        .slots = memory,
                                        .tags = tags,
                                        .places = (uint32_t *)(void *)(tags + slots),
                                        .most_gaps = most_gaps < slots / 4 ? most_gaps : slots / 4};
    return 0;
}

void sluice_hash_index_free(struct sluice_hash_index *index) {
    free(index->slots);
    *index = (struct sluice_hash_index){0};
}

void sluice_hash_index_clear(struct sluice_hash_index *index) {
    memset(index->tags, SLUICE_HASH_TAG_FREE, (size_t)index->mask + 1);
    index->gaps = 0;
}

// What stands behind the gap and would not be found any more moves into it, until a slot is free.
static void close_gap(struct sluice_hash_index *index, uint32_t gap) {
    for (uint32_t next = (gap + 1) & index->mask; index->tags[next]; next = (next + 1) & index->mask) {
        uint32_t home = index->slots[next].hash & index->mask;
        if (index->tags[next] == SLUICE_HASH_TAG_GAP || ((next - home) & index->mask) < ((next - gap) & index->mask))
            continue; // nothing, or it stands between its home and the gap
        index->slots[gap] = index->slots[next];
        index->tags[gap] = index->tags[next];
        index->places[index->slots[gap].id] = gap;
        gap = next;
    }
    index->tags[gap] = SLUICE_HASH_TAG_FREE;
    index->gaps--;
}

void sluice_hash_index_tidy(struct sluice_hash_index *index) {
    for (unsigned n = 0; n < TIDY_SLOTS && index->gaps > index->most_gaps; n++) {
        uint32_t at = index->sweep++ & index->mask;
        if (index->tags[at] == SLUICE_HASH_TAG_GAP)
            close_gap(index, at);
    }
}
