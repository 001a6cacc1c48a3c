// SPDX-License-Identifier: Apache-2.0
// Hex in, JSON out: what the mains share that know of elements.
#ifndef SLUICE_CPU_TEXT_H
#define SLUICE_CPU_TEXT_H

#include <sstream>

#include "element.h"
#include "words.h"

namespace sluice {

// Words of a hex number, lowest first; throws std::invalid_argument where it is none.
inline std::vector<uint64_t> words_of(const std::string &hex_text) {
    std::vector<uint64_t> words((hex_text.size() + 15) / 16, 0);
    for (size_t i = 0; i < hex_text.size(); i++)
        words[i / 16] |= uint64_t(std::stoul(hex_text.substr(hex_text.size() - 1 - i, 1), nullptr, 16)) << 4 * (i % 16);
    return words;
}

// A signal as NAME/HEX/HEX...; throws std::invalid_argument where an argument is no number.
inline SignalCall call_of(const std::string &text) {
    std::istringstream parts(text);
    std::string argument;
    SignalCall call;
    std::getline(parts, call.name, '/');
    while (std::getline(parts, argument, '/'))
        call.arguments.push_back(words_of(argument));
    return call;
}

// States, choices and everything that an element said, as the fields of a JSON object.
inline std::string told(const Element &element) {
    uint64_t discarded = 0, mended = 0;
    for (const OutputPort *port : element.outputs) {
        discarded += port->discarded;
        mended += port->mended;
    }
    std::string out = "\"state\": {";
    const auto state = element.dump();
    for (size_t i = 0; i < state.size(); i++)
        out += (i ? ", " : "") + quoted(state[i].first) + ": " + quoted(state[i].second);
    out += "}, \"log\": " + list(element.log, false) + ", \"iterations\": " + std::to_string(element.iterations);
    out += ", \"answers\": " + list(element.answers, true) + ", \"lines\": " + list(element.lines, true);
    out += ", \"failures\": " + list(element.failures, true) + ", \"discarded\": " + std::to_string(discarded);
    return out + ", \"mended\": " + std::to_string(mended);
}

} // namespace sluice

#endif
