// SPDX-License-Identifier: Apache-2.0
/// The flows of a stateful unit: how a packet's key is made, and how long a flow is kept. docs/design/stateful_unit.md
import "../pipeline/unit.sl";

constexpr uint FLOW_KEY_WORDS = 16;         /// of 16 bits, first word in the high bits of the key
constexpr uint FLOW_EPOCH_BITS = 8;         /// above the key: flows of another epoch are other flows

/// Which flow a packet of a version belongs to, and whether it makes one. UNIT_MEMORY_SELECTOR of a stateful unit.
struct flow_selector_t {
    uint<6>   words[FLOW_KEY_WORDS]; /// sources of a unit; word 0 is the last of the key. A source that does not exist reads 0
    uint<256> mask;             /// bits of the key; others read 0
    uint<FLOW_EPOCH_BITS> epoch; /// a program that takes over the flows of the one before has its epoch, one that begins anew another
    uint<6>   insert_source;    /// a packet without a flow makes one if this source and `insert_mask` have a bit in common
    uint<16>  insert_mask;      /// with an `insert_source` of UNIT_SOURCES or more: always, unless this is 0
}
static_assert bits(flow_selector_t) <= 384;

/// Of all versions. A new secret forgets all flows.
struct flow_settings_t {
    uint<128> secret;           /// of the hash that gives the set of a flow
    uint<32>  timeout;          /// microseconds without a packet after which a flow is gone; 0: never
    uint<1>   evict;            /// a new flow replaces another one if its set is full; else it has none
    uint<1>   flush;            /// a write forgets all flows
}
