// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <errno.h>
#include <limits.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SNAPSHOT = 65535 };

static int grow(void **memory, uint64_t *room, uint64_t needed, uint64_t size) {
    if (needed <= *room)
        return 0;
    uint64_t more = *room ? *room * 2 : 1024;
    while (more < needed)
        more *= 2;
    void *larger = realloc(*memory, more * size);
    if (!larger)
        return -ENOMEM;
    *memory = larger;
    *room = more;
    return 0;
}

int capture_add(struct capture *capture, const uint8_t *bytes, uint32_t size, uint64_t time) {
    if (grow((void **)&capture->packets, &capture->room, capture->count + 1, sizeof *capture->packets) ||
        grow((void **)&capture->bytes, &capture->space, capture->used + size, 1))
        return -ENOMEM;
    memcpy(capture->bytes + capture->used, bytes, size);
    capture->packets[capture->count++] = (struct capture_packet){capture->used, time, size};
    capture->used += size;
    return 0;
}

void capture_free(struct capture *capture) {
    free(capture->packets);
    free(capture->bytes);
    memset(capture, 0, sizeof *capture);
}

int capture_read(struct capture *capture, const char *path, char *text, unsigned text_size) {
    char why[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const uint8_t *bytes;
    int more;
    pcap_t *file = pcap_open_offline(path, why);
    if (!file) {
        snprintf(text, text_size, "%s: %s; an input must be a pcap or pcapng file", path, why);
        return -EINVAL;
    }
    if (pcap_datalink(file) != DLT_EN10MB) {
        const char *name = pcap_datalink_val_to_name(pcap_datalink(file));
        snprintf(text, text_size, "%s: its link type is %s (%d); only Ethernet can be sent", path,
                 name ? name : "unknown", pcap_datalink(file));
        pcap_close(file);
        return -EINVAL;
    }
    while ((more = pcap_next_ex(file, &header, &bytes)) == 1) {
        if (header->caplen == 0 || header->caplen > SNAPSHOT)
            continue;
        capture->snapped += header->caplen < header->len;
        uint64_t time = (uint64_t)header->ts.tv_sec * 1000000U + (uint64_t)header->ts.tv_usec;
        if (capture_add(capture, bytes, header->caplen, time)) {
            snprintf(text, text_size, "%s: no memory for packet %llu", path, (unsigned long long)capture->count);
            pcap_close(file);
            return -ENOMEM;
        }
    }
    if (more == -1)
        snprintf(text, text_size, "%s: damaged after packet %llu (%s); the packets before it are sent", path,
                 (unsigned long long)capture->count, pcap_geterr(file));
    pcap_close(file);
    return more == -1;
}

struct capture_file {
    pcap_t *kind;
    pcap_dumper_t *file;
    char path[4096], unfinished[4096]; // `unfinished` "": written as it is, no regular file
};

static void capture_abandon(struct capture_file *it) {
    if (it->file)
        pcap_dump_close(it->file);
    if (it->kind)
        pcap_close(it->kind);
    free(it);
}

// Open what it is written to. 0, or a negative errno.
static int open_target(struct capture_file *it, const char *path) {
    struct stat found;
    char whole[PATH_MAX];
    int exists = stat(path, &found) == 0;
    if (exists && (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))) {
        FILE *file = fopen(path, "wb");
        int error = errno;
        snprintf(it->path, sizeof it->path, "%s", path);
        it->file = file ? pcap_dump_fopen(it->kind, file) : NULL;
        return it->file ? 0 : file ? -EIO : -error;
    }
    if (exists && !S_ISREG(found.st_mode))
        return S_ISDIR(found.st_mode) ? -EISDIR : -EOPNOTSUPP;
    if (exists && realpath(path, whole)) // what a link leads to is replaced, not the link
        path = whole;
    if ((unsigned)snprintf(it->path, sizeof it->path, "%s", path) >= sizeof it->path - sizeof ".unfinished")
        return -ENAMETOOLONG;
    size_t size = strlen(it->path);
    memcpy(it->unfinished, it->path, size);
    memcpy(it->unfinished + size, ".unfinished", sizeof ".unfinished");
    FILE *file = fopen(it->unfinished, "wb");
    if (!file)
        return -errno;
    it->file = pcap_dump_fopen(it->kind, file);
    return it->file ? 0 : -EIO;
}

struct capture_file *capture_create(const char *path, char *text, unsigned text_size) {
    struct capture_file *it = calloc(1, sizeof *it);
    int error = it && (it->kind = pcap_open_dead(DLT_EN10MB, SNAPSHOT)) ? open_target(it, path) : -ENOMEM;
    if (!error)
        return it;
    snprintf(text, text_size, "cannot write %s: %s", path, strerror(-error));
    if (it)
        capture_abandon(it);
    errno = -error;
    return NULL;
}

void capture_put(struct capture_file *it, const uint8_t *bytes, uint32_t size, uint64_t time) {
    struct pcap_pkthdr header = {.caplen = size, .len = size};
    header.ts.tv_sec = (time_t)(time / 1000000U);
    header.ts.tv_usec = (suseconds_t)(time % 1000000U);
    pcap_dump((u_char *)it->file, &header, bytes);
}

int capture_finish(struct capture_file *it, char *text, unsigned text_size) {
    int result = 0;
    if (pcap_dump_flush(it->file) != 0 || ferror(pcap_dump_file(it->file)))
        result = -EIO;
    else if (it->unfinished[0] && rename(it->unfinished, it->path) != 0)
        result = -errno;
    if (result) {
        snprintf(text, text_size, "cannot write %s: %s", it->path, strerror(-result));
        if (it->unfinished[0])
            unlink(it->unfinished);
    }
    capture_abandon(it);
    return result;
}

int capture_write(const struct capture *capture, const char *path, char *text, unsigned text_size) {
    struct capture_file *file = capture_create(path, text, text_size);
    if (!file)
        return -errno;
    for (uint64_t i = 0; i < capture->count; i++)
        capture_put(file, capture_bytes(capture, i), capture->packets[i].size, capture->packets[i].time);
    return capture_finish(file, text, text_size);
}
