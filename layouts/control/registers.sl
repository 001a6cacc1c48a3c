// SPDX-License-Identifier: Apache-2.0
/// The register map. Addresses are in bytes, registers have 32 bits. Window n starts at n * WINDOW_SIZE; window 0 is the shell's
/// page 0; every element with a control port has its own window. An access outside a window, or to an unused address, answers an
/// error and changes nothing.
import "../stream/packet.sl";
import "rule.sl";

constexpr uint WINDOW_SIZE = 0x1000;
constexpr uint REGISTER_ADDRESS_BITS = 20;
constexpr uint DEVICE_MAGIC = 0x43554c53;   /// "SLUC" in little-endian bytes
constexpr uint DEVICE_VERSION = 1;

/// A request on the register bus.
struct register_request_t {
    uint<1>  write;
    uint<REGISTER_ADDRESS_BITS> address;    /// bytes, multiple of 4; elements use the low 12 bits
    uint<32> data;
}

/// The answer.
struct register_response_t {
    uint<1>  error;
    uint<32> data;
}

/// Kind of an element with a window.
enum element_kind_t : uint<16> {
    ELEMENT_NONE    = 0,
    ELEMENT_SHELL   = 1,
    ELEMENT_ADMIT   = 2,
    ELEMENT_LPM     = 3,
    ELEMENT_EXACT   = 4,
    ELEMENT_QOS     = 5,
    ELEMENT_DEPARSE = 6,
    ELEMENT_FLOW_TABLE = 7,
    ELEMENT_GRAPH = 8,
    ELEMENT_HOST = 9,
    ELEMENT_PIPELINE = 10,
    ELEMENT_CONTROLLER = 11
}

/// Page 0.
registers shell_registers {
    ro uint<32> magic          @ 0x000 = DEVICE_MAGIC;
    ro uint<32> version        @ 0x004 = DEVICE_VERSION;
    ro uint<32> layout_hash    @ 0x008; /// hash of the layouts; on a mismatch the device must not be opened
    ro uint<32> lanes          @ 0x00c;
    ro uint<32> clock_khz      @ 0x010; /// core clock; simulation: the clock that figures assume
    ro uint<32> windows        @ 0x014; /// number of windows, page 0 included
    rw uint<3>  control        @ 0x018 = 0; /// bit 0: reset the graph once it has drained, reads 1 until done; bit 1: pause, no packet enters the graph; bit 2: lossless, full FIFOs apply back-pressure instead of dropping (runs over captures)
    ro uint<32> status         @ 0x01c; /// bit 0: ready; bit 1: nothing in flight from the lanes' receive stores to the host's ring, nor from the host to the lanes; bit 2: nothing in flight in the graph
    ro uint<32> time_low       @ 0x020; /// core cycles; reading the low word latches the high word
    ro uint<32> time_high      @ 0x024;
    rw uint<32> tick           @ 0x028 = 0; /// microseconds; wraps. Counted by the clock or set by the host, see tick_source; a write sets it
    rw uint<8>  host_share     @ 0x02c = 32; /// the host's share of the merge, out of 256
    rw uint<1>  tick_source    @ 0x030 = 1; /// bit 0: the clock counts the tick, as after reset; 0: only host writes change it (runs over captures)
    rw uint<3>  lock           @ 0x034 = 0; /// of the graph's windows. A write of 1 takes it, of 0 gives it back; error if another master has it. With several controller cores a write to those windows needs it, or answers an error. Bit 0: the reader has it; bit 1: another has it; bit 2: another had it since the reader gave it back. With one core or none it holds what is written
    ro uint<32> lock_refused   @ 0x038; /// accesses that were refused for want of the lock; they wrap
    ro uint<32> master         @ 0x03c; /// number of the reader: 0 the host; 1 + n controller core n
    ro uint<32> capability[16] @ 0x040; /// window n: bits 15:0 element_kind_t; bits 31:16 its size: lanes of the shell, log2 of the first table's entries (rounded up) of an OFU, log2 of the deparser's templates, the lane of a QoS element; of a controller core its lane (bits 23:16) and its number (31:24); of a compiled configuration its channels to the host (bits 23:16) and from it (31:24)
    ro uint<32> lane_counters[128] @ 0x200; /// lane n at n * 16 words, see lane_counters_t
    ro uint<32> host_counters[16]  @ 0x400; /// see host_counters_t
    ro uint<32> graph_counters[16] @ 0x440; /// see graph_counters_t
}

/// Words of 64-bit counters, which come first in each record. Reading the low word of one latches its high word, which the next
/// read of the high word of any 64-bit counter returns: there is one latch, so read both words before those of another counter.
constexpr uint LANE_COUNTERS_WIDE_WORDS = 8;
constexpr uint HOST_COUNTERS_WIDE_WORDS = 8;
constexpr uint GRAPH_COUNTERS_WIDE_WORDS = 4;

