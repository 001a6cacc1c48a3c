// SPDX-License-Identifier: Apache-2.0
// Rules: instructions into an OFU's window, answers out of it, and a store of what is in each table, so that duplicates
// are found, ids are chosen, and edit data is shared and given back.
#include "actions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"

enum { WORDS = SLUICE_INSTRUCTION_BYTES / 4, POLLS = 100000, NO_RULE = -1 };
enum { STATUS_READY = 1, STATUS_FREE_SHIFT = 8, STATUS_WAITING_SHIFT = 16 };

struct stored_rule {
    uint8_t value[SLUICE_KEY_BYTES], mask[SLUICE_KEY_BYTES];
    uint16_t edits[SLUICE_ACTION_SLOTS]; // edit-data entries it holds
    uint16_t rule_priority;
    bool used;
};

struct stored_table {
    struct stored_rule *rules;      // by rule id
    struct sluice_hash_index index; // of them by key
    uint32_t entries, used, hint, key_bits;
};

struct sluice_rule_store {
    uint32_t base; // of the window
    bool is_lpm;
    struct stored_table tables[SLUICE_TABLES];
    struct sluice_edit_table edits;
    uint32_t written[WORDS]; // what the instruction registers hold, so that only changes are written
    bool written_valid;
};

static uint32_t hash_key(const uint8_t *value, const uint8_t *mask, uint16_t rule_priority) {
    uint8_t masked[SLUICE_KEY_BYTES];
    for (unsigned i = 0; i < SLUICE_KEY_BYTES; i++)
        masked[i] = value[i] & mask[i];
    return sluice_hash_bytes(masked, sizeof masked, sluice_hash_bytes(mask, SLUICE_KEY_BYTES, rule_priority));
}
_Static_assert(SLUICE_KEY_BYTES <= SLUICE_HASH_WORDS * sizeof(uint64_t), "a key is hashed whole");

static bool same_key(const struct stored_rule *rule, const struct sluice_rule *other) {
    if (rule->rule_priority != other->rule_priority)
        return false;
    for (unsigned i = 0; i < SLUICE_KEY_BYTES; i++)
        if (rule->mask[i] != other->mask[i] || ((rule->value[i] ^ other->value[i]) & rule->mask[i]))
            return false;
    return true;
}

static int32_t find_key(const struct stored_table *table, const struct sluice_rule *rule) {
    uint32_t hash = hash_key(rule->value, rule->mask, rule->rule_priority), at = hash;
    int32_t id;
    while ((id = sluice_hash_index_next(&table->index, hash, &at)) != NO_RULE)
        if (same_key(&table->rules[id], rule))
            break;
    return id;
}

static void link_rule(struct stored_table *table, uint32_t id, const struct sluice_rule *from, const uint16_t *edits) {
    struct stored_rule *rule = &table->rules[id];
    memcpy(rule->value, from->value, sizeof rule->value);
    memcpy(rule->mask, from->mask, sizeof rule->mask);
    memcpy(rule->edits, edits, sizeof rule->edits);
    rule->rule_priority = from->rule_priority;
    rule->used = true;
    sluice_hash_index_add(&table->index, hash_key(from->value, from->mask, from->rule_priority), (int32_t)id);
    table->used++;
}

static void unlink_rule(struct stored_table *table, uint32_t id) {
    sluice_hash_index_remove(&table->index, (int32_t)id);
    table->rules[id].used = false;
    table->used--;
}

static void free_table(struct stored_table *table) {
    free(table->rules);
    sluice_hash_index_free(&table->index);
    memset(table, 0, sizeof *table);
}

void sluice_rule_store_free(struct sluice_rule_store *store) {
    if (!store)
        return;
    for (unsigned i = 0; i < SLUICE_TABLES; i++)
        free_table(&store->tables[i]);
    free(store);
}

static int make_table(struct stored_table *table, uint32_t entries, uint32_t key_bits) {
    table->entries = entries;
    table->key_bits = key_bits;
    table->rules = calloc(entries ? entries : 1, sizeof *table->rules);
    if (!table->rules || sluice_hash_index_new(&table->index, entries))
        return sluice_fail(-ENOMEM, "no memory for %u rules", entries);
    return 0;
}

