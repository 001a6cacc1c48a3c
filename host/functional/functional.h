// SPDX-License-Identifier: Apache-2.0
// The functional device: the flow-table configuration (configs/flow), or the overlay (configs/overlay), in its shell as
// software, without time. Its parts, and what they share; docs/design/functional.md says what it does as the RTL does
// and what it does not. Nothing here is thread-safe: the library serialises calls on a device.
#ifndef SLUICE_FUNCTIONAL_H
#define SLUICE_FUNCTIONAL_H

#include <endian.h>
#include <stdbool.h>

#include "flow_table.h"
#include "flow_words.h"
#include "packet.h"
#include "rule_mirror.h"
#include "transport.h"

enum {
    FUNCTIONAL_LANES = SLUICE_HOST_PORT,
    FUNCTIONAL_RINGS = SLUICE_RING_QUEUE + FUNCTIONAL_LANES * SLUICE_HOST_QUEUES
};
// As of configs/flow and configs/overlay.
enum { FUNCTIONAL_FLOW_WINDOW = 1, FUNCTIONAL_DEPARSE_WINDOW = 4, FUNCTIONAL_HOST_WINDOW = 5 };
enum { FUNCTIONAL_PIPELINE_WINDOW = 1 };
enum { FUNCTIONAL_OUT_BYTES = SLUICE_MTU_BYTES + SLUICE_PACKET_GROWTH };

struct functional_size {
    uint32_t lanes, groups, group_entries, ternary_entries;
    uint32_t queues;         // of each lane to the host; 0: one for all
    uint32_t push;           // 1: counters of rules go into host memory
    uint32_t pipeline_units; // 0: the flow table; else the overlay with so many units
    uint32_t stateful_units; // bit n: unit n is a stateful one
    uint32_t flow_sets;      // of each of their flow tables
};

// Bits of the shell's control register.
enum { FUNCTIONAL_RESET = 1, FUNCTIONAL_PAUSE = 2, FUNCTIONAL_LOSSLESS = 4 };

static inline uint32_t functional_word(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return le32toh(word);
}

