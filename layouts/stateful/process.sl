// SPDX-License-Identifier: Apache-2.0
/// The process block of the stateful unit: what it does with a packet and the state of its flow, loaded at run time. Stateful paper,
/// 3.3. Words here have 32 bits, as instructions do. A program has `inputs`, computed from the packet before the state of the flow
/// arrives; `conditions`; a table of entries, the first that matches the label and the conditions is taken; `updates` of the words of
/// the flow state, of which an entry chooses one a word; and `actions` of each entry on the packet. Each exists for both versions of
/// a program. docs/design/stateful_process.md
import "../pipeline/unit.sl";

constexpr uint PROCESS_INPUTS = 8;
constexpr uint PROCESS_CONDITIONS = 8;
constexpr uint PROCESS_WORDS = 4;           /// of the flow state
constexpr uint PROCESS_UPDATES = 7;         /// of a word, that entries choose from; a power of two minus 1
constexpr uint PROCESS_ENTRIES = 16;
constexpr uint PROCESS_ACTIONS = 8;         /// of an entry
constexpr uint PROCESS_SHARED_WORDS = 8;    /// of 64 bits: global state, and as many of table state
constexpr uint PROCESS_LABEL_LOW = 24;      /// the label is in bits 31:24 of word 0 of the flow state

constexpr uint PROCESS_SOURCE_TICK = 48;    /// microseconds, 2 half words; before it the sources of a unit: containers, `SOURCE_...`
static_assert PROCESS_SOURCE_TICK == UNIT_SOURCES;
constexpr uint PROCESS_SOURCES = 64;        /// half words of a packet; those without a name read 0
constexpr uint PROCESS_SOURCE_SHARED = 64;  /// + 2n: high word of global state n; + 2n + 1: low word; 16 more: table state

constexpr uint PROCESS_OPERAND_BEFORE = 8;  /// word n of the flow state as the packet found it; before it the inputs
constexpr uint PROCESS_OPERAND_AFTER = 12;  /// word n of the new flow state; only for actions, others read the old one
constexpr uint PROCESS_OPERAND_OWN = 16;    /// the word that is written; only for actions. Others and those beyond: the immediate

/// What an instruction computes, with 32 bits. A field at another place of the word is computed where it is, with 0 around it.
enum process_kind_t : uint<4> {
    KIND_SET              = 0,  /// b
    KIND_ADD              = 1,
    KIND_SUBTRACT         = 2,  /// a - b
    KIND_ADD_CLAMPED      = 3,  /// bytes of a outside of `lanes` are taken as 0xff; all ones where the sum needs another bit
    KIND_SUBTRACT_CLAMPED = 4,  /// 0 where a is lower than b
    KIND_AND              = 5,
    KIND_OR               = 6,
    KIND_XOR              = 7,
    KIND_AND_NOT          = 8,  /// a without the bits of b
    KIND_ROTATE           = 9,  /// a rotated right by `bits`, then under the mask b: shifts, fields of bits
    KIND_MINIMUM          = 10,
    KIND_MAXIMUM          = 11,
    KIND_MINIMUM_SIGNED   = 12, /// the sign is the high bit of each run of `lanes`
    KIND_MAXIMUM_SIGNED   = 13,
    KIND_LESS             = 14, /// 1 where a is lower than b, else 0; in the lowest byte of each run of `lanes`
    KIND_LESS_SIGNED      = 15
}

/// An operand. Words of the flow state are rotated right by `rotate` bytes, and bytes outside of `lanes` then read 0; others are
/// taken as they are. Inputs and words that a block does not have read 0.
struct process_operand_t {
    uint<4> lanes;
    uint<2> rotate;
    uint<5> source;             /// input, or `PROCESS_OPERAND_...`
}

/// Writes the bytes of a word that are in `lanes`; others stay as they are.
struct process_instruction_t {
    uint<32> immediate;
    process_operand_t b;
    process_operand_t a;
    uint<3>  bits;
    uint<4>  lanes;
    process_kind_t kind;
}

