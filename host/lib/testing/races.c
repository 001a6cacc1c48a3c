// SPDX-License-Identifier: Apache-2.0
// Everything that the library lets several threads do at once to one device, for the thread sanitizer, on the
// functional device: `races ROUNDS`. One thread lets time pass and feeds lane 0, one polls a receive queue, one sends,
// one makes and deletes rules that move between groups and TCAM, one reads their counters in memory, and two say how
// far the packets of a lane are handled, while another looks whether that ever goes back. Prints what happened, or what
// went wrong, and then ends with 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "flow_open.h"

enum { RULES = 40, SAYERS = 2, FENCED = 1 };

static struct sluice_device *device;
static struct sluice_flows *flows;
static struct sluice_queue *queue;
static unsigned long rounds;
static atomic_bool stop;
static atomic_ulong received, sent, made, read_counts, went_back;

static void fail(const char *what) {
    printf("failed: %s: %s\n", what, sluice_error_text());
    exit(1);
}

static void *let_time_pass(void *unused) {
    uint8_t packet[3000] = {0};
    for (unsigned long i = 0; !atomic_load(&stop); i++) {
        (void)sluice_lane_send(device, 0, packet, (uint32_t)(60 + i % 2900), 0);
        sluice_device_advance(device, 50);
        while (sluice_lane_receive(device, 1, packet, sizeof packet, NULL) > 0)
            ;
        memset(packet, 0, sizeof packet);
    }
    return unused;
}

static void *poll(void *unused) {
    struct sluice_packet packets[32];
    while (!atomic_load(&stop)) {
        unsigned count = sluice_queue_waits(queue) ? sluice_queue_receive(queue, packets, 32) : 0;
        for (unsigned i = 0; i < count; i++)
            received += packets[i].bytes[packets[i].size - 1] == 0;
        sluice_queue_release(queue);
    }
    return unused;
}

static void *send_packets(void *unused) {
    const uint8_t packet[2500] = {1};
    while (!atomic_load(&stop))
        sent += sluice_poll_send(device, packet, sizeof packet, 2, 0) == 0;
    return unused;
}

static void *change_rules(void *unused) {
    struct sluice_action_set actions = {.slots = {{.opcode = SLUICE_ACTION_OUTPUT, .operand = 1}}};
    struct sluice_flow_key key = {.eth_type = 0x800};
    for (unsigned long round = 0; round < rounds; round++) {
        uint8_t value[SLUICE_FLOW_KEY_BYTES], mask[SLUICE_FLOW_KEY_BYTES] = {0};
        int handles[RULES];
        for (unsigned i = 0; i < RULES; i++) {
            key.ip_dst[0] = (uint8_t)i;
            sluice_flow_key_pack(&key, value);
            memset(mask + 8, 0xff, 4 + i % 5); // a few masks: more than there are groups
            mask[40] = (uint8_t)(1 << i % 5);
            handles[i] = sluice_flows_add(flows, value, mask, 0, &actions, NULL, 0);
            made += handles[i] >= 0;
        }
        for (unsigned i = 0; i < RULES; i++)
            if (handles[i] >= 0 && sluice_flows_delete(flows, handles[i]))
                fail("delete");
    }
    atomic_store(&stop, true);
    return unused;
}

static void *read_counters(void *unused) {
    struct sluice_rule_counters counters;
    for (int handle = 0; !atomic_load(&stop); handle = (handle + 1) % RULES)
        read_counts += sluice_flows_mirrored(flows, handle, &counters) == 0;
    return unused;
}

static void *say_done(void *number) {
    for (uint64_t time = (uintptr_t)number; !atomic_load(&stop); time += SAYERS)
        sluice_poll_done(device, FENCED, time);
    return number;
}

static void *watch_done(void *unused) {
    for (uint64_t last = 0; !atomic_load(&stop);) {
        uint64_t now = __atomic_load_n(&device->fence.handled[FENCED], __ATOMIC_ACQUIRE);
        went_back += now < last;
        last = now;
    }
    return unused;
}

int main(int argc, char **argv) {
    void *(*const work[])(void *) = {let_time_pass, poll,     send_packets, change_rules,
                                     read_counters, say_done, say_done,     watch_done};
    pthread_t threads[sizeof work / sizeof *work];
    rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (sluice_device_open("functional:lanes=2,groups=2,entries=8,ternary=16,queues=1", &device) ||
        sluice_queue_open(device, 0, 0, 0, &queue) || sluice_flows_open(device, &flows) ||
        sluice_fence_set(device, 1, 1000))
        fail("open");
    for (uintptr_t i = 0; i < sizeof work / sizeof *work; i++)
        if (pthread_create(&threads[i], NULL, work[i], (void *)i))
            fail("no thread");
    for (unsigned i = 0; i < sizeof work / sizeof *work; i++)
        pthread_join(threads[i], NULL);
    sluice_flows_close(flows);
    sluice_device_close(device);
    printf("{\"received\": %lu, \"sent\": %lu, \"made\": %lu, \"read\": %lu, \"went_back\": %lu}\n", received, sent,
           made, read_counts, went_back);
    return 0;
}
