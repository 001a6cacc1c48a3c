// SPDX-License-Identifier: Apache-2.0
// Runs elements over given tokens, for the differential tests: commands on stdin, a JSON object for each `run` on
// stdout.
//
//   element NAME SEED      the element that the next lines are about
//   token PORT HEX         for the input with this index
//   signal NAME HEX...     to be served; the paper's form has the name -
//   run
//
// A command that cannot be followed ends the program with exit status 2 and a sentence on stderr.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "text.h"

using namespace sluice;

static void report(const Element &element, const std::vector<std::vector<std::string>> &streams) {
    std::string out = "{\"outputs\": {";
    for (size_t i = 0; i < streams.size(); i++)
        out += (i ? ", " : "") + quoted(element.outputs[i]->name) + ": " + list(streams[i], true);
    std::cout << out << "}, " << told(element) << "}\n";
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
        } else if (element && command == "run") {
            run(*element);
            report(*element, streams);
        } else {
            return complain(line);
        }
    }
    return 0;
}
