// SPDX-License-Identifier: Apache-2.0
/// Contents of the channel type `packet`: flits, and the metadata in the first flit of a packet.

constexpr uint DATA_BYTES = 64;         /// bytes per flit: 64 (512 bits, 100 Gbps) or 32
constexpr uint MTU_BYTES = 9216;        /// the largest ingress packet, without FCS
constexpr uint EGRESS_BYTES = 9352;     /// the largest egress packet: rules insert two tags and a template of TEMPLATE_BYTES
constexpr uint HOST_PORT = 7;           /// port number of the host; lanes are 0 to 6

/// Decision on a packet.
enum verdict_t : uint<3> {
    VERDICT_PASS          = 0,  /// not decided yet
    VERDICT_FORWARD       = 1,  /// to the lanes of the egress mask
    VERDICT_DROP          = 2,
    VERDICT_TO_HOST       = 3,
    VERDICT_TO_CONTROLLER = 4
}

/// Reason why a packet can match no rule; it goes to the host, unchanged.
enum fault_t : uint<4> {
    FAULT_NONE           = 0,
    FAULT_TRUNCATED      = 1,   /// a header ends after the end of the packet
    FAULT_VERSION        = 2,   /// the IP version does not match the EtherType
    FAULT_HEADER_SIZE    = 3,   /// IPv4 header size below 5, TCP data offset below 5
    FAULT_LENGTH         = 4,   /// IP or UDP length beyond the packet, or shorter than the header
    FAULT_TAGS           = 5,   /// more than two VLAN tags
    FAULT_CHAIN          = 6,   /// more IPv6 extension headers than the parser follows
    FAULT_WINDOW         = 7,   /// headers extend beyond the parse window
    FAULT_MPLS           = 8,   /// MPLS: skipped to the host
    FAULT_PROGRAM        = 9    /// the program of the programmable parser has no entry for it
}

/// Metadata of a packet, at sop; 0 in every other flit.
struct meta_t {
    uint<8>   ingress_port;     /// lane, or HOST_PORT
    uint<8>   egress_mask;      /// bit n: lane n; bit HOST_PORT: the host
    uint<4>   queue;            /// egress queue of the lane; to the host a rule's choice: 8 + receive queue, or the lane's redirection table; with VERDICT_TO_CONTROLLER the controller core, modulo their number
    verdict_t verdict;
    fault_t   fault;
    uint<32>  mark;             /// flow mark, 0 if none
    uint<64>  timestamp;        /// core cycles at lane receive
    uint<16>  length;           /// bytes of the packet without FCS; 0 if unknown
}

/// One word of the channel type `packet`.
struct flit_t {
    meta_t              meta;
    uint<1>             error;  /// at eop: the packet is bad and will be dropped
    uint<1>             eop;
    uint<1>             sop;
    uint<clog2(DATA_BYTES)> empty; /// unused bytes at the end of the last flit; 0 elsewhere
    uint<8 * DATA_BYTES> data;  /// byte 0 of the packet in bits 7:0 of the first flit; bytes past the end read 0
}
