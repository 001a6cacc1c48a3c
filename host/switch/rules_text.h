// SPDX-License-Identifier: Apache-2.0
// Words of a rules file, the values in them, and the list of its errors. Internal to host/switch.

#ifndef SLUICE_RULES_TEXT_H
#define SLUICE_RULES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_WORDS 32U  // of a line
#define TEXT_ERRORS 50U // printed; the rest are counted

// A word of a line: not ended by 0.
struct word {
    const char *text;
    size_t size;
    uint32_t column; // of its first character, from 1
};

struct line {
    const char *text;
    size_t size;
    uint32_t number; // from 1
};

struct text_error {
    struct line line;
    uint32_t column;
    char message[200];
};

// A file while it is read.
struct text {
    const char *name;
    struct text_error errors[TEXT_ERRORS];
    uint32_t error_count; // found, also those that are not kept
    // The line that is being read.
    struct line line;
    struct word words[TEXT_WORDS];
    uint32_t word_count;
    uint32_t next; // word that is read next
};

// An address with its prefix; value and mask little-endian, IPv4 in the low 4 bytes.
struct prefix {
    uint8_t version;
    uint8_t length;
    uint8_t value[16];
    uint8_t mask[16];
};

// Splits a line into words, without its comment. 0, or -1 with an error: a character that is no text, or too many
// words.
int sluice_text_split(struct text *text, struct line line);

// Notes an error at a column of a line, at most one behind its end; `-1` so that a caller can return it.
__attribute__((format(printf, 4, 5))) int sluice_text_error_at(struct text *text, struct line line, uint32_t column,
                                                               const char *format, ...);

// The next word is this one: takes it and answers 1, else 0.
int sluice_text_take(struct text *text, const char *word);

// The column of the word that is read next, or behind the last one; the line has a word.
uint32_t sluice_text_column(const struct text *text);

// The next word for a message: "'word'" or "the end of the line". `buffer`: at least 48 bytes.
const char *sluice_text_found(const struct text *text, char *buffer, size_t size);

// The line has ended: 0, else -1 with an error.
int sluice_text_end(struct text *text);

// These take the next word as a value: 0, or -1 with an error. `what` names the value in messages. An address has no
// prefix length; `room` and `size` of hexadecimal digits are in bytes, a multiple of 4.
int sluice_text_number(struct text *text, const char *what, uint32_t low, uint32_t high, uint32_t *value);
int sluice_text_mac(struct text *text, const char *what, uint64_t *mac);
int sluice_text_address(struct text *text, const char *what, struct prefix *address);
int sluice_text_hex(struct text *text, const char *what, uint8_t *bytes, uint32_t room, uint32_t *size);
int sluice_text_prefix(struct text *text, const char *what, struct prefix *prefix);
int sluice_text_ports(struct text *text, uint16_t *low, uint16_t *high);

// Writes the errors, in the order of the lines, each with its line and a caret.
void sluice_text_report(struct text *text, FILE *errors);

#endif