/// An input: a word computed from the packet. Operand a is two half words, rotated right by `rotate` bytes, and 0 outside of
/// `source_lanes`. Bytes outside of `lanes` read 0.
struct process_input_t {
    uint<32> immediate;
    uint<1>  neighbour;         /// operand b is operand a of the input before this one (of input 0: the last); else the immediate
    uint<4>  source_lanes;
    uint<2>  rotate;
    uint<7>  source;            /// half word n, followed by the next one (0 behind the last); or `PROCESS_SOURCE_SHARED`
    uint<3>  bits;
    uint<4>  lanes;
    process_kind_t kind;
}

/// Comparison of two words; fields of less than 32 bits are in the high bytes.
enum process_comparison_t : uint<3> {
    COMPARISON_EQUAL      = 0,
    COMPARISON_NOT_EQUAL  = 1,
    COMPARISON_LESS       = 2,
    COMPARISON_LESS_EQUAL = 3,
    COMPARISON_LESS_SIGNED = 4,
    COMPARISON_LESS_EQUAL_SIGNED = 5,
    COMPARISON_BEFORE     = 6,  /// a - b is negative: serial numbers, which wrap
    COMPARISON_ANY        = 7   /// a and b have a bit in common
}

/// A condition: a bit of the key of the entries.
struct process_condition_t {
    uint<32> immediate;
    process_operand_t b;
    process_operand_t a;
    process_comparison_t kind;
}

/// What an entry does with the state of the flow.
struct process_entry_t {
    uint<4>  updates[PROCESS_WORDS]; /// of each word: 0 keeps it, n takes update n - 1; high bits beyond PROCESS_UPDATES are ignored
    uint<1>  sets_label;        /// after the update
    uint<8>  label;
}

/// An action on the packet: ALU n writes word n + PROCESS_ACTIONS * row; of two containers, the first in the high half.
/// Words beyond are not written and read 0.
struct process_action_t {
    process_instruction_t instruction;
    uint<5>  row;
}

/// What becomes of the packet; as in `unit_action_t`.
struct process_decision_t {
    uint<4>  next;              /// unit, or UNIT_END
    verdict_t verdict;          /// VERDICT_PASS: as it was
    uint<8>  egress_mask;       /// with another verdict
    uint<4>  queue;
    uint<4>  splice;            /// 0: as it was
    uint<4>  again;             /// 0: as it was
}

/// How a block with composed updates runs packets of a version. Without them, or where `composed` is 0, packets of a flow wait for each
/// other. Where it is 1, the update of each word is chosen before its state is there, in one of two stages; what is written must be as
/// if packets waited, which `compiler.stateful.families` decides. The words of the first stage are read by the choices of the second.
struct process_composed_t {
    uint<4>  lanes[PROCESS_WORDS]; /// bytes of a word that its updates write; the label apart
    uint<PROCESS_WORDS> second; /// bit n: the update of word n is chosen in the second stage
    uint<1>  label_second;
    uint<1>  composed;
}

/// Memories, and what an address in each consists of.
enum process_memory_t : uint<4> {
    PROCESS_MEMORY_SHARED    = 0,  /// global state (2:0), or table state (3)
    PROCESS_MEMORY_INPUT     = 1,  /// input (9:0), version (10); likewise in all that follow
    PROCESS_MEMORY_CONDITION = 2,  /// condition
    PROCESS_MEMORY_UPDATE    = 3,  /// update (3:0), word (7:4)
    PROCESS_MEMORY_MATCH     = 4,  /// value of a key's nibble (3:0), group of 16 entries (7:4). Bit 16n + m: entry m of the group takes it as nibble n; nibbles 0 and 1 are the conditions, 2 and 3 the label. The last entry is taken if no other matches
    PROCESS_MEMORY_ENTRY     = 5,  /// entry
    PROCESS_MEMORY_ACTION    = 6,  /// ALU (3:0), entry (9:4); of more than 16 ALUs bit 9 is the highest of the ALU
    PROCESS_MEMORY_DECISION  = 7,  /// entry
    PROCESS_MEMORY_COMPOSED  = 8   /// version (10) only
}

/// A write to a memory. Addresses that a block does not have are ignored.
struct process_write_t {
    uint<72> data;
    uint<11> address;
    process_memory_t memory;
}
static_assert bits(process_action_t) <= 72;
