// SPDX-License-Identifier: Apache-2.0
/// Tunnel headers.

constexpr uint VXLAN_PORT  = 4789;  /// UDP destination port, RFC 7348
constexpr uint GENEVE_PORT = 6081;  /// UDP destination port, RFC 8926

/// VXLAN, RFC 7348 section 5.
header vxlan_t {
    uint<8>  flags;             /// 0x08: the network identifier is valid
    uint<24> reserved;
    uint<24> network_id;
    uint<8>  reserved_2;
}

/// Geneve without options, RFC 8926 section 3.4.
header geneve_t {
    uint<2>  version;
    uint<6>  options_size;      /// in 4-byte units
    uint<1>  control;
    uint<1>  critical;
    uint<6>  reserved;
    uint<16> protocol;
    uint<24> network_id;
    uint<8>  reserved_2;
}

/// GRE start, RFC 2784 and RFC 2890.
header gre_t {
    uint<1>  checksum_present;
    uint<1>  reserved;
    uint<1>  key_present;
    uint<1>  sequence_present;
    uint<9>  reserved_2;
    uint<3>  version;
    uint<16> protocol;
}

/// NVGRE: GRE with a key that holds the virtual subnet, RFC 7637 section 3.2.
header nvgre_t {
    uint<16> flags;             /// 0x2000: key present
    uint<16> protocol;          /// 0x6558
    uint<24> subnet_id;
    uint<8>  flow_id;
}
