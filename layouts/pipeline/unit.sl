// SPDX-License-Identifier: Apache-2.0
/// A unit of the programmable pipeline: chooses words of the PHV as a key, looks it up, and executes the action of the entry. MPSoC
/// paper, 3.2.3.
import "../stream/packet.sl";
import "parser.sl";

constexpr uint UNIT_KEY_WORDS = 8;          /// of 16 bits, first word in the high bits of the key
constexpr uint UNIT_OPERATIONS = 8;         /// of an action
constexpr uint UNIT_SOURCES = 48;           /// words that a key or an operation can read: the containers, then `SOURCE_...`
constexpr uint SOURCE_PORT = 44;            /// ingress port
constexpr uint SOURCE_LENGTH = 45;          /// bytes of the packet
constexpr uint SOURCE_HEADERS = 46;         /// bit n: the parser found a header at base n
constexpr uint PIPELINE_MARK = 42;          /// the first of two containers that a packet leaves with as its mark
constexpr uint UNIT_END = 15;               /// as the next unit: none, the packet leaves
constexpr uint PASS_GROWTH = 64;            /// bytes that a packet may be longer than at first when it enters once more

/// A packet between units.
struct pipeline_phv_t {
    parsed_t  parsed;
    verdict_t verdict;
    uint<8>   egress_mask;
    uint<4>   queue;
    uint<4>   next;             /// the unit that looks it up next, or UNIT_END
    uint<4>   splice;           /// number of the splice that inserts or removes words when it leaves; 0: none
    uint<4>   again;            /// as it leaves it enters once more, at this unit, if the unit is above the one where this pass began; 0: it does not
}

/// How a unit makes its key, and in which of its tables it looks it up.
struct unit_selector_t {
    uint<6>   words[UNIT_KEY_WORDS]; /// sources; word 0 is the last of the key
    uint<128> mask;             /// bits of the key; others read 0
    uint<1>   exact;            /// in the exact table, else in the ternary one
}

/// A word of the exact table.
struct unit_exact_t {
    uint<128> key;
    uint<14>  action;
    uint<2>   versions;         /// bit n: version n has this entry
}

/// Operation on a container, under a mask: bits outside of it stay as they are.
enum unit_operator_t : uint<3> {
    OPERATOR_NONE       = 0,
    OPERATOR_SET        = 1,
    OPERATOR_ADD        = 2,
    OPERATOR_SUBTRACT   = 3,
    OPERATOR_AND        = 4,
    OPERATOR_OR         = 5,
    OPERATOR_XOR        = 6,
    OPERATOR_COUNT_DOWN = 7     /// subtracts 1 from the field under the mask; a packet in which it is 0 or 1 before is dropped
}

/// Operation n writes a container whose number is n modulo UNIT_OPERATIONS.
struct unit_operation_t {
    uint<16> mask;
    uint<16> immediate;
    uint<6>  source;            /// operand; UNIT_SOURCES or more: the immediate
    uint<3>  row;               /// container UNIT_OPERATIONS * row + n
    unit_operator_t kind;
}

/// What a unit does with a packet.
struct unit_action_t {
    unit_operation_t operations[UNIT_OPERATIONS];
    uint<4>   next;             /// unit, or UNIT_END
    verdict_t verdict;          /// VERDICT_PASS: as it was
    uint<8>   egress_mask;      /// with another verdict
    uint<4>   queue;
    uint<4>   splice;           /// 0: as it was
    uint<4>   again;            /// 0: as it was
    uint<5>   reserved;
}
static_assert bits(unit_action_t) == 384;
