// SPDX-License-Identifier: Apache-2.0
// Words, values and errors of a rules file. Every value is checked here: range, form, stray bits; a bad one is an error
// with its column and a hint, never a crash or a silent repair.

#include "rules_text.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXCERPT_MAX 400U // longer lines are not shown below their error

int sluice_text_error_at(struct text *text, struct line line, uint32_t column, const char *format, ...) {
    if (text->error_count < TEXT_ERRORS) {
        struct text_error *error = &text->errors[text->error_count];
        va_list values;
        *error = (struct text_error){.line = line, .column = column};
        va_start(values, format);
        (void)vsnprintf(error->message, sizeof error->message, format, values);
        va_end(values);
    }
    text->error_count++;
    return -1;
}

// A space, or the return of a line that ends in return and newline.
static bool is_space(struct line line, size_t at) {
    char c = line.text[at];
    return c == ' ' || c == '\t' || (c == '\r' && at + 1 == line.size);
}

int sluice_text_split(struct text *text, struct line line) {
    text->line = line;
    text->word_count = text->next = 0;
    for (size_t at = 0; at < line.size && line.text[at] != '#';) {
        size_t start = at;
        if (is_space(line, at)) {
            at++;
            continue;
        }
        for (; at < line.size && line.text[at] != '#' && !is_space(line, at); at++) {
            unsigned char c = (unsigned char)line.text[at];
            if (c < 0x21 || c > 0x7e)
                return sluice_text_error_at(text, line, (uint32_t)at + 1,
                                            "byte 0x%02x is not allowed; hint: use plain ASCII text", c);
        }
        if (text->word_count == TEXT_WORDS)
            return sluice_text_error_at(text, line, (uint32_t)start + 1,
                                        "too many words; hint: write one rule per line");
        text->words[text->word_count++] =
            (struct word){.text = line.text + start, .size = at - start, .column = (uint32_t)start + 1};
    }
    return 0;
}

static bool word_is(const struct word *word, const char *expected) {
    return strlen(expected) == word->size && memcmp(word->text, expected, word->size) == 0;
}

int sluice_text_take(struct text *text, const char *word) {
    if (text->next == text->word_count || !word_is(&text->words[text->next], word))
        return 0;
    text->next++;
    return 1;
}

uint32_t sluice_text_column(const struct text *text) {
    if (text->next < text->word_count)
        return text->words[text->next].column;
    const struct word *last = &text->words[text->word_count - 1];
    return last->column + (uint32_t)last->size;
}

const char *sluice_text_found(const struct text *text, char *buffer, size_t size) {
    if (text->next == text->word_count)
        return "the end of the line";
    const struct word *word = &text->words[text->next];
    int shown = (int)(word->size < 40 ? word->size : 40);
    (void)snprintf(buffer, size, "'%.*s'", shown, word->text);
    return buffer;
}

int sluice_text_end(struct text *text) {
    char buffer[48];
    if (text->next == text->word_count)
        return 0;
    return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                "unexpected %s; hint: end the line before it",
                                sluice_text_found(text, buffer, sizeof buffer));
}

// The next word as a string ended by 0, "" where it is too long or not there.
static const char *word_string(const struct text *text, char *buffer, size_t size) {
    buffer[0] = 0;
    if (text->next < text->word_count && text->words[text->next].size < size) {
        memcpy(buffer, text->words[text->next].text, text->words[text->next].size);
        buffer[text->words[text->next].size] = 0;
    }
    return buffer;
}

// Digits only, at most 10 of them; -1 where it is no number.
static int64_t decimal(const char *digits, size_t size) {
    int64_t value = 0;
    if (size == 0 || size > 10)
        return -1;
    for (size_t n = 0; n < size; n++) {
        if (digits[n] < '0' || digits[n] > '9')
            return -1;
        value = value * 10 + (digits[n] - '0');
    }
    return value;
}

