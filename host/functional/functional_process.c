// SPDX-License-Identifier: Apache-2.0
// The process block of a stateful unit as software. Words of its memories are decoded when they are written; any bits
// have a result, as in the RTL. docs/design/stateful_process.md
#include "functional_stateful.h"

enum { VERSION_SHIFT = 10, WORD_BITS = 32, PHV_WORDS = SLUICE_PIPELINE_CONTAINERS / 2 };

_Static_assert(SLUICE_PROCESS_ENTRIES == 16, "a match word has one group of entries");
_Static_assert(SLUICE_PROCESS_INPUTS == SLUICE_PROCESS_OPERAND_BEFORE, "inputs are the first operands");
_Static_assert(SLUICE_UNIT_SOURCES == SLUICE_PROCESS_SOURCE_TICK, "sources of a unit are the first half words");
_Static_assert(SLUICE_PROCESS_OPERAND_BEFORE + SLUICE_PROCESS_WORDS == SLUICE_PROCESS_OPERAND_AFTER &&
                   SLUICE_PROCESS_OPERAND_AFTER + SLUICE_PROCESS_WORDS == SLUICE_PROCESS_OPERAND_OWN,
               "operands of the flow state have no gap");

// ---- Writes

// The bits of the bytes in `lanes`.
static uint32_t lane_mask(unsigned lanes) {
    return (lanes & 1 ? 0xffU : 0) | (lanes & 2 ? 0xff00U : 0) | (lanes & 4 ? 0xff0000U : 0) |
           (lanes & 8 ? 0xff000000U : 0);
}

// Only actions see the new flow state and the word that they write.
static struct process_operand operand_of(const struct sluice_process_operand *from, bool is_action) {
    struct process_operand operand = {.source = from->source, .mask = UINT32_MAX};
    if (from->source > SLUICE_PROCESS_OPERAND_OWN || (from->source == SLUICE_PROCESS_OPERAND_OWN && !is_action))
        operand.source = PROCESS_IMMEDIATE;
    if (from->source >= SLUICE_PROCESS_OPERAND_BEFORE && from->source < SLUICE_PROCESS_OPERAND_OWN) {
        operand.rotate = (uint8_t)(8 * from->rotate);
        operand.mask = lane_mask(from->lanes);
        if (from->source >= SLUICE_PROCESS_OPERAND_AFTER && !is_action)
            operand.source = (uint8_t)(from->source - SLUICE_PROCESS_WORDS);
    }
    return operand;
}

static struct process_instruction instruction_of(const struct sluice_process_instruction *from, bool is_action) {
    unsigned lanes = from->lanes;
    return (struct process_instruction){.a = operand_of(&from->a, is_action),
                                        .b = operand_of(&from->b, is_action),
                                        .immediate = from->immediate,
                                        .mask = lane_mask(lanes),
                                        .signs = lane_mask(lanes & ~(lanes >> 1)) & 0x80808080U,
                                        .ones = lane_mask(lanes & ~(lanes << 1)) & 0x01010101U,
                                        .kind = from->kind,
                                        .bits = from->bits};
}

static void write_input(struct process_input *input, const uint8_t *data) {
    struct sluice_process_input word;
    sluice_process_input_unpack(&word, data);
    const struct sluice_process_instruction instruction = {
        .immediate = word.immediate, .bits = word.bits, .lanes = word.lanes, .kind = word.kind};
    *input = (struct process_input){.instruction = instruction_of(&instruction, false),
                                    .source_mask = lane_mask(word.source_lanes),
                                    .source = word.source,
                                    .rotate = (uint8_t)(8 * word.rotate),
                                    .is_neighbour = word.neighbour};
}

static void write_condition(struct process_condition *condition, const uint8_t *data) {
    struct sluice_process_condition word;
    sluice_process_condition_unpack(&word, data);
    *condition = (struct process_condition){.a = operand_of(&word.a, false),
                                            .b = operand_of(&word.b, false),
                                            .immediate = word.immediate,
                                            .kind = word.kind};
}

