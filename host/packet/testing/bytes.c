// SPDX-License-Identifier: Apache-2.0
// Packet code on packed records and action sets, for callers without C structs: Python packs and unpacks them by the
// generated `sluice_layouts`. Part of the tests' library only.

#include "packet.h"

void sluice_bytes_parse(const uint8_t *packet, uint32_t size, const struct sluice_own *own, uint8_t *record_bytes);
void sluice_bytes_execute(uint8_t *record_bytes, const uint8_t *action_bytes,
                          const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES], uint32_t edit_count);
int sluice_bytes_template(const uint8_t *bytes, uint32_t size, uint8_t *info_bytes, uint8_t *out);
int sluice_bytes_deparse(const uint8_t *record_bytes, const uint8_t *templates, uint32_t count, const uint8_t *packet,
                         uint32_t size, uint8_t *out, uint32_t capacity);

// As sluice_parse; `record_bytes` holds SLUICE_PHV_RECORD_BYTES.
void sluice_bytes_parse(const uint8_t *packet, uint32_t size, const struct sluice_own *own, uint8_t *record_bytes) {
    struct sluice_phv_record record;
    sluice_parse(packet, size, own, &record);
    sluice_phv_record_pack(&record, record_bytes);
}

// As sluice_actions_execute, the record in place.
void sluice_bytes_execute(uint8_t *record_bytes, const uint8_t *action_bytes,
                          const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES], uint32_t edit_count) {
    struct sluice_phv_record record;
    struct sluice_action_set actions;
    sluice_phv_record_unpack(&record, record_bytes);
    sluice_action_set_unpack(&actions, action_bytes);
    sluice_actions_execute(&record, &actions, edit_data, edit_count);
    sluice_phv_record_pack(&record, record_bytes);
}

// As sluice_template_make: SLUICE_TEMPLATE_INFO_BYTES, and `size` bytes of headers.
int sluice_bytes_template(const uint8_t *bytes, uint32_t size, uint8_t *info_bytes, uint8_t *out) {
    struct sluice_template template;
    int error = sluice_template_make(bytes, size, &template);
    if (error)
        return error;
    sluice_template_info_pack(&template.info, info_bytes);
    memcpy(out, template.bytes, size);
    return 0;
}

// As sluice_deparse; a template is its packed info and SLUICE_TEMPLATE_BYTES of headers.
int sluice_bytes_deparse(const uint8_t *record_bytes, const uint8_t *templates, uint32_t count, const uint8_t *packet,
                         uint32_t size, uint8_t *out, uint32_t capacity) {
    static struct sluice_template unpacked[SLUICE_TEMPLATES];
    struct sluice_phv_record record;
    for (uint32_t n = 0; n < count && n < SLUICE_TEMPLATES; n++) {
        const uint8_t *at = templates + (size_t)n * (SLUICE_TEMPLATE_INFO_BYTES + SLUICE_TEMPLATE_BYTES);
        sluice_template_info_unpack(&unpacked[n].info, at);
        memcpy(unpacked[n].bytes, at + SLUICE_TEMPLATE_INFO_BYTES, SLUICE_TEMPLATE_BYTES);
    }
    sluice_phv_record_unpack(&record, record_bytes);
    return sluice_deparse(&record, unpacked, count, packet, size, out, capacity);
}
