// SPDX-License-Identifier: Apache-2.0
// Runs elements over given tokens, for the differential tests: commands on stdin, a JSON object for each `run` on
// stdout.
//
//   element NAME SEED      the element that the next lines are about
//   token PORT HEX         for the input with this index
//   signal NAME HEX...     to be served; the paper's form has the name -
//   rule TABLE KEY MASK PRIORITY VALUE
//   run
//
// A command that cannot be followed ends the program with exit status 2 and a sentence on stderr.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "element.h"

using namespace sluice;

static std::vector<uint64_t> words_of(const std::string &hex_text) {
    std::vector<uint64_t> words((hex_text.size() + 15) / 16, 0);
    for (size_t i = 0; i < hex_text.size(); i++)
        words[i / 16] |= uint64_t(std::stoul(hex_text.substr(hex_text.size() - 1 - i, 1), nullptr, 16)) << 4 * (i % 16);
    return words;
}

static std::string quoted(const std::string &text) {
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

static std::string list(const std::vector<std::string> &items, bool quote) {
    std::string out = "[";
    for (const std::string &item : items)
        out += (out.size() > 1 ? ", " : "") + (quote ? quoted(item) : item);
    return out + ']';
}

static void report(const Element &element, const std::vector<std::vector<std::string>> &streams) {
    std::string out = "{\"element\": " + quoted(element.name) + ", \"outputs\": {";
    uint64_t discarded = 0, mended = 0;
    for (size_t i = 0; i < streams.size(); i++) {
        out += (i ? ", " : "") + quoted(element.outputs[i]->name) + ": " + list(streams[i], true);
        discarded += element.outputs[i]->discarded;
        mended += element.outputs[i]->mended;
    }
    out += "}, \"state\": {";
    const auto state = element.dump();
    for (size_t i = 0; i < state.size(); i++)
        out += (i ? ", " : "") + quoted(state[i].first) + ": " + quoted(state[i].second);
    out += "}, \"log\": " + list(element.log, false) + ", \"iterations\": " + std::to_string(element.iterations);
    out += ", \"answers\": " + list(element.answers, true) + ", \"lines\": " + list(element.lines, true);
    out += ", \"failures\": " + list(element.failures, true) + ", \"discarded\": " + std::to_string(discarded);
    out += ", \"mended\": " + std::to_string(mended) + "}";
    std::cout << out << '\n';
}

static int complain(const std::string &line) {
    std::cerr << "cases: cannot follow: " << line << '\n';
    return 2;
}

int main() {
    std::unique_ptr<Element> element;
    std::vector<std::vector<std::string>> streams;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command, name, value;
        words >> command >> name;
        if (command == "element") {
            element = make_element(name);
            uint64_t seed = 0;
            if (!element || !(words >> seed))
                return complain(line);
            streams.assign(element->outputs.size(), {});
            for (size_t i = 0; i < streams.size(); i++)
                element->outputs[i]->tap = [&streams, i](const uint64_t *token, size_t count) {
                    streams[i].push_back(hex(token, count));
                };
            element->start(seed);
        } else if (element && command == "token" && words >> value && std::stoul(name) < element->inputs.size()) {
            element->inputs[std::stoul(name)]->push(words_of(value));
        } else if (element && command == "signal") {
            SignalCall call{name == "-" ? "" : name, {}};
            while (words >> value)
                call.arguments.push_back(words_of(value));
            element->signals.push_back(call);
        } else if (element && command == "rule") {
            std::string key, mask;
            uint64_t priority = 0;
            const auto table = std::find_if(element->tables.begin(), element->tables.end(),
                                            [&name](const TableBase *it) { return it->name == name; });
            if (table == element->tables.end() || !(words >> key >> mask >> priority >> value))
                return complain(line);
            (*table)->add(words_of(key), words_of(mask), priority, words_of(value));
        } else if (element && command == "run") {
            run({element.get()});
            report(*element, streams);
        } else {
            return complain(line);
        }
    }
    return 0;
}
