// SPDX-License-Identifier: Apache-2.0
// Drives sl_hash_table (Verilated) with a lookup in every cycle while it is filled, churned, updated and filled to its
// limit, and compares every answer with a map that switches at op_commit_o. Half of the lookups ask for the key that
// the table is just looking behind or moving, the hardest moment; the others for present, absent and almost equal keys.
// Arguments: entries, key bits, rules to fill, operations of the churn, seed. Prints one JSON object.
#include "harness.h"
#include "Vsl_hash_table.h"
#include "Vsl_hash_table___024root.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

using harness::Key, harness::Rate;

struct KeyHash {
    size_t operator()(const Key &key) const {
        uint64_t sum = 0;
        for (uint32_t word : key)
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        return sum ^ sum >> 29;
    }
};

class Bench : harness::Clocked<Vsl_hash_table> {
  public:
    Bench(uint32_t entries, int key_bits, uint64_t seed) : entries(entries), key_bits(key_bits), random(seed) {
        keys.resize(entries);
        present_at.assign(entries, -1);
        for (uint32_t id = entries; id > 0; id--)
            free_ids.push_back(id - 1);
        reset();
        while (!top.ready_o)
            edge();
        looking = true;
    }

    Key new_key() {
        Key key{};
        for (int bit = 0; bit < key_bits; bit += 32)
            key[bit / 32] = static_cast<uint32_t>(random());
        if (key_bits % 32)
            key[key_bits / 32] &= (1u << key_bits % 32) - 1;
        return key;
    }

    uint32_t operate(uint8_t kind, uint32_t id, const Key &key, Rate *rate) {
        Key mask;
        mask.fill(~0U);
        harness::set_instruction(top.op_i, {.rule_id = id, .kind = kind}, key, mask);
        pending_kind = kind, pending_id = id, pending_key = key, committed = false;
        top.op_valid_i = 1;
        while (!top.op_ready_o)
            tick();
        uint64_t begin = now;
        tick();
        top.op_valid_i = 0;
        while (!top.op_done_o)
            tick();
        uint32_t status = top.op_status_o;
        if (committed != (status == SLUICE_STATUS_OK))
            wrong++;
        if (rate)
            rate->add(now - begin);
        pending_kind = 0;
        return status;
    }

    bool populate(Rate *rate) {
        uint32_t id = free_ids.back();
        uint32_t status = operate(SLUICE_INSTRUCTION_POPULATE, id, new_key(), rate);
        if (status == SLUICE_STATUS_OK)
            free_ids.pop_back();
        else if (status != SLUICE_STATUS_ENOSPC)
            wrong++;
        return status == SLUICE_STATUS_OK;
    }

    void remove(Rate *rate) {
        uint32_t id = present[random() % present.size()];
        if (operate(SLUICE_INSTRUCTION_DELETE, id, Key{}, rate) != SLUICE_STATUS_OK)
            wrong++;
        else
            free_ids.push_back(id);
    }

    void update(Rate *rate) {
        uint32_t id = present[random() % present.size()];
        if (operate(SLUICE_INSTRUCTION_UPDATE, id, keys[id], rate) != SLUICE_STATUS_OK)
            wrong++;
    }

    // Looks every rule up once, for those that the random lookups have not met.
    void sweep() {
        std::vector<uint32_t> all = present;
        for (uint32_t id : all) {
            forced = &keys[id];
            tick();
        }
        forced = nullptr;
    }

    void drain() {
        looking = false;
        while (!expected.empty())
            tick();
    }

    void print(size_t filled, size_t limit, uint32_t refused, const Rate &populate, const Rate &churn,
               const Rate &remove, const Rate &update) const {
        harness::print("searches_per_cycle", double(answered) / double(window), "entries", filled, "slots", entries,
                       "fill", double(filled) / entries, "false_misses_during_moves", false_misses, "wrong_results",
                       wrong, "latency_cycles", latency, "searches", answered, "hits", hits,
                       "searches_during_operations", busy_lookups, "searches_of_the_key_in_motion", moving_lookups,
                       "refused", refused, "fill_at_first_refusal", double(limit) / entries, "populate_cycles",
                       populate, "populate_at_fill_cycles", churn, "delete_cycles", remove, "update_cycles", update,
                       "cycles", now);
    }

    uint32_t entries;
    int key_bits;
    uint64_t answered = 0, hits = 0, false_misses = 0, wrong = 0, latency = 0, busy_lookups = 0;
    uint64_t moving_lookups = 0, window = 0;
    std::vector<uint32_t> present;

