// SPDX-License-Identifier: Apache-2.0
// A stateful unit of the programmable pipeline as software: the flow of a packet, its state, and what the process block
// makes of both. Meaning: models/stateful_unit.py.
#include "functional_stateful.h"

#include <stdlib.h>

enum { KEY_BITS = 16 * SLUICE_FLOW_KEY_WORDS + SLUICE_FLOW_EPOCH_BITS, EPOCH_WORD = SLUICE_FLOW_KEY_WORDS / 4 };
enum { PROCESS_ADDRESS_BITS = 11 };
_Static_assert(EPOCH_WORD + 1 == FUNCTIONAL_HASH_KEY_WORDS, "the epoch is in the last word of the key");

struct functional_stateful *functional_stateful_new(uint32_t sets) {
    struct functional_stateful *unit = calloc(1, sizeof *unit);
    if (!unit)
        return NULL;
    unit->states = calloc((size_t)sets * STATEFUL_WAYS, sizeof *unit->states);
    if (!unit->states || functional_place_new(&unit->place, KEY_BITS, sets, STATEFUL_WAYS)) {
        functional_stateful_free(unit);
        return NULL;
    }
    functional_stateful_reset(unit);
    return unit;
}

void functional_stateful_free(struct functional_stateful *unit) {
    if (!unit)
        return;
    functional_place_free(&unit->place);
    free(unit->states);
    free(unit);
}

// ---- Writes

static void write_selector(struct stateful_selector *selector, const uint8_t *data) {
    struct sluice_flow_selector word;
    sluice_flow_selector_unpack(&word, data);
    for (unsigned n = 0; n < EPOCH_WORD; n++)
        selector->mask[n] = functional_long(word.mask + 8 * n);
    for (unsigned n = 0; n < SLUICE_FLOW_KEY_WORDS; n++)
        selector->words[n] = word.words[n] < SLUICE_UNIT_SOURCES ? word.words[n] : PIPELINE_NOTHING;
    selector->epoch = word.epoch;
    selector->insert_source = word.insert_source;
    selector->insert_mask = word.insert_mask;
}

static void write_settings(struct functional_stateful *unit, const uint8_t *data) {
    struct sluice_flow_settings settings;
    sluice_flow_settings_unpack(&settings, data);
    const uint64_t secret[] = {functional_long(settings.secret), functional_long(settings.secret + 8)};
    unit->place.timeout = settings.timeout;
    unit->place.keeps = !settings.evict;
    if (settings.flush || memcmp(secret, unit->secret, sizeof secret) != 0)
        functional_place_clear(&unit->place);
    memcpy(unit->secret, secret, sizeof secret);
    functional_place_secret(&unit->place, secret);
}

bool functional_stateful_write(struct functional_stateful *unit, unsigned memory, const struct pipeline_write *write) {
    struct sluice_process_write word = {.address = (uint16_t)(write->address % (1U << PROCESS_ADDRESS_BITS)),
                                        .memory = (uint8_t)(write->address >> PROCESS_ADDRESS_BITS)};
    switch (memory) {
    case SLUICE_UNIT_MEMORY_SELECTOR:
        if (write->address < PIPELINE_VERSIONS)
            write_selector(&unit->selectors[write->address], write->data);
        return write->address < PIPELINE_VERSIONS;
    case SLUICE_UNIT_MEMORY_FLOWS:
        if (write->address == 0)
            write_settings(unit, write->data);
        return write->address == 0;
    case SLUICE_UNIT_MEMORY_PROCESS:
        memcpy(word.data, write->data, sizeof word.data);
        if (word.memory <= SLUICE_PROCESS_MEMORY_DECISION) // no packet waits for another here: nothing to compose
            functional_process_write(&unit->process, &word);
        return word.memory <= SLUICE_PROCESS_MEMORY_COMPOSED;
    default:
        return false;
    }
}

void functional_stateful_reset(struct functional_stateful *unit) {
    static const uint8_t settings[SLUICE_FLOW_SETTINGS_BYTES];
    functional_place_clear(&unit->place);
    write_settings(unit, settings);
}

// ---- A packet

static void make_key(const struct stateful_selector *selector, const uint16_t *sources,
                     uint64_t key[FUNCTIONAL_HASH_KEY_WORDS]) {
    memset(key, 0, FUNCTIONAL_HASH_KEY_WORDS * sizeof *key);
    for (unsigned n = 0; n < SLUICE_FLOW_KEY_WORDS; n++)
        key[n / 4] |= (uint64_t)sources[selector->words[n]] << 16 * (n % 4);
    for (unsigned n = 0; n < EPOCH_WORD; n++)
        key[n] &= selector->mask[n];
    key[EPOCH_WORD] = selector->epoch;
}

struct functional_placement functional_stateful_run(struct functional_stateful *unit, struct pipeline_packet *packet,
                                                    uint32_t tick) {
    const struct stateful_selector *selector = &unit->selectors[packet->version];
    bool reads_source = selector->insert_source < SLUICE_UNIT_SOURCES;
    uint16_t source = reads_source ? packet->sources[selector->insert_source] : UINT16_MAX;
    uint64_t key[FUNCTIONAL_HASH_KEY_WORDS];
    uint32_t flow[SLUICE_PROCESS_WORDS] = {0};
    make_key(selector, packet->sources, key);
    struct functional_placement placement =
        functional_place_find(&unit->place, key, tick, source & selector->insert_mask);
    uint32_t *state = unit->states[placement.set * STATEFUL_WAYS + placement.way];
    if (placement.is_found)
        memcpy(flow, state, sizeof flow);
    functional_process_run(&unit->process, packet, tick, flow);
    if (placement.is_found || placement.is_new)
        memcpy(state, flow, sizeof flow);
    return placement;
}
