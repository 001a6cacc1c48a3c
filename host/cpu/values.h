// SPDX-License-Identifier: Apache-2.0
// Arrays, and parts of values: every type of the element language is `width` bits that can be stored to words and
// loaded again, integers (bits.h), arrays (here) and structs (generated, first field in the highest bits). Outside an
// array: reads 0, writes nothing.
#ifndef SLUICE_CPU_VALUES_H
#define SLUICE_CPU_VALUES_H

#include <bit>
#include <cstring>

#include "bits.h"

namespace sluice {

// With one to spare, so that whatever is read or written at the last bit is inside.
template <class T> using Words = std::array<uint64_t, (T::width + 63) / 64 + 1>;

// Element 0 in the lowest bits.
template <class T, size_t Count> struct Array {
    static constexpr unsigned width = unsigned(T::width * Count);
    std::array<T, Count> items{};

    // What is large is not copied: it may be an array itself, of which an element is asked for.
    using Got = std::conditional_t<sizeof(T) <= 16, T, const T &>;
    template <unsigned M, bool W> Got get(const Integer<M, false, W> &index) const {
        static constexpr T none{};
        return index.saturated() < Count ? items[index.saturated()] : none;
    }
    // For writing.
    template <unsigned M, bool W> T &at(const Integer<M, false, W> &index) {
        static T nowhere;
        return index.saturated() < Count ? items[index.saturated()] : (nowhere = T{});
    }
    void store(uint64_t *words, size_t low) const {
        for (size_t i = 0; i < Count; i++)
            items[i].store(words, low + i * T::width);
    }
    void load(const uint64_t *words, size_t low) {
        for (size_t i = 0; i < Count; i++)
            items[i].load(words, low + i * T::width);
    }
    friend bool operator==(const Array &, const Array &) = default;
};

template <class T> Words<T> to_words(const T &value) {
    Words<T> words{};
    value.store(words.data(), 0);
    return words;
}

template <class T> T from_words(const Words<T> &words) {
    T value;
    value.load(words.data(), 0);
    return value;
}

// The same bits as another type of the same width.
template <class To, class From> To same_bits(const From &from) {
    static_assert(To::width == From::width);
    return from_words<To>(to_words(from));
}

// The bytes in the other order: a header, or a field of one, seen in packet bytes.
template <unsigned N, bool Signed> Integer<N, Signed, true> swapped(const Integer<N, Signed, true> &value) {
    static_assert(N % 8 == 0);
    if constexpr (N == 16) // of these the compiler knows how to compare them with constants
        return Integer<N, Signed, true>(__builtin_bswap16(uint16_t(value.saturated())));
    else if constexpr (N == 32)
        return Integer<N, Signed, true>(__builtin_bswap32(uint32_t(value.saturated())));
    else
        return Integer<N, Signed, true>(__builtin_bswap64(value.saturated()) >> (64 - N));
}

template <class T> T swapped(const T &value) {
    static_assert(T::width % 8 == 0 && std::endian::native == std::endian::little);
    Words<T> words = to_words(value);
    auto *bytes = reinterpret_cast<unsigned char *>(words.data());
    std::reverse(bytes, bytes + T::width / 8);
    return from_words<T>(words);
}

// Bits `low` on, as a T; `put` replaces them.
template <class T, class From> T part(const From &from, size_t low) {
    T value;
    if constexpr (requires { from.words(); }) {
        value.load(from.words(), low);
    } else {
        const auto words = to_words(from);
        value.load(words.data(), low);
    }
    return value;
}

template <class Into, class T> void put(Into &into, size_t low, const T &value) {
    if constexpr (requires { into.words(); }) {
        value.store(into.words(), low);
    } else {
        auto words = to_words(into);
        value.store(words.data(), low);
        into = from_words<Into>(words);
    }
}

// The value of what may be a view of one (host/cpu/packets/views.h).
template <class T>
requires(!requires { typename T::Whole; }) const T &whole(const T &value) {
    return value;
}
template <class View>
requires requires {
    typename View::Whole;
}
typename View::Whole whole(const View &view) {
    return view;
}

// Element `index` of `Count` that begin at bit 0.
template <class T, size_t Count, class From, class Index> T entry(const From &from, const Index &index) {
    return index.saturated() < Count ? part<T>(from, size_t(index.saturated()) * T::width) : T{};
}

template <size_t Count, class Into, class Index, class T>
void put_entry(Into &into, const Index &index, const T &value) {
    if (index.saturated() < Count)
        put(into, size_t(index.saturated()) * T::width, value);
}

// Lower-case hex digits without leading zeros.
inline std::string hex(const uint64_t *words, size_t count) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 16 * count; i-- > 0;) {
        const unsigned digit = words[i / 16] >> 4 * (i % 16) & 15;
        if (digit || !text.empty() || i == 0)
            text += digits[digit];
    }
    return text;
}

template <class T> std::string hex(const T &value) {
    const auto words = to_words(value);
    return hex(words.data(), words.size());
}

// A decimal number by the sign of its type.
template <unsigned N, bool Signed, bool Native> std::string decimal(Integer<N, Signed, Native> value) {
    if constexpr (Native) {
        return std::to_string(value.number());
    } else {
        const bool is_negative = value.is_negative();
        Integer<N, false> rest(is_negative ? -value : value);
        const Integer<N, false> ten(10);
        std::string text;
        do
            text += char('0' + (rest % ten).saturated());
        while ((rest = rest / ten));
        if (is_negative)
            text += '-';
        std::reverse(text.begin(), text.end());
        return text;
    }
}

} // namespace sluice

#endif
