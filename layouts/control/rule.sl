// SPDX-License-Identifier: Apache-2.0
/// Rules and instructions from software to a table. AccelSDP Figure 14, Table 1.

constexpr uint ACTION_SLOTS = 8;        /// actions per set, executed from slot 0 on
constexpr uint KEY_BITS = 320;          /// of an instruction's match value and mask; a table uses the low bits that it declares
constexpr uint EDIT_DATA_BITS = 128;    /// bits per entry of the edit-data table

/// Action codes. Operand: the low 24 bits of the slot.
enum opcode_t : uint<8> {
    ACTION_NONE          = 0,
    ACTION_SUB           = 1,   /// TTL or hop limit minus 1; 0 and 1 drop (DROP_TTL)
    ACTION_DROP          = 2,
    ACTION_SET           = 3,   /// SFD: field in operand 23:20, value in operand 15:0
    ACTION_SET_LONG      = 4,   /// SFD: field in operand 23:20, index of the edit-data table in operand 15:0
    ACTION_CHECKSUM      = 5,   /// CAL: IPv4 and transport checksums track every change of this packet (RFC 1624)
    ACTION_INSERT_VLAN   = 6,   /// INSERT: tag control information in operand 15:0; operand bit 16: EtherType 0x88a8
    ACTION_DELETE_VLAN   = 7,   /// DEL: the outer tag; no effect without a tag
    ACTION_OUTPUT        = 8,   /// OUTP: port in operand 7:0; forward
    ACTION_REPLICATE     = 9,   /// port mask in operand 7:0; forward to each port
    ACTION_MARK          = 10,  /// flow mark in operand 23:0
    ACTION_QUEUE         = 11,  /// egress queue in operand 3:0; of a packet to the host 8 + receive queue, or 1 to 7: the redirection table that maps its hash to a queue
    ACTION_TO_HOST       = 12,
    ACTION_TO_CONTROLLER = 13,
    ACTION_DELETE_TUNNEL = 14,  /// the headers of the opened tunnel; no effect if none was opened
    ACTION_INSERT_TUNNEL = 15,  /// header template in operand 7:0, with the tunnel id written into it
    ACTION_INSERT_RAW    = 16   /// header template in operand 7:0, unchanged
}

/// One action.
struct action_t {
    opcode_t opcode;
    uint<24> operand;
}

/// An action set: slot 0 in the low bits.
struct action_set_t {
    action_t slots[ACTION_SLOTS];
}

/// Key of the exact rule table for IPv4.
struct five_tuple4_t {
    uint<32> ip_src;
    uint<32> ip_dst;
    uint<8>  ip_protocol;
    uint<16> l4_src;
    uint<16> l4_dst;
}

/// Key of the exact rule table for IPv6.
struct five_tuple6_t {
    uint<128> ip_src;
    uint<128> ip_dst;
    uint<8>   ip_protocol;
    uint<16>  l4_src;
    uint<16>  l4_dst;
}

/// Index of an OFU's table.
enum table_t : uint<8> {
    TABLE_IPV4 = 0,
    TABLE_IPV6 = 1
}

/// Kind of an instruction.
enum instruction_kind_t : uint<8> {
    INSTRUCTION_NONE       = 0,
    INSTRUCTION_INITIALIZE = 1, /// delete every rule of the table
    INSTRUCTION_POPULATE   = 2,
    INSTRUCTION_DELETE     = 3,
    INSTRUCTION_UPDATE     = 4  /// value, mask, priority and action set of a rule, switched in one cycle
}

/// One instruction, as written word by word (low word first) into an OFU's window.
struct instruction_t {
    action_set_t       actions;
    uint<KEY_BITS>     mask;
    uint<KEY_BITS>     value;
    uint<32>           rule_id; /// logical rule id
    uint<16>           rule_priority; /// the highest wins; LPM: the prefix length
    table_t            table_id;
    instruction_kind_t kind;
}
static_assert bits(instruction_t) == 960;

/// Answer to an instruction. The codes are the Linux errno values that the OFU API names.
enum status_t : uint<8> {
    STATUS_OK       = 0,
    STATUS_ENOENT   = 2,        /// no such rule
    STATUS_EEXIST   = 17,       /// the rule id or the key is in the table already
    STATUS_EINVAL   = 22,       /// bad mask, rule id, kind or table
    STATUS_ENOSPC   = 28        /// the table is full
}

/// The table's response to each instruction, in order.
struct response_t {
    uint<32> rule_id;
    uint<16> cycles;            /// duration of the instruction, saturating
    status_t status;
    uint<8>  kind;              /// of the instruction; 0: no response is waiting
}

/// Per-rule counters.
struct rule_counters_t {
    uint<32> last_hit;          /// microsecond tick of the shell
    uint<48> bytes;
    uint<48> packets;
}

/// The counters of a rule on the way to host memory, and their place there: the device's DMA turns it into a rule_mirror_t.
struct rule_push_t {
    uint<32> place;             /// index of the record
    uint<16> edition;           /// differs from that of the record that it replaces
    rule_counters_t counters;
}

/// The counters of a rule in host memory, 32 bytes at an address that is a multiple of 32: four 64-bit words, little-endian, each
/// written by the device at once. All words of a record have the same edition; if they differ, the reader saw parts of two and must
/// read again.
struct rule_mirror_t {
    uint<64> reserved;
    uint<16> last_hit_edition;
    uint<16> last_hit_reserved;
    uint<32> last_hit;
    uint<16> bytes_edition;
    uint<48> bytes;
    uint<16> packets_edition;
    uint<48> packets;
}
static_assert bits(rule_mirror_t) == 256;
