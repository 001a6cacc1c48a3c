// SPDX-License-Identifier: Apache-2.0
/// The flow table (the table behind rte_flow): its key, how a rule's value and mask reach it, its registers.
import "../stream/phv.sl";
import "rule.sl";
import "registers.sl";

constexpr uint FLOW_OPERANDS = 16;      /// operands that the element holds; as many instructions as its FIFO

/// Which part of an IP packet a packet is. Bit 1: it has an offset. Open vSwitch's "later" is FRAGMENT_LATER under both bits,
/// its "first" FRAGMENT_FIRST, its "no" FRAGMENT_WHOLE; an atomic IPv6 fragment is whole.
enum flow_fragment_t : uint<2> {
    FRAGMENT_WHOLE = 0,         /// no fragment, or not of IP
    FRAGMENT_FIRST = 1,         /// offset 0, more follow
    FRAGMENT_EARLY = 2,         /// offset 8 to 56 bytes: only Open vSwitch's rules set these apart
    FRAGMENT_LATER = 3          /// offset 64 bytes or more
}

/// What a rule of the flow table matches: a packet as Open vSwitch sees it, with one VLAN tag at most; behind a second tag
/// nothing is read. Values, not bytes; a field whose header is absent or not read is 0. Of an IPv4 packet the addresses stand
/// in the low 32 bits.
struct flow_key_t {
    uint<8>   ingress_port;     /// lane, or HOST_PORT
    uint<48>  eth_dst;
    uint<48>  eth_src;
    uint<16>  eth_type;         /// behind the first tag; 0 for an 802.3 length; with two tags the TPID of the second
    uint<16>  vlan_tpid;        /// of the first tag: 0x8100, 0x88a8 or 0x9100; only the last has bit 12 set
    uint<16>  vlan_tci;         /// of the first tag
    uint<128> ip_src;
    uint<128> ip_dst;
    uint<8>   ip_protocol;      /// IPv6: of the last header of the chain
    uint<8>   ip_tos;           /// IPv4 TOS, IPv6 traffic class
    uint<8>   ip_ttl;           /// IPv4 TTL, IPv6 hop limit
    uint<16>  l4_src;           /// port; ICMP type in the low 8 bits
    uint<16>  l4_dst;           /// port; ICMP code in the low 8 bits
    uint<12>  tcp_flags;        /// bits 11:8 read 0: the parser does not read them, and no rule may ask for them
    l4_kind_t l4_kind;          /// L4_NONE for a fragment that is not the first
    flow_fragment_t fragment;
    uint<1>   has_vlan;
    uint<14>  reserved;         /// 0, and no rule may ask for it
}
static_assert bits(flow_key_t) == 496;

/// What the header record of a packet lacks of its first bytes; one word a packet, beside the record.
struct link_info_t {
    uint<16>  first_type;       /// bytes 12 and 13 of the packet
    uint<16>  second_type;      /// bytes 16 and 17: the type behind the first tag
    uint<1>   is_snap;          /// 802.2 SNAP with an EtherType inside: never matches
    uint<64>  received;         /// the packet's timestamp: core cycles at lane receive
}

/// Value and mask of a rule, written word by word (low word first) into an operand of the element before the instruction that
/// names it. A value bit outside the mask does not count.
struct flow_operand_t {
    uint<16>  mask_reserved;
    uint<bits(flow_key_t)> mask;
    uint<16>  value_reserved;
    uint<bits(flow_key_t)> value;
}
static_assert bits(flow_operand_t) == 1024;

/// The low bits of `instruction_t.value` in an instruction for the flow table. `instruction_t.mask` does not count.
/// The operand may be written again when the instruction has been answered.
struct flow_target_t {
    uint<8>   group;            /// TABLE_HASHED: of which mask group the rule is; an update keeps it
    uint<8>   operand;          /// below FLOW_OPERANDS; higher bits do not count
}

/// `instruction_t.table_id` of the flow table's two tables. Rules of both may match one packet: the higher priority wins.
constexpr uint TABLE_HASHED = 0;        /// mask groups in hashed memory; a group takes the mask of its first rule
constexpr uint TABLE_TERNARY = 1;       /// TCAM: any mask

/// What the window of the flow table has besides that of every OFU (`ofu_registers`; tables TABLE_HASHED, TABLE_TERNARY).
registers flow_registers {
    ro uint<32> groups         @ 0x100; /// mask groups
    ro uint<32> group_entries  @ 0x104; /// slots of each; it takes some 90 % of that, then refuses with ENOSPC
    ro uint<32> operands       @ 0x108; /// FLOW_OPERANDS
    rw uint<32> operand_index  @ 0x10c; /// which operand the words at `operand` are of
    rw uint<32> group_index    @ 0x110; /// which group `group_used` is of; an error where there is none
    ro uint<32> group_used     @ 0x114; /// rules in it
    rw uint<32> fence_control  @ 0x118; /// bit 0: the order fence is on; 0 after reset (docs/design/fence.md)
    rw uint<32> fence_bound    @ 0x11c; /// cycles that the fence holds a flow at most; below 2^31
    ro uint<32> fence_held     @ 0x120; /// packets that a rule matched and the fence sent to the host; it wraps
    ro uint<32> fence_forced   @ 0x124; /// flows that it let go at the bound, perhaps out of order; it wraps
    ro uint<32> push_records   @ 0x128; /// records of counters in host memory, a rule_mirror_t each; 0: the device pushes none
    ro uint<32> push_ternary   @ 0x12c; /// which of them is of rule 0 of TABLE_TERNARY; that of rule n of TABLE_HASHED is n
    ro uint<32> push_cycles    @ 0x130; /// at push_period 0 what a packet counted is in host memory after that many; 16 more for each rule populated meanwhile, and those in which the DMA takes nothing
    rw uint<32> push_control   @ 0x134; /// bit 0: counters are pushed; 0 after reset
    rw uint<32> push_period    @ 0x138; /// cycles from the start of a sweep over all rules to that of the next, at least; 0 after reset
    ro uint<32> push_sweeps    @ 0x13c; /// sweeps that have ended; it wraps
    rw uint<32> fence_done[16] @ 0x140; /// lane n: timestamp up to which its packets are through the host, low word at 2n, high word at 2n+1; writing the high word takes both, the low word being the last one written to any lane
    wo uint<32> operand[32]    @ 0x180; /// see flow_operand_t
}
