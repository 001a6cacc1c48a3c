// SPDX-License-Identifier: Apache-2.0
// The programmable pipeline (elements/pipeline) as software: its memories, each word decoded when it is written, and
// what a packet meets on its way through them. It reads no program: whatever the host writes into the memories is
// executed as the RTL would.
#ifndef SLUICE_FUNCTIONAL_PIPELINE_H
#define SLUICE_FUNCTIONAL_PIPELINE_H

#include "functional.h"
#include "functional_hash.h"

enum { PIPELINE_VERSIONS = 2, PIPELINE_NIBBLE = 4, PIPELINE_BANK = 64 }; // bits of a nibble; entries of a match word
enum { PIPELINE_ROWS = PIPELINE_VERSIONS * SLUICE_PARSER_KINDS };
enum { PIPELINE_SPLICES = PIPELINE_VERSIONS * SLUICE_SPLICES };
enum { PARSER_NIBBLES = SLUICE_PARSER_KEY_BITS / PIPELINE_NIBBLE };
enum { UNIT_KEY_BYTES = 2 * SLUICE_UNIT_KEY_WORDS, UNIT_NIBBLES = 2 * UNIT_KEY_BYTES + 1 }; // the last: the version
enum { UNIT_WAYS = 4, UNIT_SLOTS = SLUICE_PIPELINE_EXACT_ENTRIES / UNIT_WAYS };             // as of sl_pipeline_pkg
enum { UNIT_EXACT_WAY = 1 << 14 }; // from a way to the next in the addresses of UNIT_MEMORY_EXACT
enum { UNIT_BANKS = SLUICE_PIPELINE_TERNARY_ENTRIES / PIPELINE_BANK };
enum { UNIT_ENTRIES = SLUICE_PIPELINE_EXACT_ENTRIES + SLUICE_PIPELINE_TERNARY_ENTRIES };
enum { UNIT_ACTIONS = UNIT_ENTRIES + PIPELINE_VERSIONS }; // the last ones: of packets without a match
enum { PIPELINE_UNITS = SLUICE_UNIT_END, PIPELINE_NOTHING = SLUICE_UNIT_SOURCES - 1 }; // most; a source that reads 0

_Static_assert(SLUICE_PARSER_ENTRIES == PIPELINE_BANK, "a stage has one match word");
_Static_assert(SLUICE_PIPELINE_TERNARY_ENTRIES % PIPELINE_BANK == 0, "match words are full");

// ---- Memories

// A ternary table of 64 entries: which of them accept a value of a nibble of the key.
typedef uint64_t pipeline_accepts[1 << PIPELINE_NIBBLE];

// Word `word` of a header, into or from a container; PIPELINE_NOTHING where the pipeline has no such container.
struct pipeline_move {
    uint8_t word, container;
};

struct pipeline_moves {
    uint8_t count;
    struct pipeline_move moves[SLUICE_PARSER_SLOTS]; // by word
};

struct pipeline_step {
    struct sluice_parser_step word;
    struct pipeline_moves extracts;
};

struct pipeline_stage {
    pipeline_accepts accepts[PARSER_NIBBLES];
    struct pipeline_step steps[SLUICE_PARSER_ENTRIES];
};

struct pipeline_selector {
    uint64_t mask[UNIT_KEY_BYTES / 8];
    uint8_t words[SLUICE_UNIT_KEY_WORDS]; // sources
    bool is_exact;
};

struct pipeline_exact {
    uint64_t key[UNIT_KEY_BYTES / 8];
    uint16_t action;
    uint8_t versions;
};

// One that does something. Without a container it can only expire.
struct pipeline_operation {
    uint16_t mask, immediate, lowest; // bit of the mask
    uint8_t source, container, kind;
};

struct pipeline_action {
    uint8_t count;
    struct pipeline_operation operations[SLUICE_UNIT_OPERATIONS];
    struct sluice_process_decision decision;
};

struct pipeline_unit {
    struct pipeline_selector selectors[PIPELINE_VERSIONS];
    struct pipeline_exact exact[UNIT_WAYS][UNIT_SLOTS];
    pipeline_accepts accepts[UNIT_BANKS][UNIT_NIBBLES];
    struct pipeline_action actions[UNIT_ACTIONS];
    struct sluice_rule_counters counters[UNIT_ACTIONS];
};

struct pipeline_writer {
    uint8_t bases[PIPELINE_VERSIONS];
    struct pipeline_moves rows[PIPELINE_ROWS];
};

struct pipeline_checksum {
    uint8_t bases[PIPELINE_VERSIONS];
    struct sluice_checksum_row rows[PIPELINE_ROWS];
};

// A write to a memory, at an address that it has.
struct pipeline_write {
    const uint8_t *data; // SLUICE_PIPELINE_REGISTERS_DATA_COUNT words
    uint32_t unit, address;
};

// ---- A packet

struct pipeline_packet {
    const uint8_t *bytes;
    uint32_t size, reach;                                                        // bytes; those in the parse window
    uint16_t sources[SLUICE_UNIT_SOURCES], original[SLUICE_PIPELINE_CONTAINERS]; // containers now; as parsed
    struct sluice_parser_base bases[SLUICE_PARSER_BASES];
    uint8_t lookups[SLUICE_PARSER_LOOKUPS];
    uint8_t position, state, fault, version; // as in parsed_t
    uint8_t verdict, egress_mask, queue, next, splice, again;
};

// ---- Parts

// The 4 bits of each nibble of a write go to a group of 4 entries of a table.
static inline void pipeline_match_write(pipeline_accepts *accepts, unsigned nibbles, const uint8_t *data,
                                        unsigned group, unsigned value) {
    unsigned shift = PIPELINE_NIBBLE * group;
    for (unsigned n = 0; n < nibbles; n++) {
        uint64_t entries = data[n / 2] >> (PIPELINE_NIBBLE * (n % 2)) & 15;
        accepts[n][value] = (accepts[n][value] & ~((uint64_t)15 << shift)) | entries << shift;
    }
}

// Slots of a row in the order of their words.
void functional_moves_read(struct pipeline_moves *moves, const struct sluice_parser_extract *extracts);

void functional_stage_write(struct pipeline_stage *stage, unsigned memory, const struct pipeline_write *write);
// Containers, bases and fault of a packet whose bytes, version and source of its port are there.
void functional_parse(const struct pipeline_stage *stages, const struct sluice_parser_start *start,
                      struct pipeline_packet *packet);

// What becomes of a packet behind a unit.
void functional_decide(struct pipeline_packet *packet, const struct sluice_process_decision *decision);
void functional_unit_write(struct pipeline_unit *unit, unsigned memory, const struct pipeline_write *write);
// The lookup and its action, whose number it returns.
uint32_t functional_unit_run(const struct pipeline_unit *unit, const struct functional_hash *hash,
                             struct pipeline_packet *packet);

void functional_writer_write(struct pipeline_writer *writer, unsigned memory, const struct pipeline_write *write);
void functional_checksum_write(struct pipeline_checksum *checksum, unsigned memory, const struct pipeline_write *write);
void functional_checksums_repair(const struct pipeline_checksum *checksums, struct pipeline_packet *packet);
// The packet with its containers in its headers. `out` has room for FUNCTIONAL_OUT_BYTES.
void functional_headers_write(const struct pipeline_writer *writers, const struct pipeline_packet *packet,
                              uint8_t *out);
// Inserts and removes words of `out`, a packet as functional_headers_write left it. Bytes of it then.
uint32_t functional_splice(const struct sluice_splice_row *splices, const struct pipeline_packet *packet, uint8_t *out);

#endif
