// SPDX-License-Identifier: Apache-2.0
/// The memories of the programmable pipeline, which hold its program, and how they are written. In a word of a match memory bit
/// 4n + m says whether entry m of a group of four takes the address's nibble as nibble n of the key.
import "deparser.sl";
import "unit.sl";

/// Memories, and what an address in each consists of.
enum pipeline_memory_t : uint<4> {
    PARSER_MEMORY_MATCH           = 0,  /// of a stage: value of a key's nibble (3:0), group of four entries (7:4)
    PARSER_MEMORY_STEP            = 1,  /// of a stage: entry
    PARSER_MEMORY_START           = 2,  /// version
    DEPARSER_MEMORY_ROW           = 3,  /// of a writer: kind (2:0), version (3)
    DEPARSER_MEMORY_BASE          = 4,  /// of a writer: version
    DEPARSER_MEMORY_CHECKSUM_ROW  = 5,  /// of a checksum unit: kind (2:0), version (3)
    DEPARSER_MEMORY_CHECKSUM_BASE = 6,  /// of a checksum unit: version
    UNIT_MEMORY_SELECTOR          = 7,  /// of a unit: version; of a stateful one a `flow_selector_t`
    UNIT_MEMORY_EXACT             = 8,  /// of a unit: slot (13:0), way (15:14)
    UNIT_MEMORY_TERNARY           = 9,  /// of a unit: value of a key's nibble (3:0), group of four entries (15:4)
    UNIT_MEMORY_ACTION            = 10, /// of a unit: `action` of an exact entry; their number + ternary entry; all entries + version: no match. Its counters begin at 0
    DEPARSER_MEMORY_SPLICE        = 11, /// number of the splice (3:0), version (4)
    UNIT_MEMORY_PROCESS           = 12, /// of a stateful unit: address in a memory of its process block (10:0), process_memory_t (14:11)
    UNIT_MEMORY_FLOWS             = 13  /// of a stateful unit: 0, a `flow_settings_t`
}

/// A write to a memory, at an address that it has.
struct pipeline_write_t {
    uint<384> data;
    uint<16>  address;
    uint<4>   unit;             /// the stage, writer, checksum unit or unit
    pipeline_memory_t memory;
}
