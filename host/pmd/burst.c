// SPDX-License-Identifier: Apache-2.0
// Receive and transmit. A receive queue has a ring of its own; all transmit queues share the ring from the host, one
// lock a burst. No call here waits for the device.
#include "pmd.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_net.h>
#include <string.h>

static bool is_known_group(struct pmd_port *port, const struct rte_ether_addr *address) {
    bool found = false;
    rte_spinlock_lock(&port->filter);
    for (uint32_t i = 0; i < port->multicast_count && !found; i++)
        found = rte_is_same_ether_addr(address, &port->multicasts[i]);
    rte_spinlock_unlock(&port->filter);
    return found;
}

static bool is_wanted(struct pmd_port *port, const uint8_t *bytes) {
    const struct rte_eth_dev_data *data = port->ethdev->data;
    const struct rte_ether_addr *address = (const struct rte_ether_addr *)bytes;
    if (data->promiscuous || rte_is_broadcast_ether_addr(address))
        return true;
    if (rte_is_multicast_ether_addr(address))
        return data->all_multicast || is_known_group(port, address);
    for (unsigned i = 0; i < PMD_MACS; i++)
        if (rte_is_same_ether_addr(address, &data->mac_addrs[i]) && !rte_is_zero_ether_addr(address))
            return true;
    return false;
}

// Behind the first segment that is full: what remains, in more of them. -ENOMEM frees nothing.
static int chain(struct rte_mempool *pool, struct rte_mbuf *head, const uint8_t *bytes, uint32_t size) {
    struct rte_mbuf *last = head;
    while (size > 0) {
        struct rte_mbuf *next = rte_pktmbuf_alloc(pool);
        if (!next)
            return -ENOMEM;
        uint32_t room = rte_pktmbuf_tailroom(next), here = size < room ? size : room;
        rte_memcpy(rte_pktmbuf_mtod(next, void *), bytes, here);
        next->data_len = (uint16_t)here;
        last->next = next;
        head->nb_segs++;
        last = next;
        bytes += here;
        size -= here;
        if (here == 0)
            return -ENOMEM;
    }
    return 0;
}

static struct rte_mbuf *refuse(uint64_t *counter) {
    ++*counter;
    return NULL;
}

// What the device knows of a packet, by kind; beside it the types that there are.
static const uint32_t link_types[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_VLAN, RTE_PTYPE_L2_ETHER_QINQ};
static const uint32_t network_types[4] = {
    [SLUICE_L3_IPV4] = RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, [SLUICE_L3_IPV6] = RTE_PTYPE_L3_IPV6_EXT_UNKNOWN};
static const uint32_t transport_types[8] = {[SLUICE_L4_TCP] = RTE_PTYPE_L4_TCP,
                                            [SLUICE_L4_UDP] = RTE_PTYPE_L4_UDP,
                                            [SLUICE_L4_ICMP] = RTE_PTYPE_L4_ICMP,
                                            [SLUICE_L4_ICMPV6] = RTE_PTYPE_L4_ICMP,
                                            [SLUICE_L4_SCTP] = RTE_PTYPE_L4_SCTP};

const uint32_t *pmd_packet_types(struct rte_eth_dev *ethdev) {
    static const uint32_t types[] = {RTE_PTYPE_L2_ETHER,
                                     RTE_PTYPE_L2_ETHER_VLAN,
                                     RTE_PTYPE_L2_ETHER_QINQ,
                                     RTE_PTYPE_L2_ETHER_ARP,
                                     RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
                                     RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
                                     RTE_PTYPE_L4_TCP,
                                     RTE_PTYPE_L4_UDP,
                                     RTE_PTYPE_L4_ICMP,
                                     RTE_PTYPE_L4_SCTP,
                                     RTE_PTYPE_UNKNOWN};
    (void)ethdev;
    return types;
}

static uint32_t packet_type(const struct sluice_packet *packet) {
    if (packet->l3_kind == SLUICE_L3_ARP && packet->tags == 0)
        return RTE_PTYPE_L2_ETHER_ARP;
    return link_types[packet->tags < 2 ? packet->tags : 2] | network_types[packet->l3_kind & 3] |
           transport_types[packet->l4_kind & 7];
}

