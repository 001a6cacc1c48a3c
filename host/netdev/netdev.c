// SPDX-License-Identifier: Apache-2.0
// Network interfaces of the kernel that are ports of a device: `netdev EAL-ARGUMENTS -- NAME...`, a TAP interface a
// port, in the order of the ports. What the kernel sends into the interface leaves by the port, what comes to the port
// comes out of the interface. The port follows the interface: up and down start and stop it, MAC address and MTU are
// set on it; the interface follows the port's link. A setting that the port refuses is said, and put back in the
// interface. An interface may be renamed, or moved to another network namespace. Ends in order on SIGINT and SIGTERM,
// and then prints what was carried and lost; the interfaces go with it.
#define _GNU_SOURCE // setns, ppoll
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BURST = 32,
    BUFFERS = 4096,
    ROOM = 9600,      // bytes of a buffer: the largest frame in one piece
    QUEUE = 512,      // descriptors
    CHECK_MS = 20,    // how often settings are compared
    IDLE_ROUNDS = 64, // with nothing to do, until it sleeps
};

typedef struct Netdev {
    uint16_t port;
    int tap;
    int control; // a socket in the interface's namespace, for its settings
    ino_t space; // that namespace
    char name[IFNAMSIZ];
    bool is_up;
    bool has_link;
    unsigned mtu;
    struct rte_ether_addr mac;
    uint64_t sent, received;      // frames out of the port, into the kernel
    uint64_t not_sent, not_taken; // the port was full or refused it; the interface is down or full
} Netdev;

static volatile sig_atomic_t is_ending;
static int home; // our own network namespace
static struct rte_mempool *pool;