static void write_action(struct process_action *action, unsigned alu, const uint8_t *data) {
    struct sluice_process_action word;
    sluice_process_action_unpack(&word, data);
    action->instruction = instruction_of(&word.instruction, true);
    action->word = (uint8_t)(alu + SLUICE_PROCESS_ACTIONS * word.row);
}

// Whether a memory has the address, but for the version in it.
static bool has_place(unsigned memory, uint32_t place) {
    switch (memory) {
    case SLUICE_PROCESS_MEMORY_INPUT:
        return place < SLUICE_PROCESS_INPUTS;
    case SLUICE_PROCESS_MEMORY_CONDITION:
        return place < SLUICE_PROCESS_CONDITIONS;
    case SLUICE_PROCESS_MEMORY_UPDATE:
        return place % 16 < SLUICE_PROCESS_UPDATES && place / 16 < SLUICE_PROCESS_WORDS;
    case SLUICE_PROCESS_MEMORY_ACTION:
        return place % 16 < SLUICE_PROCESS_ACTIONS && place / 16 < SLUICE_PROCESS_ENTRIES;
    default: // a group of 16 entries, or an entry
        return place < SLUICE_PROCESS_ENTRIES;
    }
}

static void store(struct process_program *program, uint32_t place, const struct sluice_process_write *write) {
    struct sluice_process_instruction update;
    switch (write->memory) {
    case SLUICE_PROCESS_MEMORY_INPUT:
        write_input(&program->inputs[place], write->data);
        break;
    case SLUICE_PROCESS_MEMORY_CONDITION:
        write_condition(&program->conditions[place], write->data);
        break;
    case SLUICE_PROCESS_MEMORY_UPDATE:
        sluice_process_instruction_unpack(&update, write->data);
        program->updates[place / 16][place % 16] = instruction_of(&update, false);
        break;
    case SLUICE_PROCESS_MEMORY_MATCH:
        for (unsigned n = 0; n < PROCESS_NIBBLES; n++)
            program->accepts[n][place] = (uint16_t)(write->data[2 * n] | write->data[2 * n + 1] << 8);
        break;
    case SLUICE_PROCESS_MEMORY_ENTRY:
        sluice_process_entry_unpack(&program->entries[place], write->data);
        break;
    case SLUICE_PROCESS_MEMORY_ACTION:
        write_action(&program->actions[place / 16][place % 16], place % 16, write->data);
        break;
    default: // SLUICE_PROCESS_MEMORY_DECISION
        sluice_process_decision_unpack(&program->decisions[place], write->data);
    }
}

bool functional_process_write(struct functional_process *process, const struct sluice_process_write *write) {
    uint32_t version = write->address >> VERSION_SHIFT, place = write->address % (1U << VERSION_SHIFT);
    if (write->memory == SLUICE_PROCESS_MEMORY_SHARED) {
        if (write->address >= 2 * SLUICE_PROCESS_SHARED_WORDS)
            return false;
        process->shared[write->address] = functional_long(write->data);
        return true;
    }
    if (!has_place(write->memory, place))
        return false;
    store(&process->programs[version], place, write);
    return true;
}

// ---- A packet

static uint32_t rotated(uint32_t word, unsigned bits) {
    return word >> bits | word << (WORD_BITS - bits) % WORD_BITS;
}

