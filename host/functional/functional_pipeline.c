// SPDX-License-Identifier: Apache-2.0
// The element pipeline as software: its window (rtl/pipeline/sl_pipeline_registers.sv) and the way of a packet through
// parser, units and deparser (elements/pipeline/el_pipeline.sv). A packet has all its passes at once, so none is ever
// in flight: a new version applies to the very next packet.
#include "functional_stateful.h"

#include <errno.h>
#include <stdlib.h>

struct functional_pipeline {
    uint32_t units;
    struct functional_window window;
    struct sluice_parser_start starts[PIPELINE_VERSIONS];
    struct pipeline_stage stages[SLUICE_PARSER_STAGES];
    struct pipeline_checksum checksums[SLUICE_DEPARSER_CHECKSUMS];
    struct pipeline_writer writers[SLUICE_DEPARSER_WRITERS];
    struct sluice_splice_row splices[PIPELINE_SPLICES];
    struct functional_hash hash;
    struct functional_stateful *stateful[PIPELINE_UNITS]; // NULL: the unit is not one
    struct pipeline_unit unit[];
};

static void count(struct functional_pipeline *pipeline, uint32_t offset) {
    functional_window_set(&pipeline->window, offset, functional_window_get(&pipeline->window, offset) + 1);
}

// ---- Window

static struct functional_stateful *stateful_at(const struct functional_pipeline *pipeline, uint32_t unit) {
    return unit < pipeline->units ? pipeline->stateful[unit] : NULL;
}

// Whether a memory has the address; of a stateful unit it says so itself.
static bool has_place(const struct functional_pipeline *pipeline, unsigned memory, const struct pipeline_write *write) {
    uint32_t unit = write->unit, place = write->address;
    uint32_t slot = place % UNIT_EXACT_WAY;
    switch (memory) {
    case SLUICE_PARSER_MEMORY_MATCH:
        return unit < SLUICE_PARSER_STAGES && place < 4 * SLUICE_PARSER_ENTRIES;
    case SLUICE_PARSER_MEMORY_STEP:
        return unit < SLUICE_PARSER_STAGES && place < SLUICE_PARSER_ENTRIES;
    case SLUICE_PARSER_MEMORY_START:
        return place < PIPELINE_VERSIONS;
    case SLUICE_DEPARSER_MEMORY_ROW:
        return unit < SLUICE_DEPARSER_WRITERS && place < PIPELINE_ROWS;
    case SLUICE_DEPARSER_MEMORY_BASE:
        return unit < SLUICE_DEPARSER_WRITERS && place < PIPELINE_VERSIONS;
    case SLUICE_DEPARSER_MEMORY_CHECKSUM_ROW:
        return unit < SLUICE_DEPARSER_CHECKSUMS && place < PIPELINE_ROWS;
    case SLUICE_DEPARSER_MEMORY_CHECKSUM_BASE:
        return unit < SLUICE_DEPARSER_CHECKSUMS && place < PIPELINE_VERSIONS;
    case SLUICE_DEPARSER_MEMORY_SPLICE:
        return place < PIPELINE_SPLICES;
    case SLUICE_UNIT_MEMORY_SELECTOR:
        return unit < pipeline->units && place < PIPELINE_VERSIONS;
    case SLUICE_UNIT_MEMORY_EXACT:
        return unit < pipeline->units && slot < UNIT_SLOTS;
    case SLUICE_UNIT_MEMORY_TERNARY:
        return unit < pipeline->units && place < 4 * SLUICE_PIPELINE_TERNARY_ENTRIES;
    case SLUICE_UNIT_MEMORY_ACTION:
        return unit < pipeline->units && place < UNIT_ACTIONS;
    default:
        return false;
    }
}

static bool is_of_unit(unsigned memory) {
    return memory == SLUICE_UNIT_MEMORY_SELECTOR || memory == SLUICE_UNIT_MEMORY_EXACT ||
           memory == SLUICE_UNIT_MEMORY_TERNARY || memory == SLUICE_UNIT_MEMORY_ACTION ||
           memory == SLUICE_UNIT_MEMORY_PROCESS || memory == SLUICE_UNIT_MEMORY_FLOWS;
}

