// SPDX-License-Identifier: Apache-2.0
/// The deparser that is loaded at run time: it writes containers back into the headers that they came from, and repairs checksums.
import "parser.sl";

constexpr uint DEPARSER_WRITERS = 6;        /// headers of a packet that can be rewritten
constexpr uint DEPARSER_CHECKSUMS = 2;      /// checksums of a packet that can be repaired

/// What a writer does with a header of one kind: slot n goes into a word of it, as a parser's step takes it from there. A container goes
/// where the last writer says whose row names it; containers that go to one word give the bits of all.
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
static_assert bits(deparser_row_t) == 112;