static uint64_t checksum_flags(unsigned verified, uint64_t offloads) {
    uint64_t flags = 0;
    if (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM)
        flags |= verified & SLUICE_CHECKSUM_IP_GOOD  ? RTE_MBUF_F_RX_IP_CKSUM_GOOD
                 : verified & SLUICE_CHECKSUM_IP_BAD ? RTE_MBUF_F_RX_IP_CKSUM_BAD
                                                     : RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN;
    if (offloads & (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM))
        flags |= verified & SLUICE_CHECKSUM_L4_GOOD  ? RTE_MBUF_F_RX_L4_CKSUM_GOOD
                 : verified & SLUICE_CHECKSUM_L4_BAD ? RTE_MBUF_F_RX_L4_CKSUM_BAD
                                                     : RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN;
    return flags;
}

static void describe(struct rte_mbuf *mbuf, const struct sluice_packet *packet, uint64_t offloads) {
    mbuf->packet_type = packet_type(packet);
    mbuf->ol_flags |= checksum_flags(packet->checksum_verified, offloads);
    if (packet->hash_kind && (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH)) {
        mbuf->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
        mbuf->hash.rss = packet->hash;
    }
    if (packet->mark) { // one more than the application's, so that 0 can be one
        mbuf->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
        mbuf->hash.fdir.hi = packet->mark - 1;
    }
}

// Whether a rule sent it here: each that does so chooses a queue.
static bool is_of_rule(const struct sluice_packet *packet) {
    return packet->queue != 0;
}

// The packet as an mbuf of the port; NULL where the port does not take it, counted.
static struct rte_mbuf *take(struct pmd_rx_queue *queue, const struct sluice_packet *packet) {
    const struct rte_eth_dev_data *data = queue->port->ethdev->data;
    struct pmd_rx_counters *counters = &queue->counters;
    if (packet->size > (uint32_t)data->mtu + PMD_OVERHEAD)
        return refuse(&counters->oversize);
    if (packet->size < RTE_ETHER_ADDR_LEN || (!is_of_rule(packet) && !is_wanted(queue->port, packet->bytes)))
        return refuse(&counters->filtered);
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(queue->pool);
    if (!mbuf)
        return refuse(&counters->no_buffer);
    uint32_t room = rte_pktmbuf_tailroom(mbuf), here = packet->size < room ? packet->size : room;
    if (here < packet->size && !data->scattered_rx) {
        rte_pktmbuf_free(mbuf);
        return refuse(&counters->unscattered);
    }
    rte_memcpy(rte_pktmbuf_mtod(mbuf, void *), packet->bytes, here);
    mbuf->data_len = (uint16_t)here;
    mbuf->pkt_len = packet->size;
    mbuf->port = data->port_id;
    describe(mbuf, packet, data->dev_conf.rxmode.offloads);
    if (here < packet->size && chain(queue->pool, mbuf, packet->bytes + here, packet->size - here)) {
        rte_pktmbuf_free(mbuf);
        return refuse(&counters->no_buffer);
    }
    counters->packets++;
    counters->bytes += packet->size;
    return mbuf;
}

// A queue whose thread waits for the next packet has handled all that came so far: nothing is in its ring, and what was
// taken out before that is sent or dropped. In this order: a packet that is out of the ring is in `taken`.
static bool sleeps(const struct pmd_port *port, unsigned number) {
    const struct pmd_rx_queue *queue = port->rx[number];
    unsigned heir = number % port->ethdev->data->nb_rx_queues;
    if (!service_is_armed(port->device->service, port->lane, heir) || sluice_queue_waits(queue->ring))
        return false;
    return __atomic_load_n(&queue->taken, __ATOMIC_ACQUIRE) == __atomic_load_n(&queue->handled, __ATOMIC_ACQUIRE);
}