  private:
    struct Expected {
        uint64_t cycle;
        int64_t id;
    };

    void commit() {
        committed = true;
        if (pending_kind == SLUICE_INSTRUCTION_POPULATE) {
            keys[pending_id] = pending_key;
            rules[pending_key] = pending_id;
            present_at[pending_id] = static_cast<int64_t>(present.size());
            present.push_back(pending_id);
        } else if (pending_kind == SLUICE_INSTRUCTION_DELETE) {
            rules.erase(keys[pending_id]);
            auto at = static_cast<size_t>(present_at[pending_id]);
            present[at] = present.back();
            present_at[present[at]] = present_at[pending_id];
            present.pop_back();
        } else if (pending_kind != SLUICE_INSTRUCTION_UPDATE) {
            wrong++;
        }
    }

    Key choose() {
        if (forced)
            return *forced;
        uint64_t dice = random() % 100;
        if (dice < 50 && pending_kind == SLUICE_INSTRUCTION_POPULATE) {
            Key key{};
            const auto &word = top.rootp->sl_hash_table__DOT__u_control__DOT__word_q;
            for (int i = 0; i * 32 < key_bits; i++)
                key[i] = word[i];
            if (key_bits % 32)
                key[key_bits / 32] &= (1u << key_bits % 32) - 1;
            moving_lookups++;
            return key;
        }
        if (dice < 60 && pending_kind)
            return pending_key;
        if (dice < 95 && !present.empty()) {
            Key key = keys[present[random() % present.size()]];
            if (dice > 85) {
                auto bit = static_cast<uint32_t>(random() % key_bits);
                key[bit / 32] ^= 1u << bit % 32;
            }
            return key;
        }
        return new_key();
    }

    // One cycle: inputs are set, the outputs of this cycle are judged, then the clock rises.
    void tick() {
        top.key_valid_i = looking;
        Key key{};
        if (looking) {
            key = choose();
            for (int i = 0; i * 32 < key_bits; i++)
                top.key_i[i] = key[i];
        }
        top.eval();
        if (top.op_commit_o)
            commit();
        if (top.result_valid_o)
            judge();
        if (looking) {
            auto rule = rules.find(key);
            expected.push_back({now, rule == rules.end() ? -1 : static_cast<int64_t>(rule->second)});
            if (pending_kind)
                busy_lookups++;
        }
        edge();
        window += looking;
    }

    void judge() {
        if (expected.empty()) {
            wrong++;
            return;
        }
        Expected want = expected.front();
        expected.pop_front();
        if (!latency)
            latency = now - want.cycle;
        if (now - want.cycle != latency)
            wrong++;
        int64_t got = top.result_hit_o ? static_cast<int64_t>(top.result_id_o) : -1;
        answered++;
        hits += got >= 0;
        if (got != want.id) {
            if (got < 0)
                false_misses++;
            else
                wrong++;
        }
    }

    std::mt19937_64 random;
    bool looking = false, committed = false;
    uint8_t pending_kind = SLUICE_INSTRUCTION_NONE;
    uint32_t pending_id = 0;
    Key pending_key{};
    const Key *forced = nullptr;
    std::vector<Key> keys;
    std::vector<int64_t> present_at;
    std::vector<uint32_t> free_ids;
    std::unordered_map<Key, uint32_t, KeyHash> rules;
    std::deque<Expected> expected;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s entries key_bits rules operations seed\n", argv[0]);
        return 2;
    }
    auto entries = static_cast<uint32_t>(std::atol(argv[1]));
    auto rules = static_cast<uint32_t>(std::atol(argv[3]));
    long operations = std::atol(argv[4]);
    Bench bench(entries, std::atoi(argv[2]), static_cast<uint64_t>(std::atoll(argv[5])));

    Rate populate, churn, remove, update;
    uint32_t refused = 0;
    while (bench.present.size() < rules && refused < 1000)
        refused += !bench.populate(&populate);
    size_t filled = bench.present.size();
    bench.sweep();
    for (long i = 0; i < operations; i++) {
        bench.remove(&remove);
        refused += !bench.populate(&churn);
        bench.update(&update);
    }
    bench.sweep();
    while (bench.present.size() < entries && bench.populate(nullptr)) {
    }
    size_t limit = bench.present.size();
    bench.sweep();
    bench.drain();

    bench.print(filled, limit, refused, populate, churn, remove, update);
    return bench.wrong || bench.false_misses ? 1 : 0;
}
