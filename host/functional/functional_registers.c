// SPDX-License-Identifier: Apache-2.0
// The register bus of the functional device: page 0 (shell/core/sh_registers.sv) and the way to the other windows
// (sh_register_router.sv). A wrong access answers an error and changes nothing.
#include <errno.h>

#include "functional.h"

enum {
    STATUS = 3,
    CLOCK_KHZ = 200000,
    HIGH_WORD = 4,
    TICK_BY_CLOCK = 1,
    LANE_BYTES = SLUICE_LANE_COUNTERS_BYTES,
    CONTROL_BITS = 6
};

static uint32_t log2_of(uint32_t value) {
    uint32_t bits = 0;
    while (1U << bits < value)
        bits++;
    return bits;
}

// See shell_registers.capability.
static uint32_t capability(const struct functional *it, uint32_t window) {
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

uint32_t functional_tick(const struct functional *it) {
    uint64_t counted = it->tick_by_clock ? (it->cycles - it->tick_cycle) * 1000 / CLOCK_KHZ : 0;
    return it->tick + (uint32_t)counted;
}

static void set_tick(struct functional *it, uint32_t tick, uint32_t by_clock) {
    it->tick = tick;
    it->tick_by_clock = by_clock;
    it->tick_cycle = it->cycles;
}

// The read of a 64-bit counter's low word latches its high word.
static int read_counters(struct functional *it, uint32_t address, uint32_t *value) {
    uint8_t bytes[LANE_BYTES]; // all three kinds are of this size
    uint32_t lane = (address - SLUICE_SHELL_REGISTERS_LANE_COUNTERS) / LANE_BYTES;
    uint32_t place = address % LANE_BYTES, wide_words = SLUICE_LANE_COUNTERS_WIDE_WORDS;
    if (lane < it->size.lanes) {
        sluice_lane_counters_pack(&it->lane[lane].counters, bytes);
    } else if (address - SLUICE_SHELL_REGISTERS_HOST_COUNTERS < sizeof bytes) {
        sluice_host_counters_pack(&it->host, bytes);
        wide_words = SLUICE_HOST_COUNTERS_WIDE_WORDS;
    } else if (address - SLUICE_SHELL_REGISTERS_GRAPH_COUNTERS < sizeof bytes) {
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

static int read_shell(struct functional *it, uint32_t address, uint32_t *value) {
    uint32_t window = (address - SLUICE_SHELL_REGISTERS_CAPABILITY) / 4;
    switch (address) {
    case SLUICE_SHELL_REGISTERS_MAGIC:
        *value = SLUICE_DEVICE_MAGIC;
        return 0;
    case SLUICE_SHELL_REGISTERS_VERSION:
        *value = SLUICE_DEVICE_VERSION;
        return 0;
    case SLUICE_SHELL_REGISTERS_LAYOUT_HASH:
        *value = SLUICE_LAYOUT_HASH;
        return 0;
    case SLUICE_SHELL_REGISTERS_LANES:
        *value = it->size.lanes;
        return 0;
    case SLUICE_SHELL_REGISTERS_CLOCK_KHZ: // that of the RTL's figures, so that cycles of captures are as long as there
        *value = CLOCK_KHZ;
        return 0;
    case SLUICE_SHELL_REGISTERS_WINDOWS:
        *value = FUNCTIONAL_HOST_WINDOW + (it->size.queues != 0);
        return 0;
    case SLUICE_SHELL_REGISTERS_CONTROL:
        *value = it->control;
        return 0;
    case SLUICE_SHELL_REGISTERS_STATUS: // ready, and nothing is in flight
        *value = STATUS;
        return 0;
    case SLUICE_SHELL_REGISTERS_TIME_LOW:
        it->time_high = (uint32_t)(it->cycles >> 32);
        *value = (uint32_t)it->cycles;
        return 0;
    case SLUICE_SHELL_REGISTERS_TIME_HIGH:
        *value = it->time_high;
        return 0;
    case SLUICE_SHELL_REGISTERS_TICK:
        *value = functional_tick(it);
        return 0;
    case SLUICE_SHELL_REGISTERS_TICK_SOURCE:
        *value = it->tick_by_clock;
        return 0;
    case SLUICE_SHELL_REGISTERS_HOST_SHARE:
        *value = it->host_share;
        return 0;
    default:
        if (window >= SLUICE_SHELL_REGISTERS_CAPABILITY_COUNT)
            return read_counters(it, address, value);
        *value = capability(it, window);
        return 0;
    }
}

static int write_shell(struct functional *it, uint32_t address, uint32_t value) {
    switch (address) {
    case SLUICE_SHELL_REGISTERS_CONTROL: // nothing is in flight: the graph is reset at once
        if (value & FUNCTIONAL_RESET) {
            functional_flow_reset(it->flow);
            functional_deparse_reset(&it->deparse);
        }
        it->control = value & CONTROL_BITS;
        return 0;
    case SLUICE_SHELL_REGISTERS_TICK:
        set_tick(it, value, it->tick_by_clock);
        return 0;
    case SLUICE_SHELL_REGISTERS_TICK_SOURCE:
        set_tick(it, functional_tick(it), value & TICK_BY_CLOCK);
        return 0;
    case SLUICE_SHELL_REGISTERS_HOST_SHARE: // kept; there is nothing to share
        it->host_share = value & 0xff;
        return 0;
    default:
        return -EFAULT;
    }
}

static int read_register(struct functional *it, uint32_t address, uint32_t *value) {
    uint32_t window = address / SLUICE_WINDOW_SIZE, offset = address % SLUICE_WINDOW_SIZE;
    if (address % 4)
        return -EFAULT;
    switch (window) {
    case 0:
        return read_shell(it, offset, value);
    case FUNCTIONAL_FLOW_WINDOW:
        return functional_flow_read(it->flow, offset, value);
    case FUNCTIONAL_DEPARSE_WINDOW:
        return functional_deparse_read(&it->deparse, offset, value);
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
    case FUNCTIONAL_FLOW_WINDOW:
        return functional_flow_write(it->flow, offset, value);
    case FUNCTIONAL_DEPARSE_WINDOW:
        return functional_deparse_write(&it->deparse, offset, value);
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
