// SPDX-License-Identifier: Apache-2.0
/// The deparser that is loaded at run time: it writes containers back into the headers that they came from, repairs checksums, and
/// inserts and removes words of a packet (splice).
import "parser.sl";

constexpr uint DEPARSER_WRITERS = 6;        /// headers of a packet that can be rewritten
constexpr uint DEPARSER_CHECKSUMS = 2;      /// checksums of a packet that can be repaired
constexpr uint DEPARSER_ROW = 4;            /// containers in a row: those of a row that go to one column of a flit go nowhere
constexpr uint DEPARSER_COLUMNS = 8;        /// of a flit: its words whose numbers are equal modulo this
constexpr uint SPLICES = 16;                /// of a version of the program; number 0 is none
constexpr uint SPLICE_WORDS = 15;           /// that a splice can insert
constexpr uint SPLICE_REMOVED = 63;         /// that a splice can remove
constexpr uint SPLICE_LEAST = 14;           /// bytes of a packet that it leaves: less would be dropped as a runt

/// What a writer does with a header of one kind: slot n goes into a word of it, as a parser's step takes it from there. A container goes
/// where the last writer says whose row names it. Containers `DEPARSER_ROW * n` and up are one row of the crossbar. If several of a row go
/// to one column of a flit, none of them is written; a word that several of the others go to stays as it is.
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

/// Word n that a splice inserts: a constant, or container `16 * (row - 1)` + n.
struct splice_word_t {
    uint<2>  row;               /// 0: the constant
    uint<16> constant;
}

/// A splice: at a place of a packet, after its headers are written, words go and others come. A packet without that base stays as it
/// is, and one that does not go on behind what is removed, or would be shorter than SPLICE_LEAST.
struct splice_row_t {
    splice_word_t words[SPLICE_WORDS]; /// word 0 is the first in the packet
    uint<4>  inserted;          /// words that come
    uint<6>  removed;           /// words that go
    uint<5>  word;              /// the place: words behind the position of the base
    uint<3>  base;
}
static_assert bits(splice_row_t) == 288;
