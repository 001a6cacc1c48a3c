// SPDX-License-Identifier: Apache-2.0
// A rules file while it is read: its lines as written, and who makes rules of them. Internal to host/switch.

#ifndef SLUICE_RULES_READER_H
#define SLUICE_RULES_READER_H

#include "rules_internal.h"

// The tunnel of a route.
struct tunnel_line {
    uint8_t kind; // enum sluice_tunnel_kind; TUNNEL_NONE: there is none
    uint32_t id;
    struct prefix local, remote;
    uint64_t inner_mac;
    uint8_t options[SLUICE_TEMPLATE_BYTES]; // Geneve
    uint32_t options_size;
};

// A route as written, before its lane's address is known.
struct route_line {
    struct prefix prefix;
    uint64_t next_hop;
    uint32_t lane;
    uint32_t vlan; // 0: none
    struct tunnel_line tunnel;
    uint32_t lane_column;
    struct line line;
    uint32_t column; // of the prefix
};

struct acl_line {
    struct acl_rule rule;
    struct line line;
    uint32_t column; // of the number
};

// A file while it is read.
struct reader {
    struct text text;
    struct sluice_rules *rules;
    uint32_t lane_line[SLUICE_SWITCH_LANES]; // that gave its address; 0: none
    uint32_t tunnel_line[2];                 // that gave the tunnel address, IPv4 and IPv6; 0: none
    struct route_line *routes;
    uint32_t route_count, route_room;
    struct acl_line *acls;
    uint32_t acl_count, acl_room;
    int out_of_memory;
};

// Takes a line; its errors are among those of the text.
void sluice_rules_read_line(struct reader *reader, struct line line);
// Makes routes and access rules of all lines. 0 or -ENOMEM; errors in them are among those of the text.
int sluice_rules_finish_routes(struct reader *reader);
int sluice_rules_finish_acls(struct reader *reader);

#endif
