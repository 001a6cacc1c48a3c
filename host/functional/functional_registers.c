// SPDX-License-Identifier: Apache-2.0
// The register bus of the functional device: page 0 (shell/core/sh_registers.sv) and the way to the other windows
// (sh_register_router.sv). A wrong access answers an error and changes nothing.
#include <errno.h>

#include "functional.h"

enum { STATUS = 7, CLOCK_KHZ = 200000, HIGH_WORD = 4, LANE_BYTES = SLUICE_LANE_COUNTERS_BYTES };

static uint32_t log2_of(uint32_t value) {
    uint32_t bits = 0;
    while (1U << bits < value)
        bits++;
    return bits;
}

// See shell_registers.capability.
static uint32_t capability(const struct functional *it, uint32_t window) {
    if (it->size.pipeline_units && window == FUNCTIONAL_PIPELINE_WINDOW)
        return it->size.pipeline_units << 16 | SLUICE_ELEMENT_PIPELINE;
    if (it->size.pipeline_units && window == FUNCTIONAL_DEPARSE_WINDOW)
        return SLUICE_ELEMENT_NONE;
    switch (window) {
    case 0:
        return it->size.lanes << 16 | SLUICE_ELEMENT_SHELL;
    case FUNCTIONAL_FLOW_WINDOW:
        return log2_of(it->size.groups * it->size.group_entries) << 16 | SLUICE_ELEMENT_FLOW_TABLE;
    case FUNCTIONAL_DEPARSE_WINDOW:
        return log2_of(SLUICE_TEMPLATES) << 16 | SLUICE_ELEMENT_DEPARSE;
    case FUNCTIONAL_HOST_WINDOW:
        return it->size.queues ? it->size.queues << 16 | SLUICE_ELEMENT_HOST : SLUICE_ELEMENT_NONE;
    default:
        return SLUICE_ELEMENT_NONE;
    }
}

void functional_registers_start(struct functional *it) {
    struct functional_window *shell = &it->shell;
    FUNCTIONAL_WINDOW_ADD(shell, sluice_shell_registers);
    functional_window_set(shell, SLUICE_SHELL_REGISTERS_LAYOUT_HASH, SLUICE_LAYOUT_HASH);
    functional_window_set(shell, SLUICE_SHELL_REGISTERS_LANES, it->size.lanes);
    // The clock of the RTL's figures, so that cycles of captures are as long as there.
    functional_window_set(shell, SLUICE_SHELL_REGISTERS_CLOCK_KHZ, CLOCK_KHZ);
    functional_window_set(shell, SLUICE_SHELL_REGISTERS_WINDOWS, FUNCTIONAL_HOST_WINDOW + (it->size.queues != 0));
    functional_window_set(shell, SLUICE_SHELL_REGISTERS_STATUS, STATUS); // ready, and nothing is in flight
    for (uint32_t window = 0; window < SLUICE_SHELL_REGISTERS_CAPABILITY_COUNT; window++)
        functional_window_set(shell, SLUICE_SHELL_REGISTERS_CAPABILITY + 4 * window, capability(it, window));
    FUNCTIONAL_WINDOW_ADD(&it->deparse.window, sluice_deparse_registers);
    if (it->size.queues)
        FUNCTIONAL_WINDOW_ADD(&it->spread, sluice_host_registers);
    functional_window_set(&it->spread, SLUICE_HOST_REGISTERS_QUEUES, it->size.queues);
}

uint32_t functional_tick(const struct functional *it) {
    bool is_counted = functional_window_get(&it->shell, SLUICE_SHELL_REGISTERS_TICK_SOURCE);
    uint64_t counted = is_counted ? (it->cycles - it->tick_cycle) * 1000 / CLOCK_KHZ : 0;
    return functional_window_get(&it->shell, SLUICE_SHELL_REGISTERS_TICK) + (uint32_t)counted;
}

static void set_tick(struct functional *it, uint32_t tick) {
    functional_window_set(&it->shell, SLUICE_SHELL_REGISTERS_TICK, tick);
    it->tick_cycle = it->cycles;
}

// The read of a 64-bit counter's low word latches its high word.
static int read_counters(struct functional *it, uint32_t offset, uint32_t *value) {
    uint8_t bytes[LANE_BYTES]; // all three kinds are of this size
    uint32_t lane = (offset - SLUICE_SHELL_REGISTERS_LANE_COUNTERS) / LANE_BYTES;
    uint32_t place = offset % LANE_BYTES, wide_words = SLUICE_LANE_COUNTERS_WIDE_WORDS;
    if (lane < it->size.lanes) {
        sluice_lane_counters_pack(&it->lane[lane].counters, bytes);
    } else if (offset - SLUICE_SHELL_REGISTERS_HOST_COUNTERS < sizeof bytes) {
        sluice_host_counters_pack(&it->host, bytes);
        wide_words = SLUICE_HOST_COUNTERS_WIDE_WORDS;
    } else if (offset - SLUICE_SHELL_REGISTERS_GRAPH_COUNTERS < sizeof bytes) {
        sluice_graph_counters_pack(&it->graph, bytes);
        wide_words = SLUICE_GRAPH_COUNTERS_WIDE_WORDS;
    } else {
        return -EFAULT;
    }
    bool is_wide = place / 4 < wide_words;
    *value = is_wide && place & HIGH_WORD ? it->counter_high : functional_word(bytes + place);
    if (is_wide && !(place & HIGH_WORD))
        it->counter_high = functional_word(bytes + place + HIGH_WORD);
    return 0;
}

