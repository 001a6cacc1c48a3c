// SPDX-License-Identifier: Apache-2.0
// Random rules go in and out of a table, and its lookups are compared with a linear scan, with and without vectors.
// For the sanitizers.
//
// usage: fuzz_ternary WORDS CAPACITY KIND SEED STEPS
// KIND: mixed (some prefixes, ranges and masks), masks (another mask for every rule), same (equal keys and priorities),
// wild (no bit is compared). Prints one JSON object. Exit status 1 with a line on stderr where an answer is wrong.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ternary_internal.h"

enum { KEYS = 150, EVERY = 64, PRIORITIES = 16 };

struct rule {
    uint32_t value[SLUICE_TERNARY_WORDS], mask[SLUICE_TERNARY_WORDS], priority;
    bool is_used;
};

static struct sluice_ternary_layout layout;
static uint64_t state;
static const char *kind;

static uint32_t random_below(uint32_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((state >> 33) % limit);
}

// Few different words, so that rules meet.
static uint32_t random_word(void) {
    return random_below(4) << 30 | random_below(3) << 22 | random_below(3) << 12 | random_below(4);
}

static void make_rule(struct rule *rule) {
    rule->priority = strcmp(kind, "same") == 0 ? 7 : random_below(8) ? random_below(PRIORITIES) : UINT32_MAX;
    for (unsigned i = 0; i < layout.words; i++) {
        uint32_t value = random_word(), mask = UINT32_MAX << random_below(32);
        if (strcmp(kind, "masks") == 0)
            mask = random_below(UINT32_MAX) << 1 | random_below(2);
        else if (strcmp(kind, "wild") == 0 || random_below(4) == 0)
            mask = 0;
        else if (strcmp(kind, "same") == 0 || random_below(3) == 0)
            mask = UINT32_MAX;
        if (strcmp(kind, "same") == 0)
            value = 5;
        if (layout.ranges >> i & 1) {
            uint32_t last = random_below(2) ? value : random_word();
            mask = mask == 0 ? UINT32_MAX : last < value ? value : last;
            value = mask == UINT32_MAX ? 0 : value;
        }
        rule->value[i] = value;
        rule->mask[i] = mask;
    }
}

static bool has(const struct rule *rule, const uint32_t *key) {
    for (unsigned i = 0; i < layout.words; i++) {
        bool is_range = layout.ranges >> i & 1;
        if (is_range ? key[i] < rule->value[i] || key[i] > rule->mask[i]
                     : ((key[i] ^ rule->value[i]) & rule->mask[i]) != 0)
            return false;
    }
    return true;
}

static int32_t scan(const struct rule *rules, uint32_t capacity, const uint32_t *key) {
    int32_t best = SLUICE_TERNARY_MISS;
    for (uint32_t i = 0; i < capacity; i++)
        if (rules[i].is_used && (best < 0 || rules[i].priority > rules[best].priority) && has(&rules[i], key))
            best = (int32_t)i;
    return best;
}

// Of KEYS keys, which end where a page of memory may end. Returns how many have a rule.
static uint32_t compare(struct sluice_ternary *table, const struct rule *rules, uint32_t capacity) {
    size_t words = layout.words;
    uint32_t *keys = malloc(KEYS * words * sizeof *keys), hits = 0;
    int32_t *ids = malloc(KEYS * sizeof *ids);
    for (unsigned i = 0; i < KEYS; i++) {
        const struct rule *near = &rules[random_below(capacity)];
        for (unsigned k = 0; k < words; k++)
            keys[i * words + k] = random_below(2 * layout.words) ? near->value[k] : random_word();
    }
    for (enum sluice_ternary_vectors kind = SLUICE_TERNARY_SCALAR; kind <= SLUICE_TERNARY_AVX512; kind++) {
        sluice_ternary_vectorise(table, kind);
        sluice_ternary_lookup(table, keys, KEYS, ids);
        for (unsigned i = 0; i < KEYS; i++) {
            int32_t expected = scan(rules, capacity, keys + i * words);
            hits += expected >= 0;
            if (ids[i] != expected) {
                fprintf(stderr, "fuzz_ternary: rule %d instead of %d, kind %d\n", ids[i], expected, (int)kind);
                exit(1);
            }
        }
    }
    free(keys);
    free(ids);
    return hits;
}

static void expect(int error, int expected, const char *what) {
    if (error == expected)
        return;
    fprintf(stderr, "fuzz_ternary: %s: %d instead of %d\n", what, error, expected);
    exit(1);
}

// All lines from a bucket's own to the one before it are full, so that searches find it.
static bool is_reachable(const struct sluice_ternary *table) {
    bool is_full = true;
    for (uint32_t number = 0; number <= table->line_mask; number++)
        for (unsigned at = 0; at < PLACES; at++) {
            uint32_t tag = table->lines[number].tags[at];
            for (uint32_t line = home_of(table, tag); tag && line != number; line = (line + 1) & table->line_mask)
                for (unsigned i = 0; i < PLACES; i++)
                    is_full &= table->lines[line].tags[i] != 0;
        }
    return is_full;
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 1;
    uint32_t words = (uint32_t)atoi(argv[1]), capacity = (uint32_t)atoi(argv[2]), hits = 0, most = 0, groups = 0;
    kind = argv[3];
    state = (uint64_t)atoll(argv[4]);
    layout = (struct sluice_ternary_layout){
        .words = words, .ranges = words > 2 ? 1U << 2 : 0, .index = {0, words - 1}, .limit = 0};
    struct sluice_ternary *table;
    expect(sluice_ternary_new(&table, &layout, capacity), 0, "new");
    struct rule *rules = calloc(capacity, sizeof *rules);
    for (int step = 0; step < atoi(argv[5]); step++) {
        uint32_t id = random_below(capacity);
        // Phases that fill the table and phases that empty it.
        bool inserts = random_below(8) < (step / (4 * (int)capacity) % 2 ? 2U : 6U);
        struct rule rule = rules[id];
        if (inserts) {
            if (!rule.is_used)
                make_rule(&rule);
            expect(sluice_ternary_insert(table, id, rule.value, rule.mask, rule.priority), rule.is_used ? -EEXIST : 0,
                   "insert");
        } else {
            expect(sluice_ternary_remove(table, id), rule.is_used ? 0 : -ENOENT, "remove");
        }
        rule.is_used = inserts;
        rules[id] = rule;
        struct sluice_ternary_stats stats = sluice_ternary_stats(table);
        most = stats.rules > most ? stats.rules : most;
        groups = stats.groups > groups ? stats.groups : groups;
        expect(is_reachable(table), true, "every bucket can be found");
        expect(table->made_chunks <= capacity / 2, true, "chunks within the memory");
        if (step % EVERY == 0)
            hits += compare(table, rules, capacity);
    }
    for (uint32_t id = 0; id < capacity; id++)
        if (rules[id].is_used)
            expect(sluice_ternary_remove(table, id), 0, "remove");
    struct sluice_ternary_stats stats = sluice_ternary_stats(table);
    printf("{\"hits\": %u, \"most_rules\": %u, \"most_groups\": %u, \"rules\": %u, \"groups\": %u, \"most_compares\": "
           "%u}\n",
           hits, most, groups, stats.rules, stats.groups, stats.most_compares);
    sluice_ternary_free(table);
    free(rules);
    return 0;
}
