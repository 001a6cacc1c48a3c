// SPDX-License-Identifier: Apache-2.0
/// The packet header vector, and the record of the channel type `phv`: one record per packet, beside its flits.
import "packet.sl";

constexpr uint PHV_CONTAINERS = 22;     /// of 32 bits; the stateful paper's 704 bits
constexpr uint WINDOW_BYTES = 192;      /// bytes of a packet that the parser sees
constexpr uint MAX_TAGS = 2;            /// VLAN tags that the parser reads
constexpr uint MAX_EXTENSIONS = 4;      /// IPv6 extension headers that the parser follows

/// Kind of the tunnel that was opened, see `header_info_t.outer_length`.
enum tunnel_kind_t : uint<8> {
    TUNNEL_NONE   = 0,
    TUNNEL_VXLAN  = 1,
    TUNNEL_GENEVE = 2,
    TUNNEL_NVGRE  = 3,          /// GRE with a key
    TUNNEL_GRE    = 4           /// GRE without a key; its id is 0
}

/// Named fields of the innermost stack, values not bytes; a field whose header is absent reads 0. IPv4 addresses are in the low 32
/// bits of the address fields.
struct phv_t {
    uint<48>  eth_dst;
    uint<48>  eth_src;
    uint<16>  eth_type;         /// after the tags; an 802.3 length reads 0
    uint<16>  vlan0_tci;        /// outer tag: priority, drop eligible, VLAN id
    uint<16>  vlan1_tci;        /// inner tag
    uint<128> ip_src;
    uint<128> ip_dst;
    uint<8>   ip_protocol;      /// IPv6: of the last header of the chain
    uint<8>   ip_tos;           /// IPv4 TOS, IPv6 traffic class
    uint<8>   ip_ttl;           /// IPv4 TTL, IPv6 hop limit
    uint<16>  ip_fragment;      /// as in IPv4: bit 13 more fragments, bits 12:0 offset in 8-byte units
    uint<16>  l4_src;           /// port; ICMP type in the low 8 bits
    uint<16>  l4_dst;           /// port; ICMP code in the low 8 bits
    uint<8>   tcp_flags;
    uint<16>  l4_length;        /// bytes from the start of the L4 header to the end of the IP packet
    tunnel_kind_t tunnel_kind;
    uint<24>  tunnel_id;        /// VXLAN and Geneve network identifier, NVGRE subnet identifier
    uint<64>  outer_src;        /// address of the tunnel's other end: IPv4, or the low half of IPv6
    uint<64>  outer_dst;
    uint<48>  user;             /// free for configurations
}
static_assert bits(phv_t) == 32 * PHV_CONTAINERS;

/// Kind of the network header.
enum l3_kind_t : uint<2> {
    L3_NONE = 0,
    L3_IPV4 = 1,
    L3_IPV6 = 2,
    L3_ARP  = 3
}

/// Kind of the transport header; L4_NONE also for a fragment other than the first.
enum l4_kind_t : uint<3> {
    L4_NONE   = 0,
    L4_TCP    = 1,
    L4_UDP    = 2,
    L4_ICMP   = 3,
    L4_ICMPV6 = 4,
    L4_SCTP   = 5
}

/// Offsets and properties of the headers in the packet as received. If a tunnel was opened, offsets count from the inner Ethernet
/// header.
struct header_info_t {
    uint<8>   outer_length;     /// bytes before the inner Ethernet header, even; 0: not opened
    l3_kind_t l3_kind;
    l4_kind_t l4_kind;
    uint<2>   tags;             /// VLAN tags
    uint<8>   l3_offset;        /// bytes from the start of the (inner) packet
    uint<8>   l4_offset;
    uint<8>   header_length;    /// bytes up to the end of the last header read
    uint<1>   ip_options;       /// IPv4 options, or IPv6 extension headers
    uint<1>   is_fragment;      /// one of several fragments
    uint<16>  ip_checksum;      /// IPv4
    uint<16>  l4_checksum;
}

/// Fields that an action can set, in the bit order of `edits_t.dirty`.
enum field_t : uint<4> {
    FIELD_ETH_DST   = 0,
    FIELD_ETH_SRC   = 1,
    FIELD_ETH_TYPE  = 2,
    FIELD_VLAN0_TCI = 3,
    FIELD_VLAN1_TCI = 4,
    FIELD_IP_SRC    = 5,
    FIELD_IP_DST    = 6,
    FIELD_IP_TOS    = 7,
    FIELD_IP_TTL    = 8,
    FIELD_L4_SRC    = 9,
    FIELD_L4_DST    = 10,
    FIELD_TUNNEL_ID = 11
}
constexpr uint FIELDS = 12;

/// The changes by actions, for the deparser.
struct edits_t {
    uint<FIELDS> dirty;         /// bit n: field n of `field_t` was written
    uint<2>   tags;             /// VLAN tags of the packet as sent
    uint<2>   pushed;           /// number of those that were inserted, from the outermost
    uint<2>   popped;           /// number of received tags that were removed
    uint<2>   service_tag;      /// bit n: inserted tag n has EtherType 0x88a8 instead of 0x8100
    uint<1>   strip_outer;      /// the headers of the opened tunnel are removed
    uint<1>   encapsulate;      /// a header template is prepended to the packet
    uint<1>   write_tunnel_id;  /// `phv.tunnel_id` is written into the template
    uint<8>   template_index;
    uint<1>   checksums;        /// CAL was executed: checksums track the changes
    uint<16>  ip_delta;         /// one's complement sum of the changes that the IPv4 header checksum covers
    uint<16>  l4_delta;         /// one's complement sum of the changes that the transport checksum covers
}

/// Reason why the device dropped a packet that matched.
enum drop_cause_t : uint<3> {
    DROP_NONE   = 0,
    DROP_RULE   = 1,            /// DROP was executed
    DROP_TTL    = 2,            /// SUB found a TTL or hop limit of 0 or 1
    DROP_NO_PORT = 3            /// forwarded to an empty port mask
}

/// Rule tables, one bit each.
constexpr uint TABLE_MASK_BITS = 4;
constexpr uint TABLE_LPM = 0;           /// bit number of the LPM rule table
constexpr uint TABLE_EXACT = 1;         /// bit number of the exact rule table
constexpr uint TABLE_FLOW = 2;          /// bit number of the flow table

/// One word of the channel type `phv`.
struct phv_record_t {
    phv_t         phv;
    uint<64>      state;        /// packet state
    header_info_t info;
    edits_t       edits;
    uint<8>       ingress_port;
    uint<16>      length;       /// bytes of the packet without FCS
    fault_t       fault;
    uint<1>       eligible;     /// admitted to the rule tables; if 0, it goes to the host
    uint<TABLE_MASK_BITS> required; /// tables that must hit; on a miss the packet goes to the host
    uint<TABLE_MASK_BITS> hits; /// tables that hit
    verdict_t     verdict;
    drop_cause_t  drop_cause;
    uint<8>       egress_mask;
    uint<4>       queue;
    uint<32>      mark;
}
