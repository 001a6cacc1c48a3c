// SPDX-License-Identifier: Apache-2.0
// The software switch: what decides for packets that the device has no rule for. Rules come from one file
// (docs/guide/rules.md); packets are read and changed by host/packet. No globals, no allocation per packet; a
// `struct sluice_switch` belongs to one thread at a time, rules may be shared.

#ifndef SLUICE_SWITCH_H
#define SLUICE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "packet.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_SWITCH_LANES SLUICE_HOST_PORT // lanes 0 to 6
#define SLUICE_SWITCH_EDIT_ENTRIES 256U      // of the device's edit-data table
#define SLUICE_SWITCH_MACS 4096U             // addresses that the learning table holds

// ---- Rules ---------------------------------------------------------------------------------------------------------

struct sluice_rules;

// A route. Value and mask are little-endian integers as `instruction_t` wants them (IPv4: the low 4 bytes); the prefix
// length is the priority of the rule. The actions index the edit data of sluice_rules_edit_data.
struct sluice_route {
    uint8_t version; // 4 or 6
    uint8_t length;  // bits of the prefix
    uint8_t lane;    // that packets leave by
    uint8_t value[16];
    uint8_t mask[16];
    struct sluice_action_set actions;
};

// What the `policy` lines say.
struct sluice_policy {
    uint32_t offload_after; // packets of a flow before it gets a rule, from 1
    uint32_t idle;          // seconds without a packet until its rule is removed, from 1
    uint32_t mac_idle;      // seconds without a packet until a learned address is forgotten, from 1
};

// Reads a rules file. 0, or -EINVAL where it has errors: all of them are written to `errors` (NULL: nowhere), in the
// order of the lines; other negative errno values where it cannot be read, with a message too. `*rules` is NULL unless
// 0 is returned.
int sluice_rules_read(const char *path, struct sluice_rules **rules, FILE *errors);

// As sluice_rules_read, from memory; `name` stands in the messages.
int sluice_rules_parse(const char *name, const char *text, size_t size, struct sluice_rules **rules, FILE *errors);

// Frees the rules; NULL is allowed. No switch may use them any more.
void sluice_rules_free(struct sluice_rules *rules);

// The router's address on a lane; 0 where the lane has none (packets are bridged there, never routed).
uint64_t sluice_rules_lane_mac(const struct sluice_rules *rules, uint8_t lane);

// The router's own addresses on a lane, that tunnels are opened by; without an address of the lane, none.
void sluice_rules_own(const struct sluice_rules *rules, uint8_t lane, struct sluice_own *own);

// Lanes that the file needs: one more than the highest lane it names, 0 where it names none.
uint8_t sluice_rules_lanes(const struct sluice_rules *rules);

// The routes, in the order of the file.
uint32_t sluice_rules_route_count(const struct sluice_rules *rules);
const struct sluice_route *sluice_rules_route(const struct sluice_rules *rules, uint32_t index);

// Number of access rules. 0: everything is permitted, and the device needs its LPM table only.
uint32_t sluice_rules_acl_count(const struct sluice_rules *rules);

// The edit data of all routes, each value once; at most SLUICE_SWITCH_EDIT_ENTRIES.
const uint8_t (*sluice_rules_edit_data(const struct sluice_rules *rules, uint32_t *count))[SLUICE_EDIT_DATA_BYTES];

// The header templates of all routes, each once; at most SLUICE_TEMPLATES.
const struct sluice_template *sluice_rules_templates(const struct sluice_rules *rules, uint32_t *count);

// The policy; defaults where the file says nothing.
const struct sluice_policy *sluice_rules_policy(const struct sluice_rules *rules);

// ---- Switch --------------------------------------------------------------------------------------------------------

struct sluice_switch;

