// SPDX-License-Identifier: Apache-2.0
// A simulated device that fails, for the tests of the library: its page 0 is right, and after FAILING_AFTER register
// accesses (environment) it answers no more. FAILING_MAGIC and FAILING_HASH replace what page 0 says. With
// FAILING_LENGTH every buffer of the to-host ring is a packet that claims this length.
#include "sim_model.h"

#include <errno.h>
#include <stdlib.h>

#include "sluice_layouts.h"

enum { LANES = 2 };

struct sim_model {
    uint64_t cycles, accesses;
};

static uint32_t setting(const char *name, uint32_t otherwise) {
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 0) : otherwise;
}

struct sim_model *sim_model_new(void) {
    return calloc(1, sizeof(struct sim_model));
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
}

int sim_model_idle(const struct sim_model *model) {
    return model->cycles > UINT32_MAX;
}

static int answers(struct sim_model *model) {
    return model->accesses++ < setting("FAILING_AFTER", UINT32_MAX);
}

int sim_model_reg_read(struct sim_model *model, uint32_t address, uint32_t *value) {
    *value = 0;
    switch (address) {
    case SLUICE_SHELL_REGISTERS_MAGIC:
        *value = setting("FAILING_MAGIC", SLUICE_DEVICE_MAGIC);
        break;
    case SLUICE_SHELL_REGISTERS_VERSION:
        *value = SLUICE_DEVICE_VERSION;
        break;
    case SLUICE_SHELL_REGISTERS_LAYOUT_HASH:
        *value = setting("FAILING_HASH", SLUICE_LAYOUT_HASH);
        break;
    case SLUICE_SHELL_REGISTERS_LANES:
        *value = LANES;
        break;
    case SLUICE_SHELL_REGISTERS_WINDOWS:
        *value = 2;
        break;
    case SLUICE_SHELL_REGISTERS_CAPABILITY + 4:
        *value = SLUICE_ELEMENT_LPM;
        break;
    case SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_ENTRIES:
        *value = 16;
        break;
    case SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_KEY_BITS:
        *value = 32;
        break;
    default:
        break;
    }
    return answers(model) ? 0 : -ETIMEDOUT;
}

int sim_model_reg_write(struct sim_model *model, uint32_t address, uint32_t value) {
    (void)address;
    (void)value;
    return answers(model) ? 0 : -ETIMEDOUT;
}

int sim_model_lane_send(struct sim_model *model, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags) {
    (void)model;
    (void)lane;
    (void)bytes;
    (void)size;
    (void)flags;
    return -EAGAIN;
}

int sim_model_lane_recv(struct sim_model *model, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sim_packet_info *info) {
    (void)model;
    (void)lane;
    (void)bytes;
    (void)capacity;
    (void)info;
    return -EAGAIN;
}

int sim_model_ring_attach(struct sim_model *model, unsigned ring, uint8_t *memory, uint32_t buffers) {
    struct sluice_buffer_meta meta = {.length = (uint16_t)setting("FAILING_LENGTH", 0), .valid = 1};
    (void)model;
    for (uint32_t i = 0; ring == SIM_RING_TO_HOST && getenv("FAILING_LENGTH") && i < buffers; i++)
        sluice_buffer_meta_pack(&meta, memory + i * SLUICE_BUFFER_SIZE);
    return memory && buffers ? 0 : -EINVAL;
}

int sim_model_ring_release(struct sim_model *model, unsigned ring, uint32_t count) {
    (void)model;
    (void)ring;
    return count ? -EINVAL : 0;
}

int sim_model_ring_submit(struct sim_model *model, uint32_t count) {
    (void)model;
    (void)count;
    return 0;
}

int sim_model_mirror_attach(struct sim_model *model, uint8_t *memory, uint32_t records) {
    (void)model, (void)memory, (void)records;
    return 0;
}

uint64_t sim_model_ring_sent(const struct sim_model *model) {
    (void)model;
    return 0;
}
