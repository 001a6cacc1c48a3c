// SPDX-License-Identifier: Apache-2.0
// Packets of random_rules.c: into the lanes, and what leaves lanes and comes to the host against the model.
#ifndef SLUICE_RANDOM_TRAFFIC_H
#define SLUICE_RANDOM_TRAFFIC_H

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "random_model.h"

enum { PATIENCE = 60 };

static int sockets[PORTS];
static struct sockaddr_un lanes[PORTS];

static void send_frame(uint16_t port, const uint8_t *frame, uint32_t size) {
    if (sendto(sockets[port], frame, size, 0, (const struct sockaddr *)&lanes[port], sizeof lanes[port]) !=
        (ssize_t)size)
        FAIL("lane %u takes no frame: %s", port, strerror(errno));
}

// A packet with a broken IPv4 header for the port's own address, which no rule matches: when it comes, all before it
// have gone their way.
static void send_last(uint16_t port) {
    struct expected *it = &expected[expected_count++];
    struct packet packet = {.kind = IPV4, .number = first_number + expected_count - 1};
    packet.of.protocol = IPPROTO_UDP;
    *it = (struct expected){.port = port, .host = true, .change = to_port, .packet = packet, .is_malformed = true};
    it->size = build(&packet, it->frame);
    it->frame[14] = 0x41; // a header of 4 bytes
    if (rte_eth_macaddr_get(ports[port].id, (struct rte_ether_addr *)it->frame))
        FAIL("port %u has no address", port);
    send_frame(port, it->frame, it->size);
}

static uint32_t number_of(const uint8_t *frame, uint32_t size) {
    uint32_t number = 0;
    if (size >= sizeof number)
        memcpy(&number, frame + size - sizeof number, sizeof number);
    return number;
}

// The packet that a frame is; its bytes must be the expected ones.
static struct expected *find(const uint8_t *frame, uint32_t size, const char *where, unsigned port) {
    uint32_t number = number_of(frame, size);
    if (number - first_number >= expected_count)
        FAIL("%s %u: a frame of %u bytes that nobody sent now", where, port, size);
    struct expected *it = &expected[number - first_number];
    if (it->size != size || memcmp(it->frame, frame, size)) {
        for (uint32_t i = 0; i < size; i++)
            printf("%02x%s", frame[i], i < it->size && it->frame[i] != frame[i] ? "!" : "");
        FAIL(" at %s %u is another than expected", where, port);
    }
    return it;
}

static unsigned read_lane(uint16_t port) {
    uint8_t frame[2048];
    ssize_t size = recv(sockets[port], frame, sizeof frame, MSG_DONTWAIT);
    if (size <= 0)
        return 0;
    if (strays[port] && number_of(frame, (uint32_t)size) < first_number) {
        strays[port]--;
        return 1;
    }
    struct expected *it = find(frame, (uint32_t)size, "lane", port);
    if (!(it->lanes >> port & 1))
        FAIL("lane %u: a packet that should not be there, or came twice", port);
    it->lanes &= (uint8_t) ~(1U << port);
    return 1;
}

static unsigned read_queue(uint16_t port, uint16_t queue) {
    struct rte_mbuf *burst[BATCH];
    uint16_t count = rte_eth_rx_burst(ports[port].id, queue, burst, BATCH);
    for (uint16_t i = 0; i < count; i++) {
        struct expected *it = find(rte_pktmbuf_mtod(burst[i], uint8_t *), burst[i]->pkt_len, "port", port);
        uint32_t mark = burst[i]->ol_flags & RTE_MBUF_F_RX_FDIR_ID ? burst[i]->hash.fdir.hi : 0;
        if (!it->host || it->port != port || it->mark != mark)
            FAIL("port %u: a packet of port %u with mark %u; expected mark %u%s", port, it->port, mark, it->mark,
                 it->host ? "" : ", and not here");
        const struct packet *hashed = it->is_malformed ? NULL : &it->packet;
        uint16_t wanted = it->is_malformed ? 0 : queue_of(&ports[port], &it->change, hashed, burst[i]);
        if (queue != wanted)
            FAIL("port %u: a packet in queue %u; expected %u", port, queue, wanted);
        it->host = false;
        rte_pktmbuf_free(burst[i]);
    }
    return count;
}

static unsigned read_port(uint16_t port) {
    unsigned count = 0;
    for (uint16_t queue = 0; queue < ports[port].queues && ports[port].started; queue++)
        count += read_queue(port, queue);
    return count;
}

static unsigned missing(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < expected_count; i++)
        count += expected[i].lanes || expected[i].host;
    return count;
}

static void receive_all(void) {
    time_t begin = time(NULL);
    while (missing()) {
        unsigned got = 0;
        for (uint16_t port = 0; port < PORTS; port++)
            got += read_lane(port) + read_port(port);
        if (!got && time(NULL) - begin > PATIENCE)
            FAIL("%u of %u packets did not come", missing(), expected_count);
        if (!got)
            sched_yield();
    }
}

static void use_packets(void) {
    uint8_t frame[FRAME];
    uint8_t into = 0;
    unsigned count = 1 + draw(BATCH - PORTS);
    first_number += expected_count;
    expected_count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct packet packet = draw_packet();
        uint16_t port = (uint16_t)draw(PORTS);
        packet.number = first_number + expected_count;
        if (!is_receiving(port))
            continue;
        uint32_t size = build(&packet, frame);
        expect(port, packet);
        send_frame(port, frame, size);
        into |= (uint8_t)(1U << port);
        counts.packets++;
    }
    for (uint16_t port = 0; port < PORTS; port++)
        if (into >> port & 1)
            send_last(port);
    receive_all();
    for (uint16_t port = 0; port < PORTS && into; port++)
        strays[port] = is_receiving(port) ? 0 : strays[port]; // they came before these
    operation += count - 1;
}

#endif
