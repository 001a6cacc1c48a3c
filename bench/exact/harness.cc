// SPDX-License-Identifier: Apache-2.0
// Drives sl_hash_table (Verilated) with a lookup in every cycle while it is filled, churned, updated and filled to its
// limit, and compares every answer with a map that switches at op_commit_o. Half of the lookups ask for the key that
// the table is just looking behind or moving, the hardest moment; the others for present, absent and almost equal keys.
// Arguments: entries, key bits, rules to fill, operations of the churn, seed. Prints one JSON object.
#include "Vsl_hash_table.h"
#include "Vsl_hash_table___024root.h"
#include "verilated.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

enum : uint32_t { INITIALIZE = 1, POPULATE = 2, DELETE = 3, UPDATE = 4 };
enum : uint32_t { OK = 0, ENOSPC_ = 28 };
constexpr int KEY_WORDS = 10;
constexpr int VALUE_WORD = 2, MASK_WORD = 12; // 32-bit words of instruction_t, see layouts/control/rule.sl

using Key = std::array<uint32_t, KEY_WORDS>;

struct KeyHash {
    size_t operator()(const Key &key) const {
        uint64_t sum = 0;
        for (uint32_t word : key)
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        return sum ^ sum >> 29;
    }
};

struct Rate {
    uint64_t count = 0, cycles = 0, most = 0;
    void add(uint64_t one) {
        count++;
        cycles += one;
        if (one > most)
            most = one;
    }
};

class Bench {
  public:
    Bench(uint32_t entries, int key_bits, uint64_t seed) : entries(entries), key_bits(key_bits), random(seed) {
        keys.resize(entries);
        present_at.assign(entries, -1);
        for (uint32_t id = entries; id > 0; id--)
            free_ids.push_back(id - 1);
        top.rst_i = 1;
        for (int i = 0; i < 4; i++)
            tick();
        top.rst_i = 0;
        while (!top.ready_o)
            tick();
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

    uint32_t operate(uint32_t kind, uint32_t id, const Key &key, Rate *rate) {
        for (int i = 0; i < 30; i++)
            top.op_i[i] = 0;
        top.op_i[0] = kind;
        top.op_i[1] = id; // kind 8, table 8, priority 16 bits, then the rule id
        for (int i = 0; i < KEY_WORDS; i++) {
            top.op_i[VALUE_WORD + i] = key[i];
            top.op_i[MASK_WORD + i] = 0xffffffff;
        }
        pending_kind = kind, pending_id = id, pending_key = key, committed = false;
        top.op_valid_i = 1;
        while (!top.op_ready_o)
            tick();
        uint64_t begin = cycle;
        tick();
        top.op_valid_i = 0;
        while (!top.op_done_o)
            tick();
        uint32_t status = top.op_status_o;
        if (committed != (status == OK))
            wrong++;
        if (rate)
            rate->add(cycle - begin);
        pending_kind = 0;
        return status;
    }

    bool populate(Rate *rate) {
        uint32_t id = free_ids.back();
        uint32_t status = operate(POPULATE, id, new_key(), rate);
        if (status == OK)
            free_ids.pop_back();
        else if (status != ENOSPC_)
            wrong++;
        return status == OK;
    }

    void remove(Rate *rate) {
        uint32_t id = present[random() % present.size()];
        if (operate(DELETE, id, Key{}, rate) != OK)
            wrong++;
        else
            free_ids.push_back(id);
    }

    void update(Rate *rate) {
        uint32_t id = present[random() % present.size()];
        if (operate(UPDATE, id, keys[id], rate) != OK)
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

    uint32_t entries;
    int key_bits;
    uint64_t cycle = 0, offered = 0, answered = 0, hits = 0, false_misses = 0, wrong = 0, latency = 0, busy_lookups = 0;
    uint64_t moving_lookups = 0, window = 0;
    std::vector<uint32_t> present;

  private:
    struct Expected {
        uint64_t cycle;
        int64_t id;
    };

    void commit() {
        committed = true;
        if (pending_kind == POPULATE) {
            keys[pending_id] = pending_key;
            rules[pending_key] = pending_id;
            present_at[pending_id] = static_cast<int64_t>(present.size());
            present.push_back(pending_id);
        } else if (pending_kind == DELETE) {
            rules.erase(keys[pending_id]);
            auto at = static_cast<size_t>(present_at[pending_id]);
            present[at] = present.back();
            present_at[present[at]] = present_at[pending_id];
            present.pop_back();
        } else if (pending_kind != UPDATE) {
            wrong++;
        }
    }

    Key choose() {
        if (forced)
            return *forced;
        uint64_t dice = random() % 100;
        if (dice < 50 && pending_kind == POPULATE) {
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
        top.clk_i = 0;
        top.eval();
        if (top.op_commit_o)
            commit();
        if (top.result_valid_o)
            judge();
        if (looking) {
            auto rule = rules.find(key);
            expected.push_back({cycle, rule == rules.end() ? -1 : static_cast<int64_t>(rule->second)});
            offered++;
            if (pending_kind)
                busy_lookups++;
        }
        top.clk_i = 1;
        top.eval();
        cycle++;
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
            latency = cycle - want.cycle;
        if (cycle - want.cycle != latency)
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

    Vsl_hash_table top;
    std::mt19937_64 random;
    bool looking = false, committed = false;
    uint32_t pending_kind = 0, pending_id = 0;
    Key pending_key{};
    const Key *forced = nullptr;
    std::vector<Key> keys;
    std::vector<int64_t> present_at;
    std::vector<uint32_t> free_ids;
    std::unordered_map<Key, uint32_t, KeyHash> rules;
    std::deque<Expected> expected;
};

void print(const char *name, const Rate &rate) {
    std::printf("\"%s_cycles\": {\"average\": %.3f, \"max\": %llu, \"count\": %llu}, ", name,
                rate.count ? static_cast<double>(rate.cycles) / static_cast<double>(rate.count) : 0.0,
                static_cast<unsigned long long>(rate.most), static_cast<unsigned long long>(rate.count));
}

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

    std::printf("{\"searches_per_cycle\": %.6f, \"entries\": %zu, \"slots\": %u, \"fill\": %.4f, ",
                static_cast<double>(bench.answered) / static_cast<double>(bench.window), filled, entries,
                static_cast<double>(filled) / entries);
    std::printf("\"false_misses_during_moves\": %llu, \"wrong_results\": %llu, \"latency_cycles\": %llu, ",
                static_cast<unsigned long long>(bench.false_misses), static_cast<unsigned long long>(bench.wrong),
                static_cast<unsigned long long>(bench.latency));
    std::printf("\"searches\": %llu, \"hits\": %llu, \"searches_during_operations\": %llu, "
                "\"searches_of_the_key_in_motion\": %llu, \"refused\": %u, \"fill_at_first_refusal\": %.4f, ",
                static_cast<unsigned long long>(bench.answered), static_cast<unsigned long long>(bench.hits),
                static_cast<unsigned long long>(bench.busy_lookups),
                static_cast<unsigned long long>(bench.moving_lookups), refused, static_cast<double>(limit) / entries);
    print("populate", populate);
    print("populate_at_fill", churn);
    print("delete", remove);
    print("update", update);
    std::printf("\"cycles\": %llu}\n", static_cast<unsigned long long>(bench.cycle));
    return bench.wrong || bench.false_misses ? 1 : 0;
}
