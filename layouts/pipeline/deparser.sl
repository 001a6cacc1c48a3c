// SPDX-License-Identifier: Apache-2.0
/// The deparser that is loaded at run time: it writes containers back into the headers that they came from, and repairs checksums.
import "parser.sl";

constexpr uint DEPARSER_WRITERS = 6;        /// headers of a packet that can be rewritten
constexpr uint DEPARSER_CHECKSUMS = 2;      /// checksums of a packet that can be repaired

/// What a writer does with a header of one kind: slot n goes into a word of it, as a parser's step takes it from there.
struct deparser_row_t {
    parser_extract_t places[PARSER_SLOTS];
}

/// What a checksum unit does with a header of one kind: adds to a checksum what changed (RFC 1624).
struct checksum_row_t {
    uint<PIPELINE_CONTAINERS> covers; /// bit n: container n is in the sum
    uint<6>  container;         /// the checksum
    uint<1>  enable;
    uint<1>  optional;          /// 0 means that there is none, as in UDP; what would be 0 is sent as 0xffff
}

/// Memories of the deparser. Each writer and each checksum unit serves the headers at one base.
enum deparser_memory_t : uint<2> {
    DEPARSER_MEMORY_ROW           = 0,  /// of a writer; address: version (3), kind (2:0)
    DEPARSER_MEMORY_BASE          = 1,  /// of a writer; address: version
    DEPARSER_MEMORY_CHECKSUM_ROW  = 2,  /// of a checksum unit; address: version (3), kind (2:0)
    DEPARSER_MEMORY_CHECKSUM_BASE = 3   /// of a checksum unit; address: version
}

/// A write to a memory of the deparser.
struct deparser_write_t {
    uint<112> data;
    uint<4>  address;
    uint<3>  unit;
    deparser_memory_t memory;
}
static_assert bits(deparser_row_t) == 112;