// Why a packet was dropped.
enum sluice_cause {
    SLUICE_CAUSE_NONE = 0,       // it was not
    SLUICE_CAUSE_MALFORMED = 1,  // the parser found a fault, see `fault`
    SLUICE_CAUSE_OVERSIZE = 2,   // longer than SLUICE_MTU_BYTES
    SLUICE_CAUSE_DENIED = 3,     // by an access rule, or because none permits it
    SLUICE_CAUSE_NO_ROUTE = 4,   // no route to its destination
    SLUICE_CAUSE_TTL = 5,        // TTL or hop limit 0 or 1
    SLUICE_CAUSE_NO_PORT = 6,    // bridged: its destination is on the lane that it came from, or there is no other lane
    SLUICE_CAUSE_LINK_LOCAL = 7, // bridged: an address that no bridge forwards (01:80:c2:00:00:00 to 0f)
    SLUICE_CAUSE_TUNNEL = 8,     // opened, and what is inside is not for the router
    SLUICE_CAUSES = 9
};

// What is to be done with a packet, and what may be remembered of it.
struct sluice_decision {
    uint8_t verdict;     // SLUICE_VERDICT_FORWARD or SLUICE_VERDICT_DROP
    uint8_t cause;       // enum sluice_cause, with DROP
    uint8_t fault;       // enum sluice_fault, with SLUICE_CAUSE_MALFORMED
    uint8_t egress_mask; // lanes, with FORWARD
    bool is_routed;      // the router decided, not the bridge
    bool is_flooded;     // bridged to every other lane
    bool cacheable;   // the device decides the same for every packet with this key that it admits, given `acl_verdict`
                      // in its exact table and the route in its LPM table
    uint8_t table_id; // enum sluice_table of `key`
    int32_t route;    // index of the route, or -1
    int64_t acl;      // number of the access rule that decided, or -1
    // 5-tuple as the exact table takes it (`five_tuple4_t` or `five_tuple6_t`, little-endian, 0 behind its end); where
    // routed
    uint8_t key[SLUICE_FIVE_TUPLE6_BYTES];
    struct sluice_action_set acl_verdict;               // rule for the exact table: nothing (permitted) or DROP
    struct sluice_action_set actions;                   // what the software executes, the whole of it
    const uint8_t (*edit_data)[SLUICE_EDIT_DATA_BYTES]; // what `actions` index; belongs to the rules
    uint32_t edit_count;
};

// Counters since the switch was made.
struct sluice_switch_counters {
    uint64_t packets;
    uint64_t bytes;
    uint64_t routed;  // forwarded by the router
    uint64_t bridged; // forwarded by the bridge, flooded ones included
    uint64_t flooded;
    uint64_t drops[SLUICE_CAUSES];
};

// Makes a switch with `lanes` lanes (1 to SLUICE_SWITCH_LANES) over rules that must outlive it. 0, -ENOMEM, or -EINVAL
// where the rules name a lane that is not there.
int sluice_switch_new(const struct sluice_rules *rules, uint8_t lanes, struct sluice_switch **created);

// Frees the switch; NULL is allowed.
void sluice_switch_free(struct sluice_switch *sw);

// Decides for a packet that came from a lane; learns its source where it is bridged. The answer depends on the packet,
// the lane, the rules and what bridged packets before it taught (`now_us` only ages that, and may be earlier than it
// was). 0, or -EINVAL for a lane that is not there.
int sluice_switch_decide(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane, uint64_t now_us,
                         struct sluice_decision *decision);

// Decides, executes, and writes the packet as it leaves to `out`. The new size (0: dropped), or as sluice_switch_decide
// and sluice_deparse. The lanes that it goes to are in `decision`.
int sluice_switch_process(struct sluice_switch *sw, const uint8_t *packet, uint32_t size, uint8_t lane, uint64_t now_us,
                          uint8_t *out, uint32_t capacity, struct sluice_decision *decision);

// Counters; valid as long as the switch.
const struct sluice_switch_counters *sluice_switch_counters(const struct sluice_switch *sw);

// Name of a cause for reports ("no_route"), "?" for none of them.
const char *sluice_cause_name(uint32_t cause);

#ifdef __cplusplus
}
#endif
#endif
