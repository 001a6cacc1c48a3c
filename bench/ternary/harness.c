// SPDX-License-Identifier: Apache-2.0
// Lookups and changes of the ternary table, beside DPDK's rte_acl (static) and tuple space search (dynamic), on one
// core.
//
// usage: harness RULES COUNT TRAFFIC CHANGES HEADERS SECONDS STATIC [EAL options]
// RULES has a line a rule, best first: SOURCE/LENGTH DESTINATION/LENGTH FIRST LAST FIRST LAST PROTOCOL/MASK, numbers.
// COUNT of them, spread over the file, are in the tables at first; the others are the pool that changes take from.
// TRAFFIC: uniform, zipf, miss. CHANGES: a second; one removes a rule or inserts one. STATIC: 0 leaves rte_acl out.
//
// The contenders take turns for WINDOWS windows of SECONDS of processor time; lookups go in bursts of 256 through the
// headers, and no result is kept. Prints one JSON object: the median of each contender, of the ratios within a turn,
// the time of changes, and how many answers differ from a linear scan. Exit status 1 with a line on stderr on an error.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#include <rte_acl.h>
#include <rte_byteorder.h>
#include <rte_eal.h>

#include "rules.h"
#include "ternary.h"

enum { WINDOWS = 5, BURST = 256, BURSTS = 4, MOST_RULES = 1 << 18, MOST_CHANGES = 1 << 20 };
enum { OURS, ACL, ACL_WIDE, OVS, MERGE, CONTENDERS };

RTE_ACL_RULE_DEF(acl_rule, FIELDS);

struct acl_key {
    uint32_t protocol, fields[2];
    uint16_t ports[2];
};

static const char *const names[CONTENDERS] = {"sluice", "rte_acl", "rte_acl_avx512", "ovs_tss", "tuple_merge"};
static struct rule rules[MOST_RULES];
static uint32_t rule_count, header_count;

// Which rules a contender has, and the pool from which changes take, a ring.
struct population {
    uint32_t live[MOST_RULES], pool[MOST_RULES];
    uint32_t live_count, pool_first, pool_count;
};

static struct population populations[CONTENDERS], first;
static struct header *headers;
static struct acl_key *acl_keys;
static const uint8_t **acl_pointers;
static struct sluice_ternary *table;
static struct tuple_space *spaces[CONTENDERS];
static struct rte_acl_ctx *acl;
static double ticks_per_us;
static uint64_t change_ticks[MOST_CHANGES];
static uint32_t change_count;
static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1dU >> 11;
}

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "harness: %s: %s\n", what, detail);
    exit(1);
}

// Nanoseconds of the core that this thread has had: other work on the machine does not count.
static uint64_t core_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// ---- Rules and headers

static void read_rules(const char *path) {
    FILE *file = fopen(path, "r");
    char line[256];
    if (!file)
        fail(path, "cannot be opened");
    while (rule_count < MOST_RULES && fgets(line, sizeof line, file)) {
        struct rule *rule = &rules[rule_count++];
        uint32_t *v = rule->value, *m = rule->mask;
        if (sscanf(line, "%u/%u %u/%u %u %u %u %u %u/%u", &v[0], &m[0], &v[1], &m[1], &v[2], &m[2], &v[3], &m[3], &v[4],
                   &m[4]) != 10)
            fail(path, line);
        for (unsigned i = SOURCE; i <= DESTINATION; i++) {
            m[i] = m[i] == 0 ? 0 : UINT32_MAX << (32 - m[i]);
            v[i] &= m[i];
        }
        v[PROTOCOL] &= m[PROTOCOL];
    }
    fclose(file);
}

// Chooses at random which rules begin in the tables.
static void divide(uint32_t count) {
    if (count == 0 || count >= rule_count)
        fail("rules", "fewer in the file than wanted, or no pool");
    for (uint32_t i = 0; i < rule_count; i++) {
        uint32_t wanted = count - first.live_count, left = rule_count - i;
        if (random_next() % left < wanted)
            first.live[first.live_count++] = i;
        else
            first.pool[first.pool_count++] = i;
    }
    for (uint32_t i = first.pool_count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(random_next() % (i + 1)), kept = first.pool[i];
        first.pool[i] = first.pool[j];
        first.pool[j] = kept;
    }
    for (unsigned i = 0; i < CONTENDERS; i++)
        populations[i] = first;
}

// A header in a rule. Addresses and ports are random within it.
static void make_header(const struct rule *rule, struct header *header) {
    for (unsigned i = 0; i < FIELDS; i++) {
        uint32_t random = (uint32_t)random_next();
        if (is_port(i))
            header->fields[i] = rule->value[i] + random % (rule->mask[i] - rule->value[i] + 1);
        else
            header->fields[i] = rule->value[i] | (random & ~rule->mask[i]);
    }
    header->fields[PROTOCOL] &= 0xff;
}