static int read_shell(struct functional *it, uint32_t offset, uint32_t *value) {
    if (offset >= SLUICE_SHELL_REGISTERS_LANE_COUNTERS)
        return read_counters(it, offset, value);
    if (offset == SLUICE_SHELL_REGISTERS_TICK) {
        *value = functional_tick(it);
        return 0;
    }
    if (offset == SLUICE_SHELL_REGISTERS_TIME_LOW) {
        functional_window_set(&it->shell, SLUICE_SHELL_REGISTERS_TIME_LOW, (uint32_t)it->cycles);
        functional_window_set(&it->shell, SLUICE_SHELL_REGISTERS_TIME_HIGH, (uint32_t)(it->cycles >> 32));
    }
    return functional_window_read(&it->shell, offset, value);
}

static int write_shell(struct functional *it, uint32_t offset, uint32_t value) {
    uint32_t tick = functional_tick(it);
    if (functional_window_write(&it->shell, offset, value))
        return -EFAULT;
    if (offset == SLUICE_SHELL_REGISTERS_TICK)
        set_tick(it, value);
    if (offset == SLUICE_SHELL_REGISTERS_TICK_SOURCE)
        set_tick(it, tick);
    if (functional_control(it) & FUNCTIONAL_RESET) { // nothing is in flight: the graph is reset at once
        if (it->pipeline) {
            functional_pipeline_reset(it->pipeline);
        } else {
            functional_flow_reset(it->flow);
            functional_deparse_reset(&it->deparse);
        }
        functional_window_set(&it->shell, SLUICE_SHELL_REGISTERS_CONTROL,
                              functional_control(it) & ~(uint32_t)FUNCTIONAL_RESET);
    }
    return 0;
}

static int read_register(struct functional *it, uint32_t address, uint32_t *value) {
    uint32_t window = address / SLUICE_WINDOW_SIZE, offset = address % SLUICE_WINDOW_SIZE;
    if (address % 4)
        return -EFAULT;
    switch (window) {
    case 0:
        return read_shell(it, offset, value);
    case FUNCTIONAL_FLOW_WINDOW: // or FUNCTIONAL_PIPELINE_WINDOW
        return it->pipeline ? functional_pipeline_read(it->pipeline, offset, value)
                            : functional_flow_read(it->flow, offset, value);
    case FUNCTIONAL_DEPARSE_WINDOW:
        return it->pipeline ? -EFAULT : functional_window_read(&it->deparse.window, offset, value);
    case FUNCTIONAL_HOST_WINDOW:
        return it->size.queues ? functional_host_read(it, offset, value) : -EFAULT;
    default:
        return -EFAULT;
    }
}

static int write_register(struct functional *it, uint32_t address, uint32_t value) {
    uint32_t window = address / SLUICE_WINDOW_SIZE, offset = address % SLUICE_WINDOW_SIZE;
    if (address % 4)
        return -EFAULT;
    switch (window) {
    case 0:
        return write_shell(it, offset, value);
    case FUNCTIONAL_FLOW_WINDOW: // or FUNCTIONAL_PIPELINE_WINDOW
        return it->pipeline ? functional_pipeline_write(it->pipeline, offset, value)
                            : functional_flow_write(it->flow, offset, value);
    case FUNCTIONAL_DEPARSE_WINDOW:
        return it->pipeline ? -EFAULT : functional_deparse_write(&it->deparse, offset, value);
    case FUNCTIONAL_HOST_WINDOW:
        return it->size.queues ? functional_host_write(it, offset, value) : -EFAULT;
    default:
        return -EFAULT;
    }
}

int functional_register_read(struct functional *it, uint32_t address, uint32_t *value) {
    functional_cycle(it); // time passes
    return read_register(it, address, value);
}

int functional_register_write(struct functional *it, uint32_t address, uint32_t value) {
    functional_cycle(it);
    return write_register(it, address, value);
}

int functional_register_batch(struct functional *it, struct sluice_access *accesses, unsigned count, unsigned *done) {
    int result = 0;
    functional_advance(it, count);
    for (*done = 0; *done < count; ++*done) {
        struct sluice_access *one = &accesses[*done];
        result =
            one->is_read ? read_register(it, one->address, &one->value) : write_register(it, one->address, one->value);
        if (result)
            break;
    }
    return result;
}
