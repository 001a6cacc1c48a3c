// SPDX-License-Identifier: Apache-2.0
/// The parser that is loaded at run time: a row of stages, each a ternary table of what to do with one header. MPSoC paper, 3.2.2;
/// Gibb et al., Design Principles for Packet Parsers, ANCS 2013. Words here have 16 bits; headers are whole words.
import "../stream/packet.sl";
import "../stream/phv.sl";

constexpr uint PIPELINE_CONTAINERS = 44;    /// of 16 bits: the PHV of the programmable pipeline, as wide as `phv_t`
static_assert 16 * PIPELINE_CONTAINERS == bits(phv_t);
constexpr uint PARSER_STAGES = 8;           /// headers of a packet that the parser can read
constexpr uint PARSER_ENTRIES = 64;         /// of a stage's table, those of both program versions
constexpr uint PARSER_LOOKUPS = 2;          /// words of a header that a state compares
constexpr uint PARSER_SLOTS = 16;           /// words that a step can extract
constexpr uint PARSER_REACH = 32;           /// words of a header that a step can read
constexpr uint PARSER_BASES = 8;            /// header positions that are kept for the deparser
constexpr uint PARSER_KINDS = 8;            /// headers that can be at one of them
constexpr uint PARSER_FARTHEST = 63;        /// words: the longest step
constexpr uint PARSER_DONE = 0;             /// the state in which nothing more is read

/// What a stage's table compares. Each version of the program has its own entries, or shares them by a mask over `version`.
struct parser_key_t {
    uint<16> words[PARSER_LOOKUPS]; /// of the header, at the places that the step before chose
    uint<7>  state;
    uint<1>  version;
}

/// A word of the header, into container `16 * (row - 1)` + the number of the slot; row 0: none.
struct parser_extract_t {
    uint<2>  row;
    uint<5>  word;
}

/// What an entry does: it reads the header at the current position, then moves on by `advance` plus the header's length field. The
/// first of several matching entries is taken.
struct parser_step_t {
    parser_extract_t extracts[PARSER_SLOTS];
    uint<16> length_mask;       /// bits of the length field; 0: the header has none
    uint<5>  length_word;       /// where the length field is
    uint<5>  length_scale;      /// its masked word counts 2**(length_scale - 16) words, at most 255 in all
    uint<6>  advance;           /// words
    uint<6>  needs;             /// words that the packet must have from here on, if more than the step's length
    uint<5>  lookups[PARSER_LOOKUPS]; /// words that the next state compares
    uint<7>  state;             /// the next
    uint<3>  base;
    uint<clog2(PARSER_KINDS)> kind;
    uint<1>  has_base;          /// the position and kind of this header are kept as `bases[base]`
    fault_t  fault;             /// other than none: nothing else is done
    uint<14> reserved;
}
static_assert bits(parser_step_t) == 192;

/// Where a version of the program begins.
struct parser_start_t {
    uint<5>  lookups[PARSER_LOOKUPS];
    uint<7>  state;
}

/// Where a header began, and which it is.
struct parser_base_t {
    uint<1>  valid;
    uint<clog2(PARSER_KINDS)> kind;
    uint<7>  position;          /// words from the start of the packet
}

/// What the parser made of a packet. Containers that nothing was extracted into read 0; in a later pass the two of the mark read what
/// the pass before left there.
struct parsed_t {
    uint<16> containers[PIPELINE_CONTAINERS];
    parser_base_t bases[PARSER_BASES];
    uint<7>  position;          /// words up to the end of the last header
    uint<7>  state;             /// PARSER_DONE, or where the fault was
    fault_t  fault;
    uint<1>  version;           /// of the program
    uint<8>  ingress_port;
    uint<16> length;            /// bytes of the packet without FCS
    uint<4>  begins;            /// the unit that looks it up first; 0: this is its first pass
}