// The store of an OFU, made at its first use; NULL with *result set where there is none.
static struct sluice_rule_store *store_of(struct sluice_device *device, uint16_t ofu_id, int *result) {
    int window = sluice_window_of(device, ofu_id);
    if (window < 0 || (ofu_id != SLUICE_ELEMENT_LPM && ofu_id != SLUICE_ELEMENT_EXACT)) {
        *result = sluice_fail(-ENOENT, "the device has no OFU %u", ofu_id);
        return NULL;
    }
    if (device->window[window].rules)
        return device->window[window].rules;
    struct sluice_rule_store *store = calloc(1, sizeof *store);
    *result = store ? 0 : sluice_fail(-ENOMEM, "out of memory");
    if (!store)
        return NULL;
    store->base = store->edits.window = (uint32_t)window * SLUICE_WINDOW_SIZE;
    store->is_lpm = ofu_id == SLUICE_ELEMENT_LPM;
    for (uint32_t i = 0; i < SLUICE_TABLES && *result == 0; i++) {
        uint32_t entries = 0, key_bits = 0;
        uint32_t at = store->base + SLUICE_OFU_REGISTERS_ENTRIES + 4 * i;
        uint32_t bits_at = store->base + SLUICE_OFU_REGISTERS_KEY_BITS + 4 * i;
        if (!(*result = sluice_read_fact_locked(device, at, SLUICE_MOST_RULES, &entries)) &&
            !(*result = sluice_read_fact_locked(device, bits_at, SLUICE_KEY_BITS, &key_bits)))
            *result = make_table(&store->tables[i], entries, key_bits);
    }
    if (*result != 0) {
        sluice_rule_store_free(store);
        return NULL;
    }
    device->window[window].rules = store;
    return store;
}

static bool key_bit(const uint8_t *bytes, unsigned bit) {
    return bytes[bit / 8] >> bit % 8 & 1;
}

// LPM: the mask is the `rule_priority` highest bits of the key. Every table: nothing above the key.
static int check_key(const struct sluice_rule_store *store, const struct stored_table *table,
                     const struct sluice_rule *rule) {
    if (store->is_lpm && rule->rule_priority > table->key_bits)
        return sluice_fail(-EINVAL, "prefix length %u of %u bits", rule->rule_priority, table->key_bits);
    for (unsigned bit = 0; bit < SLUICE_KEY_BITS; bit++) {
        bool inside = bit < table->key_bits;
        bool wanted = inside && (!store->is_lpm || bit >= table->key_bits - rule->rule_priority);
        if (key_bit(rule->mask, bit) != wanted || (!inside && key_bit(rule->value, bit)))
            return sluice_fail(-EINVAL, "bad mask or value at bit %u: %s", bit,
                               store->is_lpm ? "a prefix of the length that the priority says" : "an exact key");
    }
    return 0;
}

static int choose_id(struct stored_table *table, uint32_t *id) {
    if (*id != SLUICE_RULE_CHOOSE) {
        if (*id >= table->entries)
            return sluice_fail(-EINVAL, "rule id %u; the table has %u", *id, table->entries);
        return table->rules[*id].used ? sluice_fail(-EEXIST, "rule id %u is in use", *id) : 0;
    }
    for (uint32_t i = 0; i < table->entries; i++) {
        uint32_t candidate = (table->hint + i) % table->entries;
        if (!table->rules[candidate].used) {
            table->hint = (candidate + 1) % table->entries;
            *id = candidate;
            return 0;
        }
    }
    return sluice_fail(-ENOSPC, "the table is full: %u rules", table->entries);
}

