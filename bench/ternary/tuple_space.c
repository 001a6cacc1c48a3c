// SPDX-License-Identifier: Apache-2.0
// Tuple space search, the dynamic rival: as Open vSwitch's classifier prunes it, and as TupleMerge merges it.
//
// A table holds the rules of one mask in hash buckets; a bucket is a list, best rule first. Ports that are no single
// value are compared, not hashed: Open vSwitch would need several rules for them, so it is better here than there.
#include "rules.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 4096, COLLISIONS = 40, NONE = -1, TRIE_NODES = 1 << 22 };

struct node { // a rule in a bucket
    int32_t next;
    uint32_t hash;
    int32_t table;
};

struct table {
    uint32_t mask[FIELDS];
    uint32_t rules, best; // the lowest number in it
    uint32_t size;        // buckets, a power of two
    int32_t *buckets;
    uint64_t lengths[2]; // bit of its prefix length in each trie
};

// A binary trie of the prefixes of an address. At a node, bits of the lengths that end there or nearer to the root.
struct trie {
    struct {
        uint32_t next[2], rules;
    } * nodes;
    uint32_t used;
};

struct tuple_space {
    bool merges;
    const struct rule *rules;
    struct node *nodes; // by number of the rule
    struct table tables[MOST_TABLES];
    uint32_t table_count;
    uint32_t order[MOST_TABLES]; // tables, best first
    struct trie tries[2];
};

static uint32_t hash_of(const uint32_t *fields, const uint32_t *mask) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        hash = __builtin_ia32_crc32si((uint32_t)hash, fields[i] & mask[i]);
    return (uint32_t)hash;
}

static void full_mask(const struct rule *rule, uint32_t *mask) {
    for (unsigned i = 0; i < FIELDS; i++)
        mask[i] = !is_port(i) ? rule->mask[i] : rule->value[i] == rule->mask[i] ? 0xffff : 0;
}

// As TupleMerge chooses the mask of a new table: long prefixes are cut by a few bits, ports left out where the
// addresses distinguish rules.
static void relax(uint32_t *mask) {
    unsigned source = prefix_length(mask[SOURCE]), destination = prefix_length(mask[DESTINATION]);
    for (unsigned i = SOURCE; i <= DESTINATION; i++) {
        unsigned length = prefix_length(mask[i]), other = i == SOURCE ? destination : source;
        unsigned kept = length >= 24 ? length - 4 : length >= 16 ? length - 3 : length >= 8 ? length - 2 : length;
        kept = length < 8 && other > 24 ? 0 : kept;
        mask[i] = kept == 0 ? 0 : UINT32_MAX << (32 - kept);
    }
    if (source >= 16 || destination >= 16)
        mask[SOURCE_PORT] = mask[DESTINATION_PORT] = mask[PROTOCOL] = 0;
}

static void trie_change(struct trie *trie, uint32_t address, unsigned length, int by) {
    uint32_t at = 0;
    for (unsigned i = 0; i < length; i++) {
        uint32_t bit = address >> (31 - i) & 1;
        if (!trie->nodes[at].next[bit])
            trie->nodes[at].next[bit] = ++trie->used % TRIE_NODES;
        at = trie->nodes[at].next[bit];
    }
    trie->nodes[at].rules += (uint32_t)by;
}

// Bits of the lengths of prefixes that an address has.
static uint64_t trie_lengths(const struct trie *trie, uint32_t address) {
    uint64_t lengths = 0;
    uint32_t at = 0;
    for (unsigned i = 0; i <= 32; i++) {
        lengths |= (uint64_t)(trie->nodes[at].rules != 0) << i;
        at = i < 32 ? trie->nodes[at].next[address >> (31 - i) & 1] : 0;
        if (!at)
            break;
    }
    return lengths;
}

struct tuple_space *tuple_space_new(bool merges, const struct rule *rules, uint32_t count) {
    struct tuple_space *space = calloc(1, sizeof *space);
    space->merges = merges;
    space->rules = rules;
    space->nodes = calloc(count, sizeof *space->nodes);
    for (unsigned i = 0; i < 2; i++)
        space->tries[i].nodes = calloc(TRIE_NODES, sizeof *space->tries[i].nodes);
    return space;
}

uint32_t tuple_space_tables(const struct tuple_space *space) {
    return space->table_count;
}

static void sort_tables(struct tuple_space *space, uint32_t changed) {
    uint32_t count = 0, kept[MOST_TABLES];
    for (uint32_t i = 0; i < space->table_count; i++)
        if (space->order[i] != changed)
            kept[count++] = space->order[i];
    uint32_t at = 0;
    while (at < count && space->tables[kept[at]].best < space->tables[changed].best)
        at++;
    memcpy(space->order, kept, at * sizeof *kept);
    space->order[at] = changed;
    memcpy(space->order + at + 1, kept + at, (count - at) * sizeof *kept);
}

