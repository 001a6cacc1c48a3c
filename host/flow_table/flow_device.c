// SPDX-License-Identifier: Apache-2.0
// The flow table of a device: operations as register accesses to its window. A rule's value and mask go into operand 0,
// the instruction names it, and the answer is waited for, so there is one instruction under way at a time; words that
// the element holds already are not written again: rules of one mask differ in few. A deletion is one access, answered
// when the rule is gone.
#include "flow_table.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "sluice/sluice.h"

enum { WORD = 4, BLOCK = 4 * WORD, POLLS = 100000 };
enum { HALF = SLUICE_FLOW_OPERAND_BYTES / 2 }; // of an operand
_Static_assert(HALF == SLUICE_FLOW_WORDS * 8 && HALF % BLOCK == 0 && SLUICE_INSTRUCTION_BYTES % WORD == 0,
               "whole blocks and words");
enum { BLOCKS = (SLUICE_INSTRUCTION_BYTES + BLOCK - 1) / BLOCK };
enum { RESPONSE_WORDS = SLUICE_RESPONSE_BYTES / WORD };
enum { MOST = 4 + (SLUICE_FLOW_OPERAND_BYTES + SLUICE_INSTRUCTION_BYTES) / WORD }; // accesses of an operation
enum { STATUS_READY = 1, WORD_CYCLES = 2 }; // a register access takes that many cycles or more
enum { MOST_GROUPS = 256, MOST_LATENCY = 1 << 16 };

struct sluice_flow_device {
    struct sluice_flow_bus bus;
    uint32_t groups, group_entries, ternary_entries, latency;
    uint8_t operand[SLUICE_FLOW_OPERAND_BYTES], instruction[BLOCKS * BLOCK]; // what the element holds
    bool is_known, is_operand_known;
    bool has_deleted; // since the last pause: packets of the rule may be under way
};

static uint32_t word_of(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return le32toh(word);
}

static int read_word(const struct sluice_flow_device *device, uint32_t address, uint32_t *value) {
    return device->bus.read(device->bus.context, address, value);
}

static int write_word(const struct sluice_flow_device *device, uint32_t address, uint32_t value) {
    return device->bus.write(device->bus.context, address, value);
}

// Accesses that are done at once, where the bus can.
struct batch {
    struct sluice_access accesses[MOST];
    unsigned count;
};

static void add_access(struct batch *batch, uint32_t address, uint32_t value, bool is_read) {
    batch->accesses[batch->count++] = (struct sluice_access){address, value, is_read};
}

static int run_batch(const struct sluice_flow_device *device, struct batch *batch) {
    int result = 0;
    if (device->bus.batch)
        return device->bus.batch(device->bus.context, batch->accesses, batch->count);
    for (unsigned i = 0; i < batch->count && result == 0; i++) {
        struct sluice_access *one = &batch->accesses[i];
        result =
            one->is_read ? read_word(device, one->address, &one->value) : write_word(device, one->address, one->value);
    }
    return result;
}

// Bytes into registers from `address` on, the words that differ from `held`. Most do not: blocks, as large as
// compilers compare without a loop, come first. Both are of whole blocks; behind `size` they are equal.
static void add_words(struct batch *batch, uint32_t address, const uint8_t *bytes, uint8_t *held, unsigned size,
                      bool is_known) {
    for (unsigned block = 0; block < size; block += BLOCK) {
        if (is_known && memcmp(held + block, bytes + block, BLOCK) == 0)
            continue;
        for (unsigned at = block; at < block + BLOCK && at < size; at += WORD)
            if (!is_known || memcmp(held + at, bytes + at, WORD))
                add_access(batch, address + at, word_of(bytes + at), false);
        memcpy(held + block, bytes + block, BLOCK);
    }
}

static bool has_operand(const struct sluice_flow_operation *op) {
    return op->kind == SLUICE_INSTRUCTION_POPULATE || op->kind == SLUICE_INSTRUCTION_UPDATE;
}

static void add_instruction(struct sluice_flow_device *device, struct batch *batch,
                            const struct sluice_flow_operation *op) {
    struct sluice_instruction instruction = {.rule_id = op->rule_id,
                                             .rule_priority = op->rule_priority,
                                             .table_id = op->table_id,
                                             .kind = op->kind,
                                             .actions = op->actions};
    const struct sluice_flow_target target = {.group = op->group, .operand = 0};
    uint8_t bytes[BLOCKS * BLOCK] = {0};
    sluice_flow_target_pack(&target, instruction.value);
    sluice_instruction_pack(&instruction, bytes);
    add_words(batch, SLUICE_OFU_REGISTERS_INSTRUCTION, bytes, device->instruction, SLUICE_INSTRUCTION_BYTES,
              device->is_known);
}

static void add_operation(struct sluice_flow_device *device, struct batch *batch,
                          const struct sluice_flow_operation *op) {
    if (!device->is_known)
        add_access(batch, SLUICE_FLOW_REGISTERS_OPERAND_INDEX, 0, false);
    if (has_operand(op)) {
        // flow_operand_t: the value in the lower half, the mask in the upper.
        add_words(batch, SLUICE_FLOW_REGISTERS_OPERAND, (const uint8_t *)op->value, device->operand, HALF,
                  device->is_operand_known);
        add_words(batch, SLUICE_FLOW_REGISTERS_OPERAND + HALF, (const uint8_t *)op->mask, device->operand + HALF, HALF,
                  device->is_operand_known);
    }
    add_instruction(device, batch, op);
    add_access(batch, SLUICE_OFU_REGISTERS_PUSH, 0, false);
}

