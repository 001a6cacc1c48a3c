// SPDX-License-Identifier: Apache-2.0
// The rules file: docs/guide/rules.md. Reads the whole file before it gives up, so that one run shows every error; a
// file with an error gives no rules at all.

#include "rules_reader.h"

#include <errno.h>
#include <stdlib.h>

#define FILE_MIN 4096U       // bytes that are asked for first
#define FILE_MAX (64U << 20) // bytes of a rules file

static int read_text(struct reader *reader, const char *text, size_t size) {
    struct line line = {.number = 1};
    for (size_t at = 0; at < size; line.number++) {
        const char *end = memchr(text + at, '\n', size - at);
        line.text = text + at;
        line.size = end ? (size_t)(end - line.text) : size - at;
        sluice_rules_read_line(reader, line);
        at += line.size + 1;
    }
    int error = reader->out_of_memory ? -ENOMEM : sluice_rules_finish_routes(reader);
    if (!error)
        error = sluice_rules_finish_acls(reader);
    return !error && reader->text.error_count ? -EINVAL : error;
}

int sluice_rules_parse(const char *name, const char *text, size_t size, struct sluice_rules **rules, FILE *errors) {
    struct reader *reader = calloc(1, sizeof *reader);
    struct sluice_rules *made = calloc(1, sizeof *made);
    int error = -ENOMEM;
    *rules = NULL;
    if (reader && made) {
        made->policy = (struct sluice_policy){.offload_after = 1, .idle = 30, .mac_idle = 300};
        reader->text.name = name;
        reader->rules = made;
        error = read_text(reader, text, size);
        if (errors && error == -EINVAL)
            sluice_text_report(&reader->text, errors);
        free(reader->routes);
        free(reader->acls);
    }
    if (errors && error == -ENOMEM)
        (void)fprintf(errors, "%s: out of memory\n", name);
    free(reader);
    if (error)
        sluice_rules_free(made);
    else
        *rules = made;
    return error;
}

// The whole file; NULL with `*error` set. Read in pieces, so that a pipe works too.
static char *read_file(const char *path, size_t *size, int *error) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    *error = file ? 0 : -errno;
    while (file && !*error && !feof(file)) {
        if (*size == room) {
            char *larger = room < FILE_MAX ? realloc(text, room ? 2 * room : FILE_MIN) : NULL;
            if (!larger) {
                *error = room < FILE_MAX ? -ENOMEM : -EFBIG;
                break;
            }
            text = larger;
            room = room ? 2 * room : FILE_MIN;
        }
        errno = 0;
        *size += fread(text + *size, 1, room - *size, file);
        if (ferror(file))
            *error = errno ? -errno : -EIO;
    }
    if (file)
        (void)fclose(file);
    if (*error) {
        free(text);
        return NULL;
    }
    return text;
}

int sluice_rules_read(const char *path, struct sluice_rules **rules, FILE *errors) {
    size_t size;
    int error;
    *rules = NULL;
    char *text = read_file(path, &size, &error);
    if (!text) {
        if (errors)
            (void)fprintf(errors, "%s: %s\n", path, strerror(-error));
        return error;
    }
    error = sluice_rules_parse(path, text, size, rules, errors);
    free(text);
    return error;
}

void sluice_rules_free(struct sluice_rules *rules) {
    if (!rules)
        return;
    free(rules->routes);
    free(rules->acls);
    free(rules);
}

uint64_t sluice_rules_lane_mac(const struct sluice_rules *rules, uint8_t lane) {
    return lane < SLUICE_SWITCH_LANES ? rules->lane_mac[lane] : 0;
}

void sluice_rules_own(const struct sluice_rules *rules, uint8_t lane, struct sluice_own *own) {
    *own = rules->own;
    own->mac = sluice_rules_lane_mac(rules, lane);
}

uint8_t sluice_rules_lanes(const struct sluice_rules *rules) {
    return rules->lanes;
}

uint32_t sluice_rules_route_count(const struct sluice_rules *rules) {
    return rules->route_count;
}

const struct sluice_route *sluice_rules_route(const struct sluice_rules *rules, uint32_t index) {
    return index < rules->route_count ? &rules->routes[index] : NULL;
}

uint32_t sluice_rules_acl_count(const struct sluice_rules *rules) {
    return rules->acl_count;
}

const uint8_t (*sluice_rules_edit_data(const struct sluice_rules *rules, uint32_t *count))[SLUICE_EDIT_DATA_BYTES] {
    *count = rules->edit_count;
    return (const uint8_t(*)[SLUICE_EDIT_DATA_BYTES])rules->edit_data;
}

const struct sluice_template *sluice_rules_templates(const struct sluice_rules *rules, uint32_t *count) {
    *count = rules->template_count;
    return rules->templates;
}

const struct sluice_policy *sluice_rules_policy(const struct sluice_rules *rules) {
    return &rules->policy;
}
