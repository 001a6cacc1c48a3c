// SPDX-License-Identifier: Apache-2.0
// The deparser of the programmable pipeline as software (rtl/pipeline/sl_deparser.sv, sl_deparser_places.sv,
// sl_deparser_fill.sv, sl_deparser_checksums.sv, sl_splice_*.sv): checksums that cover what changed, then containers
// back into the headers of the packet, then words that come and go.
#include "functional_pipeline.h"

enum { ONES = 0xffff, FLIT_WORDS = SLUICE_DATA_BYTES / 2 };

void functional_writer_write(struct pipeline_writer *writer, unsigned memory, const struct pipeline_write *write) {
    if (memory == SLUICE_DEPARSER_MEMORY_BASE) {
        writer->bases[write->address] = write->data[0] % SLUICE_PARSER_BASES;
        return;
    }
    struct sluice_deparser_row row;
    sluice_deparser_row_unpack(&row, write->data);
    functional_moves_read(&writer->rows[write->address], row.places);
}

void functional_checksum_write(struct pipeline_checksum *checksum, unsigned memory,
                               const struct pipeline_write *write) {
    if (memory == SLUICE_DEPARSER_MEMORY_CHECKSUM_BASE)
        checksum->bases[write->address] = write->data[0] % SLUICE_PARSER_BASES;
    else
        sluice_checksum_row_unpack(&checksum->rows[write->address], write->data);
}

// The row for the header that is at a base; none, where there is no header.
static unsigned row_of(const struct sluice_parser_base *base, unsigned version) {
    return version * SLUICE_PARSER_KINDS + base->kind;
}

// ---- Checksums

// The carries come in again at bit 0; 0 only of 0.
static uint32_t folded(uint64_t sum) {
    while (sum > ONES)
        sum = (sum & ONES) + (sum >> 16);
    return (uint32_t)sum;
}

// New and complement of old of the covered containers that changed; 0: none did.
static uint32_t change_of(const struct pipeline_packet *packet, uint64_t covers) {
    uint64_t sum = 0;
    for (; covers; covers &= covers - 1) {
        unsigned container = (unsigned)__builtin_ctzll(covers);
        uint32_t change = packet->sources[container] + (ONES - (uint32_t)packet->original[container]);
        sum += change == ONES ? 0 : change;
    }
    return folded(sum);
}

// RFC 1624, equation 3. Whether the checksum is another one then.
static bool repair(const struct sluice_checksum_row *row, const struct pipeline_packet *packet, uint16_t *checksum) {
    if (!row->enable || row->container >= SLUICE_PIPELINE_CONTAINERS)
        return false;
    uint32_t old = packet->sources[row->container], change = change_of(packet, row->covers);
    if (change == 0 || (row->optional && old == 0))
        return false;
    uint32_t sum = folded((uint64_t)change + (ONES - old));
    *checksum = (uint16_t)(row->optional && sum == ONES ? ONES : ONES - sum);
    return true;
}

void functional_checksums_repair(const struct pipeline_checksum *checksums, struct pipeline_packet *packet) {
    uint16_t values[SLUICE_DEPARSER_CHECKSUMS];
    const struct sluice_checksum_row *rows[SLUICE_DEPARSER_CHECKSUMS];
    for (unsigned i = 0; i < SLUICE_DEPARSER_CHECKSUMS; i++) {
        const struct sluice_parser_base *base = &packet->bases[checksums[i].bases[packet->version]];
        rows[i] = &checksums[i].rows[row_of(base, packet->version)];
        if (!base->valid || !repair(rows[i], packet, &values[i]))
            rows[i] = NULL;
    }
    for (unsigned i = 0; i < SLUICE_DEPARSER_CHECKSUMS; i++)
        if (rows[i])
            packet->sources[rows[i]->container] = values[i];
}

// ---- Headers

