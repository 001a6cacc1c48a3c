// SPDX-License-Identifier: Apache-2.0
// Prefixes of 32 bits by direct look-up: an entry for each value of the upper 24 bits, and groups of 256 entries below
// those that have longer prefixes (DIR-24-8: Gupta, Lin, McKeown, Routing Lookups in Hardware at Memory Access Speeds,
// INFOCOM 1998). Pages that no prefix covers are never touched.
#ifndef SLUICE_CPU_PREFIXES_H
#define SLUICE_CPU_PREFIXES_H

#include <array>
#include <memory>
#include <vector>

#include "bits.h"
#include "large_pages.h"

namespace sluice {

class Prefixes32 {
  public:
    static constexpr uint32_t NONE = 0;
    static constexpr unsigned LENGTH_BITS = 6; // of an entry: length, above them what the user stored + 1

    // What was stored for the longest prefix of a key, or -1.
    int64_t find(uint32_t key) const {
        if (!top_)
            return -1;
        uint32_t entry = top_.get()[key >> 8];
        if (entry & GROUP)
            entry = groups_[entry & ~GROUP][key & 255];
        return int64_t(entry >> LENGTH_BITS) - 1;
    }
    // Brings what `find` reads first into the cache.
    void prefetch(uint32_t key) const {
        if (top_)
            __builtin_prefetch(top_.get() + (key >> 8));
    }
    // `stored` for the prefix; the bits of `key` behind it are 0. An equal prefix is replaced.
    void insert(uint32_t key, unsigned length, uint32_t stored) {
        if (!top_)
            top_.reset(Memory().allocate(TOP));
        write(key, length, (stored + 1) << LENGTH_BITS | length, false);
    }
    // What is left for its keys is the next shorter prefix that covers it: `stored`, of `shorter` bits, or none (-1).
    void remove(uint32_t key, unsigned length, int64_t stored, unsigned shorter) {
        if (!top_)
            return;
        write(key, length, stored < 0 ? NONE : uint32_t(stored + 1) << LENGTH_BITS | shorter, true);
        if (length > 24)
            merge(top_.get()[key >> 8]);
    }
    // Most that can be stored.
    static constexpr uint32_t MOST = (uint32_t{1} << (31 - LENGTH_BITS)) - 2;

  private:
    static constexpr uint32_t GROUP = uint32_t{1} << 31; // the entry is the number of a group
    static constexpr size_t TOP = size_t{1} << 24;
    using Memory = LargePages<uint32_t>;
    struct Free {
        void operator()(uint32_t *memory) const {
            Memory().deallocate(memory, TOP);
        }
    };

    // Entries of the range that belong to no longer prefix; of a removal, only those of the prefix itself.
    void write(uint32_t key, unsigned length, uint32_t value, bool removes) {
        const auto put = [length, value, removes](uint32_t &entry) {
            const unsigned has = entry == NONE ? 0 : entry & ((1U << LENGTH_BITS) - 1);
            if (removes ? entry != NONE && has == length : entry == NONE || has <= length)
                entry = value;
        };
        if (length > 24) {
            uint32_t &top = top_.get()[key >> 8];
            if (!(top & GROUP)) {
                if (free_.empty()) {
                    free_.push_back(uint32_t(groups_.size()));
                    groups_.emplace_back();
                }
                groups_[free_.back()].fill(top);
                top = GROUP | free_.back();
                free_.pop_back();
            }
            auto &group = groups_[top & ~GROUP];
            for (uint32_t i = 0; i < uint32_t{1} << (32 - length); i++)
                put(group[(key & 255) + i]);
            return;
        }
        for (size_t i = 0; i < size_t{1} << (24 - length); i++) {
            uint32_t &top = top_.get()[(key >> 8) + i];
            if (!(top & GROUP)) {
                put(top);
                continue;
            }
            for (uint32_t &entry : groups_[top & ~GROUP])
                put(entry);
        }
    }

    // Gives a group back that has no prefix longer than 24 bits any more: all of its entries are the same.
    void merge(uint32_t &top) {
        const auto &group = groups_[top & ~GROUP];
        for (const uint32_t entry : group)
            if (entry != NONE && (entry & ((1U << LENGTH_BITS) - 1)) > 24)
                return;
        free_.push_back(top & ~GROUP);
        top = group[0];
    }

    std::unique_ptr<uint32_t, Free> top_;
    std::vector<std::array<uint32_t, 256>> groups_;
    std::vector<uint32_t> free_; // of the groups
};

} // namespace sluice

#endif
