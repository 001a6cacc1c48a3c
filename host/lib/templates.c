// SPDX-License-Identifier: Apache-2.0
// Header templates of the deparser, written through its register window.
#include <errno.h>

#include "device.h"
#include "packet.h"

static int write_bytes(struct sluice_device *device, uint32_t address, const uint8_t *bytes, uint32_t size) {
    int result = 0;
    for (uint32_t at = 0; at < size && result == 0; at += 4) {
        uint32_t word = 0;
        for (uint32_t n = 0; n < 4 && at + n < size; n++)
            word |= (uint32_t)bytes[at + n] << 8 * n;
        result = sluice_write_locked(device, address + at, word);
    }
    return result;
}

int sluice_template_set(struct sluice_device *device, uint32_t index, const uint8_t *bytes, uint32_t size) {
    struct sluice_template template;
    uint8_t info[SLUICE_TEMPLATE_INFO_BYTES];
    int window = sluice_window_of(device, SLUICE_ELEMENT_DEPARSE);
    if (window < 0)
        return window;
    if (index >= SLUICE_TEMPLATES)
        return sluice_fail(-EINVAL, "template %u; there are %u", index, SLUICE_TEMPLATES);
    if (sluice_template_make(bytes, size, &template))
        return sluice_fail(-EINVAL, "a template of %u bytes; an even number up to %u", size, SLUICE_TEMPLATE_BYTES);
    uint32_t base = (uint32_t)window * SLUICE_WINDOW_SIZE;
    sluice_template_info_pack(&template.info, info);
    pthread_mutex_lock(&device->lock);
    int result = write_bytes(device, base + SLUICE_DEPARSE_REGISTERS_TEMPLATE_BYTES, template.bytes, size);
    if (result == 0)
        result = write_bytes(device, base + SLUICE_DEPARSE_REGISTERS_TEMPLATE_INFO, info, sizeof info);
    if (result == 0)
        result = sluice_write_locked(device, base + SLUICE_DEPARSE_REGISTERS_TEMPLATE_INDEX, index);
    pthread_mutex_unlock(&device->lock);
    return result;
}
