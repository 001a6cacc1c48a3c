// SPDX-License-Identifier: Apache-2.0
// A simulated device that fails, for the tests of the library: its page 0 is right, and after FAILING_AFTER register
// accesses (environment) it answers no more. FAILING_MAGIC and FAILING_HASH replace what page 0 says. With
// FAILING_LENGTH every buffer of the to-host ring is a packet that claims this length. With FAILING_WINDOWS=4 it has a
// flow table and receive queues too, and its tables answer that all went well; with 5 also the window of a compiled
// configuration, without registers. Then FAILING_ONES is the address of a register that reads all ones, and after
// FAILING_GONE accesses every register does, as of a card that was removed. FAILING_TRACE is a file that gets the
// address of each register that is read. With FAILING_LEFT a packet that claims this size has left every lane, whatever
// room there is for it. FAILING_RING is a ring that it does not take, by number. The 64-bit counters of its lanes count
// 2^31 after each read of a low word, from lane * 2^40 on: a high word that is not of the same read shows.
#include "sim_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sluice_layouts.h"

enum { LANES = 2, LANE_WORDS = SLUICE_LANE_COUNTERS_BYTES / 4, READY_AND_ANSWERED = 1 | 1 << 16 };
enum { LPM = SLUICE_WINDOW_SIZE, FLOWS = 2 * SLUICE_WINDOW_SIZE };

struct sim_model {
    uint64_t cycles, accesses;
    uint64_t counted[LANES * LANE_WORDS / 2]; // by register pair, 2^31 at a time
    uint32_t high;
};

// Also FAILING_KIND_0 to FAILING_KIND_4, which replace what the windows say that they are, FAILING_VERSION,
// FAILING_LANES and FAILING_CLOCK, which replace those words of page 0, and FAILING_SENT, what was taken of the ring
// from the host. With FAILING_START the device does not start. FAILING_CALLS is a file that gets a line for each call
// but those of registers, which then returns FAILING_RESULT.
static uint32_t setting(const char *name, uint32_t otherwise) {
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 0) : otherwise;
}

struct sim_model *sim_model_new(void) {
    if (getenv("FAILING_START"))
        return NULL;
    return calloc(1, sizeof(struct sim_model));
}

