// SPDX-License-Identifier: Apache-2.0
// libsluice: a Sluice device from C. Open it by URI, exchange packets with it, read its counters, and give it rules.
//
// Every function that can fail returns 0 (or a count) or a negative errno, and leaves a sentence about it in
// sluice_error_text() of the calling thread; a failed call changes nothing. All functions may be called from several
// threads at once; calls on one device are served one after the other.
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice_layouts.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sluice_device;

#define SLUICE_RULE_CHOOSE UINT32_MAX // the library chooses the rule id
#define SLUICE_KEY_BYTES (SLUICE_KEY_BITS / 8)
#define SLUICE_EDIT_BYTES (SLUICE_EDIT_DATA_BITS / 8)

// The value of a SET_LONG action, with the slot that uses it; the library keeps the edit-data table and fills the
// index.
struct sluice_edit {
    uint8_t slot;
    uint8_t value[SLUICE_EDIT_BYTES]; // little-endian: byte 0 is the lowest
};

// What software asks of a rule table (AccelSDP Figure 14).
struct sluice_rule {
    uint32_t id;                     // logical rule id, or SLUICE_RULE_CHOOSE; after a populate: the id it got
    uint16_t rule_priority;          // the higher wins; LPM tables: the prefix length
    uint8_t value[SLUICE_KEY_BYTES]; // little-endian, the table's key in the low bits
    uint8_t mask[SLUICE_KEY_BYTES];  // 1: this bit counts; exact tables: all ones over the key
    struct sluice_action_set actions;
    uint8_t edit_count; // edits used
    struct sluice_edit edits[SLUICE_ACTION_SLOTS];
};

// What is to be done with a rule.
struct sluice_rule_op {
    uint8_t kind;     // enum sluice_instruction_kind
    uint8_t table_id; // enum sluice_table
    struct sluice_rule rule;
};

// A packet the device gave to the host. `bytes` is valid until sluice_packet_release.
struct sluice_packet {
    const uint8_t *bytes;
    uint32_t size;
    uint8_t ingress_port;
    uint8_t egress_mask;
    uint8_t queue;   // of a compiled configuration: the channel to the host
    uint8_t verdict; // enum sluice_verdict
    uint8_t fault;   // enum sluice_fault
    uint32_t mark;
    uint64_t timestamp; // core cycles at lane receive
    // Devices with receive queues: what they read of the packet as it is here; see host_info_t of the layouts.
    uint32_t hash;             // Toeplitz, where hash_kind is not 0
    uint16_t l4_sum;           // one's complement sum of the transport header and what it carries, where l4_kind
    uint8_t hash_kind;         // enum sluice_hash_kind
    uint8_t receive_queue;     // of the lane
    uint8_t checksum_verified; // bits of enum sluice_checksum
    uint8_t tags;              // VLAN tags
    uint8_t l3_kind, l4_kind;  // enum sluice_l3_kind, enum sluice_l4_kind
    uint8_t l3_offset, l4_offset;
    // What the flow table matches, as SLUICE_FLOW_KEY_BYTES packed bytes of sluice_flow_key (SLUICE_BUFFER_KEY_SIZE
    // with the zeros behind them): of the packet as it is here, tunnels not opened. NULL: it has none (a parser fault,
    // 802.2 SNAP, a device without receive queues). Valid as long as `bytes`.
    const uint8_t *flow_key;
};

struct sluice_lane_info {
    uint64_t ingress_cycle; // when the first flit came into its lane; 0: the host's own packet
    uint64_t first_cycle;   // when its first flit left
    uint64_t last_cycle;
};

// What the last failed call of this thread says: what, where, what to do.
const char *sluice_error_text(void);

