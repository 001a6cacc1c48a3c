// SPDX-License-Identifier: Apache-2.0
// A hash table of keys of a fixed number of words: open addressing with linear probing, at most half full, keyed by
// random numbers, so that nobody can choose keys that meet. A look-up touches one or two cache lines.
#ifndef SLUICE_CPU_FLAT_MAP_H
#define SLUICE_CPU_FLAT_MAP_H

#include <sys/random.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "large_pages.h"
#include "values.h"

namespace sluice {

// The words of a value, lowest first, without the spare one of `Words`.
template <class T> using KeyWords = std::array<uint64_t, (T::width + 63) / 64>;

template <class T> KeyWords<T> key_words(const T &value) {
    const Words<T> words = to_words(value);
    KeyWords<T> key;
    std::copy_n(words.begin(), key.size(), key.begin());
    return key;
}

template <size_t Count, class Value> class FlatMap {
  public:
    using Key = std::array<uint64_t, Count>;

    FlatMap() {
        for (uint64_t &word : secret_) {
            if (getentropy(&word, sizeof word) != 0)
                std::abort();
            word |= 1;
        }
    }
    size_t size() const {
        return size_;
    }
    // The value of a key, or none.
    const Value *find(const Key &key) const {
        return slots_.empty() ? nullptr : find(key, home(key));
    }
    // The same with what `prefetch` gave.
    const Value *find(const Key &key, size_t home) const {
        if (slots_.empty())
            return nullptr;
        for (size_t at = home; slots_[at].is_used; at = next(at))
            if (is_same(slots_[at].key, key))
                return &slots_[at].value;
        return nullptr;
    }
    // Brings what `find` reads into the cache.
    size_t prefetch(const Key &key) const {
        if (slots_.empty())
            return 0;
        const size_t at = home(key);
        __builtin_prefetch(&slots_[at]);
        return at;
    }
    // Sets it; whether it is new.
    bool set(const Key &key, const Value &value) {
        if (2 * (size_ + 1) > slots_.size())
            grow();
        size_t at = home(key);
        for (; slots_[at].is_used; at = next(at))
            if (is_same(slots_[at].key, key)) {
                slots_[at].value = value;
                return false;
            }
        slots_[at] = {key, value, true};
        size_++;
        return true;
    }
    // Whether it was there. Those behind move up, so that no gap is in front of where they belong.
    bool erase(const Key &key) {
        if (slots_.empty())
            return false;
        size_t gap = home(key);
        for (; slots_[gap].is_used && !is_same(slots_[gap].key, key); gap = next(gap)) {
        }
        if (!slots_[gap].is_used)
            return false;
        for (size_t at = next(gap); slots_[at].is_used; at = next(at)) {
            const size_t wanted = home(slots_[at].key), mask = slots_.size() - 1;
            if (((at - wanted) & mask) >= ((at - gap) & mask)) {
                slots_[gap] = slots_[at];
                gap = at;
            }
        }
        slots_[gap].is_used = false;
        size_--;
        return true;
    }

  private:
    struct Slot {
        Key key;
        Value value;
        bool is_used = false;
    };
    using Slots = std::vector<Slot, LargePages<Slot>>;

    // Without a call, as `==` of arrays may make one.
    static bool is_same(const Key &a, const Key &b) {
        uint64_t difference = 0;
        for (size_t i = 0; i < Count; i++)
            difference |= a[i] ^ b[i];
        return difference == 0;
    }
    size_t next(size_t at) const {
        return (at + 1) & (slots_.size() - 1);
    }
    size_t home(const Key &key) const {
        uint64_t hash = secret_[Count];
        for (size_t i = 0; i < Count; i++) {
            const unsigned __int128 product = (unsigned __int128)(key[i] ^ secret_[i]) * (hash | 1);
            hash = uint64_t(product) ^ uint64_t(product >> 64);
        }
        const unsigned __int128 last = (unsigned __int128)hash * secret_[Count];
        return size_t(uint64_t(last) ^ uint64_t(last >> 64)) & (slots_.size() - 1);
    }
    void grow() {
        Slots old = std::exchange(slots_, Slots(std::max<size_t>(16, 2 * slots_.size())));
        size_ = 0;
        for (const Slot &slot : old)
            if (slot.is_used)
                set(slot.key, slot.value);
    }

    Slots slots_; // a power of two
    size_t size_ = 0;
    std::array<uint64_t, Count + 1> secret_;
};

} // namespace sluice

#endif