/// Counters of a lane; they wrap. 16 words.
record lane_counters_t {
    uint<64> rx_packets;
    uint<64> rx_bytes;
    uint<64> tx_packets;
    uint<64> tx_bytes;
    uint<32> rx_error;          /// dropped: marked bad by the lane
    uint<32> rx_oversize;       /// dropped: longer than MTU_BYTES
    uint<32> rx_overflow;       /// dropped: the receive FIFO was full
    uint<32> tx_overflow;       /// dropped: the transmit FIFO, or with QoS the packet's queue, was full
    uint<32> tx_error;          /// dropped: marked bad by an element, shorter than 14 bytes, or longer than EGRESS_BYTES
    uint<32> rx_runt;           /// dropped: shorter than 14 bytes
    uint<32> reserved[2];
}

/// Counters of the host path; they wrap. 16 words.
record host_counters_t {
    uint<64> to_host_packets;
    uint<64> to_host_bytes;
    uint<64> from_host_packets;
    uint<64> from_host_bytes;
    uint<32> to_host_overflow;  /// dropped: the to-host FIFO was full
    uint<32> from_host_invalid; /// dropped: bad length, port or metadata
    uint<32> to_host_error;     /// dropped: marked bad by an element, shorter than 14 bytes, or longer than EGRESS_BYTES
    uint<32> ring_overflow;     /// dropped: the ring of the packet's receive queue was full, or there was none
    uint<32> from_host_merged;  /// packets of from_host_packets that have passed the merge with the device's own
    uint<32> from_host_unfilled; /// sent unchanged: the requested checksum could not be filled in, see transmit_checksum_t
    uint<32> reserved[2];
}

/// Counters of the graph; they wrap. 16 words.
record graph_counters_t {
    uint<64> forwarded_packets;
    uint<64> to_host_packets;
    uint<32> drop_rule;
    uint<32> drop_ttl;
    uint<32> drop_no_port;
    uint<32> faults;            /// packets with a parser fault, sent to the host
    uint<32> not_eligible;      /// packets that admission sent to the host
    uint<32> misses;            /// packets that missed in a required table
    uint<32> not_stripped;      /// opened packets that a rule forwards with their outer headers; sent to the host
    uint<32> reserved[5];
}

/// Window of the admission element: selects the packets that the rule tables may handle.
registers admit_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_ADMIT;
    rw uint<12> control        @ 0x004 = 0; /// bits 3:0 required tables; bit 8: send packets with IP options or extension headers to the host; bit 9: send fragments to the host; bit 10: admit only untagged packets; bit 11: any destination MAC
    rw uint<2>  tunnel_control @ 0x008 = 0; /// bit 0: open tunnels to tunnel_ipv4; bit 1: open tunnels to tunnel_ipv6
    rw uint<32> tunnel_ipv4    @ 0x00c = 0; /// the device's own address
    rw uint<32> tunnel_ipv6[4] @ 0x010 = 0; /// the device's own address, low word first
    rw uint<32> lane_mac[16]   @ 0x040 = 0; /// lane n: low 32 bits at 2n, high 16 bits at 2n+1; packets to another address go to the host
}

constexpr uint TEMPLATES = 256;         /// header templates of the deparser
constexpr uint TEMPLATE_BYTES = 128;    /// of the largest template
static_assert EGRESS_BYTES == MTU_BYTES + 2 * 4 + TEMPLATE_BYTES;

/// Per-packet fields of a header template. Places count 2-byte units from the start of the template.
struct template_info_t {
    uint<16> ip_sum;            /// one's complement sum of the IPv4 header with length and checksum 0
    uint<2>  reserved;
    uint<6>  id_place;          /// of the tunnel id's 24 bits
    uint<6>  udp_place;
    uint<6>  ip_place;
    uint<1>  has_id;
    uint<1>  has_udp;           /// source port and length are written
    uint<1>  is_ipv6;           /// payload length is written
    uint<1>  is_ipv4;           /// total length and checksum are written
    uint<8>  size;              /// bytes, even, at most TEMPLATE_BYTES; 0: no template
}
static_assert bits(template_info_t) == 48;

/// Window of the deparser: the header templates that actions prepend to packets.
registers deparse_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_DEPARSE;
    ro uint<32> templates      @ 0x004 = TEMPLATES; /// number of templates
    wo uint<32> template_index @ 0x008; /// a write stores info and bytes as this template, atomically; error if out of range
    rw uint<32> template_info[2] @ 0x010 = 0; /// see template_info_t, low word first
    rw uint<32> template_bytes[32] @ 0x080 = 0; /// byte 0 in bits 7:0 of the first
}