// Fields from several rules, until no rule has the header: it looks like traffic, and comes far into each structure.
// Where rules of no address have almost all headers, some stay hits.
static void make_miss(struct header *header) {
    int32_t number = 0;
    for (unsigned tries = 0; tries < 16 && number >= 0; tries++) {
        struct header other;
        make_header(&rules[first.live[random_next() % first.live_count]], header);
        make_header(&rules[first.live[random_next() % first.live_count]], &other);
        header->fields[DESTINATION] = tries < 8 ? other.fields[DESTINATION] : (uint32_t)random_next();
        header->fields[SOURCE] = tries < 12 ? header->fields[SOURCE] : (uint32_t)random_next();
        header->fields[DESTINATION_PORT] = (uint32_t)random_next() & 0xffff;
        sluice_ternary_lookup(table, header->fields, 1, &number);
    }
}

// Ranks of a Zipf distribution with exponent 1, by its inverse; rules are ranked at random.
static uint32_t zipf(const double *sums, uint32_t count) {
    double at = (double)random_next() / 9007199254740992.0 * sums[count - 1];
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sums[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void make_headers(const char *traffic) {
    double *sums = malloc(first.live_count * sizeof *sums), sum = 0;
    uint32_t *ranked = malloc(first.live_count * sizeof *ranked);
    memcpy(ranked, first.live, first.live_count * sizeof *ranked);
    for (uint32_t i = 0; i < first.live_count; i++) {
        uint32_t j = i + (uint32_t)(random_next() % (first.live_count - i)), kept = ranked[i];
        sums[i] = sum += 1.0 / (i + 1);
        ranked[i] = ranked[j];
        ranked[j] = kept;
    }
    headers = malloc(header_count * sizeof *headers);
    acl_keys = malloc(header_count * sizeof *acl_keys);
    acl_pointers = malloc(header_count * sizeof *acl_pointers);
    for (uint32_t i = 0; i < header_count; i++) {
        struct header *header = &headers[i];
        if (strcmp(traffic, "miss") == 0)
            make_miss(header);
        else if (strcmp(traffic, "zipf") == 0)
            make_header(&rules[ranked[zipf(sums, first.live_count)]], header);
        else
            make_header(&rules[first.live[random_next() % first.live_count]], header);
        const uint32_t *f = header->fields;
        acl_keys[i] = (struct acl_key){
            f[PROTOCOL],
            {rte_cpu_to_be_32(f[SOURCE]), rte_cpu_to_be_32(f[DESTINATION])},
            {rte_cpu_to_be_16((uint16_t)f[SOURCE_PORT]), rte_cpu_to_be_16((uint16_t)f[DESTINATION_PORT])}};
        acl_pointers[i] = (const uint8_t *)&acl_keys[i];
    }
    free(sums);
    free(ranked);
}

// ---- Contenders

static void set_field(struct rte_acl_field *field, const struct rule *rule, unsigned number, unsigned size) {
    if (size == 1)
        field->value.u8 = (uint8_t)rule->value[number], field->mask_range.u8 = (uint8_t)rule->mask[number];
    else if (size == 4)
        field->value.u32 = rule->value[number], field->mask_range.u32 = prefix_length(rule->mask[number]);
    else
        field->value.u16 = (uint16_t)rule->value[number], field->mask_range.u16 = (uint16_t)rule->mask[number];
}

static void build_acl(void) {
    static const struct rte_acl_field_def fields[FIELDS] = {
        {.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 1, .field_index = 0, .input_index = 0, .offset = 0},
        {.type = RTE_ACL_FIELD_TYPE_MASK, .size = 4, .field_index = 1, .input_index = 1, .offset = 4},
        {.type = RTE_ACL_FIELD_TYPE_MASK, .size = 4, .field_index = 2, .input_index = 2, .offset = 8},
        {.type = RTE_ACL_FIELD_TYPE_RANGE, .size = 2, .field_index = 3, .input_index = 3, .offset = 12},
        {.type = RTE_ACL_FIELD_TYPE_RANGE, .size = 2, .field_index = 4, .input_index = 3, .offset = 14}};
    static const unsigned order[FIELDS] = {PROTOCOL, SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT};
    struct rte_acl_param parameters = {
        .name = "acl", .rule_size = RTE_ACL_RULE_SZ(FIELDS), .max_rule_num = first.live_count, .socket_id = 0};
    struct rte_acl_config config = {.num_categories = 1, .num_fields = FIELDS};
    memcpy(config.defs, fields, sizeof fields);
    if (!(acl = rte_acl_create(&parameters)))
        fail("rte_acl_create", "failed");
    for (uint32_t i = 0; i < first.live_count; i++) {
        struct acl_rule rule = {.data = {.category_mask = 1,
                                         .priority = (int32_t)(RTE_ACL_MAX_PRIORITY - first.live[i]),
                                         .userdata = first.live[i] + 1}};
        for (unsigned k = 0; k < FIELDS; k++)
            set_field(&rule.field[k], &rules[first.live[i]], order[k], fields[k].size);
        if (rte_acl_add_rules(acl, (struct rte_acl_rule *)&rule, 1) != 0)
            fail("rte_acl_add_rules", "failed");
    }
    if (rte_acl_build(acl, &config) != 0)
        fail("rte_acl_build", "failed");
}

static void build_ours(void) {
    struct sluice_ternary_layout layout = {
        .words = FIELDS, .ranges = 1U << SOURCE_PORT | 1U << DESTINATION_PORT, .index = {SOURCE, DESTINATION}};
    if (sluice_ternary_new(&table, &layout, rule_count) != 0)
        fail("sluice_ternary_new", "failed");
    for (uint32_t i = 0; i < first.live_count; i++)
        if (sluice_ternary_insert(table, first.live[i], rules[first.live[i]].value, rules[first.live[i]].mask,
                                  rule_count - first.live[i]))
            fail("sluice_ternary_insert", "failed");
}

static void lookup(int contender, uint32_t at, uint32_t count, int32_t *numbers) {
    if (contender == OURS) {
        sluice_ternary_lookup(table, headers[at].fields, count, numbers);
    } else if (contender == OVS || contender == MERGE) {
        tuple_space_lookup(spaces[contender], headers + at, count, numbers);
    } else {
        uint32_t results[BURST];
        rte_acl_classify_alg(acl, acl_pointers + at, results, count, 1,
                             contender == ACL ? RTE_ACL_CLASSIFY_AVX2 : RTE_ACL_CLASSIFY_AVX512X32);
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = (int32_t)results[i] - 1;
    }
}

// Removes a rule, or inserts one from the pool, in turn. What was removed goes to the end of the pool.
static void change(int contender) {
    struct population *now = &populations[contender];
    bool inserts = now->live_count < first.live_count;
    uint32_t at = (uint32_t)(random_next() % now->live_count);
    uint32_t number = inserts ? now->pool[now->pool_first] : now->live[at];
    const struct rule *rule = &rules[number];
    int error = 0;
    if (contender == OURS) {
        uint64_t start = __rdtsc();
        error = inserts ? sluice_ternary_insert(table, number, rule->value, rule->mask, rule_count - number)
                        : sluice_ternary_remove(table, number);
        if (change_count < MOST_CHANGES)
            change_ticks[change_count++] = __rdtsc() - start;
    } else if (inserts) {
        tuple_space_insert(spaces[contender], number);
    } else {
        tuple_space_remove(spaces[contender], number);
    }
    if (error)
        fail("change", strerror(-error));
    if (inserts) {
        now->live[now->live_count++] = number;
        now->pool_first = (now->pool_first + 1) % MOST_RULES;
        now->pool_count--;
    } else {
        now->live[at] = now->live[--now->live_count];
        now->pool[(now->pool_first + now->pool_count++) % MOST_RULES] = number;
    }
}

// ---- Measurement

// Million lookups a second in a window, with changes as they become due.
static double window(int contender, double seconds, double changes_per_s) {
    static uint32_t at[CONTENDERS];
    static volatile int32_t sink;
    int32_t numbers[BURST];
    uint64_t lookups = 0, start = core_time(), spent = 0, changes = 0;
    do {
        for (unsigned i = 0; i < BURSTS; i++) {
            at[contender] = at[contender] + BURST <= header_count ? at[contender] : 0;
            lookup(contender, at[contender], BURST, numbers);
            sink = sink + numbers[0];
            at[contender] += BURST;
        }
        lookups += BURST * BURSTS;
        spent = core_time() - start;
        for (; (double)changes < (double)spent * 1e-9 * changes_per_s; changes++)
            change(contender);
    } while ((double)spent < seconds * 1e9);
    return (double)lookups * 1e3 / (double)(core_time() - start);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Answers of some headers that differ from those of a linear scan.
static uint32_t count_wrong(int contender, uint32_t sample) {
    struct population *now = &populations[contender];
    uint32_t wrong = 0, *sorted = malloc(now->live_count * sizeof *sorted);
    memcpy(sorted, now->live, now->live_count * sizeof *sorted);
    qsort(sorted, now->live_count, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < sample; i++) {
        uint32_t at = (uint32_t)(random_next() % header_count), k = 0;
        int32_t number;
        while (k < now->live_count && !rule_has(&rules[sorted[k]], &headers[at]))
            k++;
        lookup(contender, at, 1, &number);
        wrong += number != (k < now->live_count ? (int32_t)sorted[k] : -1);
    }
    free(sorted);
    return wrong;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values) {
    double sorted[WINDOWS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, WINDOWS, sizeof *sorted, by_value);
    return sorted[WINDOWS / 2];
}

static int by_ticks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double change_us(double share) {
    qsort(change_ticks, change_count, sizeof *change_ticks, by_ticks);
    return change_count ? (double)change_ticks[(uint32_t)(share * (change_count - 1))] / ticks_per_us : 0;
}

static void measure_ticks(void) {
    struct timespec begin, now;
    uint64_t start = __rdtsc();
    double passed;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed = (double)(now.tv_sec - begin.tv_sec) * 1e6 + (double)(now.tv_nsec - begin.tv_nsec) * 1e-3;
    } while (passed < 20000);
    ticks_per_us = (double)(__rdtsc() - start) / passed;
}

// Asks for huge pages for all memory, whichever contender's it is.
static void use_huge_pages(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long begin, end;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx rw-p", &begin, &end) == 2 && end - begin >= 1 << 21) {
            madvise((void *)begin, end - begin, MADV_HUGEPAGE);
            madvise((void *)begin, end - begin, 25 /* MADV_COLLAPSE */);
        }
    if (maps)
        fclose(maps);
}

static void print_figures(double rates[CONTENDERS][WINDOWS], const bool *runs, const uint32_t *wrong,
                          uint32_t checked) {
    struct sluice_ternary_stats stats = sluice_ternary_stats(table);
    printf("{\"rules\": %u, \"groups\": %u, \"most_compares\": %u, \"memory_mb\": %.2f, \"changes\": %u, ", stats.rules,
           stats.groups, stats.most_compares, (double)stats.size / 1e6, change_count);
    printf("\"p50_change_us\": %.3f, \"p999_change_us\": %.3f, \"checked\": %u, \"contenders\": {", change_us(0.5),
           change_us(0.999), checked);
    for (unsigned i = 0; i < CONTENDERS; i++) {
        double ratios[WINDOWS];
        for (unsigned w = 0; runs[i] && w < WINDOWS; w++)
            ratios[w] = rates[OURS][w] / rates[i][w];
        if (runs[i])
            printf("%s\"%s\": {\"mlookups\": %.3f, \"ratio\": %.3f, \"wrong\": %u, \"tables\": %u}", i ? ", " : "",
                   names[i], median(rates[i]), median(ratios), wrong[i], spaces[i] ? tuple_space_tables(spaces[i]) : 0);
    }
    printf("}}\n");
}

int main(int argc, char **argv) {
    if (argc < 8)
        fail("usage", "harness RULES COUNT TRAFFIC CHANGES HEADERS SECONDS STATIC [EAL options]");
    uint32_t count = (uint32_t)atoi(argv[2]), wrong[CONTENDERS] = {0};
    double changes = atof(argv[4]), seconds = atof(argv[6]), rates[CONTENDERS][WINDOWS];
    bool has_static = atoi(argv[7]) != 0, is_wide = __builtin_cpu_supports("avx512bw");
    const bool runs[CONTENDERS] = {true, has_static, has_static && is_wide, true, true};
    header_count = (uint32_t)atoi(argv[5]);
    read_rules(argv[1]);
    divide(count);
    argv[7] = argv[0];
    if (rte_eal_init(argc - 7, argv + 7) < 0)
        fail("rte_eal_init", "failed");
    measure_ticks();
    build_ours();
    make_headers(argv[3]);
    if (has_static)
        build_acl();
    for (int i = OVS; i <= MERGE; i++) {
        spaces[i] = tuple_space_new(i == MERGE, rules, rule_count);
        for (uint32_t k = 0; k < first.live_count; k++)
            tuple_space_insert(spaces[i], first.live[k]);
    }
    use_huge_pages();
    for (unsigned w = 0; w < WINDOWS; w++)
        for (int i = 0; i < CONTENDERS; i++)
            if (runs[i])
                rates[i][w] = window(i, seconds, i == ACL || i == ACL_WIDE ? 0 : changes);
    uint32_t sample = 600000000U / first.live_count < header_count ? 600000000U / first.live_count : header_count;
    sample = sample < 20000 ? sample : 20000;
    for (int i = 0; i < CONTENDERS; i++)
        wrong[i] = runs[i] ? count_wrong(i, sample) : 0;
    print_figures(rates, runs, wrong, sample);
    rte_eal_cleanup();
    return 0;
}
