// SPDX-License-Identifier: Apache-2.0
/// The self-described buffer: how packets cross between device and host memory. FAS section 4.

constexpr uint BUFFER_SIZE = 2048;      /// bytes: metadata, flow key, packet
constexpr uint BUFFER_META_SIZE = 64;
constexpr uint BUFFER_KEY_SIZE = 64;
constexpr uint BUFFER_DATA_SIZE = 1920; /// packet bytes of one buffer; longer packets chain buffers

/// First 64 bytes of a buffer, little-endian. The producer writes payload and key first, this last, `valid` at the very end.
record buffer_meta_t {
    uint<64> address;           /// of this buffer, as the device sees it
    uint<64> next;              /// of the buffer that continues this packet; 0: none
    uint<32> valid;             /// generation of the ring: odd and even rounds differ; 0: never written
    uint<16> length;            /// bytes of the whole packet
    uint<16> buffer_length;     /// bytes of it in this buffer
    uint<8>  ingress_port;      /// lane it came through; from the host: HOST_PORT
    uint<8>  egress_mask;       /// from the host: where it goes
    uint<8>  queue;
    uint<8>  verdict;           /// see verdict_t
    uint<8>  fault;             /// see fault_t
    uint<8>  l3_kind;
    uint<8>  l4_kind;
    uint<8>  checksum_verified; /// bit 0 IPv4, bit 1 transport
    uint<32> mark;
    uint<32> slot;              /// the ring pair
    uint<64> timestamp;         /// core cycles at lane receive
    uint<8>  is_soft;           /// 1: made by software; never recycled into a receive ring
    uint<8>  reserved[15];
}
static_assert bytes(buffer_meta_t) == BUFFER_META_SIZE;
