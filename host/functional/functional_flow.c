// SPDX-License-Identifier: Apache-2.0
// elements/flow_table as software: the register window (rtl/ctrl/sl_rule_registers.sv, sl_rule_fsm.sv,
// sl_flow_registers.sv) in front of flow_model.c, the key of a packet (rtl/packet/sl_flow_link.sv,
// rtl/match/sl_flow_key.sv) and the action set of the rule that it finds. An instruction is executed when it is pushed,
// unless responses are in the way; then it waits, and a push into a full FIFO is an error, as in hardware.
#include <errno.h>
#include <stdlib.h>

#include "functional.h"

enum { INSTRUCTIONS = 16, RESPONSES = 32, EDITS = 256, TABLES = 2, RULE_ID = 0x3fffffff };
enum { LLC_SNAP = 0xaaaa, LLC_UNNUMBERED = 0x0300 }; // both access points; control, and the first byte behind it

struct functional_flow {
    struct functional_size size;
    struct sluice_flow_model *model;
    struct sluice_flow_table table; // the model's
    struct functional_window window;
    uint8_t operands[SLUICE_FLOW_OPERANDS][SLUICE_FLOW_OPERAND_BYTES];
    uint8_t queue[INSTRUCTIONS][SLUICE_INSTRUCTION_BYTES];
    uint32_t queue_first, queue_count;
    uint8_t responses[RESPONSES][SLUICE_RESPONSE_BYTES];
    uint32_t response_first, response_count, response_high;
    bool is_response_latched;
    uint8_t edits[EDITS][SLUICE_EDIT_DATA_BYTES];
    struct functional_fence fence;
    uint64_t *mirror; // in host memory; NULL: none
    uint32_t ternary_record;
};

// The word of a table.
#define USED(table_id) (SLUICE_OFU_REGISTERS_USED + 4U * (table_id))

static uint32_t get(const struct functional_flow *flow, uint32_t offset) {
    return functional_window_get(&flow->window, offset);
}

static void set(struct functional_flow *flow, uint32_t offset, uint32_t value) {
    functional_window_set(&flow->window, offset, value);
}

// ---- Instructions

static uint32_t entries_of(const struct functional_flow *flow, unsigned table_id) {
    return table_id == SLUICE_TABLE_HASHED ? flow->size.groups * flow->size.group_entries : flow->size.ternary_entries;
}

static void read_operation(const struct functional_flow *flow, const struct sluice_instruction *from,
                           struct sluice_flow_operation *op) {
    struct sluice_flow_target target;
    sluice_flow_target_unpack(&target, from->value);
    const uint8_t *operand = flow->operands[target.operand % SLUICE_FLOW_OPERANDS];
    op->kind = from->kind;
    op->table_id = from->table_id;
    op->group = target.group;
    op->rule_priority = from->rule_priority;
    op->rule_id = from->rule_id;
    op->actions = from->actions;
    // flow_operand_t: the value in the lower half, the mask in the upper.
    sluice_flow_words(op->value, operand);
    sluice_flow_words(op->mask, operand + SLUICE_FLOW_OPERAND_BYTES / 2);
}

// ---- Counters in host memory

// Where the records of TABLE_TERNARY begin: as in elements/flow_table, from a multiple of its power of two on.
static uint32_t first_ternary(const struct functional_flow *flow) {
    uint32_t span = 1, hashed = entries_of(flow, SLUICE_TABLE_HASHED);
    while (span < flow->size.ternary_entries)
        span *= 2;
    return (hashed + span - 1) / span * span;
}

uint32_t functional_flow_records(const struct functional_flow *flow) {
    return flow->size.push ? flow->ternary_record + flow->size.ternary_entries : 0;
}

void functional_flow_mirror(struct functional_flow *flow, uint64_t *memory) {
    flow->mirror = memory;
}