// Writes a word of the packet, what of it is in the packet and in the window.
static void put_word(uint8_t *out, const struct pipeline_packet *packet, uint32_t number, uint32_t bits) {
    if (2 * number < packet->reach)
        out[2 * number] = (uint8_t)(bits >> 8);
    if (2 * number + 1 < packet->reach)
        out[2 * number + 1] = (uint8_t)bits;
}

// Where each container goes, as the last row says that names it. Returns which go somewhere.
static uint64_t places_of(const struct pipeline_writer *writers, const struct pipeline_packet *packet, uint8_t *words) {
    uint64_t placed = 0;
    for (unsigned i = 0; i < SLUICE_DEPARSER_WRITERS; i++) {
        const struct sluice_parser_base *base = &packet->bases[writers[i].bases[packet->version]];
        if (!base->valid)
            continue;
        const struct pipeline_moves *row = &writers[i].rows[row_of(base, packet->version)];
        for (unsigned m = 0; m < row->count; m++) {
            if (row->moves[m].container == PIPELINE_NOTHING)
                continue;
            placed |= (uint64_t)1 << row->moves[m].container;
            words[row->moves[m].container] = (uint8_t)(base->position + row->moves[m].word);
        }
    }
    return placed;
}

// Of the containers that go somewhere, those that no other of their row goes to a column of a flit with.
static uint64_t alone_in_column(uint64_t placed, const uint8_t *words) {
    uint64_t alone = placed;
    for (uint64_t left = placed; left; left &= left - 1) {
        unsigned one = (unsigned)__builtin_ctzll(left), first = one - one % SLUICE_DEPARSER_ROW;
        for (unsigned other = first; other < first + SLUICE_DEPARSER_ROW; other++)
            if (other != one && placed >> other & 1 && words[one] / FLIT_WORDS == words[other] / FLIT_WORDS &&
                words[one] % SLUICE_DEPARSER_COLUMNS == words[other] % SLUICE_DEPARSER_COLUMNS)
                alone &= ~((uint64_t)1 << one);
    }
    return alone;
}

// A word that several containers go to stays as it is.
void functional_headers_write(const struct pipeline_writer *writers, const struct pipeline_packet *packet,
                              uint8_t *out) {
    uint8_t words[SLUICE_PIPELINE_CONTAINERS], takers[UINT8_MAX + 1] = {0};
    uint64_t placed = alone_in_column(places_of(writers, packet, words), words);
    memcpy(out, packet->bytes, packet->size);
    for (uint64_t left = placed; left; left &= left - 1)
        takers[words[__builtin_ctzll(left)]]++;
    for (uint64_t left = placed; left; left &= left - 1) {
        unsigned container = (unsigned)__builtin_ctzll(left);
        if (takers[words[container]] == 1)
            put_word(out, packet, words[container], packet->sources[container]);
    }
}

// ---- Splice

static uint16_t word_of(const struct sluice_splice_word *word, unsigned number, const uint16_t *containers) {
    unsigned container = SLUICE_PARSER_SLOTS * (word->row - 1u) + number;
    if (word->row == 0)
        return word->constant;
    return container < SLUICE_PIPELINE_CONTAINERS ? containers[container] : 0;
}

uint32_t functional_splice(const struct sluice_splice_row *splices, const struct pipeline_packet *packet,
                           uint8_t *out) {
    const struct sluice_splice_row *row = &splices[packet->version * SLUICE_SPLICES + packet->splice];
    const struct sluice_parser_base *base = &packet->bases[row->base];
    uint32_t place = 2u * (base->position + row->word), end = place + 2u * row->removed;
    uint32_t size = packet->size, inserted = 2u * row->inserted, out_size = size + inserted - 2u * row->removed;
    if (!packet->splice || !base->valid || end >= size || out_size < SLUICE_SPLICE_LEAST)
        return size;
    memmove(out + place + inserted, out + end, size - end);
    for (unsigned n = 0; n < row->inserted; n++) {
        uint16_t word = word_of(&row->words[n], n, packet->sources);
        out[place + 2 * n] = (uint8_t)(word >> 8);
        out[place + 2 * n + 1] = (uint8_t)word;
    }
    return out_size;
}
