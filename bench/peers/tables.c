// SPDX-License-Identifier: Apache-2.0
// Lookup rates of DPDK's tables on one core, for the rules of a file: rte_lpm, rte_lpm6, rte_hash (AccelSDP Fig. 21).
//
// usage: tables lpm4|lpm6|hash4|hash6 FILE [EAL options]
// FILE has a line a rule: lpm: ADDRESS/LENGTH; hash: SOURCE DESTINATION PROTOCOL SOURCE_PORT DESTINATION_PORT.
// Prints one JSON object: the median of 7 windows of single and of bulk lookups, all of them hits, million a second;
// and the rates of adding and deleting all rules. Exit status 1 with a line on stderr when the file or a table cannot
// be used.

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>

enum { WINDOWS = 7, LOOKUPS = 1 << 16, BULK = 32, ROUNDS = 24, MAX_RULES = 1 << 18 };

struct five_tuple4 {
    uint32_t source, destination;
    uint16_t ports[2];
    uint32_t protocol;
};

struct five_tuple6 {
    uint8_t source[16], destination[16];
    uint16_t ports[2];
    uint32_t protocol;
};

struct rule {
    uint8_t address[2][16]; // network order; IPv4 in the first 4 bytes
    uint8_t length;
    uint8_t protocol;
    uint16_t ports[2];
};

struct figures {
    double single, bulk, add, remove;
    uint64_t hits, lookups;
};

static struct rule rules[MAX_RULES];
static unsigned rule_count;
static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

// Nanoseconds of the core that this thread has had: other work on the machine does not count against the table.
static uint64_t core_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "tables: %s: %s\n", what, detail);
    exit(1);
}

static void read_rules(const char *path, int family, bool is_lpm) {
    FILE *file = fopen(path, "r");
    char line[256], first[64], second[64];
    if (!file)
        fail(path, "cannot be opened");
    while (rule_count < MAX_RULES && fgets(line, sizeof line, file)) {
        struct rule *rule = &rules[rule_count];
        unsigned length = 0, protocol = 0, source_port = 0, destination_port = 0;
        int good = is_lpm ? sscanf(line, " %63[^/]/%u", first, &length) == 2
                          : sscanf(line, " %63s %63s %u %u %u", first, second, &protocol, &source_port,
                                   &destination_port) == 5;
        if (!good || inet_pton(family, first, rule->address[0]) != 1 ||
            (!is_lpm && inet_pton(family, second, rule->address[1]) != 1))
            fail(path, line);
        rule->length = (uint8_t)length;
        rule->protocol = (uint8_t)protocol;
        rule->ports[0] = (uint16_t)source_port;
        rule->ports[1] = (uint16_t)destination_port;
        rule_count++;
    }
    fclose(file);
    if (rule_count == 0)
        fail(path, "no rules");
}

static uint32_t address4(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    return ntohl(value);
}

// An address inside the rule's prefix, its free bits random.
static void inside(const struct rule *rule, unsigned bits, uint8_t *out) {
    for (unsigned bit = 0; bit < bits; bit++) {
        uint8_t mask = (uint8_t)(0x80 >> (bit % 8));
        uint8_t source = bit < rule->length ? rule->address[0][bit / 8] : (uint8_t)random_next();
        out[bit / 8] = (uint8_t)((out[bit / 8] & ~mask) | (source & mask));
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, WINDOWS, sizeof *values, by_value);
    return values[WINDOWS / 2];
}

static double million_a_second(uint64_t count, uint64_t nanoseconds) {
    return (double)count * 1e9 / (double)nanoseconds / 1e6;
}

// Times `body` WINDOWS times over ROUNDS * LOOKUPS lookups and keeps the median in `result`.
#define MEASURE(result, body)                                                                                          \
    do {                                                                                                               \
        double windows[WINDOWS];                                                                                       \
        for (int window = 0; window < WINDOWS; window++) {                                                             \
            uint64_t start = core_time();                                                                              \
            for (int round = 0; round < ROUNDS; round++) {                                                             \
                body                                                                                                   \
            }                                                                                                          \
            windows[window] = million_a_second((uint64_t)ROUNDS * LOOKUPS, core_time() - start);                       \
        }                                                                                                              \
        (result) = median(windows);                                                                                    \
    } while (0)

static struct figures measure_lpm4(void) {
    static uint32_t keys[LOOKUPS], hops[BULK];
    struct rte_lpm_config config = {.max_rules = MAX_RULES, .number_tbl8s = 4096};
    struct rte_lpm *lpm = rte_lpm_create("lpm4", 0, &config);
    struct figures figures = {0};
    uint32_t hop;
    if (!lpm)
        fail("rte_lpm_create", "failed");
    uint64_t start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        if (rte_lpm_add(lpm, address4(rules[i].address[0]), rules[i].length, i & 0xffff) != 0)
            fail("rte_lpm_add", "failed");
    figures.add = million_a_second(rule_count, core_time() - start);
    for (unsigned i = 0; i < LOOKUPS; i++) {
        uint8_t bytes[16] = {0};
        inside(&rules[random_next() % rule_count], 32, bytes);
        keys[i] = address4(bytes);
    }
    MEASURE(figures.single,
            for (unsigned i = 0; i < LOOKUPS; i++) figures.hits += rte_lpm_lookup(lpm, keys[i], &hop) == 0;);
    figures.lookups = (uint64_t)WINDOWS * ROUNDS * LOOKUPS;
    volatile uint32_t sink = 0;
    MEASURE(
        figures.bulk, for (unsigned i = 0; i < LOOKUPS; i += BULK) {
            rte_lpm_lookup_bulk(lpm, &keys[i], hops, BULK);
            sink = sink + hops[i & (BULK - 1)];
        });
    start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        rte_lpm_delete(lpm, address4(rules[i].address[0]), rules[i].length);
    figures.remove = million_a_second(rule_count, core_time() - start);
    return figures;
}

