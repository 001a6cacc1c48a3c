// SPDX-License-Identifier: Apache-2.0
// Random changes of a hash table (hash_index.h) beside a plain list of its records: `fuzz_hash_index LIMIT SPREAD SEED
// STEPS`. Hashes are SPREAD values side by side around the end of the slots, so that they collide, and records stand
// far from home and behind the end. Every lookup must name the records of its hash, each once. Prints what it did, or
// what went wrong, and then ends with 1.
#include <stdio.h>
#include <stdlib.h>

#include "hash_index.h"

enum { HIGH_BITS = 3, TIDY_SLOTS = 8 }; // a tag and a home have some hashes; how far a removal looks for gaps

static uint64_t state;
static struct sluice_hash_index table;
static uint32_t limit, spread, count;
static uint32_t *hashes; // by id
static bool *is_there;
static uint64_t added, removed, looked, most_gaps;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % below;
}

static void fail(const char *text, uint32_t number) {
    printf("failed: %s (%u)\n", text, number);
    exit(1);
}

static uint32_t some_hash(void) {
    uint32_t home = (table.mask - spread / 2 + draw(spread)) & table.mask;
    return home | draw(HIGH_BITS) << 24;
}

static void look(uint32_t hash) {
    uint32_t at = hash, expected = 0, found = 0;
    bool *seen = calloc(limit, sizeof *seen);
    for (uint32_t id = 0; id < limit; id++)
        expected += is_there[id] && hashes[id] == hash;
    for (int32_t id; (id = sluice_hash_index_next(&table, hash, &at)) >= 0; found++) {
        if ((uint32_t)id >= limit || !is_there[id] || hashes[id] != hash)
            fail("a record that is not there was found", (uint32_t)id);
        if (seen[id])
            fail("a record was found twice", (uint32_t)id);
        seen[id] = true;
    }
    if (found != expected)
        fail("a record was not found", hash);
    free(seen);
    looked++;
}

// What the header promises: each record knows its slot, and lookups end.
static void check_slots(void) {
    uint32_t gaps = 0, records = 0, slots = table.mask + 1;
    for (uint32_t at = 0; at < slots; at++) {
        gaps += table.tags[at] == SLUICE_HASH_TAG_GAP;
        records += table.tags[at] >= SLUICE_HASH_TAG_RECORD;
        if (table.tags[at] >= SLUICE_HASH_TAG_RECORD && table.places[table.slots[at].id] != at)
            fail("a record knows another slot", at);
    }
    if (gaps != table.gaps || records != count)
        fail("gaps or records are counted wrong", gaps);
    if (records + gaps > slots - slots / 16)
        fail("fewer than a sixteenth of the slots are free", gaps);
    if (gaps > table.most_gaps + slots / 8)
        fail("gaps come faster than they are closed", gaps);
    most_gaps = gaps > most_gaps ? gaps : most_gaps;
}

static void add(uint32_t id, uint32_t hash) {
    hashes[id] = hash;
    is_there[id] = true;
    sluice_hash_index_fetch(&table, hash);
    sluice_hash_index_add(&table, hash, (int32_t)id);
    count++;
    added++;
}

static void take_out(uint32_t id) {
    uint32_t sweep = table.sweep;
    sluice_hash_index_fetch_record(&table, (int32_t)id);
    sluice_hash_index_remove(&table, (int32_t)id);
    sweep = table.sweep - sweep;
    if (sweep > TIDY_SLOTS)
        fail("a removal looked for gaps too long", sweep);
    if (sweep < TIDY_SLOTS && table.gaps > table.most_gaps)
        fail("a removal left gaps that it had to close", sweep);
    is_there[id] = false;
    count--;
    removed++;
}

static void clear(void) {
    sluice_hash_index_clear(&table);
    for (uint32_t id = 0; id < limit; id++)
        is_there[id] = false;
    count = 0;
}

static void check_that_gaps_are_used_again(void) {
    for (uint32_t id = 0; id < 3; id++)
        add(id, 5);
    uint32_t place = table.places[1];
    take_out(1);
    if (table.gaps != 1)
        fail("no gap before a record", table.gaps);
    add(1, 5);
    if (table.places[1] != place || table.gaps != 0)
        fail("a gap was not used again", table.places[1]);
    clear();
}

// Each record stands at its home, and the upper half goes, first of all where the search for gaps comes last.
static void check_that_gaps_are_closed(void) {
    for (uint32_t id = 0; id < limit; id++)
        add(id, id);
    for (uint32_t id = limit / 2; id < limit; id++) {
        take_out(id);
        check_slots();
    }
    clear();
}

// Fills and empties by turns: the table is full, nearly full and nearly empty for long.
static void step(uint64_t number, uint64_t steps) {
    bool is_filling = number * 6 / steps % 2 == 0;
    uint32_t id = draw(limit);
    bool is_wanted = draw(8) < (is_filling ? 7 : 2);
    if (is_there[id] && !is_wanted)
        take_out(id);
    if (!is_there[id] && is_wanted)
        add(id, some_hash());
    look(is_there[id] ? hashes[id] : some_hash());
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    limit = (uint32_t)strtoul(argv[1], NULL, 10);
    spread = (uint32_t)strtoul(argv[2], NULL, 10);
    state = strtoull(argv[3], NULL, 10);
    uint64_t steps = strtoull(argv[4], NULL, 10);
    if (sluice_hash_index_new(&table, SLUICE_HASH_INDEX_MOST + 1U) == 0 || sluice_hash_index_new(&table, limit))
        fail("made with too many records, or not made", limit);
    hashes = calloc(limit, sizeof *hashes);
    is_there = calloc(limit, sizeof *is_there);
    check_that_gaps_are_used_again();
    check_that_gaps_are_closed();
    for (uint64_t number = 0; number < steps; number++) {
        step(number, steps);
        if (number % 8 == 0)
            check_slots();
        if (number == steps / 3)
            clear();
    }
    for (uint32_t id = 0; id < limit; id++)
        look(hashes[id]);
    printf("{\"added\": %llu, \"removed\": %llu, \"looked\": %llu, \"most_gaps\": %llu, \"limit_of_gaps\": %u, "
           "\"slots\": %u}\n",
           (unsigned long long)added, (unsigned long long)removed, (unsigned long long)looked,
           (unsigned long long)most_gaps, table.most_gaps, table.mask + 1);
    sluice_hash_index_free(&table);
    free(hashes);
    free(is_there);
    return 0;
}
