// SPDX-License-Identifier: Apache-2.0
// What a rules file holds, for the two files that fill and read it. Internal to host/switch.

#ifndef SLUICE_RULES_INTERNAL_H
#define SLUICE_RULES_INTERNAL_H

#include "rules_text.h"
#include "switch.h"

#define ANY_PROTOCOL 256U
#define ANY_LANE 255U

// One side of an access rule. `address.version` 0: any address.
struct acl_side {
    struct prefix address;
    bool has_ports; // the packet must have ports, and in this range
    uint16_t port_low;
    uint16_t port_high;
};

struct acl_rule {
    uint32_t number;
    uint16_t protocol; // or ANY_PROTOCOL
    uint8_t lane;      // or ANY_LANE
    bool is_permit;
    struct acl_side src;
    struct acl_side dst;
};

struct sluice_rules {
    uint64_t lane_mac[SLUICE_SWITCH_LANES]; // 0: none
    struct sluice_own own;                  // tunnel addresses; `mac` is 0
    uint8_t lanes;                          // one more than the highest named
    struct sluice_route *routes;
    uint32_t route_count;
    struct acl_rule *acls; // by number
    uint32_t acl_count;
    uint8_t edit_data[SLUICE_SWITCH_EDIT_ENTRIES][SLUICE_EDIT_DATA_BYTES];
    uint32_t edit_count;
    struct sluice_template templates[SLUICE_TEMPLATES];
    uint32_t template_count;
    struct sluice_policy policy;
};

#endif
