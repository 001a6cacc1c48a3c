// SPDX-License-Identifier: Apache-2.0
/// The self-described buffer, in which packets cross between device and host memory. FAS section 4.

import "../stream/phv.sl";
import "../control/flow.sl";

constexpr uint BUFFER_SIZE = 2048;      /// bytes: metadata, flow key, packet
constexpr uint BUFFER_META_SIZE = 64;
constexpr uint BUFFER_KEY_SIZE = 64;
constexpr uint BUFFER_DATA_SIZE = 1920; /// packet bytes per buffer; longer packets chain buffers

/// First 64 bytes of a buffer, little-endian; the flow key and the packet follow. The producer writes payload and key first, this
/// last, `valid` at the very end.
record buffer_meta_t {
    uint<64> address;           /// of this buffer, as seen by the device
    uint<64> next;              /// of the next buffer of this packet; 0: none
    uint<32> valid;             /// generation of the ring: odd and even rounds differ; 0: never written
    uint<16> length;            /// bytes of the whole packet
    uint<16> buffer_length;     /// packet bytes in this buffer
    uint<8>  ingress_port;      /// ingress lane; from the host: HOST_PORT
    uint<8>  egress_mask;       /// from the host: destination
    uint<8>  queue;
    uint<8>  verdict;           /// see verdict_t
    uint<8>  fault;             /// see fault_t
    uint<8>  l3_kind;
    uint<8>  l4_kind;
    uint<8>  checksum_verified; /// see checksum_t
    uint<32> mark;              /// from the host to a lane: see transmit_checksum_t
    uint<32> slot;              /// the ring pair
    uint<64> timestamp;         /// core cycles at lane receive
    uint<8>  is_soft;           /// 1: created by software; never recycled into a receive ring
    uint<8>  tags;              /// VLAN tags; this and the fields below describe the bytes in the buffer, see host_info_t
    uint<8>  l3_offset;
    uint<8>  l4_offset;
    uint<8>  hash_kind;
    uint<32> hash;
    uint<16> l4_sum;
    uint<8>  receive_queue;
    uint<8>  has_key;           /// 1: the next 64 bytes are the packet's flow_key_t and 2 zero bytes
    uint<8>  reserved[3];
}
static_assert bytes(buffer_meta_t) == BUFFER_META_SIZE;
static_assert bits(flow_key_t) <= 8 * BUFFER_KEY_SIZE;

constexpr uint HOST_QUEUES = 8;         /// maximum receive queues per lane
constexpr uint CHOSEN_QUEUE = 8;        /// bit of the metadata's `queue`: a rule chose the receive queue, in the bits below
constexpr uint RSS_ENTRIES = 128;       /// per redirection table
constexpr uint RSS_TABLES = 8;          /// redirection tables per lane: 0 its own, the others for rules that choose them by `queue`
constexpr uint RSS_KEY_BITS = 320;      /// of a lane's hash key

/// Bits of `checksum_verified`. If both bits of a checksum are 0, it is absent or was not checked.
enum checksum_t : uint<4> {
    CHECKSUM_IP_GOOD = 1,       /// the IPv4 header checksum
    CHECKSUM_L4_GOOD = 2,       /// the TCP or UDP checksum; not checked in fragments and after IPv6 extension headers
    CHECKSUM_IP_BAD  = 4,
    CHECKSUM_L4_BAD  = 8
}

/// From the host, in the low bits of `mark`: checksums that the device fills in before the packet goes to its lanes (HostQueues).
/// Both cover the bytes as they are, including the checksum field itself: the host sets it to 0 for IPv4, to the pseudo header's
/// sum for TCP and UDP. A checksum outside of the packet or at an odd offset is not filled in, and counted (`from_host_unfilled`).
struct transmit_checksum_t {
    uint<8>       l3_offset;    /// bytes; of the IPv4 header, which ends at l4_offset
    uint<10>      l4_offset;    /// bytes; the sum runs from here to the end of the packet
    uint<1>       ipv4;         /// 1: fill in the IPv4 header checksum
    transmit_l4_t l4;
}

enum transmit_l4_t : uint<2> {
    TRANSMIT_L4_NONE = 0,
    TRANSMIT_L4_TCP  = 1,
    TRANSMIT_L4_UDP  = 2        /// 0 is written as 0xffff
}

/// Packet fields that its hash covers; also the bits of `host_registers.hash_kinds`. For fragments, only the addresses.
enum hash_kind_t : uint<8> {
    HASH_NONE      = 0,
    HASH_IPV4      = 1,         /// addresses
    HASH_IPV4_TCP  = 2,         /// addresses and ports
    HASH_IPV4_UDP  = 4,
    HASH_IPV4_SCTP = 8,
    HASH_IPV6      = 16,
    HASH_IPV6_TCP  = 32,
    HASH_IPV6_UDP  = 64,
    HASH_IPV6_SCTP = 128
}

/// The shell's parse result for a packet on its way to the host (HostQueues): of its bytes as the host receives them, by the
/// parser's rules without tunnels. After a parser fault, as far as parsed.
struct host_info_t {
    uint<3>     receive_queue;  /// a rule's choice, if in range; else from a redirection table of its lane: without a hash, entry 0 of a table chosen by a rule, or queue 0
    uint<2>     tags;
    l3_kind_t   l3_kind;
    l4_kind_t   l4_kind;
    uint<8>     l3_offset;      /// bytes; 0 if the packet has no Ethernet header
    uint<8>     l4_offset;      /// bytes; 0 if l4_kind is L4_NONE
    hash_kind_t hash_kind;
    uint<32>    hash;           /// Toeplitz; 0 if hash_kind is HASH_NONE
    uint<4>     checksum_verified; /// at eop; see checksum_t
    uint<1>     has_key;        /// its flow_key_t accompanies it; not with a parser fault, nor for 802.2 SNAP
    uint<16>    l4_sum;         /// at eop: one's complement sum of the bytes from l4_offset to the end of the IP packet; 0 without l4_kind
}
static_assert bits(host_info_t) <= 96;