static struct figures measure_lpm6(void) {
    static uint8_t keys[LOOKUPS][RTE_LPM6_IPV6_ADDR_SIZE];
    static int32_t hops[BULK];
    struct rte_lpm6_config config = {.max_rules = MAX_RULES, .number_tbl8s = 1 << 16};
    struct rte_lpm6 *lpm = rte_lpm6_create("lpm6", 0, &config);
    struct figures figures = {0};
    uint32_t hop;
    if (!lpm)
        fail("rte_lpm6_create", "failed");
    uint64_t start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        if (rte_lpm6_add(lpm, rules[i].address[0], rules[i].length, i) != 0)
            fail("rte_lpm6_add", "failed");
    figures.add = million_a_second(rule_count, core_time() - start);
    for (unsigned i = 0; i < LOOKUPS; i++)
        inside(&rules[random_next() % rule_count], 128, keys[i]);
    MEASURE(figures.single,
            for (unsigned i = 0; i < LOOKUPS; i++) figures.hits += rte_lpm6_lookup(lpm, keys[i], &hop) == 0;);
    figures.lookups = (uint64_t)WINDOWS * ROUNDS * LOOKUPS;
    volatile int32_t sink = 0;
    MEASURE(
        figures.bulk, for (unsigned i = 0; i < LOOKUPS; i += BULK) {
            rte_lpm6_lookup_bulk_func(lpm, &keys[i], hops, BULK);
            sink = sink + hops[i & (BULK - 1)];
        });
    start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        rte_lpm6_delete(lpm, rules[i].address[0], rules[i].length);
    figures.remove = million_a_second(rule_count, core_time() - start);
    return figures;
}

static void make_key(const struct rule *rule, int family, uint8_t *key) {
    struct five_tuple4 four = {.ports = {rule->ports[0], rule->ports[1]}, .protocol = rule->protocol};
    struct five_tuple6 six = {.ports = {rule->ports[0], rule->ports[1]}, .protocol = rule->protocol};
    if (family == AF_INET) {
        memcpy(&four.source, rule->address[0], 4);
        memcpy(&four.destination, rule->address[1], 4);
        memcpy(key, &four, sizeof four);
        return;
    }
    memcpy(six.source, rule->address[0], 16);
    memcpy(six.destination, rule->address[1], 16);
    memcpy(key, &six, sizeof six);
}

static struct figures measure_hash(int family) {
    static uint8_t all[MAX_RULES][sizeof(struct five_tuple6)], keys[LOOKUPS][sizeof(struct five_tuple6)];
    static const void *bulk[LOOKUPS];
    uint32_t size = family == AF_INET ? sizeof(struct five_tuple4) : sizeof(struct five_tuple6);
    struct rte_hash_parameters parameters = {.name = "hash",
                                             .entries = rule_count + rule_count / 4,
                                             .key_len = size,
                                             .hash_func = rte_hash_crc,
                                             .socket_id = 0};
    struct rte_hash *hash = rte_hash_create(&parameters);
    struct figures figures = {0};
    int32_t positions[BULK];
    if (!hash)
        fail("rte_hash_create", "failed");
    for (unsigned i = 0; i < rule_count; i++)
        make_key(&rules[i], family, all[i]);
    uint64_t start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        if (rte_hash_add_key(hash, all[i]) < 0)
            fail("rte_hash_add_key", "failed");
    figures.add = million_a_second(rule_count, core_time() - start);
    for (unsigned i = 0; i < LOOKUPS; i++) {
        memcpy(keys[i], all[random_next() % rule_count], size);
        bulk[i] = keys[i];
    }
    MEASURE(figures.single,
            for (unsigned i = 0; i < LOOKUPS; i++) figures.hits += rte_hash_lookup(hash, keys[i]) >= 0;);
    figures.lookups = (uint64_t)WINDOWS * ROUNDS * LOOKUPS;
    volatile int32_t sink = 0;
    MEASURE(
        figures.bulk, for (unsigned i = 0; i < LOOKUPS; i += BULK) {
            rte_hash_lookup_bulk(hash, &bulk[i], BULK, positions);
            sink = sink + positions[i & (BULK - 1)];
        });
    start = core_time();
    for (unsigned i = 0; i < rule_count; i++)
        rte_hash_del_key(hash, all[i]);
    figures.remove = million_a_second(rule_count, core_time() - start);
    return figures;
}

int main(int argc, char **argv) {
    if (argc < 3)
        fail("usage", "tables lpm4|lpm6|hash4|hash6 FILE [EAL options]");
    const char *kind = argv[1], *path = argv[2];
    int family = strchr(kind, '6') ? AF_INET6 : AF_INET;
    bool is_lpm = strncmp(kind, "lpm", 3) == 0;
    argv[2] = argv[0];
    if (rte_eal_init(argc - 2, argv + 2) < 0)
        fail("rte_eal_init", "failed");
    read_rules(path, family, is_lpm);
    struct figures f = !is_lpm ? measure_hash(family) : family == AF_INET ? measure_lpm4() : measure_lpm6();
    printf("{\"table\": \"%s\", \"rules\": %u, \"single_mlookups_per_s\": %.2f, \"bulk_mlookups_per_s\": %.2f, "
           "\"add_m_per_s\": %.3f, \"delete_m_per_s\": %.3f, \"hit_share\": %.4f}\n",
           !is_lpm             ? "rte_hash"
           : family == AF_INET ? "rte_lpm"
                               : "rte_lpm6",
           rule_count, f.single, f.bulk, f.add, f.remove, (double)f.hits / (double)f.lookups);
    rte_eal_cleanup();
    return 0;
}