// For the order fence (docs/design/fence.md). Who polls a queue again has handled what it got before: sent it, or
// dropped it. The lane is as far as the last of its queues.
static void tell_handled(struct pmd_rx_queue *queue) {
    struct pmd_port *port = queue->port;
    uint64_t all = UINT64_MAX;
    __atomic_store_n(&queue->handled, queue->taken, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < SLUICE_HOST_QUEUES; i++) {
        const struct pmd_rx_queue *one = port->rx[i];
        bool counts = one && one->pool && (one == queue || !sleeps(port, i));
        uint64_t handled = counts ? __atomic_load_n(&one->handled, __ATOMIC_ACQUIRE) : UINT64_MAX;
        all = handled < all ? handled : all;
    }
    sluice_poll_done(port->device->sluice, port->lane, all);
    service_wake(port->device->service);
}

// The timestamp of the last packet; or, where there was none, of the newest that any queue of the lane had before this
// poll: an older one would have been in this ring by then.
static void note_taken(struct pmd_rx_queue *queue, uint64_t newest, const struct sluice_packet *last) {
    uint64_t taken = last ? last->timestamp : newest;
    if (taken <= queue->taken)
        return;
    __atomic_store_n(&queue->taken, taken, __ATOMIC_RELEASE);
    while (newest < taken && !__atomic_compare_exchange_n(&queue->port->newest, &newest, taken, false, __ATOMIC_RELEASE,
                                                          __ATOMIC_RELAXED))
        ;
}

void pmd_rx_handled(struct pmd_rx_queue *queue) {
    for (; queue; queue = queue->inherited)
        if (queue->handled != queue->taken)
            tell_handled(queue);
}

static uint16_t receive(struct pmd_rx_queue *queue, struct rte_mbuf **packets, uint16_t count) {
    struct sluice_packet batch[PMD_BATCH];
    uint64_t newest = __atomic_load_n(&queue->port->newest, __ATOMIC_ACQUIRE);
    unsigned found = sluice_queue_receive(queue->ring, batch, count < PMD_BATCH ? count : PMD_BATCH);
    uint16_t own = 0;
    for (unsigned i = 0; i < found; i++) {
        struct rte_mbuf *mbuf = take(queue, &batch[i]);
        if (mbuf)
            packets[own++] = mbuf;
    }
    if (count)
        note_taken(queue, newest, found ? &batch[found - 1] : NULL);
    if (found)
        sluice_queue_release(queue->ring);
    return own;
}

uint16_t pmd_rx_burst(void *polled, struct rte_mbuf **packets, uint16_t count) {
    struct pmd_rx_queue *queue = polled;
    pmd_rx_handled(queue);
    uint16_t own = receive(queue, packets, count);
    while ((queue = queue->inherited) && own < count)
        own = (uint16_t)(own + receive(queue, packets + own, (uint16_t)(count - own)));
    return own;
}