/// Window of a lane's QoS element.
registers qos_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_QOS;
    rw uint<1>  control        @ 0x004 = 0; /// bit 0: enabled; disabled: packets pass in order, once the queues have drained
    rw uint<4>  strict_from    @ 0x008 = 8; /// 0 to 8: queues from this one up are strict, the highest first; 8: none
    rw uint<16> quantum[8]     @ 0x040 = MTU_BYTES; /// bytes per turn of each other queue, 0 to 65535; at least its largest packet, or the shares are off
    ro uint<32> drops[8]       @ 0x080; /// packets dropped per queue, for lack of room; they wrap
}

/// Window of the programmable pipeline: its program (layouts/pipeline/memory.sl), and which version of it packets get.
registers pipeline_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_PIPELINE;
    ro uint<32> parts          @ 0x004; /// bits 7:0 stages of the parser; 15:8 units; 23:16 writers of the deparser
    ro uint<32> entries        @ 0x008; /// of a unit: bits 15:0 of the exact table, 31:16 of the ternary one
    rw uint<1>  version        @ 0x00c = 0; /// of the program, for packets that enter from now on; error while packets of the other one are in flight
    ro uint<32> draining       @ 0x010; /// packets of the other version in flight: its memories must not change before this is 0
    wo uint<32> place          @ 0x014; /// a write puts `data` into a memory: bits 15:0 address, 19:16 unit, 23:20 pipeline_memory_t; error if there is no such place
    ro uint<32> dropped        @ 0x018; /// packets whose verdict was to drop them, in their last pass; they wrap
    ro uint<32> faults         @ 0x01c; /// packets with a fault, in any pass, to the host; they wrap
    rw uint<20> counter_index  @ 0x020 = 0; /// bits 15:0 number of an action, as its address in UNIT_MEMORY_ACTION, 19:16 unit; a write reads its counters into counter_data, atomically; error if there is no such action, or while a reset still clears the counters
    ro uint<32> counter_data[4] @ 0x024; /// see rule_counters_t; a read waits until the counters are available
    ro uint<32> passes         @ 0x034; /// passes of packets after their first; they wrap
    ro uint<32> passes_refused @ 0x038; /// packets that asked for a pass and did not get it: at no unit above the one where their pass began, or they were PASS_GROWTH bytes too long; they wrap
    ro uint<32> looked_up[16]  @ 0x040; /// packets that a unit looked up, in each pass; they wrap
    rw uint<32> data[12]       @ 0x080 = 0; /// for `place`; low word first
    ro uint<32> matched[16]    @ 0x0c0; /// of those, packets that an entry matched, or whose flow a stateful unit found; they wrap
    ro uint<32> stateful       @ 0x100; /// bit n: unit n is a stateful one
    ro uint<32> process_parts  @ 0x104; /// of its process block: bits 3:0 inputs; 7:4 conditions; 11:8 words of the flow state; 15:12 updates of a word; 23:16 entries; 31:24 actions
    ro uint<32> flow_parts     @ 0x108; /// bits 7:0 log2 of the sets of its flow table; 15:8 ways; 23:16 words of a key; 24: it has composed updates
    ro uint<32> flows_new[16]  @ 0x140; /// packets of a stateful unit that made a flow; they wrap
    ro uint<32> flows_evicted[16] @ 0x180; /// of those, packets whose flow replaced one that was not expired; they wrap
    ro uint<32> flows_expired[16] @ 0x1c0; /// of those, packets whose flow replaced an expired one; they wrap
    ro uint<32> flows_absent[16]  @ 0x200; /// packets without a flow: they do not make one, the set is full, or flows are being forgotten; they wrap
}

/// Window of a controller core, in the order of their numbers: message packets (layouts/message). Its counters wrap.
registers controller_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_CONTROLLER;
    rw uint<1>  control        @ 0x004 = 0; /// bit 0: packets to the host go to the agent too
    rw uint<32> mac_low        @ 0x008 = 0x4c000001; /// of the core: every frame to it ends here; core n begins with n more than this
    rw uint<16> mac_high       @ 0x00c = 0x0253;
    rw uint<32> packet_in_interval @ 0x010 = 0; /// cycles from the beginning of one Packet_in to that of the next, at least
    wo uint<32> key[4]         @ 0x020; /// of SipHash-2-4, byte 0 in bits 7:0 of the first; 0: tags are not checked
    ro uint<32> accepted       @ 0x040; /// messages
    ro uint<32> repeated       @ 0x044; /// messages that came again: answered again
    ro uint<32> malformed      @ 0x048; /// dropped: magic, version, type, length, padding, checksum, address or port
    ro uint<32> forged         @ 0x04c; /// dropped: wrong tag
    ro uint<32> unexpected     @ 0x050; /// dropped: session or sequence
    ro uint<32> overflow       @ 0x054; /// dropped: messages without room
    ro uint<32> packet_in      @ 0x058; /// packets sent to the agent
    ro uint<32> packet_in_lost @ 0x05c; /// packets for the agent, dropped: no room, or no session yet
    ro uint<32> packet_out     @ 0x060; /// packets of the agent on their way to the lanes
    ro uint<32> packet_out_lost @ 0x064; /// packets of the agent, dropped: no such lane, no room, shorter than 14 bytes, or too long
}

