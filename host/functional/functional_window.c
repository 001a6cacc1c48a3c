// SPDX-License-Identifier: Apache-2.0
// The registers of a window as their layout says: which words are there, which of them may be read and written, what a
// write keeps, and what a reset leaves. What is behind them is the element's.
#include <errno.h>

#include "functional.h"

void functional_window_add(struct functional_window *window, const struct sluice_register *registers, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t word = 0; word < registers[i].count; word++) {
            uint32_t offset = registers[i].offset + 4 * word;
            window->registers[offset / 4] = &registers[i];
            functional_window_set(window, offset, registers[i].reset);
        }
}

void functional_window_reset(struct functional_window *window) {
    for (uint32_t offset = 0; offset < SLUICE_WINDOW_SIZE; offset += 4) {
        const struct sluice_register *here = window->registers[offset / 4];
        if (here && here->is_kept)
            functional_window_set(window, offset, here->reset);
    }
}

int functional_window_read(const struct functional_window *window, uint32_t offset, uint32_t *value) {
    const struct sluice_register *here = window->registers[offset / 4];
    if (!here || !here->is_readable)
        return -EFAULT;
    *value = functional_window_get(window, offset);
    return 0;
}

int functional_window_write(struct functional_window *window, uint32_t offset, uint32_t value) {
    const struct sluice_register *here = window->registers[offset / 4];
    if (!here || !here->is_writable)
        return -EFAULT;
    if (here->is_kept)
        functional_window_set(window, offset, value & here->mask);
    return 0;
}