static inline uint64_t functional_long(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

static inline void functional_put_word(uint8_t *bytes, uint32_t word) {
    word = htole32(word);
    memcpy(bytes, &word, sizeof word);
}

// functional_window.c: the registers of a window. Words are little-endian, so that a record may lie over them. Offsets
// are in bytes, multiples of 4 inside the window.
struct functional_window {
    const struct sluice_register *registers[SLUICE_WINDOW_SIZE / 4]; // of each word; NULL: unused
    uint8_t bytes[SLUICE_WINDOW_SIZE];                               // what the host reads
};

static inline uint32_t functional_window_get(const struct functional_window *window, uint32_t offset) {
    return functional_word(window->bytes + offset);
}

static inline void functional_window_set(struct functional_window *window, uint32_t offset, uint32_t value) {
    functional_put_word(window->bytes + offset, value);
}

// Adds a block of the layouts, with its values after a reset.
void functional_window_add(struct functional_window *window, const struct sluice_register *registers, size_t count);
#define FUNCTIONAL_WINDOW_ADD(window, registers)                                                                       \
    functional_window_add(window, registers, sizeof(registers) / sizeof *(registers))
void functional_window_reset(struct functional_window *window); // what the host wrote
// An access of the host. 0, or -EFAULT: the register is not there, or not for that. A write of a register that keeps
// nothing changes nothing here.
int functional_window_read(const struct functional_window *window, uint32_t offset, uint32_t *value);
int functional_window_write(struct functional_window *window, uint32_t offset, uint32_t value);

// functional_store.c: a queue of packets in memory of a fixed size, each in one piece.
struct functional_packet {
    uint32_t size, place; // bytes; bytes of the store that it takes
    uint64_t ingress_cycle, egress_cycle;
    uint8_t bytes[];
};

struct functional_store {
    uint8_t *memory;
    uint32_t capacity, head, tail, end, count; // bytes; places in it; packets
};

int functional_store_new(struct functional_store *store, uint32_t capacity);
void functional_store_free(struct functional_store *store);
// A copy of a packet at the end; NULL: no room.
struct functional_packet *functional_store_put(struct functional_store *store, const uint8_t *bytes, uint32_t size);
// The oldest packet, which stays until dropped; NULL: there is none.
struct functional_packet *functional_store_first(const struct functional_store *store);
void functional_store_drop(struct functional_store *store);
bool functional_store_has_room(const struct functional_store *store, uint32_t size);

// functional_fence.c: its order fence, with registers in the window of the flow table.
struct functional_fence_word { // of a flow, as in rtl/match/sl_flow_fence.sv
    bool is_pending, is_held;
    uint32_t since; // low bits of a timestamp, as `last` is one
    uint64_t last;
};

enum { FUNCTIONAL_FENCE_WORDS = 4096 };

struct functional_fence {
    struct functional_window *window;
    uint32_t done_low;
    struct functional_fence_word words[FUNCTIONAL_FENCE_WORDS];
    uint64_t common[SLUICE_FLOW_WORDS]; // mask: what all packets of a flow have in common
};

void functional_fence_reset(struct functional_fence *fence, struct functional_window *window);

// Whether what a packet matched holds for it. `hit`: it matched a rule; `to_host`: one that sends it to the host.
bool functional_fence_passes(struct functional_fence *fence, const uint8_t *key, uint8_t lane, uint64_t now, bool hit,
                             bool to_host);
// A word of `fence_done`: twice the lane, and 1 for the high word.
void functional_fence_done(struct functional_fence *fence, uint32_t place, uint32_t value);

// functional_flow.c: the element flow_table, its window and what it does to a record.
struct functional_flow;

struct functional_flow *functional_flow_new(const struct functional_size *size);
void functional_flow_free(struct functional_flow *flow);
// Host memory for the counters of rules, and how many records it must have; 0: the device pushes none.
uint32_t functional_flow_records(const struct functional_flow *flow);
void functional_flow_mirror(struct functional_flow *flow, uint64_t *memory);
void functional_flow_reset(struct functional_flow *flow);
// 0, or -EFAULT where the element answers an error.
int functional_flow_read(struct functional_flow *flow, uint32_t offset, uint32_t *value);
int functional_flow_write(struct functional_flow *flow, uint32_t offset, uint32_t value);
void functional_flow_run(struct functional_flow *flow, const struct functional_packet *packet, uint32_t tick,
                         struct sluice_phv_record *record);
// The flow_key_t of a packet with this record; false: it has none, and nothing was written.
bool functional_flow_key(const uint8_t *packet, uint32_t size, const struct sluice_phv_record *record, uint8_t *key);

// functional_deparse.c: the element deparse, its window and its verdict.
struct functional_deparse {
    struct functional_window window;
    struct sluice_template templates[SLUICE_TEMPLATES];
};

// What becomes of a packet.
struct functional_job {
    bool is_dropped, is_edited;
    uint8_t verdict, egress_mask;
};

void functional_deparse_reset(struct functional_deparse *deparse);
int functional_deparse_write(struct functional_deparse *deparse, uint32_t offset, uint32_t value);
struct functional_job functional_deparse_decide(const struct sluice_phv_record *record,
                                                struct sluice_graph_counters *counters);

// functional_pipeline.c: the element pipeline, its window and what it does to a packet.
struct functional_pipeline;

struct functional_pipeline *functional_pipeline_new(const struct functional_size *size);
void functional_pipeline_free(struct functional_pipeline *pipeline);
void functional_pipeline_reset(struct functional_pipeline *pipeline);
// 0, or -EFAULT where the element answers an error.
int functional_pipeline_read(const struct functional_pipeline *pipeline, uint32_t offset, uint32_t *value);
int functional_pipeline_write(struct functional_pipeline *pipeline, uint32_t offset, uint32_t value);
// A packet that enters, for the first time or once more.
struct functional_pass {
    const uint8_t *bytes;
    uint32_t size, longest; // bytes; those it may have to enter once more
    uint32_t mark;          // of the pass before
    uint8_t begins;         // the unit that looks it up first; 0: this is the first pass
};

// Whether the packet leaves, as `out`, which has room for FUNCTIONAL_OUT_BYTES and is not where it enters from. `pass`
// is then the next one of the packet; if that begins at 0, there is none. `meta` has its ingress port, and then what
// else the element sets. `tick`: microseconds.
bool functional_pipeline_run(struct functional_pipeline *pipeline, struct functional_pass *pass, uint32_t tick,
                             struct sluice_buffer_meta *meta, struct sluice_graph_counters *counters, uint8_t *out);

// functional_host.c: how packets of a lane are spread over its receive queues.
struct functional_spread {
    uint8_t kinds; // bits of enum sluice_hash_kind
    uint8_t key[SLUICE_RSS_KEY_BITS / 8], table[SLUICE_RSS_TABLES][SLUICE_RSS_ENTRIES];
    uint32_t parts[(SLUICE_RSS_KEY_BITS - 32) / 4][16]; // what a value of four input bits adds to the hash
};

struct functional;

// `record` is what the parser reads of the packet; `meta` has its ingress port. `key` is zeros, for its flow key.
void functional_host_describe(const struct functional *it, const uint8_t *packet, uint32_t size,
                              const struct sluice_phv_record *record, struct sluice_buffer_meta *meta, uint8_t *key);
// Checksums of a packet from the host, as its `mark` asks for (transmit_checksum_t). 0, or -EINVAL: nothing was filled
// in.
int functional_host_fill(uint8_t *packet, uint32_t size, uint32_t mark);
// 0, or -EFAULT where the window answers an error.
int functional_host_read(const struct functional *it, uint32_t offset, uint32_t *value);
int functional_host_write(struct functional *it, uint32_t offset, uint32_t value);

// functional_device.c: the shell around them.
struct functional_lane {
    struct functional_store waiting, left; // before the lane; behind it
    uint64_t last_ingress;                 // cycle of the last packet: each has one of its own
    struct sluice_lane_counters counters;
    struct functional_spread spread;
};

struct functional_ring {
    uint8_t *memory;
    uint32_t buffers;
    uint64_t filled, freed; // buffers given over and taken back, since the start
};

struct functional {
    struct sluice_transport base;
    struct functional_size size;
    bool is_joined; // lanes 0 and 1 by a cable, 2 and 3, ...; an odd one at the end with itself
    struct functional_lane lane[FUNCTIONAL_LANES];
    uint32_t waiting;                              // packets before all lanes
    struct functional_ring ring[FUNCTIONAL_RINGS]; // by enum sluice_ring
    uint32_t queue_rings;                          // those of queues that are there
    struct functional_window shell, spread;        // page 0; the window of the queues
    uint64_t cycles, tick_cycle;                   // now; the cycle from which the clock adds to `tick` of page 0
    uint32_t counter_high;
    struct sluice_host_counters host;
    struct sluice_graph_counters graph;
    struct functional_flow *flow;         // NULL: the overlay
    struct functional_pipeline *pipeline; // NULL: the flow table
    struct sluice_mirror mirror;
    struct functional_deparse deparse;
    uint8_t out[FUNCTIONAL_OUT_BYTES > SLUICE_EGRESS_BYTES ? FUNCTIONAL_OUT_BYTES : SLUICE_EGRESS_BYTES];
    uint8_t other_out[FUNCTIONAL_OUT_BYTES]; // of every other pass
};

// A cycle: one packet of each lane and one of the host. Whether any moved.
bool functional_cycle(struct functional *it);
void functional_advance(struct functional *it, uint32_t cycles);
// A packet before a lane. 0, or -EAGAIN: enough are waiting.
int functional_lane_send(struct functional *it, unsigned lane, const uint8_t *bytes, uint32_t size, bool is_bad);

// functional_registers.c: the register bus. 0, or -EFAULT where nothing answers.
void functional_registers_start(struct functional *it);
static inline uint32_t functional_control(const struct functional *it) { // of page 0
    return functional_window_get(&it->shell, SLUICE_SHELL_REGISTERS_CONTROL);
}
uint32_t functional_tick(const struct functional *it); // microseconds
int functional_register_read(struct functional *it, uint32_t address, uint32_t *value);
int functional_register_write(struct functional *it, uint32_t address, uint32_t value);
// One after the other up to the first that fails, and how many were done; what is under way moves before.
int functional_register_batch(struct functional *it, struct sluice_access *accesses, unsigned count, unsigned *done);

#endif
