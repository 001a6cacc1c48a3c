// SPDX-License-Identifier: Apache-2.0
// Strings and lists of JSON.
#ifndef SLUICE_CPU_WORDS_H
#define SLUICE_CPU_WORDS_H

#include <string>
#include <vector>

namespace sluice {

inline std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (c >= 0 && c < ' ')
            out += ' ';
        else
            out += c;
    }
    return out + '"';
}

inline std::string list(const std::vector<std::string> &items, bool quote) {
    std::string out = "[";
    for (const std::string &item : items)
        out += (out.size() > 1 ? ", " : "") + (quote ? quoted(item) : item);
    return out + ']';
}

} // namespace sluice

#endif
