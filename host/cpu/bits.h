// SPDX-License-Identifier: Apache-2.0
// Integers of any width, as the element language defines them: results wrap, nothing is undefined
// (compiler/frontend/typed.py).
//
// Uint<N> and Int<N> hold N bits. Up to 64 bits they are one native word, so that the C++ compiler's own arithmetic
// does the work; above, 64-bit words, lowest first. Conversions between widths are explicit: truncation, or extension
// by the sign of the source. Bits behind N are 0 at all times.
#ifndef SLUICE_CPU_BITS_H
#define SLUICE_CPU_BITS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace sluice {

constexpr uint64_t low_ones(unsigned bits) {
    return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// `bits` (1 to 64) bits of `words` from bit `low` on.
inline uint64_t get_word(const uint64_t *words, size_t low, unsigned bits) {
    const size_t word = low / 64;
    const unsigned shift = low % 64;
    uint64_t value = words[word] >> shift;
    if (shift + bits > 64)
        value |= words[word + 1] << (64 - shift);
    return value & low_ones(bits);
}

inline void put_word(uint64_t *words, size_t low, unsigned bits, uint64_t value) {
    const size_t word = low / 64;
    const unsigned shift = low % 64;
    words[word] = (words[word] & ~(low_ones(bits) << shift)) | value << shift;
    if (shift + bits > 64)
        words[word + 1] = (words[word + 1] & ~(low_ones(bits) >> (64 - shift))) | value >> (64 - shift);
}

template <unsigned N, bool Signed, bool Native = N <= 64> class Integer;
template <unsigned N> using Uint = Integer<N, false>;
template <unsigned N> using Int = Integer<N, true>;
using Bool = Uint<1>;

template <unsigned N, bool Signed> class Integer<N, Signed, true> {
  public:
    static constexpr unsigned width = N;
    using Word =
        std::conditional_t<N <= 8, uint8_t,
                           std::conditional_t<N <= 16, uint16_t, std::conditional_t<N <= 32, uint32_t, uint64_t>>>;
    using Number = std::conditional_t<Signed, std::make_signed_t<Word>, Word>;

    constexpr Integer() = default;
    constexpr explicit Integer(uint64_t bits) : word_(Word(bits & low_ones(N))) {}
    template <unsigned M, bool S, bool W>
    constexpr explicit Integer(const Integer<M, S, W> &from) : Integer(from.extended(0)) {}

    // The value, negative where it is.
    constexpr Number number() const {
        if constexpr (Signed)
            return Number(int64_t(uint64_t{word_} << (64 - N)) >> (64 - N));
        else
            return word_;
    }
    constexpr explicit operator bool() const {
        return word_ != 0;
    }
    // Word `index` of the value extended without end; the unsigned value, or the largest 64-bit number where it is
    // larger.
    constexpr uint64_t extended(size_t index) const {
        return index == 0 ? uint64_t(number()) : Signed && number() < 0 ? ~uint64_t{0} : 0;
    }
    constexpr uint64_t saturated() const {
        return word_;
    }
    void store(uint64_t *words, size_t low) const {
        put_word(words, low, N, word_);
    }
    [[gnu::always_inline]] void load(const uint64_t *words, size_t low) {
        if (is_whole(low))
            word_ = *reinterpret_cast<const Anywhere *>(reinterpret_cast<const uint8_t *>(words) + low / 8);
        else
            word_ = Word(get_word(words, low, N));
    }

    friend constexpr Integer operator+(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} + b.word_);
    }
    friend constexpr Integer operator-(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} - b.word_);
    }
    friend constexpr Integer operator*(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} * b.word_);
    }
    friend constexpr Integer operator/(Integer a, Integer b) {
        if (b.word_ == 0)
            return Integer(~uint64_t{0});
        if (Signed && b.number() == Number(-1))
            return -a;
        return Integer(uint64_t(a.number() / b.number()));
    }
    friend constexpr Integer operator%(Integer a, Integer b) {
        if (b.word_ == 0)
            return a;
        if (Signed && b.number() == Number(-1))
            return Integer();
        return Integer(uint64_t(a.number() % b.number()));
    }
    friend constexpr Integer operator&(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} & b.word_);
    }
    friend constexpr Integer operator|(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} | b.word_);
    }
    friend constexpr Integer operator^(Integer a, Integer b) {
        return Integer(uint64_t{a.word_} ^ b.word_);
    }
    template <unsigned M, bool W> friend constexpr Integer operator<<(Integer a, const Integer<M, false, W> &by) {
        return by.saturated() < N ? Integer(uint64_t{a.word_} << by.saturated()) : Integer();
    }
    template <unsigned M, bool W> friend constexpr Integer operator>>(Integer a, const Integer<M, false, W> &by) {
        if (by.saturated() < N)
            return Integer(uint64_t(a.number() >> by.saturated()));
        return Integer(Signed && a.number() < 0 ? ~uint64_t{0} : 0);
    }
    constexpr Integer operator-() const {
        return Integer(uint64_t{0} - word_);
    }
    constexpr Integer operator~() const {
        return Integer(~uint64_t{word_});
    }
    friend constexpr bool operator==(Integer a, Integer b) {
        return a.word_ == b.word_;
    }
    friend constexpr auto operator<=>(Integer a, Integer b) {
        return a.number() <=> b.number();
    }

  private:
    using Anywhere [[gnu::may_alias, gnu::aligned(1)]] = Word;
    // Whether it is a number of 1, 2, 4 or 8 bytes at a place that the compiler knows, as fields of headers are: one
    // load. Stores stay in their word: narrow ones were slower (docs/design/cpu.md).
    [[gnu::always_inline]] static bool is_whole(size_t low) {
        return N == 8 * sizeof(Word) && std::endian::native == std::endian::little &&
               __builtin_constant_p(low % 8 == 0) && low % 8 == 0;
    }

    Word word_ = 0;
};