static void store(struct functional_pipeline *pipeline, unsigned memory, const struct pipeline_write *write) {
    switch (memory) {
    case SLUICE_PARSER_MEMORY_MATCH:
    case SLUICE_PARSER_MEMORY_STEP:
        functional_stage_write(&pipeline->stages[write->unit], memory, write);
        break;
    case SLUICE_PARSER_MEMORY_START:
        sluice_parser_start_unpack(&pipeline->starts[write->address], write->data);
        break;
    case SLUICE_DEPARSER_MEMORY_ROW:
    case SLUICE_DEPARSER_MEMORY_BASE:
        functional_writer_write(&pipeline->writers[write->unit], memory, write);
        break;
    case SLUICE_DEPARSER_MEMORY_CHECKSUM_ROW:
    case SLUICE_DEPARSER_MEMORY_CHECKSUM_BASE:
        functional_checksum_write(&pipeline->checksums[write->unit], memory, write);
        break;
    case SLUICE_DEPARSER_MEMORY_SPLICE:
        sluice_splice_row_unpack(&pipeline->splices[write->address], write->data);
        break;
    default:
        functional_unit_write(&pipeline->unit[write->unit], memory, write);
    }
}

// `place` is as its register says.
static int write_place(struct functional_pipeline *pipeline, uint32_t place) {
    const struct pipeline_write write = {.data = pipeline->window.bytes + SLUICE_PIPELINE_REGISTERS_DATA,
                                         .unit = place >> 16 & 15,
                                         .address = place & UINT16_MAX};
    unsigned memory = place >> 20;
    struct functional_stateful *stateful = stateful_at(pipeline, write.unit);
    if (stateful && is_of_unit(memory))
        return functional_stateful_write(stateful, memory, &write) ? 0 : -EFAULT;
    if (!has_place(pipeline, memory, &write))
        return -EFAULT;
    store(pipeline, memory, &write);
    return 0;
}

// `index` is as its register says.
static int read_counters(struct functional_pipeline *pipeline, uint32_t index) {
    const struct pipeline_write action = {.unit = index >> 16 & 15, .address = index & UINT16_MAX};
    if (index >> 20 || stateful_at(pipeline, action.unit) || !has_place(pipeline, SLUICE_UNIT_MEMORY_ACTION, &action))
        return -EFAULT;
    sluice_rule_counters_pack(&pipeline->unit[action.unit].counters[action.address],
                              pipeline->window.bytes + SLUICE_PIPELINE_REGISTERS_COUNTER_DATA);
    return 0;
}

int functional_pipeline_read(const struct functional_pipeline *pipeline, uint32_t offset, uint32_t *value) {
    return functional_window_read(&pipeline->window, offset, value);
}

int functional_pipeline_write(struct functional_pipeline *pipeline, uint32_t offset, uint32_t value) {
    if (offset == SLUICE_PIPELINE_REGISTERS_COUNTER_INDEX && read_counters(pipeline, value))
        return -EFAULT;
    if (functional_window_write(&pipeline->window, offset, value))
        return -EFAULT;
    return offset == SLUICE_PIPELINE_REGISTERS_PLACE ? write_place(pipeline, value) : 0;
}

// ---- A packet

// A lookup of a unit, by its action.
static void count_lookup(struct functional_pipeline *pipeline, uint32_t unit, uint32_t action, uint32_t size,
                         uint32_t tick) {
    struct sluice_rule_counters *counters = &pipeline->unit[unit].counters[action];
    count(pipeline, SLUICE_PIPELINE_REGISTERS_LOOKED_UP + 4 * unit);
    if (action < UNIT_ENTRIES)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_MATCHED + 4 * unit);
    counters->packets++;
    counters->bytes += size;
    counters->last_hit = tick;
}

static void run_stateful(struct functional_pipeline *pipeline, uint32_t unit, struct pipeline_packet *packet,
                         uint32_t tick) {
    struct functional_placement placement = functional_stateful_run(pipeline->stateful[unit], packet, tick);
    uint32_t at = 4 * unit;
    count(pipeline, SLUICE_PIPELINE_REGISTERS_LOOKED_UP + at);
    if (placement.is_found)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_MATCHED + at);
    if (placement.is_new)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_FLOWS_NEW + at);
    if (placement.is_evicted)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_FLOWS_EVICTED + at);
    if (placement.is_expired)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_FLOWS_EXPIRED + at);
    if (!placement.is_found && !placement.is_new)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_FLOWS_ABSENT + at);
}

static void run_unit(struct functional_pipeline *pipeline, uint32_t unit, struct pipeline_packet *packet,
                     uint32_t tick) {
    if (pipeline->stateful[unit])
        run_stateful(pipeline, unit, packet, tick);
    else
        count_lookup(pipeline, unit, functional_unit_run(&pipeline->unit[unit], &pipeline->hash, packet), packet->size,
                     tick);
}

