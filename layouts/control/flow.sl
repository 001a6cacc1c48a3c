// SPDX-License-Identifier: Apache-2.0
/// The flow table (the table behind rte_flow): its key, the path of a rule's value and mask to it, its registers.
import "../stream/phv.sl";
import "rule.sl";
import "registers.sl";

constexpr uint FLOW_OPERANDS = 16;      /// operands that the element holds; as many as instructions in its FIFO

/// Fragment kind of an IP packet. Bit 1: the offset is not 0. Open vSwitch's "later" is FRAGMENT_LATER under a mask of both bits,
/// its "first" FRAGMENT_FIRST, its "no" FRAGMENT_WHOLE; an atomic IPv6 fragment is whole.
enum flow_fragment_t : uint<2> {
    FRAGMENT_WHOLE = 0,         /// no fragment, or not IP
    FRAGMENT_FIRST = 1,         /// offset 0, more follow
    FRAGMENT_EARLY = 2,         /// offset 8 to 56 bytes: only Open vSwitch's rules distinguish these
    FRAGMENT_LATER = 3          /// offset 64 bytes or more
}

/// Key of a rule of the flow table: a packet as Open vSwitch sees it, with at most one VLAN tag; nothing is read after a second
/// tag. Values, not bytes; a field whose header is absent or not read is 0. IPv4 addresses are in the low 32 bits.
struct flow_key_t {
    uint<8>   ingress_port;     /// lane, or HOST_PORT
    uint<48>  eth_dst;
    uint<48>  eth_src;
    uint<16>  eth_type;         /// after the first tag; 0 for an 802.3 length; with two tags the TPID of the second
    uint<16>  vlan_tpid;        /// TPID of the first tag: 0x8100, 0x88a8 or 0x9100; only the last has bit 12 set
    uint<16>  vlan_tci;         /// of the first tag
    uint<128> ip_src;
    uint<128> ip_dst;
    uint<8>   ip_protocol;      /// IPv6: of the last header of the chain
    uint<8>   ip_tos;           /// IPv4 TOS, IPv6 traffic class
    uint<8>   ip_ttl;           /// IPv4 TTL, IPv6 hop limit
    uint<16>  l4_src;           /// port; ICMP type in the low 8 bits
    uint<16>  l4_dst;           /// port; ICMP code in the low 8 bits
    uint<12>  tcp_flags;        /// bits 11:8 read 0: the parser does not read them, and rules must not match them
    l4_kind_t l4_kind;          /// L4_NONE for a fragment other than the first
    flow_fragment_t fragment;
    uint<1>   has_vlan;
    uint<14>  reserved;         /// 0; rules must not match it
}
static_assert bits(flow_key_t) == 496;

/// Fields from a packet's first bytes that its header record lacks; one word per packet, beside the record.
struct link_info_t {
    uint<16>  first_type;       /// bytes 12 and 13 of the packet
    uint<16>  second_type;      /// bytes 16 and 17: the type after the first tag
    uint<1>   is_snap;          /// 802.2 SNAP with an EtherType inside: never matches
    uint<64>  received;         /// the packet's timestamp: core cycles at lane receive
}

/// Value and mask of a rule, written word by word (low word first) into an operand of the element before the instruction that
/// refers to it. Value bits outside the mask are ignored.
struct flow_operand_t {
    uint<16>  mask_reserved;
    uint<bits(flow_key_t)> mask;
    uint<16>  value_reserved;
    uint<bits(flow_key_t)> value;
}
static_assert bits(flow_operand_t) == 1024;

/// The low bits of `instruction_t.value` in an instruction for the flow table. `instruction_t.mask` is ignored. The operand may be
/// rewritten once the instruction is answered.
struct flow_target_t {
    uint<8>   group;            /// TABLE_HASHED: mask group of the rule; an update keeps it
    uint<8>   operand;          /// below FLOW_OPERANDS; higher bits are ignored
}

/// `instruction_t.table_id` of the flow table's two tables. If rules of both match a packet, the higher priority wins.
constexpr uint TABLE_HASHED = 0;        /// mask groups in hashed memory; a group takes the mask of its first rule
constexpr uint TABLE_TERNARY = 1;       /// TCAM: any mask

/// The flow table's registers in addition to those of every OFU (`ofu_registers`; tables TABLE_HASHED, TABLE_TERNARY).
registers flow_registers {
    ro uint<32> groups         @ 0x100; /// mask groups
    ro uint<32> group_entries  @ 0x104; /// slots per group; accepts about 90 % of that, then refuses with ENOSPC
    ro uint<32> operands       @ 0x108 = FLOW_OPERANDS;
    rw uint<4>  operand_index  @ 0x10c = 0; /// operand that the words at `operand` belong to
    rw uint<8>  group_index    @ 0x110 = 0; /// group that `group_used` reports; error if out of range
    ro uint<32> group_used     @ 0x114; /// rules in that group
    rw uint<1>  fence_control  @ 0x118 = 0; /// bit 0: the order fence is on (docs/design/fence.md)
    rw uint<31> fence_bound    @ 0x11c = 0; /// maximum cycles that the fence holds a flow; below 2^31
    ro uint<32> fence_held     @ 0x120; /// packets that matched a rule but that the fence sent to the host; wraps
    ro uint<32> fence_forced   @ 0x124; /// flows released at the bound, possibly out of order; wraps
    ro uint<32> push_records   @ 0x128; /// counter records in host memory, each a rule_mirror_t; 0: the device pushes none
    ro uint<32> push_ternary   @ 0x12c; /// record index of rule 0 of TABLE_TERNARY; rule n of TABLE_HASHED has record n
    ro uint<32> push_cycles    @ 0x130; /// with push_period 0, counts reach host memory within this many cycles, plus 16 per rule populated meanwhile and the cycles in which the DMA takes nothing
    rw uint<1>  push_control   @ 0x134 = 0; /// bit 0: counters are pushed
    rw uint<32> push_period    @ 0x138 = 0; /// minimum cycles between the starts of sweeps over all rules
    ro uint<32> push_sweeps    @ 0x13c; /// completed sweeps; wraps
    rw uint<32> fence_done[16] @ 0x140; /// lane n: timestamp up to which its packets are through the host, low word at 2n, high word at 2n+1; writing the high word stores both, with the low word last written to any lane
    wo uint<32> operand[32]    @ 0x180; /// see flow_operand_t
}
