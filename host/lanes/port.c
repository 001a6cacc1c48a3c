// SPDX-License-Identifier: Apache-2.0
// The kernel takes VLAN tags off frames before a packet socket sees them, and says so beside the frame: they are put
// back. A sender on the same machine may leave checksums to hardware that is not there; then nobody would accept what
// the device forwards, so that is told once.
#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET_BUFFER = 8 << 20, TAG = 4, TAG_AT = 12 };

static void tell(struct port *port, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct port *port, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    port->note(port->context, line);
}

static bool is_on(int fd, const char *name, uint32_t question) {
    struct ethtool_value value = {.cmd = question};
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_data = (char *)&value;
    return ioctl(fd, SIOCETHTOOL, &request) == 0 && value.data != 0;
}

// Offloads that make one large frame of several, and an interface that is down.
static void look(struct port *port) {
    static const struct {
        uint32_t question;
        const char *name;
    } offloads[] = {{ETHTOOL_GGRO, " gro off"}, {ETHTOOL_GTSO, " tso off"}, {ETHTOOL_GGSO, " gso off"}};
    char text[64] = "";
    struct ifreq request = {0};
    for (unsigned i = 0; i < sizeof offloads / sizeof *offloads; i++)
        if (is_on(port->fd, port->name, offloads[i].question))
            strcat(text, offloads[i].name);
    if (*text)
        tell(port, "lane %u: %s merges packets into frames larger than its MTU; turn this off: ethtool -K %s%s\n",
             port->lane, port->name, port->name, text);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", port->name);
    if (ioctl(port->fd, SIOCGIFFLAGS, &request) == 0 && !(request.ifr_flags & IFF_UP)) {
        tell(port, "lane %u: %s is down: ip link set %s up\n", port->lane, port->name, port->name);
        port->told_down = true;
    }
}

static int fail(const struct port *port, const char *what) {
    int error = errno;
    return sluice_fail(-error, "lane %u: %s%s: %s: %s", port->lane, port->is_tap ? "tap:" : "", port->name, what,
                       error == EPERM || error == EACCES ? "root (CAP_NET_RAW, CAP_NET_ADMIN) is needed"
                                                         : strerror(error));
}

static int open_socket(struct port *port) {
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    struct packet_mreq promiscuous = {.mr_type = PACKET_MR_PROMISC};
    int on = 1, size = SOCKET_BUFFER;
    address.sll_ifindex = promiscuous.mr_ifindex = (int)if_nametoindex(port->name);
    if (address.sll_ifindex == 0)
        return fail(port, "no such interface");
    // Protocol 0: nothing is received until the socket is bound.
    port->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (port->fd < 0)
        return fail(port, "packet socket");
    if (setsockopt(port->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
        setsockopt(port->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size); // as much as is allowed
    if (setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
        setsockopt(port->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on))
        return fail(port, "packet socket (Linux 4.20 or later is needed)");
    if (setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous))
        return fail(port, "promiscuous mode");
    if (bind(port->fd, (struct sockaddr *)&address, sizeof address))
        return fail(port, "bind");
    look(port);
    return 0;
}

static int open_tap(struct port *port) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int result = 0, control;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", port->name);
    port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port->fd < 0 || ioctl(port->fd, TUNSETIFF, &request))
        return fail(port, "cannot be created");
    control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0 || ioctl(control, SIOCGIFFLAGS, &request))
        result = fail(port, "flags");
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    if (result == 0 && ioctl(control, SIOCSIFFLAGS, &request))
        result = fail(port, "cannot be set up");
    if (control >= 0)
        close(control);
    return result;
}

int port_open(struct port *port, uint32_t lane, const char *name, port_note note, void *context) {
    bool is_tap = strncmp(name, "tap:", 4) == 0;
    *port = (struct port){
        .fd = -1, .lane = lane, .is_tap = is_tap, .name = name + (is_tap ? 4 : 0), .note = note, .context = context};
    if (*port->name == 0 || strlen(port->name) >= IFNAMSIZ)
        return sluice_fail(-EINVAL, "lane %u: '%s': an interface name has 1 to %d characters", lane, name,
                           IFNAMSIZ - 1);
    int status = is_tap ? open_tap(port) : open_socket(port);
    if (status)
        port_close(port);
    return status;
}

void port_close(struct port *port) {
    if (port->name && port->fd >= 0)
        close(port->fd);
    port->fd = -1;
}

static void tell_checksum(struct port *port) {
    if (!port->told_checksum)
        tell(port,
             "lane %u: packets arrive on %s without checksums, and no receiver accepts them; on the sending interface: "
             "ethtool -K INTERFACE tx off\n",
             port->lane, port->name);
    port->told_checksum = true;
}

// What the kernel says beside the frame. The size with the tag put back.
static uint32_t complete(struct port *port, struct msghdr *message, uint8_t *bytes, uint32_t size) {
    for (struct cmsghdr *beside = CMSG_FIRSTHDR(message); beside; beside = CMSG_NXTHDR(message, beside)) {
        struct tpacket_auxdata about;
        if (beside->cmsg_level != SOL_PACKET || beside->cmsg_type != PACKET_AUXDATA)
            continue;
        memcpy(&about, CMSG_DATA(beside), sizeof about);
        if (about.tp_status & TP_STATUS_CSUMNOTREADY)
            tell_checksum(port);
        if (!(about.tp_status & TP_STATUS_VLAN_VALID) || size < TAG_AT)
            continue;
        uint16_t kind = about.tp_status & TP_STATUS_VLAN_TPID_VALID ? about.tp_vlan_tpid : ETH_P_8021Q;
        memmove(bytes + TAG_AT + TAG, bytes + TAG_AT, size - TAG_AT);
        bytes[TAG_AT] = (uint8_t)(kind >> 8);
        bytes[TAG_AT + 1] = (uint8_t)kind;
        bytes[TAG_AT + 2] = (uint8_t)(about.tp_vlan_tci >> 8);
        bytes[TAG_AT + 3] = (uint8_t)about.tp_vlan_tci;
        size += TAG;
    }
    return size;
}

int port_receive(struct port *port, uint8_t *bytes) {
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } beside;
    struct iovec part = {bytes, PORT_FRAME - TAG};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &beside, .msg_controllen = sizeof beside};
    ssize_t size = port->is_tap ? read(port->fd, bytes, PORT_FRAME) : recvmsg(port->fd, &message, 0);
    if (size >= 0)
        return (int)(port->is_tap ? (uint32_t)size : complete(port, &message, bytes, (uint32_t)size));
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    if (port->is_tap || errno != ENETDOWN)
        return fail(port, "is gone");
    if (!port->told_down)
        tell(port, "lane %u: %s went down\n", port->lane, port->name);
    port->told_down = true;
    return 0;
}

void port_send(struct port *port, const uint8_t *bytes, uint32_t size) {
    ssize_t sent = write(port->fd, bytes, size);
    if (sent == (ssize_t)size)
        return;
    int error = sent < 0 ? errno : EIO;
    enum port_drop why = error == EMSGSIZE                     ? PORT_TOO_LONG
                         : error == ENOBUFS || error == EAGAIN ? PORT_BUSY
                                                               : PORT_ERROR;
    port->drops[why]++;
}

void port_count(struct port *port) {
    struct tpacket_stats counts;
    socklen_t size = sizeof counts;
    if (!port->is_tap && port->fd >= 0 && getsockopt(port->fd, SOL_PACKET, PACKET_STATISTICS, &counts, &size) == 0)
        port->drops[PORT_UNREAD] += counts.tp_drops;
}
