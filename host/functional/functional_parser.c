// SPDX-License-Identifier: Apache-2.0
// The parser of the programmable pipeline as software (rtl/pipeline/sl_parser.sv, sl_parser_stage.sv): a stage for each
// header, until a step leads to PARSER_DONE or to a fault.
#include "functional_pipeline.h"

enum { MOST_COUNTED = 255, SCALE_ONE = 16 }; // words of a length field; the scale that counts words

void functional_moves_read(struct pipeline_moves *moves, const struct sluice_parser_extract *extracts) {
    moves->count = 0;
    for (uint8_t word = 0; word < SLUICE_PARSER_REACH; word++)
        for (unsigned slot = 0; slot < SLUICE_PARSER_SLOTS; slot++) {
            unsigned container = SLUICE_PARSER_SLOTS * (extracts[slot].row - 1U) + slot;
            if (extracts[slot].row == 0 || extracts[slot].word != word)
                continue;
            moves->moves[moves->count++] = (struct pipeline_move){
                word, (uint8_t)(container < SLUICE_PIPELINE_CONTAINERS ? container : PIPELINE_NOTHING)};
        }
}

void functional_stage_write(struct pipeline_stage *stage, unsigned memory, const struct pipeline_write *write) {
    if (memory == SLUICE_PARSER_MEMORY_MATCH) {
        pipeline_match_write(stage->accepts, PARSER_NIBBLES, write->data, write->address >> PIPELINE_NIBBLE,
                             write->address & 15);
        return;
    }
    struct pipeline_step *step = &stage->steps[write->address];
    sluice_parser_step_unpack(&step->word, write->data);
    functional_moves_read(&step->extracts, step->word.extracts);
}

// A word of the header at the current position; beyond the packet, or the window, it reads 0.
static uint32_t word_at(const struct pipeline_packet *packet, unsigned number) {
    uint32_t at = 2 * (packet->position + number);
    if (at + 1 < packet->reach)
        return (uint32_t)packet->bytes[at] << 8 | packet->bytes[at + 1];
    return at < packet->reach ? (uint32_t)packet->bytes[at] << 8 : 0;
}

// The first entry that takes the key; NULL: none does.
static const struct pipeline_step *find_step(const struct pipeline_stage *stage, const struct pipeline_packet *packet) {
    struct sluice_parser_key key = {.state = packet->state, .version = packet->version};
    uint8_t bytes[SLUICE_PARSER_KEY_BYTES];
    uint64_t entries = ~(uint64_t)0;
    for (unsigned i = 0; i < SLUICE_PARSER_LOOKUPS; i++)
        key.words[i] = (uint16_t)word_at(packet, packet->lookups[i]);
    sluice_parser_key_pack(&key, bytes);
    for (unsigned n = 0; n < SLUICE_PARSER_KEY_BYTES; n++)
        entries &= stage->accepts[2 * n][bytes[n] & 15] & stage->accepts[2 * n + 1][bytes[n] >> 4];
    return entries ? &stage->steps[__builtin_ctzll(entries)] : NULL;
}

// Words from here to the next header.
static uint32_t length_of(const struct sluice_parser_step *step, const struct pipeline_packet *packet) {
    uint64_t field = word_at(packet, step->length_word) & step->length_mask;
    uint64_t counted = field << step->length_scale >> SCALE_ONE;
    return step->advance + (uint32_t)(counted < MOST_COUNTED ? counted : MOST_COUNTED);
}

static uint8_t fault_of(const struct sluice_parser_step *step, const struct pipeline_packet *packet, uint32_t length) {
    uint32_t last = packet->position + (length > step->needs ? length : step->needs);
    if (step->fault)
        return step->fault;
    if (last > packet->size / 2)
        return SLUICE_FAULT_TRUNCATED;
    bool is_near = last <= SLUICE_WINDOW_BYTES / 2 && length <= SLUICE_PARSER_FARTHEST;
    return is_near ? SLUICE_FAULT_NONE : SLUICE_FAULT_WINDOW;
}

static void read_header(const struct pipeline_stage *stage, struct pipeline_packet *packet) {
    const struct pipeline_step *found = find_step(stage, packet);
    if (!found) {
        packet->fault = SLUICE_FAULT_PROGRAM;
        return;
    }
    const struct sluice_parser_step *step = &found->word;
    uint32_t length = length_of(step, packet);
    packet->fault = fault_of(step, packet, length);
    if (packet->fault)
        return;
    for (unsigned i = 0; i < found->extracts.count; i++) {
        struct pipeline_move move = found->extracts.moves[i];
        if (move.container != PIPELINE_NOTHING)
            packet->sources[move.container] = (uint16_t)word_at(packet, move.word);
    }
    if (step->has_base)
        packet->bases[step->base] = (struct sluice_parser_base){1, step->kind, packet->position};
    packet->position = (uint8_t)(packet->position + length);
    packet->state = step->state;
    memcpy(packet->lookups, step->lookups, sizeof packet->lookups);
}

void functional_parse(const struct pipeline_stage *stages, const struct sluice_parser_start *start,
                      struct pipeline_packet *packet) {
    packet->state = start->state;
    memcpy(packet->lookups, start->lookups, sizeof packet->lookups);
    if (packet->state == SLUICE_PARSER_DONE)
        packet->fault = SLUICE_FAULT_PROGRAM;
    for (unsigned i = 0; i < SLUICE_PARSER_STAGES && !packet->fault && packet->state != SLUICE_PARSER_DONE; i++)
        read_header(&stages[i], packet);
    if (!packet->fault && packet->state != SLUICE_PARSER_DONE)
        packet->fault = SLUICE_FAULT_CHAIN;
    packet->sources[SLUICE_SOURCE_LENGTH] = (uint16_t)packet->size;
    for (unsigned i = 0; i < SLUICE_PARSER_BASES; i++)
        packet->sources[SLUICE_SOURCE_HEADERS] |= (uint16_t)(packet->bases[i].valid << i);
}