static void resize(struct tuple_space *space, struct table *table) {
    int32_t *old = table->buckets;
    uint32_t size = table->size;
    table->size = size ? size * 4 : 16;
    table->buckets = malloc(table->size * sizeof *table->buckets);
    memset(table->buckets, 0xff, table->size * sizeof *table->buckets);
    for (uint32_t i = 0; i < size; i++)
        for (int32_t next, number = old[i]; number >= 0; number = next) {
            int32_t *place = &table->buckets[space->nodes[number].hash & (table->size - 1)];
            next = space->nodes[number].next;
            while (*place >= 0 && *place < number)
                place = &space->nodes[*place].next;
            space->nodes[number].next = *place;
            *place = number;
        }
    free(old);
}

static uint32_t bucket_length(const struct tuple_space *space, const struct table *table, uint32_t hash) {
    uint32_t length = 0;
    if (table->size)
        for (int32_t n = table->buckets[hash & (table->size - 1)]; n >= 0; n = space->nodes[n].next)
            length += space->nodes[n].hash == hash;
    return length;
}

static bool covers(const uint32_t *coarse, const uint32_t *fine) {
    uint32_t missing = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        missing |= coarse[i] & ~fine[i];
    return missing == 0;
}

static uint32_t table_for(struct tuple_space *space, const struct rule *rule, bool is_crowded) {
    uint32_t mask[FIELDS], wanted[FIELDS];
    full_mask(rule, mask);
    memcpy(wanted, mask, sizeof wanted);
    if (space->merges && !is_crowded)
        relax(wanted);
    for (uint32_t i = 0; i < space->table_count; i++) {
        const struct table *table = &space->tables[i];
        bool is_same = memcmp(table->mask, space->merges ? mask : wanted, sizeof mask) == 0;
        if (is_same || (space->merges && covers(table->mask, mask) &&
                        bucket_length(space, table, hash_of(rule->value, table->mask)) < COLLISIONS))
            return i;
    }
    struct table *table = &space->tables[space->table_count];
    memcpy(table->mask, wanted, sizeof wanted);
    for (unsigned i = 0; i < 2; i++)
        table->lengths[i] = 1ULL << prefix_length(wanted[i]);
    table->best = UINT32_MAX;
    resize(space, table);
    space->order[space->table_count] = space->table_count;
    return space->table_count++;
}

void tuple_space_insert(struct tuple_space *space, uint32_t number) {
    const struct rule *rule = &space->rules[number];
    uint32_t at = table_for(space, rule, false);
    if (space->merges &&
        bucket_length(space, &space->tables[at], hash_of(rule->value, space->tables[at].mask)) >= COLLISIONS)
        at = table_for(space, rule, true);
    struct table *table = &space->tables[at];
    if (++table->rules > table->size)
        resize(space, table);
    struct node *node = &space->nodes[number];
    node->table = (int32_t)at;
    node->hash = hash_of(rule->value, table->mask);
    int32_t *place = &table->buckets[node->hash & (table->size - 1)];
    while (*place >= 0 && *place < (int32_t)number)
        place = &space->nodes[*place].next;
    node->next = *place;
    *place = (int32_t)number;
    for (unsigned i = 0; i < 2 && !space->merges; i++)
        trie_change(&space->tries[i], rule->value[i], prefix_length(rule->mask[i]), 1);
    if (number < table->best) {
        table->best = number;
        sort_tables(space, at);
    }
}

// The best number of a table stays a bound from below, as searching for the next one would take long.
void tuple_space_remove(struct tuple_space *space, uint32_t number) {
    struct node *node = &space->nodes[number];
    struct table *table = &space->tables[node->table];
    int32_t *place = &table->buckets[node->hash & (table->size - 1)];
    while (*place != (int32_t)number)
        place = &space->nodes[*place].next;
    *place = node->next;
    table->rules--;
    for (unsigned i = 0; i < 2 && !space->merges; i++)
        trie_change(&space->tries[i], space->rules[number].value[i], prefix_length(space->rules[number].mask[i]), -1);
}

static int32_t search(const struct tuple_space *space, const struct header *header) {
    uint64_t lengths[2] = {UINT64_MAX, UINT64_MAX};
    int32_t found = INT32_MAX;
    for (unsigned i = 0; i < 2 && !space->merges; i++)
        lengths[i] = trie_lengths(&space->tries[i], header->fields[i]);
    for (uint32_t i = 0; i < space->table_count; i++) {
        const struct table *table = &space->tables[space->order[i]];
        if ((int64_t)table->best >= found)
            break;
        if (!table->rules || !(lengths[0] & table->lengths[0]) || !(lengths[1] & table->lengths[1]))
            continue;
        uint32_t hash = hash_of(header->fields, table->mask);
        for (int32_t n = table->buckets[hash & (table->size - 1)]; n >= 0 && n < found; n = space->nodes[n].next)
            if (space->nodes[n].hash == hash && rule_has(&space->rules[n], header))
                found = n;
    }
    return found == INT32_MAX ? NONE : found;
}

void tuple_space_lookup(const struct tuple_space *space, const struct header *headers, uint32_t count,
                        int32_t *numbers) {
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = search(space, &headers[i]);
}
