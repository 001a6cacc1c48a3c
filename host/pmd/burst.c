// SPDX-License-Identifier: Apache-2.0
// Receive and transmit. The device has one ring each way for all of its lanes, so whoever polls takes what is there and
// leaves what is another port's with that port. No call here waits for the device.
#include "pmd.h"

#include <errno.h>
#include <string.h>

static bool is_wanted(const struct pmd_port *port, const uint8_t *bytes) {
    const struct rte_eth_dev_data *data = port->ethdev->data;
    const struct rte_ether_addr *address = (const struct rte_ether_addr *)bytes;
    if (data->promiscuous || rte_is_broadcast_ether_addr(address))
        return true;
    if (rte_is_multicast_ether_addr(address)) {
        for (uint32_t i = 0; i < port->multicast_count && !data->all_multicast; i++)
            if (rte_is_same_ether_addr(address, &port->multicasts[i]))
                return true;
        return data->all_multicast;
    }
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

// The packet as an mbuf of the port; NULL where the port does not take it, counted.
static struct rte_mbuf *take(struct pmd_port *port, const struct sluice_packet *packet) {
    const struct rte_eth_dev_data *data = port->ethdev->data;
    if (packet->size > (uint32_t)data->mtu + PMD_OVERHEAD)
        return refuse(&port->rx.oversize);
    if (packet->size < RTE_ETHER_ADDR_LEN || !is_wanted(port, packet->bytes))
        return refuse(&port->rx.filtered);
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
    if (!mbuf)
        return refuse(&port->rx.no_buffer);
    uint32_t room = rte_pktmbuf_tailroom(mbuf), here = packet->size < room ? packet->size : room;
    if (here < packet->size && !data->scattered_rx) {
        rte_pktmbuf_free(mbuf);
        return refuse(&port->rx.unscattered);
    }
    rte_memcpy(rte_pktmbuf_mtod(mbuf, void *), packet->bytes, here);
    mbuf->data_len = (uint16_t)here;
    mbuf->pkt_len = packet->size;
    mbuf->port = data->port_id;
    if (packet->mark) { // one more than the application's, so that 0 can be one
        mbuf->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
        mbuf->hash.fdir.hi = packet->mark - 1;
    }
    if (here < packet->size && chain(port->pool, mbuf, packet->bytes + here, packet->size - here)) {
        rte_pktmbuf_free(mbuf);
        return refuse(&port->rx.no_buffer);
    }
    port->rx.packets++;
    port->rx.bytes += packet->size;
    return mbuf;
}

// Up to `count` packets out of the ring; how many of them are the port's.
static uint16_t poll_ring(struct pmd_port *port, struct rte_mbuf **packets, uint16_t count) {
    struct pmd_device *device = port->device;
    struct sluice_packet batch[PMD_BATCH];
    unsigned found = sluice_poll_receive(device->sluice, batch, count < PMD_BATCH ? count : PMD_BATCH);
    uint16_t own = 0;
    for (unsigned i = 0; i < found; i++) {
        uint8_t lane = batch[i].ingress_port;
        struct pmd_port *target = lane < SERVICE_LANES ? device->ports[lane] : NULL;
        if (!target || !target->receives) {
            device->stray++;
            continue;
        }
        struct rte_mbuf *mbuf = take(target, &batch[i]);
        if (mbuf && target == port) {
            packets[own++] = mbuf;
        } else if (mbuf && rte_ring_sp_enqueue(target->waiting, mbuf)) {
            target->rx.no_room++;
            rte_pktmbuf_free(mbuf);
        }
    }
    if (found)
        sluice_poll_release(device->sluice);
    return own;
}

uint16_t pmd_rx_burst(void *queue, struct rte_mbuf **packets, uint16_t count) {
    struct pmd_port *port = queue;
    uint16_t got = (uint16_t)rte_ring_sc_dequeue_burst(port->waiting, (void **)packets, count, NULL);
    if (got == count || !rte_spinlock_trylock(&port->device->receive_lock))
        return got;
    got = (uint16_t)(got + poll_ring(port, packets + got, (uint16_t)(count - got)));
    rte_spinlock_unlock(&port->device->receive_lock);
    return got;
}

// 0: it is gone, sent or counted; -EAGAIN: there is no room.
static int send_one(struct pmd_tx_queue *queue, struct rte_mbuf *mbuf) {
    struct pmd_port *port = queue->port;
    uint32_t size = mbuf->pkt_len;
    int result = -EINVAL;
    if (size >= RTE_ETHER_HDR_LEN && size <= SLUICE_MTU_BYTES) {
        const void *bytes = rte_pktmbuf_read(mbuf, 0, size, queue->whole);
        if (bytes)
            result = sluice_poll_send(port->device->sluice, bytes, size, (uint8_t)(1U << port->lane), 0);
        if (result == -EAGAIN && !service_status(port->device->service))
            return result;
    }
    queue->errors += result != 0;
    queue->packets += result == 0;
    queue->bytes += result == 0 ? size : 0;
    rte_pktmbuf_free(mbuf);
    return 0;
}

uint16_t pmd_tx_burst(void *queue, struct rte_mbuf **packets, uint16_t count) {
    uint16_t done = 0;
    while (done < count && send_one(queue, packets[done]) == 0)
        done++;
    if (count)
        service_wake(((struct pmd_tx_queue *)queue)->port->device->service);
    return done;
}