template <unsigned N, bool Signed> class Integer<N, Signed, false> {
  public:
    static constexpr unsigned width = N;
    static constexpr size_t count = (N + 63) / 64;

    constexpr Integer() = default;
    constexpr explicit Integer(uint64_t bits) : words_{bits} {}
    constexpr Integer(std::initializer_list<uint64_t> words) {
        std::copy(words.begin(), words.end(), words_.begin());
        trim();
    }
    template <unsigned M, bool S, bool W> constexpr explicit Integer(const Integer<M, S, W> &from) {
        for (size_t i = 0; i < count; i++)
            words_[i] = from.extended(i);
        trim();
    }

    constexpr bool is_negative() const {
        return Signed && (words_[count - 1] >> ((N - 1) % 64) & 1);
    }
    constexpr explicit operator bool() const {
        return *this != Integer();
    }
    constexpr uint64_t extended(size_t index) const {
        const uint64_t sign = is_negative() ? ~uint64_t{0} : 0;
        if (index >= count)
            return sign;
        return words_[index] | (index == count - 1 && N % 64 ? sign << (N % 64) : 0);
    }
    constexpr uint64_t saturated() const {
        const bool fits = std::all_of(words_.begin() + 1, words_.end(), [](uint64_t word) { return word == 0; });
        return fits ? words_[0] : ~uint64_t{0};
    }
    // Its words as they are, lowest first.
    const uint64_t *words() const {
        return words_.data();
    }
    uint64_t *words() {
        return words_.data();
    }
    void store(uint64_t *words, size_t low) const {
        for (size_t i = 0; i < count; i++)
            put_word(words, low + 64 * i, piece(i), words_[i]);
    }
    void load(const uint64_t *words, size_t low) {
        for (size_t i = 0; i < count; i++)
            words_[i] = get_word(words, low + 64 * i, piece(i));
    }

    friend constexpr Integer operator+(Integer a, const Integer &b) {
        uint64_t carry = 0;
        for (size_t i = 0; i < count; i++) {
            const unsigned __int128 sum = (unsigned __int128)a.words_[i] + b.words_[i] + carry;
            a.words_[i] = uint64_t(sum);
            carry = uint64_t(sum >> 64);
        }
        return a.trim();
    }
    friend constexpr Integer operator-(const Integer &a, const Integer &b) {
        return a + ~b + Integer(1);
    }
    friend constexpr Integer operator*(const Integer &a, const Integer &b) {
        Integer product;
        for (size_t i = 0; i < count; i++) {
            uint64_t carry = 0;
            for (size_t j = 0; i + j < count; j++) {
                const unsigned __int128 sum =
                    (unsigned __int128)a.words_[i] * b.words_[j] + product.words_[i + j] + carry;
                product.words_[i + j] = uint64_t(sum);
                carry = uint64_t(sum >> 64);
            }
        }
        return product.trim();
    }
    friend constexpr Integer operator/(const Integer &a, const Integer &b) {
        if (!b)
            return ~Integer();
        const Integer quotient = divided(a.magnitude(), b.magnitude()).quotient;
        return a.is_negative() != b.is_negative() ? -quotient : quotient;
    }
    friend constexpr Integer operator%(const Integer &a, const Integer &b) {
        if (!b)
            return a;
        const Integer remainder = divided(a.magnitude(), b.magnitude()).remainder;
        return a.is_negative() ? -remainder : remainder;
    }
    friend constexpr Integer operator&(Integer a, const Integer &b) {
        for (size_t i = 0; i < count; i++)
            a.words_[i] &= b.words_[i];
        return a;
    }
    friend constexpr Integer operator|(Integer a, const Integer &b) {
        for (size_t i = 0; i < count; i++)
            a.words_[i] |= b.words_[i];
        return a;
    }
    friend constexpr Integer operator^(Integer a, const Integer &b) {
        for (size_t i = 0; i < count; i++)
            a.words_[i] ^= b.words_[i];
        return a;
    }
    template <unsigned M, bool W>
    [[gnu::always_inline]] friend constexpr Integer operator<<(const Integer &a, const Integer<M, false, W> &by) {
        const uint64_t bits = by.saturated();
        return __builtin_constant_p(bits) ? a.shifted_left_here(bits) : a.shifted_left(bits);
    }
    template <unsigned M, bool W>
    [[gnu::always_inline]] friend constexpr Integer operator>>(const Integer &a, const Integer<M, false, W> &by) {
        const uint64_t bits = by.saturated();
        return __builtin_constant_p(bits) ? a.shifted_right_here(bits) : a.shifted_right(bits);
    }
    constexpr Integer operator-() const {
        return ~*this + Integer(1);
    }
    constexpr Integer operator~() const {
        Integer result;
        for (size_t i = 0; i < count; i++)
            result.words_[i] = ~words_[i];
        return result.trim();
    }
    friend constexpr bool operator==(const Integer &a, const Integer &b) {
        return a.words_ == b.words_;
    }
    friend constexpr std::strong_ordering operator<=>(const Integer &a, const Integer &b) {
        if (a.is_negative() != b.is_negative())
            return b.is_negative() <=> a.is_negative();
        return a.unsigned_order(b);
    }

  private:
    std::array<uint64_t, count> words_{};

    struct Division {
        Integer quotient, remainder;
    };

    static constexpr unsigned piece(size_t index) {
        return index == count - 1 && N % 64 ? N % 64 : 64;
    }
    constexpr Integer &trim() {
        words_[count - 1] &= low_ones(piece(count - 1));
        return *this;
    }
    constexpr std::strong_ordering unsigned_order(const Integer &b) const {
        for (size_t i = count; i-- > 0;)
            if (words_[i] != b.words_[i])
                return words_[i] <=> b.words_[i];
        return std::strong_ordering::equal;
    }
    constexpr Integer magnitude() const {
        return is_negative() ? -*this : *this;
    }
    constexpr Integer shifted_left(uint64_t by) const {
        return shifted_left_here(by);
    }
    constexpr Integer shifted_right(uint64_t by) const {
        return shifted_right_here(by);
    }
    // By a constant it is some moves.
    [[gnu::always_inline]] constexpr Integer shifted_left_here(uint64_t by) const {
        Integer result;
        for (size_t i = by < N ? by / 64 : count; i < count; i++) {
            result.words_[i] = words_[i - by / 64] << by % 64;
            if (by % 64 && i > by / 64)
                result.words_[i] |= words_[i - by / 64 - 1] >> (64 - by % 64);
        }
        return result.trim();
    }
    [[gnu::always_inline]] constexpr Integer shifted_right_here(uint64_t by) const {
        Integer result;
        const size_t skip = size_t(std::min<uint64_t>(by, N) / 64);
        const unsigned shift = unsigned(std::min<uint64_t>(by, N) % 64);
        for (size_t i = 0; i < count; i++) {
            result.words_[i] = extended(i + skip) >> shift;
            if (shift)
                result.words_[i] |= extended(i + skip + 1) << (64 - shift);
        }
        return result.trim();
    }
    // Bit by bit, of magnitudes.
    static constexpr Division divided(const Integer &a, const Integer &b) {
        Division result;
        for (unsigned i = N; i-- > 0;) {
            const bool lost = result.remainder.words_[count - 1] >> ((N - 1) % 64) & 1;
            result.remainder = result.remainder.shifted_left(1);
            result.remainder.words_[0] |= a.words_[i / 64] >> i % 64 & 1;
            if (lost || result.remainder.unsigned_order(b) >= 0) {
                result.remainder = result.remainder - b;
                result.quotient.words_[i / 64] |= uint64_t{1} << i % 64;
            }
        }
        return result;
    }
};

} // namespace sluice

#endif