static void on_signal(int number) {
    (void)number;
    is_ending = 1;
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("netdev: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

// An ioctl of the interface by its name, in whichever namespace it is.
static int control(Netdev *it, unsigned long request, struct ifreq *what) {
    snprintf(what->ifr_name, sizeof what->ifr_name, "%s", it->name);
    return ioctl(it->control, request, what) ? -errno : 0;
}

// Finds the interface again after it was moved or renamed; false where it is gone.
static bool find(Netdev *it) {
    struct ifreq what = {0};
    struct stat status;
    if (ioctl(it->tap, TUNGETIFF, &what))
        return false;
    memcpy(it->name, what.ifr_name, sizeof it->name);
    int space = ioctl(it->tap, TUNGETDEVNETNS);
    if (space < 0)
        return false;
    bool is_found = fstat(space, &status) == 0;
    if (is_found && (it->control < 0 || status.st_ino != it->space)) {
        if (it->control >= 0)
            close(it->control);
        it->control = -1;
        if (setns(space, CLONE_NEWNET) == 0) {
            it->control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            it->space = status.st_ino;
            if (setns(home, CLONE_NEWNET))
                fail("cannot return to its own network namespace: %s", strerror(errno));
        }
        is_found = it->control >= 0;
    }
    close(space);
    return is_found;
}

static void follow_mac(Netdev *it) {
    struct ifreq what = {0};
    if (ioctl(it->tap, SIOCGIFHWADDR, &what))
        return;
    struct rte_ether_addr wanted;
    memcpy(&wanted, what.ifr_hwaddr.sa_data, sizeof wanted);
    if (rte_is_same_ether_addr(&wanted, &it->mac))
        return;
    int error = rte_eth_dev_default_mac_addr_set(it->port, &wanted);
    if (error) {
        fprintf(stderr, "netdev: %s: the port refuses the MAC address: %s\n", it->name, strerror(-error));
        memcpy(what.ifr_hwaddr.sa_data, &it->mac, sizeof it->mac);
        ioctl(it->tap, SIOCSIFHWADDR, &what);
        return;
    }
    it->mac = wanted;
}

static void follow_mtu(Netdev *it) {
    struct ifreq what = {0};
    if (control(it, SIOCGIFMTU, &what) || (unsigned)what.ifr_mtu == it->mtu)
        return;
    unsigned wanted = (unsigned)what.ifr_mtu;
    int error = wanted > UINT16_MAX ? -EINVAL : rte_eth_dev_set_mtu(it->port, (uint16_t)wanted);
    if (error) {
        fprintf(stderr, "netdev: %s: the port refuses an MTU of %u: %s\n", it->name, wanted, strerror(-error));
        what.ifr_mtu = (int)it->mtu;
        control(it, SIOCSIFMTU, &what);
        return;
    }
    it->mtu = wanted;
}

static void follow_flags(Netdev *it) {
    struct ifreq what = {0};
    if (control(it, SIOCGIFFLAGS, &what))
        return;
    bool is_up = what.ifr_flags & IFF_UP;
    if (is_up != it->is_up) {
        int error = is_up ? rte_eth_dev_start(it->port) : rte_eth_dev_stop(it->port);
        if (error)
            fprintf(stderr, "netdev: %s: port %u does not %s: %s\n", it->name, it->port, is_up ? "start" : "stop",
                    strerror(-error));
        else
            it->is_up = is_up;
    }
    bool is_promiscuous = what.ifr_flags & IFF_PROMISC;
    if (is_promiscuous != (rte_eth_promiscuous_get(it->port) == 1))
        (void)(is_promiscuous ? rte_eth_promiscuous_enable(it->port) : rte_eth_promiscuous_disable(it->port));
}

static void follow(Netdev *it) {
    if (!find(it))
        fail("%s was removed", it->name);
    follow_mac(it);
    follow_mtu(it);
    follow_flags(it);
    struct rte_eth_link link = {0};
    bool has_link = it->is_up && rte_eth_link_get_nowait(it->port, &link) == 0 && link.link_status;
    if (has_link != it->has_link) {
        int carrier = has_link;
        if (ioctl(it->tap, TUNSETCARRIER, &carrier) == 0)
            it->has_link = has_link;
    }
}

// A TAP interface with the address of the port; without a link until there is one.
static void make(Netdev *it, uint16_t port, const char *name) {
    *it = (Netdev){.port = port, .tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), .control = -1};
    struct ifreq what = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    if (strlen(name) >= IFNAMSIZ)
        fail("%s: a name has at most %d characters", name, IFNAMSIZ - 1);
    snprintf(what.ifr_name, sizeof what.ifr_name, "%s", name);
    if (it->tap < 0 || ioctl(it->tap, TUNSETIFF, &what))
        fail("a TAP interface %s: %s", name, strerror(errno));
    int carrier = 0;
    if (ioctl(it->tap, TUNSETCARRIER, &carrier) || !find(it))
        fail("%s: %s", name, strerror(errno));
    uint16_t mtu;
    if (rte_eth_macaddr_get(port, &it->mac) || rte_eth_dev_get_mtu(port, &mtu))
        fail("port %u reports no MAC address or MTU", port);
    it->mtu = mtu;
    struct ifreq address = {.ifr_hwaddr.sa_family = 1}; // ARPHRD_ETHER
    memcpy(address.ifr_hwaddr.sa_data, &it->mac, sizeof it->mac);
    struct ifreq size = {.ifr_mtu = mtu};
    if (ioctl(it->tap, SIOCSIFHWADDR, &address) || control(it, SIOCSIFMTU, &size))
        fail("cannot set the MAC address or MTU of %s: %s", name, strerror(errno));
}

static void configure(uint16_t port) {
    struct rte_eth_conf conf = {0};
    int error = rte_eth_dev_configure(port, 1, 1, &conf);
    if (!error)
        error = rte_eth_rx_queue_setup(port, 0, QUEUE, (unsigned)SOCKET_ID_ANY, NULL, pool);
    if (!error)
        error = rte_eth_tx_queue_setup(port, 0, QUEUE, (unsigned)SOCKET_ID_ANY, NULL);
    if (error)
        fail("port %u: %s", port, strerror(-error));
    // What the kernel does not want it throws away by itself; all groups, so that it sees those that it wants.
    (void)rte_eth_allmulticast_enable(port);
}

// From the port into the kernel; how many frames.
static unsigned to_kernel(Netdev *it) {
    struct rte_mbuf *frames[BURST];
    unsigned count = rte_eth_rx_burst(it->port, 0, frames, BURST);
    for (unsigned i = 0; i < count; i++) {
        static uint8_t joined[ROOM];
        uint32_t length = rte_pktmbuf_pkt_len(frames[i]);
        const void *data = length <= ROOM ? rte_pktmbuf_read(frames[i], 0, length, joined) : NULL;
        if (data && write(it->tap, data, length) == (ssize_t)length)
            it->received++;
        else
            it->not_taken++;
        rte_pktmbuf_free(frames[i]);
    }
    return count;
}

// From the kernel out of the port; how many frames.
static unsigned from_kernel(Netdev *it) {
    struct rte_mbuf *frames[BURST];
    uint16_t count = 0;
    while (count < BURST) {
        struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
        if (!frame)
            break; // frames stay in the kernel
        ssize_t length = read(it->tap, rte_pktmbuf_mtod(frame, void *), rte_pktmbuf_tailroom(frame));
        if (length <= 0) {
            rte_pktmbuf_free(frame);
            break;
        }
        frame->data_len = (uint16_t)length;
        frame->pkt_len = (uint32_t)length;
        frames[count++] = frame;
    }
    uint16_t sent = count ? rte_eth_tx_burst(it->port, 0, frames, count) : 0;
    it->sent += sent;
    it->not_sent += (uint64_t)(count - sent);
    rte_pktmbuf_free_bulk(&frames[sent], (unsigned)(count - sent));
    return count;
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// Nothing to do: until the kernel sends a frame, or a fifth of a millisecond for what the ports may have.
static void rest(const Netdev *netdevs, unsigned count) {
    struct pollfd files[RTE_MAX_ETHPORTS];
    for (unsigned i = 0; i < count; i++)
        files[i] = (struct pollfd){.fd = netdevs[i].is_up ? netdevs[i].tap : -1, .events = POLLIN};
    ppoll(files, count, &(struct timespec){.tv_nsec = 200000}, NULL);
}

static void carry(Netdev *netdevs, unsigned count) {
    uint64_t checked = 0;
    unsigned idle = 0;
    while (!is_ending) {
        uint64_t now = milliseconds();
        if (now - checked >= CHECK_MS) {
            for (unsigned i = 0; i < count; i++)
                follow(&netdevs[i]);
            checked = now;
        }
        unsigned done = 0;
        for (unsigned i = 0; i < count; i++)
            if (netdevs[i].is_up)
                done += to_kernel(&netdevs[i]) + from_kernel(&netdevs[i]);
        idle = done ? 0 : idle + 1;
        if (idle > IDLE_ROUNDS)
            rest(netdevs, count);
    }
}

int main(int count, char **arguments) {
    static Netdev netdevs[RTE_MAX_ETHPORTS];
    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int used = rte_eal_init(count, arguments);
    if (used < 0 || home < 0)
        fail("DPDK did not start; see its messages above");
    char **names = arguments + used + 1;
    unsigned number = (unsigned)(count - used - 1);
    unsigned ports = rte_eth_dev_count_avail();
    if (ports == 0 || number != ports)
        fail("%u names given for %u ports", number, ports);
    pool = rte_pktmbuf_pool_create("netdev", BUFFERS, 256, 0, ROOM + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
    if (!pool)
        fail("no memory for %d buffers of %d bytes; give more with -m", BUFFERS, ROOM);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    unsigned made = 0;
    for (uint16_t port = 0; port < RTE_MAX_ETHPORTS; port++) {
        if (!rte_eth_dev_is_valid_port(port))
            continue;
        configure(port);
        make(&netdevs[made], port, names[made]);
        printf("port %u is %s\n", port, names[made++]);
    }
    puts("ready");
    fflush(stdout);
    carry(netdevs, made);
    for (unsigned i = 0; i < made; i++) {
        const Netdev *it = &netdevs[i];
        printf("%s: %llu frames sent, %llu received; dropped: %llu by the port, %llu by the kernel\n", it->name,
               (unsigned long long)it->sent, (unsigned long long)it->received, (unsigned long long)it->not_sent,
               (unsigned long long)it->not_taken);
        close(it->tap);
        if (it->is_up)
            rte_eth_dev_stop(it->port);
        rte_eth_dev_close(it->port);
    }
    rte_eal_cleanup();
    return 0;
}