// What an instruction computes, in all lanes.
static uint32_t computed(const struct process_instruction *instruction, uint32_t a, uint32_t b) {
    uint64_t sum = (uint64_t)(a | ~instruction->mask) + b;
    bool is_less = a < b, is_less_signed = (a ^ instruction->signs) < (b ^ instruction->signs);
    switch (instruction->kind) {
    case SLUICE_KIND_SET:
        return b;
    case SLUICE_KIND_ADD:
        return a + b;
    case SLUICE_KIND_SUBTRACT:
        return a - b;
    case SLUICE_KIND_ADD_CLAMPED:
        return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    case SLUICE_KIND_SUBTRACT_CLAMPED:
        return is_less ? 0 : a - b;
    case SLUICE_KIND_AND:
        return a & b;
    case SLUICE_KIND_OR:
        return a | b;
    case SLUICE_KIND_XOR:
        return a ^ b;
    case SLUICE_KIND_AND_NOT:
        return a & ~b;
    case SLUICE_KIND_ROTATE:
        return rotated(a, instruction->bits) & b;
    case SLUICE_KIND_MINIMUM:
        return is_less ? a : b;
    case SLUICE_KIND_MAXIMUM:
        return is_less ? b : a;
    case SLUICE_KIND_MINIMUM_SIGNED:
        return is_less_signed ? a : b;
    case SLUICE_KIND_MAXIMUM_SIGNED:
        return is_less_signed ? b : a;
    case SLUICE_KIND_LESS:
        return is_less ? instruction->ones : 0;
    default: // SLUICE_KIND_LESS_SIGNED
        return is_less_signed ? instruction->ones : 0;
    }
}

static bool compared(unsigned kind, uint32_t a, uint32_t b) {
    const uint32_t sign = (uint32_t)1 << (WORD_BITS - 1);
    switch (kind) {
    case SLUICE_COMPARISON_EQUAL:
        return a == b;
    case SLUICE_COMPARISON_NOT_EQUAL:
        return a != b;
    case SLUICE_COMPARISON_LESS:
        return a < b;
    case SLUICE_COMPARISON_LESS_EQUAL:
        return a <= b;
    case SLUICE_COMPARISON_LESS_SIGNED:
        return (a ^ sign) < (b ^ sign);
    case SLUICE_COMPARISON_LESS_EQUAL_SIGNED:
        return (a ^ sign) <= (b ^ sign);
    case SLUICE_COMPARISON_BEFORE:
        return (a - b) & sign;
    default: // SLUICE_COMPARISON_ANY
        return a & b;
    }
}

static uint32_t operand(const struct process_operand *from, const uint32_t *operands) {
    return rotated(operands[from->source], from->rotate) & from->mask;
}

// `old` with the bytes that an instruction writes.
static uint32_t executed(const struct process_instruction *instruction, uint32_t *operands, uint32_t old) {
    operands[PROCESS_IMMEDIATE] = instruction->immediate;
    uint32_t result = computed(instruction, operand(&instruction->a, operands), operand(&instruction->b, operands));
    return (old & ~instruction->mask) | (result & instruction->mask);
}

// The half words of a packet by the number of their source.
static void read_sources(uint16_t halves[PROCESS_NOTHING + 1], const struct pipeline_packet *packet, uint32_t tick) {
    memset(halves, 0, (PROCESS_NOTHING + 1) * sizeof *halves);
    memcpy(halves, packet->sources, sizeof packet->sources);
    halves[SLUICE_PROCESS_SOURCE_TICK] = (uint16_t)(tick >> 16);
    halves[SLUICE_PROCESS_SOURCE_TICK + 1] = (uint16_t)tick;
}

static uint32_t source_of(const struct functional_process *process, const struct process_input *input,
                          const uint16_t *halves) {
    uint32_t word = 0, shared = input->source - SLUICE_PROCESS_SOURCE_SHARED;
    if (input->source < SLUICE_PROCESS_SOURCE_SHARED)
        word = (uint32_t)halves[input->source] << 16 | halves[input->source + 1];
    else if (shared < 4 * SLUICE_PROCESS_SHARED_WORDS)
        word = (uint32_t)(process->shared[shared / 2] >> (shared % 2 ? 0 : WORD_BITS));
    return rotated(word, input->rotate) & input->source_mask;
}

static void compute_inputs(const struct functional_process *process, const struct process_program *program,
                           const uint16_t *halves, uint32_t *operands) {
    uint32_t words[SLUICE_PROCESS_INPUTS];
    for (unsigned n = 0; n < SLUICE_PROCESS_INPUTS; n++)
        words[n] = source_of(process, &program->inputs[n], halves);
    for (unsigned n = 0; n < SLUICE_PROCESS_INPUTS; n++) {
        const struct process_instruction *instruction = &program->inputs[n].instruction;
        uint32_t neighbour = words[(n + SLUICE_PROCESS_INPUTS - 1) % SLUICE_PROCESS_INPUTS];
        uint32_t b = program->inputs[n].is_neighbour ? neighbour : instruction->immediate;
        operands[n] = computed(instruction, words[n], b) & instruction->mask;
    }
}

