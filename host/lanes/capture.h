// SPDX-License-Identifier: Apache-2.0
// Captures in memory: read from pcap or pcapng by libpcap, collected from lanes, written as pcap.
#ifndef SLUICE_CAPTURE_H
#define SLUICE_CAPTURE_H

#include <stdint.h>

struct capture_packet {
    uint64_t offset; // of its bytes
    uint64_t time;   // microseconds
    uint32_t size;
};

struct capture {
    struct capture_packet *packets;
    uint8_t *bytes;
    uint64_t count, room, used, space;
    uint64_t snapped; // packets of which only a part was captured
};

// Append a packet; 0 or -ENOMEM.
int capture_add(struct capture *capture, const uint8_t *bytes, uint32_t size, uint64_t time);
static inline const uint8_t *capture_bytes(const struct capture *capture, uint64_t index) {
    return capture->bytes + capture->packets[index].offset;
}
void capture_free(struct capture *capture);

// Read a file. 0; -EINVAL: it is no capture of Ethernet; 1: it is damaged behind the packets that were read. The last
// two leave a sentence in `text`.
int capture_read(struct capture *capture, const char *path, char *text, unsigned text_size);

// A pcap that is written packet by packet: a file beside it first, renamed by capture_finish, which frees it; a FIFO or
// a character device is opened and written, and what else is no regular file is refused. NULL and a negative errno
// leave a sentence in `text`; what cannot be written on the way, capture_finish tells.
struct capture_file;
struct capture_file *capture_create(const char *path, char *text, unsigned text_size);
void capture_put(struct capture_file *file, const uint8_t *bytes, uint32_t size, uint64_t time);
int capture_finish(struct capture_file *file, char *text, unsigned text_size);

// All of a capture in one go. 0 or a negative errno.
int capture_write(const struct capture *capture, const char *path, char *text, unsigned text_size);

#endif