static int push(struct sluice_device *device, struct sluice_rule_store *store, const struct sluice_rule_op *op) {
    struct sluice_instruction instruction = {.actions = op->rule.actions,
                                             .rule_id = op->rule.id,
                                             .rule_priority = op->rule.rule_priority,
                                             .table_id = op->table_id,
                                             .kind = op->kind};
    uint8_t bytes[SLUICE_INSTRUCTION_BYTES];
    memcpy(instruction.value, op->rule.value, sizeof instruction.value);
    memcpy(instruction.mask, op->rule.mask, sizeof instruction.mask);
    sluice_instruction_pack(&instruction, bytes);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t word = 0;
        for (unsigned b = 0; b < 4; b++)
            word |= (uint32_t)bytes[4 * i + b] << 8 * b;
        if (store->written_valid && store->written[i] == word)
            continue;
        int result = sluice_write_locked(device, store->base + SLUICE_OFU_REGISTERS_INSTRUCTION + 4 * i, word);
        if (result) {
            store->written_valid = false;
            return result;
        }
        store->written[i] = word;
    }
    store->written_valid = true;
    return sluice_write_locked(device, store->base + SLUICE_OFU_REGISTERS_PUSH, 1);
}

// The answer to the oldest instruction: 0 or its negative errno; -ENODEV when none comes.
static int answer(struct sluice_device *device, struct sluice_rule_store *store) {
    struct sluice_response response;
    uint8_t bytes[SLUICE_RESPONSE_BYTES];
    uint32_t status = 0, words[2];
    int result;
    for (int i = 0; !(status >> STATUS_WAITING_SHIFT & 0xff); i++) {
        if (i == POLLS)
            return sluice_fail(-ENODEV, "OFU at %#x: no answer to an instruction", store->base);
        if ((result = sluice_read_locked(device, store->base + SLUICE_OFU_REGISTERS_STATUS, &status)))
            return result;
    }
    for (uint32_t i = 0; i < 2; i++)
        if ((result = sluice_read_locked(device, store->base + SLUICE_OFU_REGISTERS_RESPONSE + 4 * i, &words[i])))
            return result;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    sluice_response_unpack(&response, bytes);
    return sluice_check_response(&response);
}

// One instruction checked and its edit data taken; what must be undone if the device refuses it stays with the caller.
struct pending {
    struct sluice_rule_op *op;
    struct stored_table *table;
    uint16_t edits[SLUICE_ACTION_SLOTS], old_edits[SLUICE_ACTION_SLOTS];
    struct stored_rule before;
};

static int check_rule(struct sluice_device *device, struct sluice_rule_store *store, const struct pending *it) {
    const struct sluice_rule *rule = &it->op->rule;
    int result = sluice_actions_check(device, &rule->actions, rule->edits, rule->edit_count);
    return result ? result : check_key(store, it->table, rule);
}

static int take_edits(struct sluice_device *device, struct sluice_rule_store *store, struct pending *it) {
    struct sluice_rule *rule = &it->op->rule;
    return sluice_edits_take(device, &store->edits, &rule->actions, rule->edits, rule->edit_count, it->edits);
}

static int stage_new(struct sluice_device *device, struct sluice_rule_store *store, struct pending *it) {
    struct sluice_rule *rule = &it->op->rule;
    int result;
    if ((result = check_rule(device, store, it)))
        return result;
    if (find_key(it->table, rule) != NO_RULE)
        return sluice_fail(-EEXIST, "this key is rule %d already", find_key(it->table, rule));
    if (it->table->used == it->table->entries)
        return sluice_fail(-ENOSPC, "the table is full: %u rules", it->table->entries);
    uint32_t wanted = rule->id;
    if ((result = choose_id(it->table, &rule->id)) || (result = take_edits(device, store, it))) {
        rule->id = wanted;
        return result;
    }
    link_rule(it->table, rule->id, rule, it->edits);
    return 0;
}

