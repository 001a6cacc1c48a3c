// SPDX-License-Identifier: Apache-2.0
// A stateful unit of the programmable pipeline as software, and its parts: where flows are
// (rtl/match/sl_flow_place.sv), and what the program does with a packet and the state of its flow
// (rtl/stateful/sl_process.sv).
#ifndef SLUICE_FUNCTIONAL_STATEFUL_H
#define SLUICE_FUNCTIONAL_STATEFUL_H

#include "functional_pipeline.h"

// ---- functional_place.c: a key in, its set and way out; new keys are inserted. Meaning: models/flow_place.py.

struct functional_place_entry {
    uint64_t key[FUNCTIONAL_HASH_KEY_WORDS];
    uint32_t time, generation;
    bool is_live;
};

struct functional_place {
    uint32_t sets, ways, timeout; // ticks; 0: flows do not expire
    bool keeps;                   // a full set takes no new key, instead of evicting one
    struct functional_hash hash;
    uint8_t *hands;                         // of each set: the way that is evicted next
    struct functional_place_entry *entries; // set by set
};

// What a key is told. Way and generation mean something where it is found or new.
struct functional_placement {
    uint32_t set, way, generation;
    bool is_found, is_new, is_evicted, is_expired;
};

// `key_bits` up to FUNCTIONAL_HASH_KEY_BITS; `sets` a power of two, at least 2; up to 8 ways. 0, or -ENOMEM.
int functional_place_new(struct functional_place *place, uint32_t key_bits, uint32_t sets, uint32_t ways);
void functional_place_free(struct functional_place *place);
void functional_place_clear(struct functional_place *place);
// Under another secret no flow would be where it is: the caller clears.
void functional_place_secret(struct functional_place *place, const uint64_t secret[2]);
// Bits beyond the key are 0. `now`: ticks, modulo 2^32.
struct functional_placement functional_place_find(struct functional_place *place, const uint64_t *key, uint32_t now,
                                                  bool insert);
// Removes a flow, unless its way was taken since.
void functional_place_remove(struct functional_place *place, uint32_t set, uint32_t way, uint32_t generation);

// ---- functional_process.c: the memories of a process block, decoded, and a packet's way through them.

enum {
    PROCESS_NIBBLES = SLUICE_PROCESS_CONDITIONS / PIPELINE_NIBBLE + 2
};                                                 // of the key of entries; the last two: label
enum { PROCESS_NOTHING = SLUICE_PROCESS_SOURCES }; // a half word that reads 0
enum { PROCESS_IMMEDIATE = SLUICE_PROCESS_OPERAND_OWN + 1, PROCESS_OPERANDS };

struct process_operand {
    uint8_t source, rotate; // place among the operands of a packet; bits to the right
    uint32_t mask;
};

struct process_instruction {
    struct process_operand a, b;
    uint32_t immediate, mask, signs, ones; // of its lanes: all bits; the highest and the lowest bits of runs of them
    uint8_t kind, bits;
};

struct process_input {
    struct process_instruction instruction; // without operands
    uint32_t source_mask;
    uint8_t source, rotate;
    bool is_neighbour;
};

struct process_condition {
    struct process_operand a, b;
    uint32_t immediate;
    uint8_t kind;
};

struct process_action {
    struct process_instruction instruction;
    uint8_t word; // of the PHV
};

// Of one version.
struct process_program {
    struct process_input inputs[SLUICE_PROCESS_INPUTS];
    struct process_condition conditions[SLUICE_PROCESS_CONDITIONS];
    struct process_instruction updates[SLUICE_PROCESS_WORDS][SLUICE_PROCESS_UPDATES];
    uint16_t accepts[PROCESS_NIBBLES][1 << PIPELINE_NIBBLE]; // bit n: entry n takes the value
    struct sluice_process_entry entries[SLUICE_PROCESS_ENTRIES];
    struct process_action actions[SLUICE_PROCESS_ENTRIES][SLUICE_PROCESS_ACTIONS];
    struct sluice_process_decision decisions[SLUICE_PROCESS_ENTRIES];
};

struct functional_process {
    uint64_t shared[2 * SLUICE_PROCESS_SHARED_WORDS]; // global, then table state
    struct process_program programs[PIPELINE_VERSIONS];
};

// False: the block has not this address, and nothing was written.
bool functional_process_write(struct functional_process *process, const struct sluice_process_write *write);
// The entry that is taken. `flow` is the state of the flow, before and after.
uint32_t functional_process_run(const struct functional_process *process, struct pipeline_packet *packet, uint32_t tick,
                                uint32_t flow[SLUICE_PROCESS_WORDS]);

// ---- functional_stateful.c

enum { STATEFUL_WAYS = 4 };

struct stateful_selector {
    uint64_t mask[SLUICE_FLOW_KEY_WORDS / 4];
    uint8_t words[SLUICE_FLOW_KEY_WORDS]; // sources
    uint8_t epoch, insert_source;
    uint16_t insert_mask;
};

struct functional_stateful {
    struct stateful_selector selectors[PIPELINE_VERSIONS];
    uint64_t secret[2];
    struct functional_place place;
    uint32_t (*states)[SLUICE_PROCESS_WORDS]; // by set and way
    struct functional_process process;
};

struct functional_stateful *functional_stateful_new(uint32_t sets); // NULL: out of memory
void functional_stateful_free(struct functional_stateful *unit);
// Flows and settings; the program stays as it is.
void functional_stateful_reset(struct functional_stateful *unit);
// False: the unit has not this address, and nothing was written. Those that only its process block has not are ignored.
bool functional_stateful_write(struct functional_stateful *unit, unsigned memory, const struct pipeline_write *write);
// Where the flow of the packet is.
struct functional_placement functional_stateful_run(struct functional_stateful *unit, struct pipeline_packet *packet,
                                                    uint32_t tick);

#endif
