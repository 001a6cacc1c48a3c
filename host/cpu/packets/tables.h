// SPDX-License-Identifier: Apache-2.0
// The rule tables of an element in the packet engine. What makes two rules the same, and the errno of an update, are
// those of compiler/frontend/tables.py; a rule that is the same as one that is there replaces it.
//
// Keys of packets whose turn comes soon are asked for together, so that their cache misses overlap: `soon` of each,
// then `resolve` of all; `found_soon` gives the answers, as long as no rule changes.
#ifndef SLUICE_CPU_PACKETS_TABLES_H
#define SLUICE_CPU_PACKETS_TABLES_H

#include <cerrno>
#include <functional>
#include <map>
#include <stdexcept>

extern "C" {
#include "ternary.h"
}

#include "bit_vectors.h"
#include "flat_map.h"
#include "prefixes.h"

namespace sluice {

template <class Key, class Value> struct KeySoon {
    KeyWords<Key> key;
    const Value *value; // of the rule, or none
};

// The answer to a key that was asked for before. Tests (SLUICE_CHOICES) see to it that it still is the key.
template <class Soon, class MakeKey, class Value>
bool found_soon(const Soon &soon, [[maybe_unused]] MakeKey key, Value &value) {
#ifdef SLUICE_CHOICES
    if (soon.key != key_words(key()))
        throw std::logic_error("a key that was asked for ahead is another one in its turn");
#endif
    value = soon.value ? *soon.value : Value{};
    return soon.value != nullptr;
}

template <class Key, class Value> class ExactTable {
  public:
    explicit ExactTable(size_t entries) : entries_(entries) {}

    // Whether there is a rule for the key; its value, else 0, goes to `value`.
    bool find(const Key &key, Value &value) const {
        const Value *found = rules_.find(key_words(key));
        value = found ? *found : Value{};
        return found != nullptr;
    }
    struct Soon : KeySoon<Key, Value> {
        size_t home;
    };
    void soon(const Key &key, Soon &soon) const {
        soon.key = key_words(key);
        soon.home = rules_.prefetch(soon.key);
    }
    void resolve(Soon *soon, size_t count) const {
        for (size_t i = 0; i < count; i++)
            soon[i].value = rules_.find(soon[i].key, soon[i].home);
    }
    int insert(const Key &key, const Value &value) {
        const auto words = key_words(key);
        if (rules_.size() >= entries_ && !rules_.find(words))
            return ENOSPC;
        rules_.set(words, value);
        return 0;
    }
    int remove(const Key &key) {
        return rules_.erase(key_words(key)) ? 0 : ENOENT;
    }

  private:
    size_t entries_;
    FlatMap<std::tuple_size_v<KeyWords<Key>>, Value> rules_;
};

// Of the prefixes that match, the longest wins. Keys of 32 bits are looked up directly, others by one hash table for
// each length that occurs.
template <class Key, class Value> class LpmTable {
  public:
    explicit LpmTable(size_t entries) : entries_(entries) {}

    bool find(const Key &key, Value &value) const {
        const Value *found = find(key_words(key));
        value = found ? *found : Value{};
        return found != nullptr;
    }
    using Soon = KeySoon<Key, Value>;
    void soon(const Key &key, Soon &soon) const {
        soon.key = key_words(key);
        if constexpr (IS_DIRECT)
            direct_.prefetch(uint32_t(soon.key[0]));
    }
    void resolve(Soon *soon, size_t count) const {
        for (size_t i = 0; i < count; i++)
            __builtin_prefetch(soon[i].value = find(soon[i].key));
    }
    template <class Length> int insert(const Key &key, const Length &length, const Value &value) {
        const uint64_t bits = length.saturated();
        if (bits > Key::width)
            return EINVAL;
        const KeyWords<Key> prefix = cut(key_words(key), bits);
        const auto same = rules_.find(bits);
        if (const uint32_t *at = same == rules_.end() ? nullptr : same->second.find(prefix)) {
            values_[*at] = value;
            return 0;
        }
        if (values_.size() - free_.size() >= entries_ || (IS_DIRECT && values_.size() >= Prefixes32::MOST))
            return ENOSPC;
        const uint32_t at = place(value);
        rules_[bits].set(prefix, at);
        if constexpr (IS_DIRECT)
            direct_.insert(uint32_t(prefix[0]), unsigned(bits), at);
        return 0;
    }
    template <class Length> int remove(const Key &key, const Length &length) {
        const uint64_t bits = length.saturated();
        if (bits > Key::width)
            return EINVAL;
        const KeyWords<Key> prefix = cut(key_words(key), bits);
        const auto same = rules_.find(bits);
        const uint32_t *at = same == rules_.end() ? nullptr : same->second.find(prefix);
        if (!at)
            return ENOENT;
        free_.push_back(*at);
        same->second.erase(prefix);
        if (same->second.size() == 0)
            rules_.erase(same);
        if constexpr (IS_DIRECT) {
            const auto [left, shorter] = longest(prefix, bits);
            direct_.remove(uint32_t(prefix[0]), unsigned(bits), left ? int64_t{*left} : -1, unsigned(shorter));
        }
        return 0;
    }

  private:
    static constexpr bool IS_DIRECT = Key::width == 32;
    using Numbers = FlatMap<std::tuple_size_v<KeyWords<Key>>, uint32_t>; // places of values

    const Value *find(const KeyWords<Key> &key) const {
        if constexpr (IS_DIRECT) {
            const int64_t at = direct_.find(uint32_t(key[0]));
            return at < 0 ? nullptr : &values_[size_t(at)];
        }
        const uint32_t *at = longest(key, Key::width + 1).first;
        return at ? &values_[*at] : nullptr;
    }
    // The first `length` bits of a key; the others 0.
    static KeyWords<Key> cut(KeyWords<Key> words, uint64_t length) {
        const uint64_t low = Key::width - length;
        for (size_t i = 0; i < words.size(); i++)
            if (64 * (i + 1) <= low)
                words[i] = 0;
            else if (64 * i < low)
                words[i] &= ~uint64_t{0} << (low - 64 * i);
        return words;
    }
    // The longest prefix shorter than `below` bits that covers a key, and its length.
    std::pair<const uint32_t *, uint64_t> longest(const KeyWords<Key> &key, uint64_t below) const {
        for (const auto &[length, rules] : rules_)
            if (length < below)
                if (const uint32_t *at = rules.find(cut(key, length)))
                    return {at, length};
        return {nullptr, 0};
    }
    uint32_t place(const Value &value) {
        if (free_.empty()) {
            values_.push_back(value);
            return uint32_t(values_.size() - 1);
        }
        const uint32_t at = free_.back();
        free_.pop_back();
        values_[at] = value;
        return at;
    }

    size_t entries_;
    std::map<uint64_t, Numbers, std::greater<uint64_t>> rules_; // by their length
    std::vector<Value> values_;
    std::vector<uint32_t> free_; // places
    Prefixes32 direct_;
};

// Of the rules that match, the one with the highest priority wins; each has its priority for itself. A few are bits
// (bit_vectors.h); from the first rule beyond those on, all are looked up as host/ternary does.
template <class Key, class Value> class TernaryTable {
  public:
    explicit TernaryTable(size_t entries) : entries_(entries) {}

    bool find(const Key &key, Value &value) const {
        Soon soon{key_words(key), nullptr};
        resolve(&soon, 1);
        value = soon.value ? *soon.value : Value{};
        return soon.value != nullptr;
    }
    using Soon = KeySoon<Key, Value>;
    void soon(const Key &key, Soon &soon) const {
        soon.key = key_words(key);
    }
    void resolve(Soon *soon, size_t count) const {
        if (index_)
            return resolve_indexed(soon, count);
        for (size_t i = 0; i < count; i++)
            if constexpr (IS_WIDE)
                soon[i].value = first(soon[i].key);
            else
                soon[i].value = value_of(few_.find(soon[i].key));
    }
    template <class Number> int insert(const Key &key, const Key &mask, const Number &priority, const Value &value) {
        const uint64_t number = priority.saturated();
        const auto same = rules_.find(number);
        if (same == rules_.end() && rules_.size() >= entries_)
            return ENOSPC;
        if (same != rules_.end()) {
            withdraw(same->second);
            rules_.erase(same);
        }
        if (!index_ && !IS_WIDE && rules_.size() >= Few::MOST)
            index_all();
        enter(number, rules_.emplace(number, Rule{key_words(key), key_words(mask), place(value)}).first->second);
        return 0;
    }
    template <class Number> int remove(const Number &priority) {
        const auto found = rules_.find(priority.saturated());
        if (found == rules_.end())
            return ENOENT;
        withdraw(found->second);
        rules_.erase(found);
        return 0;
    }

  private:
    static constexpr size_t AT_ONCE = 64, PIECES = (Key::width + 31) / 32;
    // Keys that host/ternary does not take: their rules are compared one by one.
    static constexpr bool IS_WIDE = PIECES > SLUICE_TERNARY_WORDS;
    using Few = BitVectors<IS_WIDE ? 1 : (Key::width + 7) / 8>;
    using Pieces = std::array<uint32_t, PIECES>;
    struct Rule {
        KeyWords<Key> key, mask;
        uint32_t id; // place of its value, and what the index calls it
    };
    struct Free {
        void operator()(sluice_ternary *table) const {
            sluice_ternary_free(table);
        }
    };

    // From the highest bits on, as the first fields of a key are those that distinguish most rules.
    static Pieces pieces(const KeyWords<Key> &words) {
        Words<Key> spare{};
        std::copy(words.begin(), words.end(), spare.begin());
        Pieces found{};
        for (size_t i = 0, high = Key::width; i < PIECES; i++, high -= std::min<size_t>(32, high)) {
            const unsigned size = unsigned(std::min<size_t>(32, high));
            found[i] = uint32_t(get_word(spare.data(), high - size, size)) << (32 - size);
        }
        return found;
    }
    const Value *value_of(int id) const {
        return id < 0 ? nullptr : &values_[size_t(id)];
    }
    const Value *first(const KeyWords<Key> &words) const {
        for (const auto &[priority, rule] : rules_) {
            uint64_t differing = 0;
            for (size_t i = 0; i < words.size(); i++)
                differing |= (words[i] ^ rule.key[i]) & rule.mask[i];
            if (differing == 0)
                return value_of(int(rule.id));
        }
        return nullptr;
    }
    void resolve_indexed(Soon *soon, size_t count) const {
        std::array<Pieces, AT_ONCE> keys;
        std::array<int32_t, AT_ONCE> ids;
        for (size_t begin = 0; begin < count; begin += AT_ONCE) {
            const size_t now = std::min(AT_ONCE, count - begin);
            for (size_t i = 0; i < now; i++)
                keys[i] = pieces(soon[begin + i].key);
            sluice_ternary_lookup(index_.get(), keys[0].data(), uint32_t(now), ids.data());
            for (size_t i = 0; i < now; i++) {
                soon[begin + i].value = value_of(ids[i]);
                __builtin_prefetch(soon[begin + i].value);
            }
        }
    }
    uint32_t place(const Value &value) {
        if (free_.empty()) {
            free_.push_back(uint32_t(values_.size()));
            values_.emplace_back();
        }
        const uint32_t id = free_.back();
        free_.pop_back();
        values_[id] = value;
        return id;
    }
    void index_all() {
        sluice_ternary *made = nullptr;
        const sluice_ternary_layout layout{PIECES, 0, {0, PIECES > 1 ? 1 : 0}, 0};
        if (sluice_ternary_new(&made, &layout, uint32_t(entries_)) != 0)
            throw std::bad_alloc();
        index_.reset(made);
        for (const auto &[priority, rule] : rules_)
            enter(priority, rule);
    }
    void enter(uint64_t priority, const Rule &rule) {
        if constexpr (IS_WIDE)
            return;
        else if (!index_)
            return few_.add(rule.id, rule.key, rule.mask, priority);
        const Pieces value = pieces(rule.key), mask = pieces(rule.mask);
        if (sluice_ternary_insert(index_.get(), rule.id, value.data(), mask.data(), uint32_t(priority)) != 0)
            throw std::logic_error("the index of ternary rules refuses a rule"); // it has a place for each
    }
    void withdraw(const Rule &rule) {
        if (index_)
            sluice_ternary_remove(index_.get(), rule.id);
        else if constexpr (!IS_WIDE)
            few_.remove(rule.id, rule.key, rule.mask);
        free_.push_back(rule.id);
    }

    size_t entries_;
    std::map<uint64_t, Rule, std::greater<uint64_t>> rules_; // by their priority
    Few few_;
    std::unique_ptr<sluice_ternary, Free> index_; // none while there are few
    std::vector<Value> values_;                   // by id: close together, as each packet reads one
    std::vector<uint32_t> free_;                  // ids
};

} // namespace sluice

#endif