// Set that sentence; returns `error`, so that a caller can return it. For what is built on the library.
int sluice_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Open a device: `sim:lib=PATH` (a simulated device made by shell/sim/build.py, in this process) or
// `sim-process:lib=PATH` (the same in a process of its own, which ends with this one;
// `sim-process:timeout=MILLISECONDS,lib=PATH` says after how long without an answer it counts as gone). Without `lib=`,
// the environment's SLUICE_SIM_LIB. Or `functional:`, the flow-table configuration as software, without time, or
// the overlay (docs/design/functional.md). -EINVAL: no such transport; -ENODEV: it cannot be loaded or is no Sluice
// device; -EPROTO: its layouts are not those of this library, or it says of itself what cannot be. A device whose
// registers all read all ones was removed: every call that reads one returns -ENODEV.
//
// A program that was compiled with another version of this header is refused, -EPROTO with the reason: each passes the
// version and the sizes of the structures that both sides read and write. A new field at the end of one, or another
// meaning, is another version.
#define SLUICE_ABI_VERSION 3
struct sluice_abi {
    uint32_t size; // of this structure
    uint32_t version;
    uint32_t layouts; // SLUICE_LAYOUT_HASH
    uint16_t instruction_size, packet_size, outgoing_size, lane_info_size;
};
#define SLUICE_ABI                                                                                                     \
    (&(const struct sluice_abi){sizeof(struct sluice_abi), SLUICE_ABI_VERSION, SLUICE_LAYOUT_HASH,                     \
                                sizeof(struct sluice_rule_op), sizeof(struct sluice_packet),                           \
                                sizeof(struct sluice_outgoing), sizeof(struct sluice_lane_info)})
int sluice_device_open_abi(const char *uri, struct sluice_device **device, const struct sluice_abi *abi);
int sluice_device_open(const char *uri, struct sluice_device **device);
#define sluice_device_open(uri, device) sluice_device_open_abi(uri, device, SLUICE_ABI)
void sluice_device_close(struct sluice_device *device);

unsigned sluice_device_lanes(const struct sluice_device *device);
// As many, behind the lanes, where the host's side is lanes to a NIC (a bump in the wire); 0 where it is the rings.
unsigned sluice_device_host_lanes(const struct sluice_device *device);
uint32_t sluice_device_clock_khz(const struct sluice_device *device);
uint64_t sluice_device_cycles(struct sluice_device *device);
// Simulated devices: let cycles pass. Others pass time by themselves: nothing happens.
void sluice_device_advance(struct sluice_device *device, uint32_t cycles);
// Whether nothing is in flight in the device.
bool sluice_device_idle(struct sluice_device *device);
// Cycles after which what packets counted is in host memory, where the device writes it there; 0: at once, or never.
uint32_t sluice_device_push_cycles(const struct sluice_device *device);

// Lossless: full FIFOs press back instead of dropping (runs over captures).
int sluice_device_set_lossless(struct sluice_device *device, bool on);
// The fence: after pause no packet enters the graph; drained is 1 once all that was in it has left, to lanes or into
// the host's ring (which the caller must keep reading meanwhile). Resume lifts it.
int sluice_device_pause(struct sluice_device *device);
int sluice_device_drained(struct sluice_device *device);
int sluice_device_resume(struct sluice_device *device);
// The microsecond tick of timeouts and last hits. The device's clock counts it, until `set` puts it to a value, where
// it stands until the next (runs over captures, whose time is that of their packets); `run` lets the clock count on.
int sluice_device_run_tick(struct sluice_device *device);
int sluice_device_set_tick(struct sluice_device *device, uint32_t microseconds);

// Registers, by byte address. -EFAULT: nothing is there; -ENODEV: the device does not answer.
int sluice_register_read(struct sluice_device *device, uint32_t address, uint32_t *value);
int sluice_register_write(struct sluice_device *device, uint32_t address, uint32_t value);

int sluice_lane_counters_read(struct sluice_device *device, unsigned lane, struct sluice_lane_counters *counters);
int sluice_host_counters_read(struct sluice_device *device, struct sluice_host_counters *counters);
int sluice_graph_counters_read(struct sluice_device *device, struct sluice_graph_counters *counters);

