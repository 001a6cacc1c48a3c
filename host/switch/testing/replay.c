// SPDX-License-Identifier: Apache-2.0
// Runs packets of a file through the switch, each in memory of exactly its size, so that a sanitizer sees every byte
// read outside; says how many packets it does in a second of CPU time. The file: lane (1 byte), size (4 bytes,
// little-endian), packet; repeated. `replay RULES PACKETS [ROUNDS]`: exit status 0, or 1 with a message.

#include "switch.h"

#include <stdlib.h>
#include <time.h>

struct packet {
    uint8_t *bytes;
    uint32_t size;
    uint8_t lane;
};

static struct packet *read_packets(const char *path, uint32_t *count) {
    FILE *file = fopen(path, "rb");
    struct packet *packets = NULL;
    uint8_t head[5];
    *count = 0;
    while (file && fread(head, 1, sizeof head, file) == sizeof head) {
        uint32_t size = (uint32_t)head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 | (uint32_t)head[4] << 24;
        struct packet *larger = realloc(packets, (*count + 1) * sizeof *packets);
        if (!larger)
            abort();
        packets = larger;
        packets[*count] = (struct packet){.bytes = malloc(size), .size = size, .lane = head[0]};
        if ((size && !packets[*count].bytes) || fread(packets[*count].bytes, 1, size, file) != size)
            abort();
        ++*count;
    }
    if (file)
        (void)fclose(file);
    return packets;
}

static double run(struct sluice_switch *sw, const struct packet *packets, uint32_t count, unsigned rounds) {
    static uint8_t out[SLUICE_PACKET_MAX + SLUICE_PACKET_GROWTH];
    struct sluice_decision decision;
    struct timespec start, end;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (unsigned round = 0; round < rounds; round++)
        for (uint32_t n = 0; n < count; n++)
            if (sluice_switch_process(sw, packets[n].bytes, packets[n].size, packets[n].lane, n, out, sizeof out,
                                      &decision) < 0)
                abort();
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

int main(int argc, char **argv) {
    struct sluice_rules *rules;
    struct sluice_switch *sw = NULL;
    uint32_t count;
    unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    if (argc < 3 || sluice_rules_read(argv[1], &rules, stderr))
        return 1;
    if (sluice_switch_new(rules, 4, &sw)) {
        (void)fputs("replay: the rules need more than 4 lanes\n", stderr);
        sluice_rules_free(rules);
        return 1;
    }
    struct packet *packets = read_packets(argv[2], &count);
    double seconds = run(sw, packets, count, rounds);
    const struct sluice_switch_counters *counters = sluice_switch_counters(sw);
    (void)printf("{\"packets\": %llu, \"packets_per_s\": %.0f, \"routed\": %llu, \"bridged\": %llu",
                 (unsigned long long)counters->packets, seconds > 0 ? (double)counters->packets / seconds : 0.0,
                 (unsigned long long)counters->routed, (unsigned long long)counters->bridged);
    for (unsigned cause = 1; cause < SLUICE_CAUSES; cause++)
        (void)printf(", \"%s\": %llu", sluice_cause_name(cause), (unsigned long long)counters->drops[cause]);
    (void)puts("}");
    for (uint32_t n = 0; n < count; n++)
        free(packets[n].bytes);
    free(packets);
    sluice_switch_free(sw);
    sluice_rules_free(rules);
    return 0;
}