static void run_row(struct functional_pipeline *pipeline, struct pipeline_packet *packet, uint32_t tick) {
    functional_parse(pipeline->stages, &pipeline->starts[packet->version], packet);
    if (packet->fault)
        return;
    memcpy(packet->original, packet->sources, sizeof packet->original);
    for (uint8_t number = 0; number < pipeline->units; number++)
        if (packet->next == number)
            run_unit(pipeline, number, packet, tick);
    functional_checksums_repair(pipeline->checksums, packet);
}

// Where the next pass begins that the packet may have; 0: nowhere.
static uint8_t next_pass(struct functional_pipeline *pipeline, const struct functional_pass *pass,
                         const struct pipeline_packet *packet, uint32_t size) {
    bool may_pass = packet->again > pass->begins && packet->again < pipeline->units && size <= pass->longest;
    if (may_pass)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_PASSES);
    else if (packet->again)
        count(pipeline, SLUICE_PIPELINE_REGISTERS_PASSES_REFUSED);
    return may_pass ? packet->again : 0;
}

// Whether the packet leaves. One that will enter once more is not counted as dropped.
static bool decide(struct functional_pipeline *pipeline, const struct pipeline_packet *packet, bool ends,
                   struct sluice_buffer_meta *meta, struct sluice_graph_counters *counters) {
    bool is_undecided = packet->fault || packet->verdict == SLUICE_VERDICT_PASS;
    meta->verdict = is_undecided ? SLUICE_VERDICT_TO_HOST : packet->verdict;
    meta->egress_mask = packet->egress_mask;
    meta->queue = packet->queue;
    meta->fault = packet->fault;
    meta->mark = (uint32_t)packet->sources[SLUICE_PIPELINE_MARK] << 16 | packet->sources[SLUICE_PIPELINE_MARK + 1];
    if (packet->fault) {
        count(pipeline, SLUICE_PIPELINE_REGISTERS_FAULTS);
        counters->faults++;
    }
    bool is_forwarded = meta->verdict == SLUICE_VERDICT_FORWARD, is_nowhere = is_forwarded && !meta->egress_mask;
    bool is_dropped = meta->verdict == SLUICE_VERDICT_DROP || is_nowhere;
    if (is_dropped && ends) {
        count(pipeline, SLUICE_PIPELINE_REGISTERS_DROPPED);
        counters->drop_rule += !is_nowhere;
        counters->drop_no_port += is_nowhere;
    }
    counters->forwarded_packets += is_forwarded && !is_nowhere;
    counters->to_host_packets +=
        meta->verdict == SLUICE_VERDICT_TO_HOST || meta->verdict == SLUICE_VERDICT_TO_CONTROLLER;
    return !is_dropped;
}

bool functional_pipeline_run(struct functional_pipeline *pipeline, struct functional_pass *pass, uint32_t tick,
                             struct sluice_buffer_meta *meta, struct sluice_graph_counters *counters, uint8_t *out) {
    struct pipeline_packet packet = {
        .bytes = pass->bytes,
        .size = pass->size,
        .reach = pass->size < SLUICE_WINDOW_BYTES ? pass->size : SLUICE_WINDOW_BYTES,
        .next = pass->begins,
        .version = (uint8_t)functional_window_get(&pipeline->window, SLUICE_PIPELINE_REGISTERS_VERSION)};
    packet.sources[SLUICE_SOURCE_PORT] = meta->ingress_port;
    packet.sources[SLUICE_PIPELINE_MARK] = (uint16_t)(pass->mark >> 16);
    packet.sources[SLUICE_PIPELINE_MARK + 1] = (uint16_t)pass->mark;
    run_row(pipeline, &packet, tick);
    uint32_t size = pass->size;
    if (packet.fault) {
        memcpy(out, pass->bytes, size);
    } else {
        functional_headers_write(pipeline->writers, &packet, out);
        size = functional_splice(pipeline->splices, &packet, out);
    }
    uint8_t begins = next_pass(pipeline, pass, &packet, size);
    bool is_leaving = decide(pipeline, &packet, begins == 0, meta, counters);
    *pass = (struct functional_pass){out, size, pass->longest, meta->mark, begins};
    return is_leaving;
}

// ---- Life