/// Window of a compiled configuration: its signals, its channels from the host, and its drop counters. A message on the signal
/// chain consists of the words described in rtl/ctrl/sl_signal_node.sv. Counters wrap; the graph's reset clears them.
registers graph_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_GRAPH;
    ro uint<32> status         @ 0x004; /// bit 0: the chain accepts a word; bit 1: reply has a word; bit 2: it is the last of its message
    wo uint<32> signal         @ 0x008; /// a word of a message, not the last; error while the chain accepts none
    wo uint<32> signal_last    @ 0x00c; /// the last word of a message
    ro uint<32> reply          @ 0x010; /// the available word; reading removes it; error if none is available
    ro uint<32> lost           @ 0x020; /// packets of lanes that the configuration does not read
    ro uint<32> host_invalid   @ 0x024; /// packets from the host with an unknown channel, or a wrong record length
    ro uint<32> drop_error     @ 0x028; /// packets marked bad that left an element
    ro uint<32> drop_oversize  @ 0x02c; /// packets that left an element longer than EGRESS_BYTES
    ro uint<32> drop_runt      @ 0x030; /// packets that left an element shorter than 14 bytes
    ro uint<32> taken[16]      @ 0x080; /// flits of channel n from the host that have left its store: the host may send up to this plus GRAPH_STORE_FLITS
}

constexpr uint GRAPH_STORE_FLITS = 16384 / DATA_BYTES; /// capacity in flits of the store of a channel from the host
constexpr uint GRAPH_STORE_PACKETS = 64;        /// and in packets
constexpr uint GRAPH_CHANNELS = 16;             /// maximum channels from the host; and to it

/// Window of the receive queues (HostQueues): how packets of a lane are spread over them. A lane's key and tables are undefined
/// until written. A lane hashes nothing until its kinds are written; its packets go to queue 0, or to the queue in entry 0 of a
/// table that a rule chose.
registers host_registers {
    ro uint<32> kind           @ 0x000 = ELEMENT_HOST;
    ro uint<32> queues         @ 0x004; /// per lane
    rw uint<3>  lane           @ 0x008 = 0; /// lane of the kinds, key and tables below; error if out of range
    rw uint<32> hash_kinds     @ 0x00c; /// bits of hash_kind_t
    rw uint<3>  table_index    @ 0x010 = 0; /// table of the lane that `table` accesses: 0 its own, others for rules; error from RSS_TABLES on
    wo uint<32> key[10]        @ 0x040; /// word 0 has bits 31:0: the end of the key
    wo uint<32> table[128]     @ 0x200; /// entry n: the queue of hashes whose low 7 bits are n; error if the queue is out of range
}

/// Window of an OFU (a rule table element).
registers ofu_registers {
    ro uint<32> kind           @ 0x000;
    rw uint<1>  control        @ 0x004 = 0; /// bit 0: enabled; disabled: records pass unchanged
    ro uint<32> status         @ 0x008; /// bit 0: ready (memories cleared); bits 15:8 free slots of the instruction FIFO, 16 while no instruction is under way: one holds its slot until it is answered; bits 23:16 responses waiting
    ro uint<32> entries[2]     @ 0x010; /// capacity of each table
    ro uint<32> used[2]        @ 0x018; /// rules in each table
    ro uint<32> key_bits[2]    @ 0x020;
    ro uint<32> latency        @ 0x028; /// cycles from record in to record out
    wo uint<32> remove         @ 0x02c; /// bits 31:30 table, bits 29:0 rule id: deletes that rule, and answers when it is gone; error if there is no such rule, or while instructions or responses are waiting
    wo uint<32> push           @ 0x040; /// any value: submits the instruction words as an instruction; error if the FIFO is full
    ro uint<32> response[2]    @ 0x044; /// reading word 0 latches both, reading word 1 removes the response; see response_t
    rw uint<16> edit_index     @ 0x04c = 0; /// entry of the edit-data table; written with word 3 of edit_data
    rw uint<32> edit_data[4]   @ 0x050 = 0;
    rw uint<32> counter_index  @ 0x060 = 0; /// bits 31:30 table, bits 29:0 rule id; a write reads its counters into counter_data, atomically
    ro uint<32> counter_data[4] @ 0x064; /// see rule_counters_t; a read waits until the counters are available
    rw uint<32> instruction[30] @ 0x080 = 0; /// see instruction_t, low word first
}
