// SPDX-License-Identifier: Apache-2.0
// A unit of the programmable pipeline as software (rtl/pipeline/sl_unit.sv, sl_unit_exact.sv, sl_unit_operations.sv):
// the key of a packet, the entry that it finds, and the action of that.
#include "functional_pipeline.h"

_Static_assert(UNIT_WAYS *UNIT_SLOTS == SLUICE_PIPELINE_EXACT_ENTRIES && (UNIT_SLOTS & (UNIT_SLOTS - 1)) == 0,
               "an index of a way is bits of the hash");

// ---- Writes

static void read_key(uint64_t key[2], const uint8_t *bytes) {
    key[0] = functional_long(bytes);
    key[1] = functional_long(bytes + 8);
}

static void write_selector(struct pipeline_selector *selector, const uint8_t *data) {
    struct sluice_unit_selector word;
    sluice_unit_selector_unpack(&word, data);
    read_key(selector->mask, word.mask);
    selector->is_exact = word.exact;
    for (unsigned i = 0; i < SLUICE_UNIT_KEY_WORDS; i++)
        selector->words[i] = word.words[i] < SLUICE_UNIT_SOURCES ? word.words[i] : PIPELINE_NOTHING;
}

static void write_exact(struct pipeline_exact *slot, const uint8_t *data) {
    struct sluice_unit_exact word;
    sluice_unit_exact_unpack(&word, data);
    read_key(slot->key, word.key);
    slot->action = word.action;
    slot->versions = word.versions;
}

static void write_action(struct pipeline_action *action, const uint8_t *data) {
    struct sluice_unit_action word;
    sluice_unit_action_unpack(&word, data);
    *action = (struct pipeline_action){
        .decision = {word.next, word.verdict, word.egress_mask, word.queue, word.splice, word.again}};
    for (unsigned n = 0; n < SLUICE_UNIT_OPERATIONS; n++) {
        const struct sluice_unit_operation *from = &word.operations[n];
        unsigned container = SLUICE_UNIT_OPERATIONS * from->row + n;
        bool is_there = container < SLUICE_PIPELINE_CONTAINERS;
        if (from->kind != SLUICE_OPERATOR_NONE && (is_there || from->kind == SLUICE_OPERATOR_COUNT_DOWN))
            action->operations[action->count++] =
                (struct pipeline_operation){.mask = from->mask,
                                            .immediate = from->immediate,
                                            .lowest = (uint16_t)(from->mask & -from->mask),
                                            .source = from->source,
                                            .container = (uint8_t)(is_there ? container : PIPELINE_NOTHING),
                                            .kind = from->kind};
    }
}

void functional_unit_write(struct pipeline_unit *unit, unsigned memory, const struct pipeline_write *write) {
    uint32_t group = write->address >> PIPELINE_NIBBLE, groups = PIPELINE_BANK / PIPELINE_NIBBLE;
    switch (memory) {
    case SLUICE_UNIT_MEMORY_SELECTOR:
        write_selector(&unit->selectors[write->address], write->data);
        break;
    case SLUICE_UNIT_MEMORY_EXACT:
        write_exact(&unit->exact[write->address / UNIT_EXACT_WAY][write->address % UNIT_EXACT_WAY], write->data);
        break;
    case SLUICE_UNIT_MEMORY_TERNARY:
        pipeline_match_write(unit->accepts[group / groups], UNIT_NIBBLES, write->data, group % groups,
                             write->address & 15);
        break;
    default:
        write_action(&unit->actions[write->address], write->data);
        unit->counters[write->address] = (struct sluice_rule_counters){0};
    }
}

// ---- A packet

static void make_key(const struct pipeline_selector *selector, const uint16_t *sources, uint64_t key[2]) {
    key[0] = key[1] = 0;
    for (unsigned i = 0; i < SLUICE_UNIT_KEY_WORDS; i++)
        key[i / 4] |= (uint64_t)sources[selector->words[i]] << 16 * (i % 4);
    key[0] &= selector->mask[0];
    key[1] &= selector->mask[1];
}