// The first entry that matches; the last one if none does.
static uint32_t entry_of(const struct process_program *program, uint32_t *operands) {
    uint32_t key = operands[SLUICE_PROCESS_OPERAND_BEFORE] >> SLUICE_PROCESS_LABEL_LOW << SLUICE_PROCESS_CONDITIONS;
    for (unsigned n = 0; n < SLUICE_PROCESS_CONDITIONS; n++) {
        const struct process_condition *condition = &program->conditions[n];
        operands[PROCESS_IMMEDIATE] = condition->immediate;
        uint32_t a = operand(&condition->a, operands), b = operand(&condition->b, operands);
        key |= (uint32_t)compared(condition->kind, a, b) << n;
    }
    uint32_t entries = (1U << SLUICE_PROCESS_ENTRIES) - 1;
    for (unsigned n = 0; n < PROCESS_NIBBLES; n++)
        entries &= program->accepts[n][key >> PIPELINE_NIBBLE * n & 15];
    return (uint32_t)__builtin_ctz(entries | 1U << (SLUICE_PROCESS_ENTRIES - 1));
}

static void update(const struct process_program *program, const struct sluice_process_entry *entry,
                   uint32_t *operands) {
    const uint32_t *before = operands + SLUICE_PROCESS_OPERAND_BEFORE;
    uint32_t *after = operands + SLUICE_PROCESS_OPERAND_AFTER;
    for (unsigned word = 0; word < SLUICE_PROCESS_WORDS; word++) {
        unsigned choice = entry->updates[word] % (SLUICE_PROCESS_UPDATES + 1);
        after[word] = choice ? executed(&program->updates[word][choice - 1], operands, before[word]) : before[word];
    }
    if (entry->sets_label)
        after[0] = (after[0] & ((1U << SLUICE_PROCESS_LABEL_LOW) - 1)) | (uint32_t)entry->label
                                                                             << SLUICE_PROCESS_LABEL_LOW;
}

// Actions of an entry write different words, so none sees what another wrote.
static void act(const struct process_action *actions, uint32_t *operands, uint16_t *containers) {
    for (unsigned alu = 0; alu < SLUICE_PROCESS_ACTIONS; alu++) {
        if (actions[alu].word >= PHV_WORDS)
            continue;
        uint16_t *pair = &containers[2 * actions[alu].word];
        uint32_t own = (uint32_t)pair[0] << 16 | pair[1];
        operands[SLUICE_PROCESS_OPERAND_OWN] = own;
        uint32_t result = executed(&actions[alu].instruction, operands, own);
        pair[0] = (uint16_t)(result >> 16);
        pair[1] = (uint16_t)result;
    }
}

uint32_t functional_process_run(const struct functional_process *process, struct pipeline_packet *packet, uint32_t tick,
                                uint32_t flow[SLUICE_PROCESS_WORDS]) {
    const struct process_program *program = &process->programs[packet->version];
    uint16_t halves[PROCESS_NOTHING + 1];
    uint32_t operands[PROCESS_OPERANDS] = {0};
    read_sources(halves, packet, tick);
    compute_inputs(process, program, halves, operands);
    memcpy(operands + SLUICE_PROCESS_OPERAND_BEFORE, flow, SLUICE_PROCESS_WORDS * sizeof *flow);
    uint32_t entry = entry_of(program, operands);
    update(program, &program->entries[entry], operands);
    act(program->actions[entry], operands, packet->sources);
    memcpy(flow, operands + SLUICE_PROCESS_OPERAND_AFTER, SLUICE_PROCESS_WORDS * sizeof *flow);
    functional_decide(packet, &program->decisions[entry]);
    return entry;
}
