// SPDX-License-Identifier: Apache-2.0
/// What the programs beside this file take: of each packet a record, as a parser would make it.

struct flow_t { uint<32> source; uint<32> destination; uint<16> source_port; uint<16> destination_port; uint<8> protocol; }

struct record_t {
    flow_t   flow;
    uint<48> source_mac;
    uint<48> destination_mac;
    uint<4>  lane;                      /// the packet came from
    uint<8>  flags;                     /// of TCP
    uint<16> length;                    /// bytes
    uint<32> sequence;
    uint<32> time;                      /// microseconds
}