// The number of the action. Copies of an entry with different actions give the one that has the bits of all.
static uint32_t find_exact(const struct pipeline_unit *unit, uint64_t indices, const uint64_t key[2], unsigned version,
                           uint32_t miss) {
    uint32_t action = 0;
    bool hit = false;
    for (unsigned way = 0; way < UNIT_WAYS; way++, indices /= UNIT_SLOTS) {
        const struct pipeline_exact *slot = &unit->exact[way][indices % UNIT_SLOTS];
        if (slot->key[0] == key[0] && slot->key[1] == key[1] && (slot->versions >> version & 1)) {
            hit = true;
            action |= slot->action;
        }
    }
    return hit && action < SLUICE_PIPELINE_EXACT_ENTRIES ? action : miss;
}

static uint32_t find_ternary(const struct pipeline_unit *unit, const uint64_t key[2], unsigned version, uint32_t miss) {
    for (unsigned bank = 0; bank < UNIT_BANKS; bank++) {
        const pipeline_accepts *accepts = unit->accepts[bank];
        uint64_t entries = accepts[UNIT_NIBBLES - 1][version];
        for (unsigned n = 0; n < UNIT_NIBBLES - 1; n++)
            entries &= accepts[n][key[n / 16] >> PIPELINE_NIBBLE * (n % 16) & 15];
        if (entries)
            return SLUICE_PIPELINE_EXACT_ENTRIES + PIPELINE_BANK * bank + (uint32_t)__builtin_ctzll(entries);
    }
    return miss;
}

static uint16_t result_of(const struct pipeline_operation *operation, uint16_t old, uint16_t operand) {
    switch (operation->kind) {
    case SLUICE_OPERATOR_SET:
        return operand;
    case SLUICE_OPERATOR_ADD:
        return (uint16_t)(old + operand);
    case SLUICE_OPERATOR_SUBTRACT:
        return (uint16_t)(old - operand);
    case SLUICE_OPERATOR_AND:
        return old & operand;
    case SLUICE_OPERATOR_OR:
        return old | operand;
    case SLUICE_OPERATOR_XOR:
        return old ^ operand;
    default: // SLUICE_OPERATOR_COUNT_DOWN
        return (uint16_t)(old - operation->lowest);
    }
}

void functional_decide(struct pipeline_packet *packet, const struct sluice_process_decision *decision) {
    packet->next = decision->next;
    if (decision->verdict != SLUICE_VERDICT_PASS) {
        packet->verdict = decision->verdict;
        packet->egress_mask = decision->egress_mask;
        packet->queue = decision->queue;
    }
    if (decision->splice)
        packet->splice = decision->splice;
    if (decision->again)
        packet->again = decision->again;
}

// All operations read what was there before any of them.
static void execute(const struct pipeline_action *action, struct pipeline_packet *packet) {
    uint16_t results[SLUICE_UNIT_OPERATIONS];
    bool expires = false;
    for (unsigned i = 0; i < action->count; i++) {
        const struct pipeline_operation *one = &action->operations[i];
        uint16_t old = packet->sources[one->container];
        uint16_t operand = one->source < SLUICE_UNIT_SOURCES ? packet->sources[one->source] : one->immediate;
        results[i] = (uint16_t)((old & ~one->mask) | (result_of(one, old, operand) & one->mask));
        expires |= one->kind == SLUICE_OPERATOR_COUNT_DOWN && (old & one->mask) <= one->lowest;
    }
    for (unsigned i = 0; i < action->count; i++)
        if (action->operations[i].container != PIPELINE_NOTHING)
            packet->sources[action->operations[i].container] = results[i];
    functional_decide(packet, &action->decision);
    if (expires) {
        packet->verdict = SLUICE_VERDICT_DROP;
        packet->next = SLUICE_UNIT_END;
        packet->again = 0;
    }
}

uint32_t functional_unit_run(const struct pipeline_unit *unit, const struct functional_hash *hash,
                             struct pipeline_packet *packet) {
    const struct pipeline_selector *selector = &unit->selectors[packet->version];
    uint32_t miss = UNIT_ENTRIES + packet->version;
    uint64_t key[UNIT_KEY_BYTES / 8];
    make_key(selector, packet->sources, key);
    uint32_t number = selector->is_exact ? find_exact(unit, functional_hash_of(hash, key), key, packet->version, miss)
                                         : find_ternary(unit, key, packet->version, miss);
    execute(&unit->actions[number], packet);
    return number;
}