// Counters of each unit in the window.
static const uint32_t unit_counters[] = {
    SLUICE_PIPELINE_REGISTERS_LOOKED_UP,     SLUICE_PIPELINE_REGISTERS_MATCHED,
    SLUICE_PIPELINE_REGISTERS_FLOWS_NEW,     SLUICE_PIPELINE_REGISTERS_FLOWS_EVICTED,
    SLUICE_PIPELINE_REGISTERS_FLOWS_EXPIRED, SLUICE_PIPELINE_REGISTERS_FLOWS_ABSENT};

static void reset_counters(struct functional_pipeline *pipeline) {
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_DROPPED, 0);
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_FAULTS, 0);
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_PASSES, 0);
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_PASSES_REFUSED, 0);
    for (unsigned i = 0; i < sizeof unit_counters / sizeof *unit_counters; i++)
        for (uint32_t number = 0; number < SLUICE_PIPELINE_REGISTERS_LOOKED_UP_COUNT; number++)
            functional_window_set(&pipeline->window, unit_counters[i] + 4 * number, 0);
    for (uint32_t word = 0; word < SLUICE_PIPELINE_REGISTERS_COUNTER_DATA_COUNT; word++)
        functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_COUNTER_DATA + 4 * word, 0);
    for (uint32_t number = 0; number < pipeline->units; number++)
        memset(pipeline->unit[number].counters, 0, sizeof pipeline->unit[number].counters);
}

// The memories stay as they are, but no packet begins in them.
void functional_pipeline_reset(struct functional_pipeline *pipeline) {
    memset(pipeline->starts, 0, sizeof pipeline->starts);
    functional_window_reset(&pipeline->window);
    reset_counters(pipeline);
    for (uint32_t number = 0; number < pipeline->units; number++)
        if (pipeline->stateful[number])
            functional_stateful_reset(pipeline->stateful[number]);
}

// What the host reads of the sizes of stateful units.
static void show_stateful(struct functional_window *window, const struct functional_size *size) {
    functional_window_set(window, SLUICE_PIPELINE_REGISTERS_STATEFUL, size->stateful_units);
    functional_window_set(window, SLUICE_PIPELINE_REGISTERS_PROCESS_PARTS,
                          SLUICE_PROCESS_ACTIONS << 24 | SLUICE_PROCESS_ENTRIES << 16 | SLUICE_PROCESS_UPDATES << 12 |
                              SLUICE_PROCESS_WORDS << 8 | SLUICE_PROCESS_CONDITIONS << 4 | SLUICE_PROCESS_INPUTS);
    functional_window_set(window, SLUICE_PIPELINE_REGISTERS_FLOW_PARTS,
                          1U << 24 | SLUICE_FLOW_KEY_WORDS << 16 | STATEFUL_WAYS << 8 |
                              (uint32_t)__builtin_ctz(size->flow_sets));
}

struct functional_pipeline *functional_pipeline_new(const struct functional_size *size) {
    uint32_t units = size->pipeline_units;
    struct functional_pipeline *pipeline = calloc(1, sizeof *pipeline + units * sizeof *pipeline->unit);
    if (!pipeline)
        return NULL;
    pipeline->units = units;
    functional_hash_start(&pipeline->hash, 8 * UNIT_KEY_BYTES, UNIT_SLOTS, UNIT_WAYS);
    FUNCTIONAL_WINDOW_ADD(&pipeline->window, sluice_pipeline_registers);
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_PARTS,
                          SLUICE_DEPARSER_WRITERS << 16 | units << 8 | SLUICE_PARSER_STAGES);
    functional_window_set(&pipeline->window, SLUICE_PIPELINE_REGISTERS_ENTRIES,
                          SLUICE_PIPELINE_TERNARY_ENTRIES << 16 | SLUICE_PIPELINE_EXACT_ENTRIES);
    if (size->stateful_units)
        show_stateful(&pipeline->window, size);
    for (uint32_t number = 0; number < units; number++)
        if (size->stateful_units >> number & 1) {
            pipeline->stateful[number] = functional_stateful_new(size->flow_sets);
            if (!pipeline->stateful[number]) {
                functional_pipeline_free(pipeline);
                return NULL;
            }
        }
    return pipeline;
}

void functional_pipeline_free(struct functional_pipeline *pipeline) {
    for (uint32_t number = 0; pipeline && number < pipeline->units; number++)
        functional_stateful_free(pipeline->stateful[number]);
    free(pipeline);
}
