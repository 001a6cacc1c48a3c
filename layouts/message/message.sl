// SPDX-License-Identifier: Apache-2.0
/// Message packets between an agent (the software of a controller) and the controller core of a device: UDP over IPv4 over Ethernet.
/// MPSoC paper, 3.1 and Fig. 7. The body follows message_frame_t and is padded with zeros to a multiple of 8 bytes; after it come 8
/// bytes of tag. The device answers to the address that a message came from.
import "../headers/ethernet.sl";
import "../headers/ip.sl";

constexpr uint MESSAGE_MAGIC = 0x534c;      /// "SL"
constexpr uint MESSAGE_VERSION = 1;
constexpr uint MESSAGE_PORT = 21324;        /// UDP port of the device
constexpr uint MESSAGE_ACCESSES = 128;      /// at most, in one message
constexpr uint MESSAGE_TAG_BYTES = 8;

enum message_type_t : uint<8> {
    MESSAGE_HELLO      = 0,     /// body: message_hello_t, its session 0. Answered by MESSAGE_SESSION
    MESSAGE_SESSION    = 1,     /// body: message_hello_t with a new session, which begins with the first message that has it
    MESSAGE_CONTROL    = 2,     /// body: message_access_t, up to MESSAGE_ACCESSES, executed in order up to the first that fails; none: an echo. Answered by MESSAGE_RESULT
    MESSAGE_RESULT     = 3,     /// body: those accesses with data and `failed`; of a message that comes again: the same answer, nothing is executed
    MESSAGE_PACKET_OUT = 4,     /// body: a packet for the lanes of `ports`. Not answered
    MESSAGE_PACKET_IN  = 5      /// body: message_packet_in_t, then a packet from the pipeline
}

/// Result of a MESSAGE_CONTROL.
enum message_status_t : uint<8> {
    MESSAGE_DONE    = 0,
    MESSAGE_REFUSED = 1         /// the device refused an access; those behind it were not executed
}

/// Why a packet goes to the agent.
enum message_reason_t : uint<8> {
    REASON_ACTION = 0,          /// VERDICT_TO_CONTROLLER
    REASON_HOST   = 1           /// VERDICT_TO_HOST, and the host's packets go to the agent
}

/// Behind the UDP header.
header message_t {
    uint<16> magic;
    uint<8>  version;
    message_type_t kind;
    uint<16> length;            /// bytes of the body, without padding and tag
    uint<32> sequence_number;  /// an agent's: higher than any of its session before; of an answer: of what it answers; of Packet_in: counts from 1
    uint<8>  status;            /// result: message_status_t
    uint<8>  ports;             /// Packet_out: mask of lanes
    uint<16> detail;            /// result: accesses executed without failure
    uint<64> session;           /// 0 in MESSAGE_HELLO
}

/// Everything before the body.
header message_frame_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;            /// without options
    udp_t      udp;             /// checksum 0 in what the device sends
    message_t  message;
}
static_assert bits(message_frame_t) == 512;

/// Body of MESSAGE_HELLO and MESSAGE_SESSION.
header message_hello_t {
    uint<64> nonce;             /// of the agent
    uint<64> session;
}

/// An access to a register of the device.
header message_access_t {
    uint<1>  write;
    uint<1>  failed;            /// in a result
    uint<10> reserved;
    uint<20> address;
    uint<32> data;
}
static_assert bits(message_access_t) == 64;

/// Before the packet in a MESSAGE_PACKET_IN.
header message_packet_in_t {
    uint<32> mark;
    uint<8>  fault;             /// fault_t
    uint<8>  reserved;
    message_reason_t reason;
    uint<8>  ingress_port;
}
static_assert bits(message_packet_in_t) == 64;