static int stage_old(struct sluice_device *device, struct sluice_rule_store *store, struct pending *it) {
    struct sluice_rule *rule = &it->op->rule;
    int result;
    if (rule->id >= it->table->entries || !it->table->rules[rule->id].used)
        return sluice_fail(-ENOENT, "there is no rule %u", rule->id);
    it->before = it->table->rules[rule->id];
    memcpy(it->old_edits, it->before.edits, sizeof it->old_edits);
    if (it->op->kind == SLUICE_INSTRUCTION_DELETE) {
        unlink_rule(it->table, rule->id);
        return 0;
    }
    if ((result = check_rule(device, store, it)))
        return result;
    int32_t other = find_key(it->table, rule);
    if (other != NO_RULE && other != (int32_t)rule->id)
        return sluice_fail(-EEXIST, "this key is rule %d already", other);
    if ((result = take_edits(device, store, it)))
        return result;
    unlink_rule(it->table, rule->id);
    link_rule(it->table, rule->id, rule, it->edits);
    return 0;
}

static int stage(struct sluice_device *device, struct sluice_rule_store *store, struct pending *it) {
    if (it->op->table_id >= SLUICE_TABLES || store->tables[it->op->table_id].entries == 0)
        return sluice_fail(-EINVAL, "table %u: there is none", it->op->table_id);
    it->table = &store->tables[it->op->table_id];
    switch (it->op->kind) {
    case SLUICE_INSTRUCTION_POPULATE:
        return stage_new(device, store, it);
    case SLUICE_INSTRUCTION_DELETE:
    case SLUICE_INSTRUCTION_UPDATE:
        return stage_old(device, store, it);
    case SLUICE_INSTRUCTION_INITIALIZE:
        return 0;
    default:
        return sluice_fail(-EINVAL, "instruction kind %u", it->op->kind);
    }
}

static void clear_table(struct sluice_device *device, struct sluice_rule_store *store, struct stored_table *table) {
    for (uint32_t i = 0; i < table->entries && table->used; i++) {
        if (!table->rules[i].used)
            continue;
        unlink_rule(table, i);
        sluice_edits_release(device, &store->edits, table->rules[i].edits);
    }
}

// The device has answered: give back what is no longer held, or undo.
static void settle(struct sluice_device *device, struct sluice_rule_store *store, struct pending *it, int result) {
    uint32_t id = it->op->rule.id;
    struct sluice_rule old = {.rule_priority = it->before.rule_priority};
    memcpy(old.value, it->before.value, sizeof old.value);
    memcpy(old.mask, it->before.mask, sizeof old.mask);
    switch (it->op->kind) {
    case SLUICE_INSTRUCTION_POPULATE:
        if (result) {
            unlink_rule(it->table, id);
            sluice_edits_release(device, &store->edits, it->edits);
        }
        break;
    case SLUICE_INSTRUCTION_DELETE:
        if (result)
            link_rule(it->table, id, &old, it->old_edits);
        else
            sluice_edits_release(device, &store->edits, it->old_edits);
        break;
    case SLUICE_INSTRUCTION_UPDATE:
        if (result) {
            unlink_rule(it->table, id);
            link_rule(it->table, id, &old, it->old_edits);
        }
        sluice_edits_release(device, &store->edits, result ? it->edits : it->old_edits);
        break;
    default:
        if (!result)
            clear_table(device, store, it->table);
    }
}

enum { PIPELINED = 8 };

int sluice_rule_ops_many(struct sluice_device *device, uint16_t ofu_id, struct sluice_rule_op *op, unsigned count,
                         int *results) {
    int failed = 0, result = 0;
    pthread_mutex_lock(&device->lock);
    struct sluice_rule_store *store = store_of(device, ofu_id, &result);
    for (unsigned done = 0; store && done < count;) {
        struct pending window[PIPELINED];
        unsigned pushed = 0, next = done;
        bool flush = false; // its error text must survive, or it changes every rule: settle what is under way first
        while (next < count && pushed < PIPELINED && !flush) {
            struct pending *it = &window[pushed];
            it->op = &op[next];
            flush = it->op->kind == SLUICE_INSTRUCTION_INITIALIZE;
            if (flush && pushed)
                break;
            int staged = stage(device, store, it);
            if (!staged && (staged = push(device, store, it->op)))
                settle(device, store, it, staged);
            results[next++] = staged;
            if (staged)
                flush = true;
            else
                pushed++;
        }
        for (unsigned i = 0; i < pushed; i++) {
            int answered = answer(device, store);
            results[window[i].op - op] = answered;
            settle(device, store, &window[i], answered);
        }
        done = next;
    }
    for (unsigned i = 0; store && i < count; i++)
        failed += results[i] != 0;
    pthread_mutex_unlock(&device->lock);
    return store ? failed : result;
}

