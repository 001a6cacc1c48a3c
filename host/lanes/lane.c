// SPDX-License-Identifier: Apache-2.0
#include "lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"

struct lane {
    struct port port; // of interfaces; its counters serve every kind
    bool is_interface;
    int socket; // -1: none
    struct sockaddr_un peer;
    bool is_bound, has_peer, peer_is_fixed, repeats;
    struct capture input;
    uint64_t next; // packet of the capture
    struct capture_file *output;
    char text[512], second[256]; // the line, cut
};

// Makes place where a run that did not end well left its socket: ours, and nobody listens to it. Others stay.
static int clear_path(int probe, const struct sockaddr_un *own) {
    const char *path = own->sun_path;
    struct stat there;
    if (lstat(path, &there) || !S_ISSOCK(there.st_mode))
        return 0; // whatever else is there, bind says
    if (there.st_uid != geteuid())
        return sluice_fail(-EPERM, "unix:%s: the socket belongs to user %u", path, (unsigned)there.st_uid);
    if (connect(probe, (const struct sockaddr *)own, sizeof *own) == 0 || errno != ECONNREFUSED)
        return sluice_fail(-EADDRINUSE, "unix:%s: the socket is in use", path);
    return unlink(path) ? sluice_fail(-errno, "unix:%s: %s", path, strerror(errno)) : 0;
}

static int open_socket(struct lane *lane, const char *path) {
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof own.sun_path || strlen(lane->second) >= sizeof own.sun_path || !*path)
        return sluice_fail(-EINVAL, "unix:%s: a path has 1 to %zu characters", path, sizeof own.sun_path - 1);
    strcpy(own.sun_path, path);
    lane->peer.sun_family = AF_UNIX;
    strcpy(lane->peer.sun_path, lane->second);
    lane->has_peer = lane->peer_is_fixed = *lane->second != 0;
    lane->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int result = lane->socket < 0 ? 0 : clear_path(lane->socket, &own);
    if (result)
        return result;
    if (lane->socket < 0 || bind(lane->socket, (struct sockaddr *)&own, sizeof own))
        return sluice_fail(-errno, "unix:%s: %s", path, strerror(errno));
    lane->is_bound = true;
    return 0;
}

static int open_captures(struct lane *lane, const char *input, port_note note, void *context) {
    char text[512];
    if (*input) {
        int result = capture_read(&lane->input, input, text, sizeof text);
        if (result < 0)
            return sluice_fail(result, "%s", text);
        if (result > 0) {
            note(context, text);
            note(context, "\n");
        }
    }
    if (*lane->second && !(lane->output = capture_create(lane->second, text, sizeof text)))
        return sluice_fail(-EIO, "%s", text);
    return 0;
}

static int connect_lane(struct lane *lane, uint32_t number, port_note note, void *context) {
    char *kind = lane->text, *first = strchr(kind, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (strcmp(kind, "none") == 0)
        return 0;
    if (first && strncmp(kind, "tap:", 4) == 0) {
        lane->is_interface = true;
        return port_open(&lane->port, number, kind, note, context);
    }
    if (!first)
        return sluice_fail(-EINVAL,
                           "lane %u: '%s': write none, tap:NAME, af_packet:NAME, pcap:IN:OUT, replay:IN or "
                           "unix:PATH[:PEER]",
                           number, kind);
    *first++ = 0;
    if (strcmp(kind, "af_packet") == 0) {
        lane->is_interface = true;
        return port_open(&lane->port, number, first, note, context);
    }
    if (second) {
        *second++ = 0;
        if ((unsigned)snprintf(lane->second, sizeof lane->second, "%s", second) >= sizeof lane->second)
            return sluice_fail(-EINVAL, "lane %u: '%s' is too long", number, second);
    }
    if (strcmp(kind, "unix") == 0)
        return open_socket(lane, first);
    lane->repeats = strcmp(kind, "replay") == 0;
    if (lane->repeats || strcmp(kind, "pcap") == 0)
        return open_captures(lane, first, note, context);
    return sluice_fail(-EINVAL, "lane %u: unknown connection type '%s'", number, kind);
}

int lane_open(struct lane **out, uint32_t number, const char *text, port_note note, void *context) {
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return sluice_fail(-ENOMEM, "out of memory");
    lane->socket = lane->port.fd = -1;
    int result = (unsigned)snprintf(lane->text, sizeof lane->text, "%s", text) < sizeof lane->text
                     ? connect_lane(lane, number, note, context)
                     : sluice_fail(-EINVAL, "lane %u: the connection is too long", number);
    if (result)
        lane_close(lane);
    else
        *out = lane;
    return result;
}

int lane_close(struct lane *lane) {
    char text[512];
    int result = 0;
    if (!lane)
        return 0;
    if (lane->is_interface)
        port_close(&lane->port);
    if (lane->is_bound)
        unlink(lane->text + sizeof "unix");
    if (lane->socket >= 0)
        close(lane->socket);
    capture_free(&lane->input);
    if (lane->output && (result = capture_finish(lane->output, text, sizeof text)))
        sluice_fail(result, "%s", text);
    free(lane);
    return result;
}

int lane_fd(const struct lane *lane) {
    return lane->is_interface ? lane->port.fd : lane->socket;
}

bool lane_waits(const struct lane *lane) {
    return lane->next < lane->input.count;
}

bool lane_keeps(const struct lane *lane) {
    return lane->input.count != 0;
}

static int receive_datagram(struct lane *lane, uint8_t *bytes) {
    struct sockaddr_un from;
    socklen_t size = sizeof from;
    ssize_t got = recvfrom(lane->socket, bytes, PORT_FRAME, 0, (struct sockaddr *)&from, &size);
    if (got <= 0)
        return 0; // an empty datagram is no frame
    if (!lane->peer_is_fixed && size > sizeof from.sun_family && *from.sun_path) {
        lane->peer = from;
        lane->has_peer = true;
    }
    return (int)got;
}

int lane_receive(struct lane *lane, uint8_t *bytes) {
    if (lane->is_interface)
        return port_receive(&lane->port, bytes);
    if (lane->socket >= 0)
        return receive_datagram(lane, bytes);
    if (!lane_waits(lane))
        return 0;
    uint32_t size = lane->input.packets[lane->next].size;
    memcpy(bytes, capture_bytes(&lane->input, lane->next++), size);
    if (lane->repeats)
        lane->next %= lane->input.count;
    return (int)size;
}

void lane_send(struct lane *lane, const uint8_t *bytes, uint32_t size) {
    if (lane->is_interface) {
        port_send(&lane->port, bytes, size);
    } else if (lane->output) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        capture_put(lane->output, bytes, size, (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U);
    } else if (lane->socket < 0 || !lane->has_peer) {
        lane->port.drops[PORT_ERROR]++;
    } else if (sendto(lane->socket, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&lane->peer, sizeof lane->peer) < 0) {
        lane->port.drops[errno == EAGAIN || errno == ENOBUFS ? PORT_BUSY : PORT_ERROR]++;
    }
}

uint64_t lane_drops(struct lane *lane, enum port_drop why) {
    if (lane->is_interface)
        port_count(&lane->port);
    return lane->port.drops[why];
}
