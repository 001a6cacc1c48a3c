// SPDX-License-Identifier: Apache-2.0
// The flow table of a device: operations as register accesses to its window. A rule's value and mask go into operand 0,
// the instruction names it, and the answer is waited for, so there is one instruction under way at a time. Words that
// the element holds already are not written again: rules of one mask differ in few.
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sluice.h"

enum { WORD = 4, PAIR = 2 * WORD, POLLS = 100000 };
enum { STATUS_READY = 1, WORD_CYCLES = 2 }; // a register access takes that many cycles or more

struct sluice_flow_device {
    struct sluice_flow_bus bus;
    uint32_t groups, group_entries, ternary_entries, latency;
    uint8_t operand[SLUICE_FLOW_OPERAND_BYTES], instruction[SLUICE_INSTRUCTION_BYTES]; // what the element holds
    struct sluice_action_set actions;                                                  // of that instruction
    bool is_known;
    bool has_deleted; // since the last pause: packets of the rule may be under way
};

static uint32_t word_of(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int read_word(const struct sluice_flow_device *device, uint32_t address, uint32_t *value) {
    return device->bus.read(device->bus.context, address, value);
}

static int write_word(const struct sluice_flow_device *device, uint32_t address, uint32_t value) {
    return device->bus.write(device->bus.context, address, value);
}

// Bytes into registers from `address` on, the words that differ from `held`; most do not, so two are compared at once.
static int write_words(const struct sluice_flow_device *device, uint32_t address, const uint8_t *bytes, uint8_t *held,
                       unsigned size) {
    for (unsigned pair = 0; pair < size; pair += PAIR) {
        if (device->is_known && memcmp(held + pair, bytes + pair, PAIR) == 0)
            continue;
        for (unsigned at = pair; at < pair + PAIR; at += WORD) {
            if (device->is_known && memcmp(held + at, bytes + at, WORD) == 0)
                continue;
            int result = write_word(device, address + at, word_of(bytes + at));
            if (result)
                return result;
            memcpy(held + at, bytes + at, WORD);
        }
    }
    return 0;
}
_Static_assert(SLUICE_FLOW_OPERAND_BYTES % PAIR == 0 && SLUICE_INSTRUCTION_BYTES % PAIR == 0, "whole pairs of words");

// A deletion names the rule only; what it leaves open stays as it is in the element.
static int write_instruction(struct sluice_flow_device *device, const struct sluice_flow_operation *op) {
    struct sluice_instruction instruction = {
        .rule_id = op->rule_id, .rule_priority = op->rule_priority, .table_id = op->table_id, .kind = op->kind};
    const struct sluice_flow_target target = {.group = op->group, .operand = 0};
    uint8_t bytes[SLUICE_INSTRUCTION_BYTES];
    if (op->kind == SLUICE_INSTRUCTION_POPULATE || op->kind == SLUICE_INSTRUCTION_UPDATE)
        device->actions = op->actions;
    instruction.actions = device->actions;
    sluice_flow_target_pack(&target, instruction.value);
    sluice_instruction_pack(&instruction, bytes);
    return write_words(device, SLUICE_OFU_REGISTERS_INSTRUCTION, bytes, device->instruction, sizeof bytes);
}

static int write_operation(struct sluice_flow_device *device, const struct sluice_flow_operation *op) {
    struct sluice_flow_operand operand = {0};
    uint8_t bytes[SLUICE_FLOW_OPERAND_BYTES];
    int result = 0;
    if (!device->is_known)
        result = write_word(device, SLUICE_FLOW_REGISTERS_OPERAND_INDEX, 0);
    if (result == 0 && (op->kind != SLUICE_INSTRUCTION_DELETE || !device->is_known)) {
        memcpy(operand.value, op->value, sizeof operand.value);
        memcpy(operand.mask, op->mask, sizeof operand.mask);
        sluice_flow_operand_pack(&operand, bytes);
        result = write_words(device, SLUICE_FLOW_REGISTERS_OPERAND, bytes, device->operand, sizeof bytes);
    }
    if (result == 0)
        result = write_instruction(device, op);
    device->is_known = result == 0;
    return result ? result : write_word(device, SLUICE_OFU_REGISTERS_PUSH, 0);
}

static int execute(void *context, const struct sluice_flow_operation *op) {
    struct sluice_flow_device *device = context;
    int result = write_operation(device, op);
    device->has_deleted |= op->kind == SLUICE_INSTRUCTION_DELETE;
    for (unsigned i = 0; result == 0 && i < POLLS; i++) {
        uint32_t words[2] = {0};
        struct sluice_response response;
        uint8_t bytes[SLUICE_RESPONSE_BYTES];
        for (unsigned n = 0; n < 2 && result == 0; n++)
            result = read_word(device, SLUICE_OFU_REGISTERS_RESPONSE + 4 * n, &words[n]);
        for (unsigned b = 0; b < sizeof bytes; b++)
            bytes[b] = (uint8_t)(words[b / 4] >> 8 * (b % 4));
        sluice_response_unpack(&response, bytes);
        if (result == 0 && response.kind)
            return -(int)response.status;
    }
    return result ? result : -ENODEV;
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

static int open_device(struct sluice_flow_device *device) {
    uint32_t kind = 0, status = 0;
    int result = read_word(device, SLUICE_OFU_REGISTERS_KIND, &kind);
    if (result == 0 && kind != SLUICE_ELEMENT_FLOW_TABLE)
        return sluice_fail(-ENODEV, "the window is of an element of kind %u, not of a flow table", kind);
    const struct {
        uint32_t address, *value;
    } facts[] = {{SLUICE_FLOW_REGISTERS_GROUPS, &device->groups},
                 {SLUICE_FLOW_REGISTERS_GROUP_ENTRIES, &device->group_entries},
                 {SLUICE_OFU_REGISTERS_ENTRIES + 4, &device->ternary_entries},
                 {SLUICE_OFU_REGISTERS_LATENCY, &device->latency}};
    for (unsigned i = 0; i < sizeof facts / sizeof *facts && result == 0; i++)
        result = read_word(device, facts[i].address, facts[i].value);
    for (unsigned i = 0; i < POLLS && result == 0 && !(status & STATUS_READY); i++)
        result = read_word(device, SLUICE_OFU_REGISTERS_STATUS, &status);
    if (result == 0)
        result = write_word(device, SLUICE_OFU_REGISTERS_CONTROL, 1);
    return result ? sluice_fail(result, "the flow table's window does not answer") : 0;
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