// Lanes of a simulated device: put a packet before one (-EAGAIN: enough are waiting), take one that left (its size;
// -EAGAIN: none). `flags` bit 0: bad FCS. -ENOTSUP where the lanes are real.
int sluice_lane_send(struct sluice_device *device, unsigned lane, const uint8_t *bytes, uint32_t size, unsigned flags);
int sluice_lane_receive(struct sluice_device *device, unsigned lane, uint8_t *bytes, uint32_t capacity,
                        struct sluice_lane_info *info);

// The host's packets. Receive: 1 and the oldest packet, or 0; it stays until released. Send: -EAGAIN: the ring is full;
// -EINVAL: no such lane, or a size that cannot be; -ENOTSUP: the device has host lanes.
int sluice_packet_receive(struct sluice_device *device, struct sluice_packet *packet);
void sluice_packet_release(struct sluice_device *device);
int sluice_packet_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
                       uint8_t queue);

// Into a channel of a compiled configuration, by its number: bytes, size and metadata of `packet`, but not its verdict
// and queue. -EAGAIN: the ring is full; -EINVAL: no such channel, or a size that cannot be; -ENOENT: the device has
// rule tables instead. What a channel's store has no room for holds up the ring: see graph_registers.taken.
int sluice_channel_send(struct sluice_device *device, unsigned channel, const struct sluice_packet *packet);

// The same for pollers that must not wait while another thread lets the device's time pass (sluice_device_advance, and
// every call that reads or writes a register): these never take the device's lock, and the device learns of them when
// time passes next. Receive gives up to `count` packets, which stay until all are released together.
unsigned sluice_poll_receive(struct sluice_device *device, struct sluice_packet *packets, unsigned count);
void sluice_poll_release(struct sluice_device *device);
int sluice_poll_send(struct sluice_device *device, const uint8_t *bytes, uint32_t size, uint8_t egress_mask,
                     uint8_t queue);

// Several packets, under one lock. How many were sent: fewer where the ring is full, or the next would be refused.
struct sluice_outgoing {
    const uint8_t *bytes;
    uint32_t size;
    struct sluice_transmit_checksum checksum; // to fill in, by devices with receive queues; all 0: nothing
};
unsigned sluice_poll_send_many(struct sluice_device *device, const struct sluice_outgoing *packets, unsigned count,
                               uint8_t egress_mask, uint8_t queue);

// Receive queues: each lane has so many; 0: the device has none, and all packets come by sluice_packet_receive. Once
// one is open they no longer do, and packets for a queue that is not open are dropped and counted (`ring_overflow`).
unsigned sluice_device_queues(const struct sluice_device *device);

// The queue of a lane with a ring of at least `buffers`, up to SLUICE_QUEUE_MOST_BUFFERS; the same each time, until the
// device is closed: its ring does not grow. -ENOENT: the device has none; -EINVAL: no such one, or too many buffers;
// -EBUSY: it is open with fewer. It is polled as by sluice_poll_receive, by one thread at a time, and without any lock.
#define SLUICE_QUEUE_MOST_BUFFERS 2048
struct sluice_queue;
int sluice_queue_open(struct sluice_device *device, unsigned lane, unsigned queue, unsigned buffers,
                      struct sluice_queue **out);
// Buffers of its ring. A packet takes one, or more if it is long.
unsigned sluice_queue_buffers(const struct sluice_queue *queue);
unsigned sluice_queue_receive(struct sluice_queue *queue, struct sluice_packet *packets, unsigned count);
void sluice_queue_release(struct sluice_queue *queue);
// Whether a packet is there that was not released; of any thread.
bool sluice_queue_waits(const struct sluice_queue *queue);

// How the packets of a lane are spread: what is hashed (bits of enum sluice_hash_kind; 0 at first: all are for queue
// 0), with which key (from its first bit on), and which queue the hashes that end in `entry` are for, in `table` 0 of
// the lane; in tables 1 to SLUICE_RSS_TABLES - 1 for the packets of rules that choose them (SLUICE_ACTION_QUEUE), where
// entry 0 is for those without a hash, too. Key and tables are undefined at first: set the kinds last.
int sluice_spread_set_kinds(struct sluice_device *device, unsigned lane, uint8_t kinds);
int sluice_spread_set_key(struct sluice_device *device, unsigned lane, const uint8_t key[SLUICE_RSS_KEY_BITS / 8]);
int sluice_spread_set_entry(struct sluice_device *device, unsigned lane, unsigned table, unsigned entry,
                            unsigned queue);

