// SPDX-License-Identifier: Apache-2.0
/// Network and transport headers.

/// Protocol numbers (IPv4 protocol, IPv6 next header) that the parser knows. IANA protocol numbers.
enum ip_protocol_t : uint<8> {
    IP_PROTOCOL_HOP_BY_HOP  = 0,
    IP_PROTOCOL_ICMP        = 1,
    IP_PROTOCOL_IPV4        = 4,
    IP_PROTOCOL_TCP         = 6,
    IP_PROTOCOL_UDP         = 17,
    IP_PROTOCOL_IPV6        = 41,
    IP_PROTOCOL_ROUTING     = 43,
    IP_PROTOCOL_FRAGMENT    = 44,
    IP_PROTOCOL_GRE         = 47,
    IP_PROTOCOL_ESP         = 50,
    IP_PROTOCOL_AH          = 51,
    IP_PROTOCOL_ICMPV6      = 58,
    IP_PROTOCOL_NO_NEXT     = 59,
    IP_PROTOCOL_DESTINATION = 60,
    IP_PROTOCOL_SCTP        = 132,
    IP_PROTOCOL_MOBILITY    = 135
}

/// IPv4 header without options, RFC 791 section 3.1.
header ipv4_t {
    uint<4>  version;
    uint<4>  ihl;               /// header size in 32-bit words, 5 to 15
    uint<8>  tos;               /// DSCP and ECN
    uint<16> total_length;      /// bytes, header included
    uint<16> identification;
    uint<1>  reserved;
    uint<1>  dont_fragment;
    uint<1>  more_fragments;
    uint<13> fragment_offset;   /// in 8-byte units
    uint<8>  ttl;
    uint<8>  protocol;
    uint<16> checksum;
    uint<32> source;
    uint<32> destination;
}

/// IPv6 header, RFC 8200 section 3.
header ipv6_t {
    uint<4>   version;
    uint<8>   traffic_class;
    uint<20>  flow_label;
    uint<16>  payload_length;   /// bytes after this header
    uint<8>   next_header;
    uint<8>   hop_limit;
    uint<128> source;
    uint<128> destination;
}

/// Start of the hop-by-hop, routing, destination and mobility headers, RFC 8200 section 4.
header ipv6_extension_t {
    uint<8> next_header;
    uint<8> size;               /// in 8-byte units, first 8 bytes excluded (authentication header: 4-byte units, 8 excluded)
}

/// IPv6 fragment header, RFC 8200 section 4.5.
header ipv6_fragment_t {
    uint<8>  next_header;
    uint<8>  reserved;
    uint<13> fragment_offset;   /// in 8-byte units
    uint<2>  reserved_2;
    uint<1>  more_fragments;
    uint<32> identification;
}

/// TCP header without options, RFC 9293 section 3.1.
header tcp_t {
    uint<16> source_port;
    uint<16> destination_port;
    uint<32> sequence_number;
    uint<32> acknowledgement;
    uint<4>  data_offset;       /// header size in 32-bit words, 5 to 15
    uint<4>  reserved;
    uint<8>  flags;             /// CWR ECE URG ACK PSH RST SYN FIN
    uint<16> window;
    uint<16> checksum;
    uint<16> urgent;
}

/// UDP header, RFC 768.
header udp_t {
    uint<16> source_port;
    uint<16> destination_port;
    uint<16> length;            /// bytes, header included
    uint<16> checksum;          /// 0: none (IPv4)
}

/// ICMP and ICMPv6 start, RFC 792, RFC 4443.
header icmp_t {
    uint<8>  kind;
    uint<8>  code;
    uint<16> checksum;
}

/// SCTP common header, RFC 9260 section 3.1.
header sctp_t {
    uint<16> source_port;
    uint<16> destination_port;
    uint<32> verification_tag;
    uint<32> checksum;          /// CRC-32C, little-endian
}