// What a rule has counted, at once.
static void push_counters(struct functional_flow *flow, uint8_t table_id, uint32_t rule_id) {
    struct sluice_rule_counters counters;
    if (!get(flow, SLUICE_FLOW_REGISTERS_PUSH_CONTROL) || !flow->mirror)
        return;
    flow->table.counters(flow->table.context, table_id, rule_id, &counters);
    sluice_mirror_write(flow->mirror, (table_id == SLUICE_TABLE_TERNARY ? flow->ternary_record : 0) + rule_id,
                        &counters);
}

// The status of an instruction: sl_rule_fsm first, then the table.
static int execute(struct functional_flow *flow, const struct sluice_instruction *from) {
    struct sluice_flow_operation op;
    unsigned table_id = from->table_id;
    if (table_id >= TABLES || from->kind < SLUICE_INSTRUCTION_INITIALIZE || from->kind > SLUICE_INSTRUCTION_UPDATE)
        return SLUICE_STATUS_EINVAL;
    if (from->kind != SLUICE_INSTRUCTION_INITIALIZE) {
        if (from->rule_id >= entries_of(flow, table_id))
            return SLUICE_STATUS_EINVAL;
        bool is_used = sluice_flow_model_has(flow->model, from->table_id, from->rule_id);
        if (is_used != (from->kind != SLUICE_INSTRUCTION_POPULATE))
            return is_used ? SLUICE_STATUS_EEXIST : SLUICE_STATUS_ENOENT;
    }
    read_operation(flow, from, &op);
    int status = -flow->table.execute(flow->table.context, &op);
    if (status)
        return status;
    if (from->kind == SLUICE_INSTRUCTION_INITIALIZE)
        set(flow, USED(table_id), 0);
    if (from->kind == SLUICE_INSTRUCTION_POPULATE) {
        push_counters(flow, from->table_id, from->rule_id);
        set(flow, USED(table_id), get(flow, USED(table_id)) + 1);
    }
    if (from->kind == SLUICE_INSTRUCTION_DELETE)
        set(flow, USED(table_id), get(flow, USED(table_id)) - 1);
    return 0;
}

// There is room for the answer.
static void run_instruction(struct functional_flow *flow, const uint8_t *bytes) {
    struct sluice_instruction instruction;
    sluice_instruction_unpack(&instruction, bytes);
    const struct sluice_response response = {
        .rule_id = instruction.rule_id, .status = (uint8_t)execute(flow, &instruction), .kind = instruction.kind};
    sluice_response_pack(&response, flow->responses[(flow->response_first + flow->response_count++) % RESPONSES]);
}

// What is in the instruction FIFO, as long as responses have room.
static void run_instructions(struct functional_flow *flow) {
    while (flow->queue_count && flow->response_count < RESPONSES) {
        run_instruction(flow, flow->queue[flow->queue_first]);
        flow->queue_first = (flow->queue_first + 1) % INSTRUCTIONS;
        flow->queue_count--;
    }
}

static int push(struct functional_flow *flow) {
    const uint8_t *instruction = flow->window.bytes + SLUICE_OFU_REGISTERS_INSTRUCTION;
    if (flow->queue_count == INSTRUCTIONS)
        return -EFAULT;
    if (flow->response_count < RESPONSES) { // then none waits
        run_instruction(flow, instruction);
        return 0;
    }
    memcpy(flow->queue[(flow->queue_first + flow->queue_count++) % INSTRUCTIONS], instruction,
           SLUICE_INSTRUCTION_BYTES);
    return 0;
}

// Word 0 latches the oldest response, word 1 removes it.
static uint32_t read_response(struct functional_flow *flow, unsigned word) {
    const uint8_t *response = flow->responses[flow->response_first];
    if (word == 0) {
        flow->is_response_latched = flow->response_count > 0;
        flow->response_high = flow->is_response_latched ? functional_word(response + 4) : 0;
        return flow->is_response_latched ? functional_word(response) : 0;
    }
    if (flow->is_response_latched) {
        flow->response_first = (flow->response_first + 1) % RESPONSES;
        flow->response_count--;
        flow->is_response_latched = false;
        run_instructions(flow);
    }
    return flow->response_high;
}