// The order fence of the flow table (docs/design/fence.md): with it on, packets that a rule matches follow those of
// their flow that are still on their way through the host there, for `bound` cycles at most (below 2^31). Whoever polls
// says how far it is: every packet of a lane up to this timestamp has been sent (sluice_poll_send) or dropped. Any
// thread, never waits. The device learns of it as time passes. -ENOENT: the device has no flow table.
int sluice_fence_set(struct sluice_device *device, bool on, uint32_t bound);
void sluice_poll_done(struct sluice_device *device, unsigned lane, uint64_t timestamp);
// Packets that it sent to the host, and flows that it let go at the bound; both wrap.
int sluice_fence_read(struct sluice_device *device, uint32_t *held, uint32_t *forced);

// Admission: which packets the tables may decide. `flags`: bits 8 to 11 of admit_registers.control.
int sluice_admit_set(struct sluice_device *device, unsigned required_tables, unsigned flags);
int sluice_admit_set_mac(struct sluice_device *device, unsigned lane, const uint8_t mac[6]);

// The device's own addresses, lowest byte first: a tunnel to one of them and to the lane's MAC address is opened. NULL:
// no tunnel of that IP version is.
int sluice_admit_set_tunnels(struct sluice_device *device, const uint8_t ipv4[4], const uint8_t ipv6[16]);

// Header template `index` (below SLUICE_TEMPLATES), for ACTION_INSERT_TUNNEL and ACTION_INSERT_RAW: the bytes of the
// headers, from Ethernet on. Lengths, IPv4 checksum, UDP source port and the tunnel id (VXLAN, Geneve, NVGRE) are made
// for each packet; a UDP checksum is 0. Size 0 removes it. -EINVAL: no such index, or a size that is odd or above
// SLUICE_TEMPLATE_BYTES; -ENOENT: the device has no templates.
int sluice_template_set(struct sluice_device *device, uint32_t index, const uint8_t *bytes, uint32_t size);

// A message to an element of the compiled configuration that the device runs, and its answer, as words of the signal
// chain (rtl/ctrl/sl_signal_node.sv; `./sluice signal` makes them). The words of the answer, of which up to `capacity`
// are written. -ENOENT: the device runs no such configuration; -ENOSPC: the answer is longer; -ETIMEDOUT.
int sluice_signal(struct sluice_device *device, const uint32_t *words, unsigned count, uint32_t *reply,
                  unsigned capacity);

// OFUs, named by their kind (SLUICE_ELEMENT_LPM, SLUICE_ELEMENT_EXACT). Init empties the tables and enables it.
// -ENOENT: the device has no such OFU.
int sluice_ofu_init(struct sluice_device *device, uint16_t ofu_id);
int sluice_ofu_uninit(struct sluice_device *device, uint16_t ofu_id);
// Capacity and use of one of its tables; the values may be NULL.
int sluice_ofu_size(struct sluice_device *device, uint16_t ofu_id, uint8_t table_id, uint32_t *entries, uint32_t *used);
// One instruction. -ENOENT: no such rule; -ENOSPC: the table or the edit-data table is full; -EEXIST: the key or the id
// is in the table; -EINVAL: bad mask, table, kind, action; -ENODEV: the device is gone.
int sluice_rule_ops(struct sluice_device *device, uint16_t ofu_id, struct sluice_rule_op *op);
// Several, pipelined; `results` gets what each would have returned. The number that failed, or a negative errno.
int sluice_rule_ops_many(struct sluice_device *device, uint16_t ofu_id, struct sluice_rule_op *op, unsigned count,
                         int *results);
// Counters of a rule; -ENOENT where it is not there.
int sluice_rule_counters_read(struct sluice_device *device, uint16_t ofu_id, uint8_t table_id, uint32_t rule_id,
                              struct sluice_rule_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