int sluice_text_number(struct text *text, const char *what, uint32_t low, uint32_t high, uint32_t *value) {
    char buffer[48];
    int64_t number = -1;
    if (text->next < text->word_count)
        number = decimal(text->words[text->next].text, text->words[text->next].size);
    if (number < low || number > high)
        return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                    "expected %s, found %s; hint: use a number from %u to %u", what,
                                    sluice_text_found(text, buffer, sizeof buffer), low, high);
    *value = (uint32_t)number;
    text->next++;
    return 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int sluice_text_mac(struct text *text, const char *what, uint64_t *mac) {
    char buffer[48], word[18];
    const char *digits = word_string(text, word, sizeof word);
    uint32_t column = sluice_text_column(text);
    uint64_t value = 0;
    int valid = strlen(digits) == 17;
    for (unsigned n = 0; valid && n < 6; n++) {
        int high = hex_digit(digits[3 * n]), low = hex_digit(digits[3 * n + 1]);
        valid = high >= 0 && low >= 0 && (n == 5 || digits[3 * n + 2] == ':');
        value = value << 8 | (uint64_t)((high & 15) << 4 | (low & 15));
    }
    if (!valid)
        return sluice_text_error_at(text, text->line, column,
                                    "expected %s, found %s; hint: use a MAC address, e.g. 02:00:00:00:00:01", what,
                                    sluice_text_found(text, buffer, sizeof buffer));
    if (value >> 40 & 1 || value == 0)
        return sluice_text_error_at(text, text->line, column,
                                    "%s cannot be %s; hint: use a unicast address, whose first byte is even", what,
                                    sluice_text_found(text, buffer, sizeof buffer));
    *mac = value;
    text->next++;
    return 0;
}

// `bytes` as on the wire; the mask and the value without the bits behind the prefix, little-endian, into what is 0. 1
// where such bits were set.
static int set_prefix(struct prefix *prefix, uint8_t *bytes, unsigned size) {
    int stray = 0;
    for (unsigned n = 0; n < size; n++) {
        unsigned bits = prefix->length <= 8 * n ? 0 : prefix->length - 8 * n;
        uint8_t mask = (uint8_t)(bits >= 8 ? 0xff : 0xff00U >> bits);
        stray |= (bytes[n] & ~mask) != 0;
        bytes[n] &= mask;
        prefix->mask[size - 1 - n] = mask;
        prefix->value[size - 1 - n] = bytes[n];
    }
    return stray;
}

int sluice_text_prefix(struct text *text, const char *what, struct prefix *prefix) {
    char buffer[48], word[64], clean[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    uint32_t column = sluice_text_column(text);
    (void)word_string(text, word, sizeof word);
    char *slash = strchr(word, '/');
    if (slash)
        *slash = 0;
    bool is_ipv4 = inet_pton(AF_INET, word, bytes) == 1;
    if (!is_ipv4 && inet_pton(AF_INET6, word, bytes) != 1)
        return sluice_text_error_at(
            text, text->line, column,
            "expected %s, found %s; hint: use an IPv4 or IPv6 address, e.g. 10.1.0.0/16 or 2001:db8::/32", what,
            sluice_text_found(text, buffer, sizeof buffer));
    unsigned size = is_ipv4 ? 4 : 16;
    int64_t length = slash ? decimal(slash + 1, strlen(slash + 1)) : 8 * size;
    if (length < 0 || length > 8 * size)
        return sluice_text_error_at(text, text->line, column + (uint32_t)(slash - word) + 1,
                                    "invalid prefix length '%s'; hint: use a number from 0 to %u", slash + 1, 8 * size);
    *prefix = (struct prefix){.version = is_ipv4 ? 4 : 6, .length = (uint8_t)length};
    if (set_prefix(prefix, bytes, size)) {
        (void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes, clean, sizeof clean);
        return sluice_text_error_at(text, text->line, column, "%s has host bits set; hint: %s/%u",
                                    sluice_text_found(text, buffer, sizeof buffer), clean, (unsigned)length);
    }
    text->next++;
    return 0;
}

int sluice_text_address(struct text *text, const char *what, struct prefix *address) {
    char buffer[48];
    if (text->next < text->word_count && memchr(text->words[text->next].text, '/', text->words[text->next].size))
        return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                    "expected %s, found %s; hint: use one address, without a prefix length", what,
                                    sluice_text_found(text, buffer, sizeof buffer));
    return sluice_text_prefix(text, what, address);
}

