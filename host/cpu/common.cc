// SPDX-License-Identifier: Apache-2.0
#include "common.h"

namespace sluice {

static std::string words_decimal(const std::vector<uint64_t> &words) {
    std::vector<uint64_t> rest = words;
    std::string text;
    do {
        unsigned __int128 remainder = 0;
        for (size_t i = rest.size(); i-- > 0;) {
            remainder = remainder << 64 | rest[i];
            rest[i] = uint64_t(remainder / 10);
            remainder %= 10;
        }
        text += char('0' + int(remainder));
    } while (std::any_of(rest.begin(), rest.end(), [](uint64_t word) { return word != 0; }));
    std::reverse(text.begin(), text.end());
    return text;
}

std::string log_line(uint64_t iteration, const SignalCall *call, const std::map<std::string, uint64_t> &choices) {
    std::string text = "{\"iteration\": " + std::to_string(iteration) + ", \"kind\": \"";
    text += call ? "signal " + call->name : std::string("handler");
    text += '"';
    if (call) {
        text += ", \"arguments\": [";
        for (size_t i = 0; i < call->arguments.size(); i++)
            text += (i ? ", " : "") + words_decimal(call->arguments[i]);
        text += ']';
    }
    for (const auto &[field, value] : choices)
        text += ", \"" + field + "\": " + std::to_string(value);
    return text + '}';
}

} // namespace sluice