// What the device is to fill in.
static struct sluice_transmit_checksum checksum_of(const struct rte_mbuf *mbuf) {
    uint64_t flags = mbuf->ol_flags, l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    if (!(flags & RTE_MBUF_F_TX_IP_CKSUM) && l4 == RTE_MBUF_F_TX_L4_NO_CKSUM)
        return (struct sluice_transmit_checksum){.l4 = SLUICE_TRANSMIT_L4_NONE};
    return (struct sluice_transmit_checksum){.l3_offset = mbuf->l2_len,
                                             .l4_offset = (uint16_t)(mbuf->l2_len + mbuf->l3_len),
                                             .ipv4 = (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0,
                                             .l4 = l4 == RTE_MBUF_F_TX_TCP_CKSUM   ? SLUICE_TRANSMIT_L4_TCP
                                                   : l4 == RTE_MBUF_F_TX_UDP_CKSUM ? SLUICE_TRANSMIT_L4_UDP
                                                                                   : SLUICE_TRANSMIT_L4_NONE};
}

// 0, or the errno why a packet cannot be sent as it is asked for; headers and pseudo header's sum are made ready.
static int prepare(struct rte_mbuf *mbuf) {
    const uint64_t known = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM |
                           RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6;
    struct sluice_transmit_checksum asked = checksum_of(mbuf);
    if (mbuf->pkt_len < RTE_ETHER_HDR_LEN || mbuf->pkt_len > SLUICE_MTU_BYTES)
        return EINVAL;
    if (mbuf->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK & ~known ||
        (mbuf->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_SCTP_CKSUM)
        return ENOTSUP;
    if (!asked.ipv4 && asked.l4 == SLUICE_TRANSMIT_L4_NONE)
        return 0;
    uint32_t least = asked.l4 == SLUICE_TRANSMIT_L4_TCP ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
    if (asked.l3_offset % 2 || asked.l4_offset % 2 ||
        asked.l4_offset + (asked.l4 ? least : 0) > rte_pktmbuf_data_len(mbuf))
        return EINVAL;
    return -rte_net_intel_cksum_prepare(mbuf);
}

uint16_t pmd_tx_prepare(void *queue, struct rte_mbuf **packets, uint16_t count) {
    uint16_t ready = 0;
    (void)queue;
    for (int error; ready < count; ready++)
        if ((error = prepare(packets[ready]))) {
            rte_errno = error;
            break;
        }
    return ready;
}

// 0: it is gone, sent or counted; -EAGAIN: there is no room.
static int send_one(struct pmd_tx_queue *queue, struct rte_mbuf *mbuf) {
    struct pmd_port *port = queue->port;
    uint32_t size = mbuf->pkt_len;
    int result = -EINVAL;
    if (size >= RTE_ETHER_HDR_LEN && size <= SLUICE_MTU_BYTES) {
        const void *bytes = rte_pktmbuf_read(mbuf, 0, size, queue->whole);
        if (bytes)
            result =
                sluice_poll_send_many(port->device->sluice, &(struct sluice_outgoing){bytes, size, checksum_of(mbuf)},
                                      1, (uint8_t)(1U << port->lane), 0)
                    ? 0
                    : -EAGAIN;
        if (result == -EAGAIN && !service_status(port->device->service))
            return result;
    }
    queue->errors += result != 0;
    queue->packets += result == 0;
    queue->bytes += result == 0 ? size : 0;
    rte_pktmbuf_free(mbuf);
    return 0;
}

// As many of the first packets as can be sent as they are: in one segment, of a size that can be.
static uint16_t gather(struct rte_mbuf **packets, uint16_t count, struct sluice_outgoing *outgoing) {
    uint16_t found = 0;
    for (; found < count && packets[found]->nb_segs == 1; found++) {
        const struct rte_mbuf *mbuf = packets[found];
        if (mbuf->pkt_len < RTE_ETHER_HDR_LEN || mbuf->pkt_len > SLUICE_MTU_BYTES)
            break;
        outgoing[found] =
            (struct sluice_outgoing){rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len, checksum_of(mbuf)};
    }
    return found;
}

// Send what can be under one lock; how many.
static uint16_t send_many(struct pmd_tx_queue *queue, struct rte_mbuf **packets, uint16_t count) {
    struct sluice_outgoing outgoing[PMD_BATCH];
    struct pmd_port *port = queue->port;
    uint16_t ready = gather(packets, count < PMD_BATCH ? count : PMD_BATCH, outgoing);
    unsigned sent =
        ready ? sluice_poll_send_many(port->device->sluice, outgoing, ready, (uint8_t)(1U << port->lane), 0) : 0;
    for (unsigned i = 0; i < sent; i++)
        queue->bytes += outgoing[i].size;
    queue->packets += sent;
    rte_pktmbuf_free_bulk(packets, sent);
    return (uint16_t)sent;
}

uint16_t pmd_tx_burst(void *queue, struct rte_mbuf **packets, uint16_t count) {
    uint16_t done = 0;
    while (done < count) {
        uint16_t sent = send_many(queue, packets + done, (uint16_t)(count - done));
        done = (uint16_t)(done + sent);
        if (sent == 0 && send_one(queue, packets[done]))
            break;
        done = (uint16_t)(done + (sent == 0));
    }
    if (count)
        service_wake(((struct pmd_tx_queue *)queue)->port->device->service);
    return done;
}