// ---- Window

int functional_flow_read(struct functional_flow *flow, uint32_t offset, uint32_t *value) {
    uint32_t response = offset - SLUICE_OFU_REGISTERS_RESPONSE;
    if (response < SLUICE_RESPONSE_BYTES) { // first: most reads are of these
        *value = read_response(flow, response / 4);
        return 0;
    }
    if (offset == SLUICE_OFU_REGISTERS_STATUS) // ready
        set(flow, offset, 1U | (INSTRUCTIONS - flow->queue_count) << 8 | flow->response_count << 16);
    if (offset == SLUICE_FLOW_REGISTERS_GROUP_USED)
        set(flow, offset, sluice_flow_model_group_used(flow->model, get(flow, SLUICE_FLOW_REGISTERS_GROUP_INDEX)));
    return functional_window_read(&flow->window, offset, value);
}

// Whether a register cannot hold a value.
static bool is_refused(const struct functional_flow *flow, uint32_t offset, uint32_t value) {
    switch (offset) {
    case SLUICE_OFU_REGISTERS_EDIT_INDEX:
        return value >= EDITS;
    case SLUICE_OFU_REGISTERS_COUNTER_INDEX:
        return value >> 30 >= TABLES || (value & RULE_ID) >= entries_of(flow, value >> 30);
    case SLUICE_FLOW_REGISTERS_OPERAND_INDEX:
        return value >= SLUICE_FLOW_OPERANDS;
    case SLUICE_FLOW_REGISTERS_GROUP_INDEX:
        return value >= flow->size.groups;
    case SLUICE_FLOW_REGISTERS_FENCE_BOUND:
        return value > INT32_MAX;
    case SLUICE_FLOW_REGISTERS_PUSH_CONTROL:
    case SLUICE_FLOW_REGISTERS_PUSH_PERIOD:
        return !flow->size.push;
    default:
        return false;
    }
}

static void read_counters(struct functional_flow *flow, uint32_t index) {
    struct sluice_rule_counters counters;
    flow->table.counters(flow->table.context, (uint8_t)(index >> 30), index & RULE_ID, &counters);
    sluice_rule_counters_pack(&counters, flow->window.bytes + SLUICE_OFU_REGISTERS_COUNTER_DATA);
}

// A deletion that is answered at once, by the access itself.
static int remove_rule(struct functional_flow *flow, uint32_t index) {
    struct sluice_flow_operation op; // a deletion reads no more of it, and all of it is large
    op.kind = SLUICE_INSTRUCTION_DELETE;
    op.table_id = (uint8_t)(index >> 30);
    op.rule_id = index & RULE_ID;
    if (flow->queue_count || flow->response_count || flow->table.execute(flow->table.context, &op))
        return -EFAULT;
    set(flow, USED(op.table_id), get(flow, USED(op.table_id)) - 1);
    return 0;
}

int functional_flow_write(struct functional_flow *flow, uint32_t offset, uint32_t value) {
    uint32_t operand = offset - SLUICE_FLOW_REGISTERS_OPERAND, done = offset - SLUICE_FLOW_REGISTERS_FENCE_DONE;
    if (is_refused(flow, offset, value) || functional_window_write(&flow->window, offset, value))
        return -EFAULT;
    if (operand < SLUICE_FLOW_OPERAND_BYTES)
        functional_put_word(flow->operands[get(flow, SLUICE_FLOW_REGISTERS_OPERAND_INDEX)] + operand, value);
    if (done < 4 * SLUICE_FLOW_REGISTERS_FENCE_DONE_COUNT)
        functional_fence_done(&flow->fence, done / 4, value);
    switch (offset) {
    case SLUICE_OFU_REGISTERS_REMOVE:
        return remove_rule(flow, value);
    case SLUICE_OFU_REGISTERS_PUSH:
        return push(flow);
    case SLUICE_OFU_REGISTERS_EDIT_DATA + SLUICE_EDIT_DATA_BYTES - 4:
        memcpy(flow->edits[get(flow, SLUICE_OFU_REGISTERS_EDIT_INDEX)],
               flow->window.bytes + SLUICE_OFU_REGISTERS_EDIT_DATA, SLUICE_EDIT_DATA_BYTES);
        return 0;
    case SLUICE_OFU_REGISTERS_COUNTER_INDEX:
        read_counters(flow, value);
        return 0;
    default:
        return 0;
    }
}