static void add_response(struct batch *batch) {
    for (unsigned i = 0; i < RESPONSE_WORDS; i++)
        add_access(batch, SLUICE_OFU_REGISTERS_RESPONSE + WORD * i, 0, true);
}

// The response that was read last; its kind is 0 where there was none yet.
static struct sluice_response response_of(const struct batch *batch) {
    struct sluice_response response;
    const struct sluice_access *words = &batch->accesses[batch->count - RESPONSE_WORDS];
    uint32_t bytes[RESPONSE_WORDS];
    for (unsigned i = 0; i < RESPONSE_WORDS; i++)
        bytes[i] = htole32(words[i].value);
    sluice_response_unpack(&response, (const uint8_t *)bytes);
    return response;
}

// One access: it is answered when the rule is gone.
static int remove_rule(struct sluice_flow_device *device, const struct sluice_flow_operation *op) {
    device->has_deleted = true;
    return write_word(device, SLUICE_OFU_REGISTERS_REMOVE, (uint32_t)op->table_id << 30 | op->rule_id);
}

static int execute(void *context, const struct sluice_flow_operation *op) {
    struct sluice_flow_device *device = context;
    struct batch batch;
    if (op->kind == SLUICE_INSTRUCTION_DELETE)
        return remove_rule(device, op);
    batch.count = 0;
    device->is_operand_known &= device->is_known;
    add_operation(device, &batch, op);
    device->is_known = false; // until all is written
    for (unsigned i = 0; i < POLLS; i++) {
        add_response(&batch);
        int result = run_batch(device, &batch);
        if (result)
            return result;
        device->is_known = true;
        device->is_operand_known |= has_operand(op);
        struct sluice_response response = response_of(&batch);
        if (response.kind)
            return sluice_check_response(&response);
        batch.count = 0;
    }
    return -ENODEV;
}

static int counters(void *context, uint8_t table_id, uint32_t rule_id, struct sluice_rule_counters *out) {
    struct sluice_flow_device *device = context;
    uint8_t bytes[SLUICE_RULE_COUNTERS_BYTES];
    uint32_t word = 0;
    int result = 0;
    // What was in flight when a rule was deleted has counted after the element's latency.
    for (uint32_t i = 0; device->has_deleted && i < device->latency / WORD_CYCLES && result == 0; i++)
        result = read_word(device, SLUICE_OFU_REGISTERS_STATUS, &word);
    device->has_deleted = false;
    if (result == 0)
        result = write_word(device, SLUICE_OFU_REGISTERS_COUNTER_INDEX, (uint32_t)table_id << 30 | rule_id);
    for (unsigned i = 0; i < sizeof bytes / 4 && result == 0; i++) {
        result = read_word(device, SLUICE_OFU_REGISTERS_COUNTER_DATA + 4 * i, &word);
        for (unsigned b = 0; b < 4; b++)
            bytes[4 * i + b] = (uint8_t)(word >> 8 * b);
    }
    if (result == 0)
        sluice_rule_counters_unpack(out, bytes);
    return result;
}

// Sizes; memory is made of them.
static int read_facts(struct sluice_flow_device *device) {
    const struct {
        uint32_t address, most, *value;
    } facts[] = {{SLUICE_FLOW_REGISTERS_GROUPS, MOST_GROUPS, &device->groups},
                 {SLUICE_FLOW_REGISTERS_GROUP_ENTRIES, SLUICE_MOST_RULES, &device->group_entries},
                 {SLUICE_OFU_REGISTERS_ENTRIES + 4, SLUICE_MOST_RULES, &device->ternary_entries},
                 {SLUICE_OFU_REGISTERS_LATENCY, MOST_LATENCY, &device->latency}};
    int result = 0;
    for (unsigned i = 0; i < sizeof facts / sizeof *facts && result == 0; i++) {
        result = read_word(device, facts[i].address, facts[i].value);
        result = result ? result : sluice_check_fact(facts[i].address, *facts[i].value, facts[i].most);
    }
    if (result == 0 && (uint64_t)device->groups * device->group_entries > SLUICE_MOST_RULES)
        return sluice_fail(-EPROTO, "the flow table says that it has %u groups of %u rules", device->groups,
                           device->group_entries);
    return result;
}

static int open_device(struct sluice_flow_device *device) {
    uint32_t kind = 0, status = 0;
    int result = read_word(device, SLUICE_OFU_REGISTERS_KIND, &kind);
    if (result == 0 && kind != SLUICE_ELEMENT_FLOW_TABLE)
        return sluice_fail(-ENODEV, "the window is of an element of kind %u, not of a flow table", kind);
    result = result ? result : read_facts(device);
    for (unsigned i = 0; i < POLLS && result == 0 && !(status & STATUS_READY); i++)
        result = read_word(device, SLUICE_OFU_REGISTERS_STATUS, &status);
    if (result == 0 && !(status & STATUS_READY))
        return sluice_fail(-ENODEV, "the flow table's memories are never cleared");
    return result ? result : write_word(device, SLUICE_OFU_REGISTERS_CONTROL, 1);
}

int sluice_flow_device_new(const struct sluice_flow_bus *bus, struct sluice_flow_device **out) {
    struct sluice_flow_device *device = calloc(1, sizeof *device);
    if (!device)
        return sluice_fail(-ENOMEM, "out of memory");
    device->bus = *bus;
    int result = open_device(device);
    if (result) {
        free(device);
        return result;
    }
    *out = device;
    return 0;
}

void sluice_flow_device_free(struct sluice_flow_device *device) {
    free(device);
}

void sluice_flow_device_table(struct sluice_flow_device *device, struct sluice_flow_table *table) {
    *table = (struct sluice_flow_table){device,  device->groups, device->group_entries, device->ternary_entries,
                                        execute, counters};
}