int sluice_text_hex(struct text *text, const char *what, uint8_t *bytes, uint32_t room, uint32_t *size) {
    char buffer[48];
    const struct word *word = text->next < text->word_count ? &text->words[text->next] : NULL;
    int valid = word && word->size > 0 && word->size % 8 == 0 && word->size / 2 <= room;
    for (uint32_t n = 0; valid && n < word->size / 2; n++) {
        int high = hex_digit(word->text[2 * n]), low = hex_digit(word->text[2 * n + 1]);
        valid = high >= 0 && low >= 0;
        bytes[n] = (uint8_t)(high << 4 | low);
    }
    if (!valid)
        return sluice_text_error_at(text, text->line, sluice_text_column(text),
                                    "expected %s, found %s; hint: use a multiple of 8 hexadecimal digits, at most %u",
                                    what, sluice_text_found(text, buffer, sizeof buffer), 2 * room);
    *size = (uint32_t)word->size / 2;
    text->next++;
    return 0;
}

int sluice_text_ports(struct text *text, uint16_t *low, uint16_t *high) {
    char buffer[48];
    uint32_t column = sluice_text_column(text);
    int64_t first = -1, last = -1;
    if (text->next < text->word_count) {
        const struct word *word = &text->words[text->next];
        const char *dash = memchr(word->text, '-', word->size);
        size_t size = dash ? (size_t)(dash - word->text) : word->size;
        first = decimal(word->text, size);
        last = dash ? decimal(dash + 1, word->size - size - 1) : first;
    }
    if (first < 0 || last < 0 || first > 65535 || last > 65535)
        return sluice_text_error_at(
            text, text->line, column,
            "expected a port, found %s; hint: use a port or a range up to 65535, e.g. 80 or 1000-2000",
            sluice_text_found(text, buffer, sizeof buffer));
    if (first > last)
        return sluice_text_error_at(text, text->line, column, "invalid range %s; hint: put the lower port first",
                                    sluice_text_found(text, buffer, sizeof buffer));
    *low = (uint16_t)first;
    *high = (uint16_t)last;
    text->next++;
    return 0;
}

static int by_place(const void *left, const void *right) {
    const struct text_error *a = left, *b = right;
    if (a->line.number != b->line.number)
        return a->line.number < b->line.number ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

static void report_one(const char *name, const struct text_error *error, FILE *errors) {
    const struct line *line = &error->line;
    size_t size = line->text[line->size - 1] == '\r' ? line->size - 1 : line->size; // no error is in an empty line
    (void)fprintf(errors, "%s:%u:%u: %s\n", name, line->number, error->column, error->message);
    if (size > EXCERPT_MAX)
        return;
    (void)fprintf(errors, "%5u | ", line->number);
    for (size_t n = 0; n < size; n++)
        (void)fputc((unsigned char)line->text[n] < 0x20 && line->text[n] != '\t' ? '?' : line->text[n], errors);
    (void)fputs("\n      | ", errors);
    for (uint32_t n = 1; n < error->column; n++)
        (void)fputc(line->text[n - 1] == '\t' ? '\t' : ' ', errors);
    (void)fputs("^\n", errors);
}

void sluice_text_report(struct text *text, FILE *errors) {
    uint32_t kept = text->error_count < TEXT_ERRORS ? text->error_count : TEXT_ERRORS;
    qsort(text->errors, kept, sizeof text->errors[0], by_place);
    for (uint32_t n = 0; n < kept; n++)
        report_one(text->name, &text->errors[n], errors);
    if (text->error_count > kept)
        (void)fprintf(errors, "%s: %u more errors\n", text->name, text->error_count - kept);
}