// ---- Packets

// Behind the end of a packet bytes read 0, as in a flit.
static uint16_t be16(const uint8_t *packet, uint32_t size, uint32_t at) {
    unsigned high = at < size ? packet[at] : 0, low = at + 1 < size ? packet[at + 1] : 0;
    return (uint16_t)(high << 8 | low);
}

// 802.2 SNAP with an EtherType inside, behind one tag at most.
static bool is_snap(const uint8_t *packet, uint32_t size) {
    uint32_t at = sluice_is_tag(be16(packet, size, 12)) ? 18 : 14;
    return be16(packet, size, at - 2) < SLUICE_ETHERTYPE_LEAST && be16(packet, size, at) == LLC_SNAP &&
           be16(packet, size, at + 2) == LLC_UNNUMBERED && be16(packet, size, at + 4) == 0 &&
           be16(packet, size, at + 6) >= SLUICE_ETHERTYPE_LEAST;
}

static uint8_t fragment_of(uint16_t fragment) {
    if (fragment >> 3 & 0x3ff)
        return SLUICE_FRAGMENT_LATER;
    if (fragment & 7)
        return SLUICE_FRAGMENT_EARLY;
    return fragment >> 13 & 1 ? SLUICE_FRAGMENT_FIRST : SLUICE_FRAGMENT_WHOLE;
}

static bool is_usable(const uint8_t *packet, uint32_t size, const struct sluice_phv_record *record) {
    return !record->fault && !record->info.outer_length && !is_snap(packet, size);
}

static void make_key(const uint8_t *packet, uint32_t size, const struct sluice_phv_record *record, uint8_t *bytes) {
    const struct sluice_phv *phv = &record->phv;
    struct sluice_flow_key key = {.ingress_port = record->ingress_port,
                                  .eth_dst = phv->eth_dst,
                                  .eth_src = phv->eth_src,
                                  .eth_type = phv->eth_type,
                                  .has_vlan = record->info.tags != 0};
    if (key.has_vlan) {
        key.vlan_tpid = be16(packet, size, 12);
        key.vlan_tci = phv->vlan0_tci;
    }
    if (record->info.tags == 2) { // nothing behind the second is read
        key.eth_type = be16(packet, size, 16);
    } else {
        memcpy(key.ip_src, phv->ip_src, sizeof key.ip_src);
        memcpy(key.ip_dst, phv->ip_dst, sizeof key.ip_dst);
        key.ip_protocol = phv->ip_protocol;
        key.ip_tos = phv->ip_tos;
        key.ip_ttl = phv->ip_ttl;
        key.l4_src = phv->l4_src;
        key.l4_dst = phv->l4_dst;
        key.tcp_flags = phv->tcp_flags;
        key.l4_kind = record->info.l4_kind;
        key.fragment = fragment_of(phv->ip_fragment);
    }
    sluice_flow_key_pack(&key, bytes);
}

bool functional_flow_key(const uint8_t *packet, uint32_t size, const struct sluice_phv_record *record, uint8_t *key) {
    bool usable = is_usable(packet, size, record);
    if (usable)
        make_key(packet, size, record, key);
    return usable;
}

static bool is_to_host(const struct sluice_action_set *actions) {
    bool found = false;
    for (unsigned i = 0; i < SLUICE_ACTION_SLOTS; i++) {
        const struct sluice_action *one = &actions->slots[i];
        found |= one->opcode == SLUICE_ACTION_TO_HOST || one->opcode == SLUICE_ACTION_TO_CONTROLLER ||
                 (one->opcode == SLUICE_ACTION_OUTPUT && (one->operand & 0xff) == SLUICE_HOST_PORT) ||
                 (one->opcode == SLUICE_ACTION_REPLICATE && (one->operand >> SLUICE_HOST_PORT & 1));
    }
    return found;
}