// A line of FAILING_CALLS; what the call returns then, and else `otherwise`.
static int recorded(const char *name, uint32_t first, uint32_t second, uint32_t third, int otherwise) {
    const char *path = getenv("FAILING_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return otherwise;
    (void)fprintf(file, "%s %u %u %u\n", name, first, second, third);
    (void)fclose(file);
    return (int)setting("FAILING_RESULT", 0);
}

void sim_model_free(struct sim_model *model) {
    free(model);
}

unsigned sim_model_lanes(const struct sim_model *model) {
    return model ? LANES : 0;
}

uint64_t sim_model_cycles(const struct sim_model *model) {
    return model->cycles;
}

void sim_model_step(struct sim_model *model, uint32_t cycles) {
    model->cycles += cycles;
    recorded("step", cycles, 0, 0, 0);
}

bool sim_model_idle(const struct sim_model *model) {
    return model->cycles > UINT32_MAX;
}

static int answers(struct sim_model *model) {
    return model->accesses++ < setting("FAILING_AFTER", UINT32_MAX);
}

static uint32_t response_word(uint32_t word) {
    const struct sluice_response response = {.kind = SLUICE_INSTRUCTION_POPULATE, .status = SLUICE_STATUS_OK};
    uint32_t words[SLUICE_RESPONSE_BYTES / 4];
    sluice_response_pack(&response, (uint8_t *)words);
    return words[word];
}

static uint32_t lane_counter(struct sim_model *model, uint32_t word) {
    uint32_t lane = word / LANE_WORDS;
    if (lane >= LANES || word % LANE_WORDS >= SLUICE_LANE_COUNTERS_WIDE_WORDS)
        return 0;
    if (word % 2)
        return model->high;
    uint64_t value = (uint64_t)lane << 40 | model->counted[word / 2]++ << 31;
    model->high = (uint32_t)(value >> 32);
    return (uint32_t)value;
}

static uint32_t shell_register(struct sim_model *model, uint32_t address) {
    switch (address) {
    case SLUICE_SHELL_REGISTERS_MAGIC:
        return setting("FAILING_MAGIC", SLUICE_DEVICE_MAGIC);
    case SLUICE_SHELL_REGISTERS_VERSION:
        return setting("FAILING_VERSION", SLUICE_DEVICE_VERSION);
    case SLUICE_SHELL_REGISTERS_LAYOUT_HASH:
        return setting("FAILING_HASH", SLUICE_LAYOUT_HASH);
    case SLUICE_SHELL_REGISTERS_LANES:
        return setting("FAILING_LANES", LANES);
    case SLUICE_SHELL_REGISTERS_CLOCK_KHZ:
        return setting("FAILING_CLOCK", 0);
    case SLUICE_SHELL_REGISTERS_WINDOWS:
        return setting("FAILING_WINDOWS", 2);
    case SLUICE_SHELL_REGISTERS_TIME_LOW:
        return (uint32_t)(16 * model->accesses);
    case SLUICE_SHELL_REGISTERS_CAPABILITY:
        return setting("FAILING_KIND_0", 0);
    case SLUICE_SHELL_REGISTERS_CAPABILITY + 4:
        return setting("FAILING_KIND_1", SLUICE_ELEMENT_LPM);
    case SLUICE_SHELL_REGISTERS_CAPABILITY + 8:
        return setting("FAILING_KIND_2", SLUICE_ELEMENT_FLOW_TABLE);
    case SLUICE_SHELL_REGISTERS_CAPABILITY + 12:
        return setting("FAILING_KIND_3", SLUICE_ELEMENT_HOST | 1 << 16);
    case SLUICE_SHELL_REGISTERS_CAPABILITY + 16:
        return setting("FAILING_KIND_4", SLUICE_ELEMENT_GRAPH);
    default:
        if (address >= SLUICE_SHELL_REGISTERS_LANE_COUNTERS)
            return lane_counter(model, (address - SLUICE_SHELL_REGISTERS_LANE_COUNTERS) / 4);
        return 0;
    }
}

static uint32_t table_register(uint32_t address) {
    int answers = getenv("FAILING_WINDOWS") != NULL;
    switch (address) {
    case LPM + SLUICE_OFU_REGISTERS_ENTRIES:
        return 16;
    case LPM + SLUICE_OFU_REGISTERS_KEY_BITS:
        return 32;
    case LPM + SLUICE_OFU_REGISTERS_STATUS:
    case FLOWS + SLUICE_OFU_REGISTERS_STATUS:
        return answers ? READY_AND_ANSWERED : 0;
    case LPM + SLUICE_OFU_REGISTERS_RESPONSE:
    case FLOWS + SLUICE_OFU_REGISTERS_RESPONSE:
        return answers ? response_word(0) : 0;
    case LPM + SLUICE_OFU_REGISTERS_RESPONSE + 4:
    case FLOWS + SLUICE_OFU_REGISTERS_RESPONSE + 4:
        return answers ? response_word(1) : 0;
    case FLOWS + SLUICE_OFU_REGISTERS_KIND:
        return SLUICE_ELEMENT_FLOW_TABLE;
    case FLOWS + SLUICE_FLOW_REGISTERS_GROUPS:
        return 2;
    case FLOWS + SLUICE_FLOW_REGISTERS_GROUP_ENTRIES:
        return 8;
    case FLOWS + SLUICE_OFU_REGISTERS_ENTRIES + 4:
        return 4;
    case FLOWS + SLUICE_OFU_REGISTERS_LATENCY:
        return 10;
    case FLOWS + SLUICE_FLOW_REGISTERS_PUSH_RECORDS:
        return 20;
    case FLOWS + SLUICE_FLOW_REGISTERS_PUSH_TERNARY:
        return 16;
    default:
        return 0;
    }
}

static void trace(uint32_t address) {
    const char *path = getenv("FAILING_TRACE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "%u\n", address);
    (void)fclose(file);
}

int sim_model_reg_read(struct sim_model *model, uint32_t address, uint32_t *value) {
    trace(address);
    *value = address < SLUICE_WINDOW_SIZE ? shell_register(model, address) : table_register(address);
    if (address == setting("FAILING_ONES", UINT32_MAX) || model->accesses >= setting("FAILING_GONE", UINT32_MAX))
        *value = UINT32_MAX;
    return answers(model) ? 0 : -ETIMEDOUT;
}

int sim_model_reg_write(struct sim_model *model, uint32_t address, uint32_t value) {
    (void)address;
    (void)value;
    return answers(model) ? 0 : -ETIMEDOUT;
}

int sim_model_lane_send(struct sim_model *model, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags) {
    (void)model;
    return recorded("lane_send", lane << 16 | flags, size, (uint32_t)bytes[0] << 8 | bytes[size - 1], -EAGAIN);
}

int sim_model_lane_recv(struct sim_model *model, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sim_packet_info *info) {
    int left = (int)setting("FAILING_LEFT", 0);
    (void)model;
    if (left && capacity == 0)
        return -ENOSPC;
    for (uint32_t i = 0; i < capacity && i < (uint32_t)left; i++)
        bytes[i] = (uint8_t)(lane + i);
    if (left && info)
        *info = (struct sim_packet_info){lane + 100, lane + 200, lane + 300};
    if (capacity)
        recorded("lane_recv", lane, capacity, 0, 0);
    return left ? left : -EAGAIN;
}

int sim_model_ring_attach(struct sim_model *model, unsigned ring, uint8_t *memory, uint32_t buffers) {
    struct sluice_buffer_meta meta = {.length = (uint16_t)setting("FAILING_LENGTH", 0), .valid = 1};
    (void)model;
    if (ring == setting("FAILING_RING", UINT32_MAX))
        return -EINVAL;
    for (uint32_t i = 0; ring == SIM_RING_TO_HOST && getenv("FAILING_LENGTH") && i < buffers; i++)
        sluice_buffer_meta_pack(&meta, memory + i * SLUICE_BUFFER_SIZE);
    return recorded("ring_attach", ring, buffers, 0, memory && buffers ? 0 : -EINVAL);
}

int sim_model_ring_release(struct sim_model *model, unsigned ring, uint32_t count) {
    (void)model;
    return recorded("ring_release", ring, count, 0, count ? -EINVAL : 0);
}

int sim_model_ring_submit(struct sim_model *model, uint32_t count) {
    (void)model;
    return recorded("ring_submit", count, 0, 0, 0);
}

int sim_model_mirror_attach(struct sim_model *model, uint8_t *memory, uint32_t records) {
    (void)model;
    return recorded("mirror_attach", records, memory != NULL, 0, 0);
}

uint64_t sim_model_ring_sent(const struct sim_model *model) {
    (void)model;
    return setting("FAILING_SENT", 0);
}
