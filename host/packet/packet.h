// SPDX-License-Identifier: Apache-2.0
// What the device does to a packet, in software: parser, actions, header templates and deparser do what the RTL does,
// bit for bit. The software switch and the functional device share it. No globals, no allocation, thread-safe.

#ifndef SLUICE_PACKET_H
#define SLUICE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice_layouts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_EDIT_DATA_BYTES (SLUICE_EDIT_DATA_BITS / 8U)                 // of an entry, lowest byte first
#define SLUICE_PACKET_MAX 65535U                                            // bytes that sluice_deparse takes
#define SLUICE_PACKET_GROWTH (4U * SLUICE_MAX_TAGS + SLUICE_TEMPLATE_BYTES) // bytes by which a packet can grow

#define SLUICE_ETHERTYPE_LEAST 0x0600U // a smaller type is the length of an 802.3 frame

// Whether a VLAN tag follows an EtherType.
bool sluice_is_tag(uint32_t type);

// The router's own addresses on a lane: tunnels to them are opened. Addresses have their lowest byte first.
struct sluice_own {
    uint64_t mac; // 0: none, nothing is opened
    bool has_ipv4, has_ipv6;
    uint8_t ipv4[4];
    uint8_t ipv6[16];
};

// The record of a packet, as elements/parse/README.md says. `own` NULL: no tunnel is opened. `ingress_port`, `mark` and
// `queue` are 0; `length` is `size`, at most 65535. Addresses have their lowest byte first. Reads nothing outside of
// `packet`.
void sluice_parse(const uint8_t *packet, uint32_t size, const struct sluice_own *own, struct sluice_phv_record *record);

// Executes an action set on the record of a packet that hit, as rtl/action/README.md says. `edit_count` 0: SET_LONG
// does nothing.
void sluice_actions_execute(struct sluice_phv_record *record, const struct sluice_action_set *actions,
                            const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES], uint32_t edit_count);

// Headers that go in front of a packet, and what of them is repaired for each.
struct sluice_template {
    struct sluice_template_info info;
    uint8_t bytes[SLUICE_TEMPLATE_BYTES];
};

// The template of these headers, from Ethernet on. What is repaired is found by parsing them: IP length and checksum,
// UDP length and source port, the id of VXLAN, Geneve and NVGRE; of what is not known, nothing. 0, or -EINVAL for an
// odd size or one above SLUICE_TEMPLATE_BYTES. Size 0 makes no template.
int sluice_template_make(const uint8_t *bytes, uint32_t size, struct sluice_template *template);

// Writes the template as it goes in front of a packet of `length` bytes; `out` holds `info.size` bytes.
void sluice_template_write(const struct sluice_template *template, const struct sluice_phv_record *record,
                           uint32_t length, uint8_t *out);

// Writes the packet with the edits of its record to `out`, as elements/deparse/README.md says; the verdict is the
// caller's. A packet that was opened and keeps its outer headers stays as it is. `packet` and `out` must not overlap.
// The new size, -ENOSPC where `capacity` is too small (size + SLUICE_PACKET_GROWTH always does), -EINVAL where the
// record cannot be the packet's or its template is not there.
int sluice_deparse(const struct sluice_phv_record *record, const struct sluice_template *templates,
                   uint32_t template_count, const uint8_t *packet, uint32_t size, uint8_t *out, uint32_t capacity);

#ifdef __cplusplus
}
#endif
#endif
