// SPDX-License-Identifier: Apache-2.0
// The rule tables of an element, as simple as can be: the oracle of those of the packet engine. What makes two rules
// the same, and the errno of an update, are those of compiler/frontend/tables.py; a rule that is the same as one that
// is there replaces it.
#ifndef SLUICE_CPU_EXACT_TABLES_H
#define SLUICE_CPU_EXACT_TABLES_H

#include <cerrno>
#include <functional>
#include <map>
#include <unordered_map>

#include "values.h"

namespace sluice {

template <size_t Count> struct WordsHash {
    size_t operator()(const std::array<uint64_t, Count> &words) const {
        uint64_t hash = 0;
        for (uint64_t word : words)
            hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 32);
        return hash ^ hash >> 29;
    }
};

// Rules by their key.
template <class Key, class Value>
using RuleMap = std::unordered_map<Words<Key>, Value, WordsHash<std::tuple_size_v<Words<Key>>>>;

template <class Key, class Value> class ExactTable {
  public:
    explicit ExactTable(size_t entries) : entries_(entries) {}

    // Whether there is a rule for the key; its value, else 0, goes to `value`.
    bool find(const Key &key, Value &value) const {
        const auto rule = rules_.find(to_words(key));
        value = rule == rules_.end() ? Value{} : rule->second;
        return rule != rules_.end();
    }
    int insert(const Key &key, const Value &value) {
        if (rules_.size() >= entries_ && !rules_.count(to_words(key)))
            return ENOSPC;
        rules_[to_words(key)] = value;
        return 0;
    }
    int remove(const Key &key) {
        return rules_.erase(to_words(key)) ? 0 : ENOENT;
    }

  private:
    size_t entries_;
    RuleMap<Key, Value> rules_;
};

// Of the prefixes that match, the longest wins.
template <class Key, class Value> class LpmTable {
  public:
    explicit LpmTable(size_t entries) : entries_(entries) {}

    bool find(const Key &key, Value &value) const {
        for (const auto &[length, rules] : rules_) {
            const auto rule = rules.find(cut(key, length));
            if (rule != rules.end()) {
                value = rule->second;
                return true;
            }
        }
        value = Value{};
        return false;
    }
    template <class Length> int insert(const Key &key, const Length &length, const Value &value) {
        const uint64_t bits = length.saturated();
        if (bits > Key::width)
            return EINVAL;
        const auto same = rules_.find(bits);
        const bool is_there = same != rules_.end() && same->second.count(cut(key, bits));
        if (!is_there && count_ >= entries_)
            return ENOSPC;
        count_ += !is_there;
        rules_[bits][cut(key, bits)] = value;
        return 0;
    }
    template <class Length> int remove(const Key &key, const Length &length) {
        const uint64_t bits = length.saturated();
        if (bits > Key::width)
            return EINVAL;
        const auto same = rules_.find(bits);
        if (same == rules_.end() || !same->second.erase(cut(key, bits)))
            return ENOENT;
        count_--;
        if (same->second.empty())
            rules_.erase(same);
        return 0;
    }

  private:
    // The first `length` bits of a key; the others 0.
    static Words<Key> cut(const Key &key, uint64_t length) {
        Words<Key> words = to_words(key);
        const uint64_t low = Key::width - length;
        for (size_t i = 0; i < words.size(); i++)
            if (64 * (i + 1) <= low)
                words[i] = 0;
            else if (64 * i < low)
                words[i] &= ~uint64_t{0} << (low - 64 * i);
        return words;
    }

    size_t entries_, count_ = 0;
    std::map<uint64_t, RuleMap<Key, Value>, std::greater<uint64_t>> rules_; // by their length
};

// Of the rules that match, the one with the highest priority wins; each has its priority for itself.
template <class Key, class Value> class TernaryTable {
  public:
    explicit TernaryTable(size_t entries) : entries_(entries) {}

    bool find(const Key &key, Value &value) const {
        const Words<Key> words = to_words(key);
        for (const auto &[priority, rule] : rules_)
            if (rule.matches(words)) {
                value = rule.value;
                return true;
            }
        value = Value{};
        return false;
    }
    template <class Number> int insert(const Key &key, const Key &mask, const Number &priority, const Value &value) {
        if (rules_.size() >= entries_ && !rules_.count(priority.saturated()))
            return ENOSPC;
        rules_[priority.saturated()] = {to_words(key), to_words(mask), value};
        return 0;
    }
    template <class Number> int remove(const Number &priority) {
        return rules_.erase(priority.saturated()) ? 0 : ENOENT;
    }

  private:
    struct Rule {
        Words<Key> key, mask;
        Value value;
        bool matches(const Words<Key> &words) const {
            for (size_t i = 0; i < words.size(); i++)
                if ((words[i] ^ key[i]) & mask[i])
                    return false;
            return true;
        }
    };
    size_t entries_;
    std::map<uint64_t, Rule, std::greater<uint64_t>> rules_; // by their priority
};

} // namespace sluice

#endif
