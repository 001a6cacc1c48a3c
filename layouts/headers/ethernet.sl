// SPDX-License-Identifier: Apache-2.0
/// Ethernet and the headers between it and the network layer. IEEE 802.3, IEEE 802.1Q.

/// EtherType values that the parser knows.
enum ethertype_t : uint<16> {
    ETHERTYPE_IPV4   = 0x0800,
    ETHERTYPE_ARP    = 0x0806,
    ETHERTYPE_TEB    = 0x6558,  /// transparent Ethernet bridging, in GRE (RFC 7637)
    ETHERTYPE_VLAN   = 0x8100,  /// customer tag
    ETHERTYPE_IPV6   = 0x86dd,
    ETHERTYPE_MPLS   = 0x8847,
    ETHERTYPE_MPLS_MULTICAST = 0x8848,
    ETHERTYPE_QINQ   = 0x88a8,  /// service tag
    ETHERTYPE_VLAN_OLD = 0x9100 /// service tag before 802.1ad
}

/// Ethernet II header. A type below 0x0600 is an 802.3 length.
header ethernet_t {
    uint<48> destination;
    uint<48> source;
    uint<16> ethertype;
}

/// The part of a VLAN tag after the tag protocol identifier (IEEE 802.1Q 9.6), and the next type.
header vlan_t {
    uint<3>  priority_code;
    uint<1>  drop_eligible;
    uint<12> vlan_id;
    uint<16> ethertype;   /// type after the tag
}

/// ARP for IPv4 over Ethernet, RFC 826.
header arp_t {
    uint<16> hardware_type;     /// 1: Ethernet
    uint<16> protocol_type;     /// 0x0800: IPv4
    uint<8>  hardware_size;     /// bytes, 6
    uint<8>  protocol_size;     /// bytes, 4
    uint<16> operation;         /// 1 request, 2 reply
    uint<48> sender_mac;
    uint<32> sender_ip;
    uint<48> target_mac;
    uint<32> target_ip;
}
