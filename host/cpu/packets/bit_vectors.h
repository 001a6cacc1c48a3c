// SPDX-License-Identifier: Apache-2.0
// Rules under masks for tables that have few: a row for each byte of a key and each value of it has a bit for each rule
// that accepts it, so the rules of a key are the AND of a row for each byte (Lakshman and Stiliadis, SIGCOMM 1998). A
// row also has a bit for each of its words that is not 0, and only words that are left by those are looked at
// (Baboescu and Varghese, SIGCOMM 2001). A change writes up to 256 rows a byte, a few microseconds in all.
#ifndef SLUICE_CPU_BIT_VECTORS_H
#define SLUICE_CPU_BIT_VECTORS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

// Of keys of so many bytes, the first in the lowest bits of a word.
template <size_t Bytes> class BitVectors {
  public:
    using Key = std::array<uint64_t, (Bytes + 7) / 8>;
    // Rules at most. With more of a 5-tuple host/ternary is as fast; rows of wider keys stay in the second cache.
    static constexpr size_t MOST = std::min<size_t>(512, (size_t{1} << 19) / (Bytes * 32) / 64 * 64);

    // A rule under a number below MOST that no other has; `rank`: of those that have a key, the highest wins.
    void add(size_t number, const Key &key, const Key &mask, uint64_t rank) {
        grow(number / 64 + 1);
        ranks_[number] = rank;
        best_[number / 64] = std::max(best_[number / 64], rank);
        each_row(key, mask, [this, number](size_t row) {
            rows_[row * words_ + number / 64] |= uint64_t{1} << number % 64;
            left_[row] |= uint8_t(1U << number / 64);
        });
    }
    void remove(size_t number, const Key &key, const Key &mask) {
        ranks_[number] = 0;
        const uint64_t *begin = &ranks_[number / 64 * 64];
        best_[number / 64] = *std::max_element(begin, begin + 64);
        each_row(key, mask, [this, number](size_t row) {
            uint64_t &word = rows_[row * words_ + number / 64];
            word &= ~(uint64_t{1} << number % 64);
            left_[row] &= uint8_t(~(unsigned{word == 0} << number / 64));
        });
    }
    // The number of the best rule that has the key, or -1.
    int find(const Key &key) const {
        if (words_ == 0)
            return -1;
        const uint64_t *rows[Bytes];
        unsigned left = (1U << words_) - 1;
        for (size_t i = 0; i < Bytes; i++) {
            const size_t row = row_of(i, byte(key, i));
            rows[i] = rows_.data() + row * words_;
            left &= left_[row];
        }
        int found = -1;
        uint64_t rank = 0;
        for (; left; left &= left - 1) {
            const unsigned word = unsigned(std::countr_zero(left));
            if (best_[word] < rank)
                continue;
            uint64_t hits = rows[0][word];
            for (size_t i = 1; i < Bytes; i++)
                hits &= rows[i][word];
            for (; hits; hits &= hits - 1) {
                const unsigned number = word * 64 + unsigned(std::countr_zero(hits));
                if (found < 0 || ranks_[number] > rank) {
                    found = int(number);
                    rank = ranks_[number];
                }
            }
        }
        return found;
    }

  private:
    static constexpr size_t VALUES = 256, MOST_WORDS = MOST / 64;
    static_assert(MOST_WORDS >= 1 && MOST_WORDS <= 8);

    static unsigned byte(const Key &key, size_t i) {
        return unsigned(key[i / 8] >> i % 8 * 8 & 255);
    }
    static size_t row_of(size_t i, unsigned value) {
        return i * VALUES + value;
    }
    template <class Visit> static void each_row(const Key &key, const Key &mask, Visit visit) {
        for (size_t i = 0; i < Bytes; i++)
            for (unsigned value = 0; value < VALUES; value++)
                if (((value ^ byte(key, i)) & byte(mask, i)) == 0)
                    visit(row_of(i, value));
    }
    // Room for so many words a row.
    void grow(size_t words) {
        if (words <= words_)
            return;
        const size_t wider = std::max(words, 2 * words_);
        std::vector<uint64_t> rows(Bytes * VALUES * wider);
        for (size_t row = 0; row < Bytes * VALUES; row++)
            std::copy_n(rows_.begin() + ptrdiff_t(row * words_), words_, rows.begin() + ptrdiff_t(row * wider));
        rows_ = std::move(rows);
        left_.resize(Bytes * VALUES);
        words_ = wider;
    }

    size_t words_ = 0; // a row
    std::vector<uint64_t> rows_;
    std::vector<uint8_t> left_; // of each row, its words that are not 0
    std::array<uint64_t, MOST> ranks_{};
    std::array<uint64_t, MOST_WORDS> best_{}; // of the rules of a word
};

} // namespace sluice

#endif
