// SPDX-License-Identifier: Apache-2.0
// Rules under masks for tables that have few: a row for each byte of a key and each value of it has a bit for each rule
// that accepts it, so the rules of a key are the AND of a row for each byte (Lakshman and Stiliadis, SIGCOMM 1998). A
// change writes up to 256 rows a byte, a few microseconds in all.
#ifndef SLUICE_CPU_BIT_VECTORS_H
#define SLUICE_CPU_BIT_VECTORS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "large_pages.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace sluice {

// Of keys of so many bytes, the first in the lowest bits of a word.
template <size_t Bytes> class BitVectors {
  public:
    using Key = std::array<uint64_t, (Bytes + 7) / 8>;
    // Rules at most: all rows stay in the second cache.
    static constexpr size_t MOST = std::min<size_t>(1024, (size_t{1} << 19) / (Bytes * 32) / 64 * 64);

    // A rule under a number below MOST that no other has; `rank`: of those that have a key, the highest wins.
    void add(size_t number, const Key &key, const Key &mask, uint64_t rank) {
        grow(number / 64 + 1);
        ranks_[number] = rank;
        each_row(key, mask,
                 [this, number](size_t row) { rows_[row * words_ + number / 64] |= uint64_t{1} << number % 64; });
    }
    void remove(size_t number, const Key &key, const Key &mask) {
        ranks_[number] = 0;
        each_row(key, mask,
                 [this, number](size_t row) { rows_[row * words_ + number / 64] &= ~(uint64_t{1} << number % 64); });
    }
    // The number of the best rule that has the key, or -1.
    int find(const Key &key) const {
        switch (words_) {
        case 0:
            return -1;
        case 1:
            return find_in<1>(key);
        case 2:
            return find_in<2>(key);
        case 4:
            return find_in<4>(key);
        case 8:
            return find_in<8>(key);
        default:
            return find_in<16>(key);
        }
    }

  private:
    static constexpr size_t VALUES = 256;
    static_assert(MOST >= 64 && MOST <= 1024);

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
    template <size_t Words> int find_in(const Key &key) const {
        constexpr size_t WIDTH = std::min<size_t>(Words, 8), PARTS = Words / WIDTH;
        using Part [[gnu::vector_size(8 * WIDTH), gnu::aligned(8), gnu::may_alias]] = uint64_t;
        alignas(64) std::array<uint64_t, Words> left;
        Part hits[PARTS];
        for (size_t i = 0; i < Bytes; i++) {
            const Part *row = reinterpret_cast<const Part *>(rows_.data() + row_of(i, byte(key, i)) * Words);
            for (size_t part = 0; part < PARTS; part++)
                hits[part] = i == 0 ? row[part] : hits[part] & row[part];
        }
        std::memcpy(left.data(), &hits, sizeof hits);
        int found = -1;
        uint64_t rank = 0;
        for (unsigned words = not_zero(left); words; words &= words - 1) {
            const unsigned word = unsigned(std::countr_zero(words));
            for (uint64_t bits = left[word]; bits; bits &= bits - 1) {
                const unsigned number = word * 64 + unsigned(std::countr_zero(bits));
                if (found < 0 || ranks_[number] > rank) {
                    found = int(number);
                    rank = ranks_[number];
                }
            }
        }
        return found;
    }
    // Bit i: word i is not 0.
    template <size_t Words> static unsigned not_zero(const std::array<uint64_t, Words> &words) {
        unsigned found = 0;
#if defined(__AVX512F__)
        if constexpr (Words >= 8) {
            for (unsigned i = 0; i < Words; i += 8) {
                const __m512i some = _mm512_load_si512(&words[i]);
                found |= unsigned{_mm512_test_epi64_mask(some, some)} << i;
            }
            return found;
        }
#elif defined(__AVX2__)
        if constexpr (Words >= 4) {
            for (unsigned i = 0; i < Words; i += 4) {
                const __m256i some = _mm256_load_si256(reinterpret_cast<const __m256i *>(&words[i]));
                const __m256i is_zero = _mm256_cmpeq_epi64(some, _mm256_setzero_si256());
                found |= unsigned(~_mm256_movemask_pd(_mm256_castsi256_pd(is_zero)) & 15) << i;
            }
            return found;
        }
#endif
        for (unsigned i = 0; i < Words; i++)
            found |= unsigned{words[i] != 0} << i;
        return found;
    }
    // Room for so many words a row.
    void grow(size_t words) {
        if (words <= words_)
            return;
        const size_t wider = std::bit_ceil(words);
        std::vector<uint64_t, LargePages<uint64_t>> rows(Bytes * VALUES * wider);
        for (size_t row = 0; row < Bytes * VALUES; row++)
            std::copy_n(rows_.begin() + ptrdiff_t(row * words_), words_, rows.begin() + ptrdiff_t(row * wider));
        rows_ = std::move(rows);
        words_ = wider;
    }

    size_t words_ = 0; // a row
    std::vector<uint64_t, LargePages<uint64_t>> rows_;
    std::array<uint64_t, MOST> ranks_{};
};

} // namespace sluice

#endif
