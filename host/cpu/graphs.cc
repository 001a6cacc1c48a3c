// SPDX-License-Identifier: Apache-2.0
// Runs a configuration over given packets, for the differential tests: commands on stdin, a JSON object for each `run`
// on stdout.
//
//   packet LANE HEX             bytes, the first highest
//   signal INSTANCE NAME HEX... to be served somewhere among the iterations
//   last INSTANCE NAME HEX...   the same, when all has come to rest
//   run SEED                    all of the above, from the reset
//
// A command that cannot be followed ends the program with exit status 2 and a sentence on stderr.
#include <iostream>
#include <sstream>

#include "graph.h"
#include "text.h"
#ifdef SLUICE_CPU_PROGRAM_H
#include "owned.h"
#endif

using namespace sluice;

constexpr uint64_t ROUNDS = 1 << 20;

struct Sent {
    unsigned lane;
    Bytes bytes;
};

struct Signal {
    std::string instance;
    SignalCall call;
};

static Bytes bytes_of(const std::string &text) {
    Bytes bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = uint8_t(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return bytes;
}

static std::string hex_of(const Bytes &bytes) {
    static const char *const digits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes)
        text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

static int complain(const std::string &line) {
    std::cerr << "graphs: cannot follow: " << line << '\n';
    return 2;
}

struct Given {
    std::vector<Sent> packets;
    std::vector<Signal> signals, last;
};

static void add(Graph &graph, const std::vector<Signal> &signals) {
    for (auto &[name, element] : graph.instances)
        for (const Signal &signal : signals)
            if (signal.instance == name)
                element->signals.push_back(signal.call);
}

using Left = std::map<unsigned, std::vector<std::string>>; // packets in hex by lane; ! where the `error` bit is set

#ifdef SLUICE_CPU_PROGRAM_H
// Whether the same packets leave where they leave in their frames, as on ports.
static bool leaves_in_frames(const Given &given, const Left &expected) {
    Left left, good;
    OwnedFrames frames;
    frames.left = [&left](unsigned lane, const Bytes &packet) { left[lane].push_back(hex_of(packet)); };
    Graph graph([](unsigned, const Bytes &, uint64_t, bool) {}, &frames);
    build(graph);
    add(graph, given.signals);
    graph.start(0);
    for (const Sent &packet : given.packets)
        graph.send(packet.lane, packet.bytes, 0);
    graph.run(ROUNDS);
    for (const auto &[lane, found] : expected)
        for (const std::string &packet : found)
            if (packet[0] != '!')
                good[lane].push_back(packet);
    return left == good;
}
#else
static bool leaves_in_frames(const Given &, const Left &) {
    return true; // there are none
}
#endif

// What is wrong, or nothing.
static const char *run(const Given &given, uint64_t seed) {
    Left left;
    Graph graph([&left](unsigned lane, const Bytes &packet, uint64_t, bool error) {
        left[lane].push_back((error ? "!" : "") + hex_of(packet));
    });
    build(graph);
    std::map<const OutputPort *, std::vector<std::string>> streams;
    for (auto &[name, element] : graph.instances)
        for (OutputPort *port : element->outputs)
            port->tap = [&found = streams[port]](const uint64_t *token, size_t count) {
                found.push_back(hex(token, count));
            };
    add(graph, given.signals);
    graph.start(seed);
    for (const Sent &packet : given.packets)
        graph.send(packet.lane, packet.bytes, 0);
    if (!graph.run(ROUNDS))
        return "the configuration does not come to rest";
    add(graph, given.last);
    if (!graph.run(ROUNDS))
        return "the configuration does not come to rest behind its last signals";
    if (!leaves_in_frames(given, left))
        return "other packets leave in frames";
    std::string out = "{\"lanes\": {", between;
    for (const auto &[lane, found] : left) {
        out += between + quoted(std::to_string(lane)) + ": " + list(found, true);
        between = ", ";
    }
    out += "}, \"instances\": {";
    between = "";
    for (const auto &[name, element] : graph.instances) {
        out += between + quoted(name) + ": {\"outputs\": {";
        for (size_t i = 0; i < element->outputs.size(); i++)
            out +=
                (i ? ", " : "") + quoted(element->outputs[i]->name) + ": " + list(streams[element->outputs[i]], true);
        out += "}, " + told(*element) + "}";
        between = ", ";
    }
    std::cout << out << "}}\n";
    return nullptr;
}

int main() {
    Given given;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command, name, value;
        unsigned lane = 0;
        uint64_t seed = 0;
        words >> command;
        if (command == "packet" && words >> lane >> value) {
            given.packets.push_back({lane, bytes_of(value)});
        } else if ((command == "signal" || command == "last") && words >> value >> name) {
            Signal signal{value, {name, {}}};
            while (words >> value)
                signal.call.arguments.push_back(words_of(value));
            (command == "last" ? given.last : given.signals).push_back(signal);
        } else if (command == "run" && words >> seed) {
            if (const char *wrong = run(given, seed)) {
                std::cerr << "graphs: " << wrong << '\n';
                return 1;
            }
        } else {
            return complain(line);
        }
    }
    return 0;
}