int sluice_rule_ops(struct sluice_device *device, uint16_t ofu_id, struct sluice_rule_op *op) {
    int result = 0;
    int failed = sluice_rule_ops_many(device, ofu_id, op, 1, &result);
    return failed < 0 ? failed : result;
}

static int wait_ready(struct sluice_device *device, const struct sluice_rule_store *store) {
    uint32_t status = 0;
    for (int i = 0; i < POLLS; i++) {
        int result = sluice_read_locked(device, store->base + SLUICE_OFU_REGISTERS_STATUS, &status);
        if (result || status & STATUS_READY)
            return result;
    }
    return sluice_fail(-ENODEV, "OFU at %#x: its memories are never cleared", store->base);
}

int sluice_ofu_init(struct sluice_device *device, uint16_t ofu_id) {
    int result = 0;
    pthread_mutex_lock(&device->lock);
    struct sluice_rule_store *store = store_of(device, ofu_id, &result);
    if (store && !(result = wait_ready(device, store))) {
        for (uint8_t table = 0; table < SLUICE_TABLES && result == 0; table++) {
            struct sluice_rule_op clear = {.kind = SLUICE_INSTRUCTION_INITIALIZE, .table_id = table};
            if (store->tables[table].entries)
                result = sluice_rule_ops(device, ofu_id, &clear);
        }
        if (result == 0)
            result = sluice_write_locked(device, store->base + SLUICE_OFU_REGISTERS_CONTROL, 1);
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_ofu_uninit(struct sluice_device *device, uint16_t ofu_id) {
    int result = 0;
    pthread_mutex_lock(&device->lock);
    struct sluice_rule_store *store = store_of(device, ofu_id, &result);
    if (store)
        result = sluice_write_locked(device, store->base + SLUICE_OFU_REGISTERS_CONTROL, 0);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_ofu_size(struct sluice_device *device, uint16_t ofu_id, uint8_t table_id, uint32_t *entries,
                    uint32_t *used) {
    int result = 0;
    pthread_mutex_lock(&device->lock);
    struct sluice_rule_store *store = store_of(device, ofu_id, &result);
    if (store && table_id >= SLUICE_TABLES)
        result = sluice_fail(-EINVAL, "table %u: there is none", table_id);
    if (result == 0 && entries)
        *entries = store->tables[table_id].entries;
    if (result == 0 && used)
        *used = store->tables[table_id].used;
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_rule_counters_read(struct sluice_device *device, uint16_t ofu_id, uint8_t table_id, uint32_t rule_id,
                              struct sluice_rule_counters *counters) {
    uint8_t bytes[SLUICE_RULE_COUNTERS_BYTES];
    int result = 0;
    pthread_mutex_lock(&device->lock);
    struct sluice_rule_store *store = store_of(device, ofu_id, &result);
    if (store && (table_id >= SLUICE_TABLES || rule_id >= store->tables[table_id].entries ||
                  !store->tables[table_id].rules[rule_id].used))
        result = sluice_fail(-ENOENT, "there is no rule %u in table %u", rule_id, table_id);
    if (result == 0)
        result = sluice_write_locked(device, store->base + SLUICE_OFU_REGISTERS_COUNTER_INDEX,
                                     (uint32_t)table_id << 30 | rule_id);
    for (uint32_t i = 0; i < 4 && result == 0; i++) {
        uint32_t word = 0;
        result = sluice_read_locked(device, store->base + SLUICE_OFU_REGISTERS_COUNTER_DATA + 4 * i, &word);
        for (unsigned b = 0; b < 4; b++)
            bytes[4 * i + b] = (uint8_t)(word >> 8 * b);
    }
    if (result == 0)
        sluice_rule_counters_unpack(counters, bytes);
    pthread_mutex_unlock(&device->lock);
    return result;
}