void functional_flow_run(struct functional_flow *flow, const struct functional_packet *packet, uint32_t tick,
                         struct sluice_phv_record *record) {
    uint8_t key[SLUICE_FLOW_KEY_BYTES];
    struct sluice_flow_found found;
    record->eligible = is_usable(packet->bytes, packet->size, record);
    bool is_enabled = get(flow, SLUICE_OFU_REGISTERS_CONTROL);
    if (!get(flow, SLUICE_FLOW_REGISTERS_FENCE_CONTROL) && (!record->eligible || !is_enabled))
        return;
    make_key(packet->bytes, packet->size, record, key);
    bool hit = record->eligible && is_enabled && sluice_flow_model_look(flow->model, key, &found);
    if (!functional_fence_passes(&flow->fence, key, record->ingress_port, packet->ingress_cycle, hit,
                                 hit && is_to_host(&found.actions)))
        return;
    sluice_flow_model_count(flow->model, &found, record->length, tick);
    push_counters(flow, found.table_id, found.rule_id);
    record->hits |= 1U << SLUICE_TABLE_FLOW;
    sluice_actions_execute(record, &found.actions, (const uint8_t(*)[SLUICE_EDIT_DATA_BYTES])flow->edits, EDITS);
}

// ---- Life

void functional_flow_reset(struct functional_flow *flow) {
    for (uint8_t table_id = 0; table_id < TABLES; table_id++) {
        struct sluice_flow_operation op = {.kind = SLUICE_INSTRUCTION_INITIALIZE, .table_id = table_id};
        flow->table.execute(flow->table.context, &op);
        set(flow, USED(table_id), 0);
    }
    flow->is_response_latched = false;
    flow->queue_count = flow->response_count = 0;
    functional_window_reset(&flow->window);
    functional_fence_reset(&flow->fence, &flow->window);
}

// What the host reads of the element's sizes.
static void describe(struct functional_flow *flow) {
    FUNCTIONAL_WINDOW_ADD(&flow->window, sluice_ofu_registers);
    FUNCTIONAL_WINDOW_ADD(&flow->window, sluice_flow_registers);
    set(flow, SLUICE_OFU_REGISTERS_KIND, SLUICE_ELEMENT_FLOW_TABLE);
    for (unsigned table_id = 0; table_id < TABLES; table_id++) {
        set(flow, SLUICE_OFU_REGISTERS_ENTRIES + 4 * table_id, entries_of(flow, table_id));
        set(flow, SLUICE_OFU_REGISTERS_KEY_BITS + 4 * table_id, SLUICE_FLOW_KEY_BITS);
    }
    set(flow, SLUICE_FLOW_REGISTERS_GROUPS, flow->size.groups);
    set(flow, SLUICE_FLOW_REGISTERS_GROUP_ENTRIES, flow->size.group_entries);
    set(flow, SLUICE_FLOW_REGISTERS_PUSH_RECORDS, functional_flow_records(flow));
    set(flow, SLUICE_FLOW_REGISTERS_PUSH_TERNARY, flow->ternary_record);
}

struct functional_flow *functional_flow_new(const struct functional_size *size) {
    struct functional_flow *flow = calloc(1, sizeof *flow);
    if (!flow)
        return NULL;
    flow->size = *size;
    flow->model = sluice_flow_model_new(size->groups, size->group_entries, size->group_entries, size->ternary_entries);
    if (!flow->model) {
        free(flow);
        return NULL;
    }
    sluice_flow_model_table(flow->model, &flow->table);
    flow->ternary_record = first_ternary(flow);
    describe(flow);
    functional_fence_reset(&flow->fence, &flow->window);
    return flow;
}

void functional_flow_free(struct functional_flow *flow) {
    if (!flow)
        return;
    sluice_flow_model_free(flow->model);
    free(flow);
}
