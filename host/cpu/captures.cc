// SPDX-License-Identifier: Apache-2.0
// Runs a configuration over captures: `--in FILE` for lane 0, 1, ..., `--out FILE` the same, `--seed N` for the
// choices,
// `--log INSTANCE=FILE` for what a logger takes, `--signals FILE` with lines INSTANCE/NAME/HEX..., to be served when
// all packets are through, or with @N behind it when N packets have been sent. A JSON object on stdout. Exit status 1:
// a capture cannot be read or written, or the program does not come to rest; a sentence on stderr says so.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

extern "C" {
#include "capture.h"
}
#include "graph.h"
#include "text.h"

using namespace sluice;

constexpr uint64_t ROUNDS = 1 << 17; // as in tools/cli/run_program.py

constexpr uint64_t LAST = ~uint64_t(0);

struct Signal {
    std::string text;
    uint64_t after = LAST; // packets sent
};

struct Options {
    std::vector<std::string> inputs, outputs, logs;
    std::vector<Signal> signals;
    uint64_t seed = 0;
};

static Signal signal_of(const std::string &text) {
    const size_t at = text.find('@');
    return at == std::string::npos ? Signal{text, LAST} : Signal{text.substr(0, at), std::stoull(text.substr(at + 1))};
}

static void read_signals(const std::string &path, std::vector<Signal> &signals) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        signals.push_back(signal_of(line));
}

static bool parsed(int count, char **words, Options &options) {
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string name = words[i], value = words[i + 1];
        if (name == "--in")
            options.inputs.push_back(value);
        else if (name == "--out")
            options.outputs.push_back(value);
        else if (name == "--log")
            options.logs.push_back(value);
        else if (name == "--signals")
            read_signals(value, options.signals);
        else if (name == "--seed")
            options.seed = std::stoull(value);
        else
            return false;
    }
    std::stable_sort(options.signals.begin(), options.signals.end(),
                     [](const Signal &a, const Signal &b) { return a.after < b.after; });
    return count % 2 == 1;
}

// The file for a logger, "" where none is wanted.
static std::string log_file(const Options &options, const std::string &instance) {
    for (const std::string &text : options.logs)
        if (text.compare(0, instance.size() + 1, instance + "=") == 0)
            return text.substr(instance.size() + 1);
    return "";
}

static bool add_signal(Graph &graph, const std::string &text) {
    const size_t end = text.find('/');
    for (auto &[name, element] : graph.instances)
        if (name == text.substr(0, end)) {
            element->signals.push_back(call_of(text.substr(end + 1)));
            return true;
        }
    return false;
}

static bool at_rest(bool rests) {
    if (!rests)
        std::fprintf(stderr, "the program does not terminate: an element keeps writing tokens\n");
    return rests;
}

// Signals that are due when so many packets have been sent: what is under way before them comes through first.
static bool serve_due(Graph &graph, const std::vector<Signal> &signals, size_t &next, uint64_t sent) {
    if (next == signals.size() || signals[next].after > sent)
        return true;
    if (!at_rest(graph.run(ROUNDS)))
        return false;
    for (; next < signals.size() && signals[next].after <= sent; next++)
        if (!add_signal(graph, signals[next].text)) {
            std::fprintf(stderr, "no instance for the signal %s\n", signals[next].text.c_str());
            return false;
        }
    return at_rest(graph.run(ROUNDS));
}

static bool send_all(Graph &graph, const std::vector<capture> &inputs, const std::vector<Signal> &signals,
                     uint64_t &lost) {
    uint64_t most = 0, sent = 0;
    size_t next = 0;
    for (const capture &input : inputs)
        most = std::max(most, input.count);
    for (uint64_t i = 0; i < most; i++) {
        for (unsigned lane = 0; lane < inputs.size(); lane++) {
            if (i >= inputs[lane].count)
                continue;
            if (!serve_due(graph, signals, next, sent++))
                return false;
            const uint8_t *bytes = capture_bytes(&inputs[lane], i);
            const capture_packet &packet = inputs[lane].packets[i];
            lost += !graph.send(lane, Bytes(bytes, bytes + packet.size), packet.time);
        }
        if (!at_rest(graph.run(ROUNDS)))
            return false;
    }
    return at_rest(graph.run(ROUNDS)) && serve_due(graph, signals, next, LAST);
}

static void report(const Graph &graph, const std::vector<uint64_t> &lanes, uint64_t lost, uint64_t errors) {
    std::string out = "{\"lanes\": [";
    for (size_t i = 0; i < lanes.size(); i++)
        out += (i ? ", " : "") + std::to_string(lanes[i]);
    out += "], \"lost\": " + std::to_string(lost) + ", \"errors\": " + std::to_string(errors);
    out += ", \"unread\": " + std::to_string(graph.unread()) + ", \"instances\": {";
    for (size_t i = 0; i < graph.instances.size(); i++)
        out += (i ? ", " : "") + quoted(graph.instances[i].first) + ": {" + told(*graph.instances[i].second) + "}";
    std::cout << out << "}}\n";
}

static int fail(const char *text) {
    std::fprintf(stderr, "%s\n", text);
    return 1;
}

int main(int count, char **words) {
    Options options;
    if (!parsed(count, words, options))
        return fail("options: --in FILE, --out FILE, --log INSTANCE=FILE, --seed N, --signals FILE");
    char text[1024] = "";
    std::vector<capture> inputs(options.inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
        const int status = capture_read(&inputs[i], options.inputs[i].c_str(), text, sizeof text);
        if (status < 0)
            return fail(text);
        if (status > 0)
            std::fprintf(stderr, "%s\n", text);
    }
    std::vector<capture> outputs(options.outputs.size()), logs;
    std::vector<uint64_t> lanes;
    uint64_t errors = 0, lost = 0;
    Graph graph([&](unsigned lane, const Bytes &packet, uint64_t time, bool error) {
        if (lane >= Graph::LOGS) {
            lost += capture_add(&logs[lane - Graph::LOGS], packet.data(), uint32_t(packet.size()), time) != 0;
            return;
        }
        lanes.resize(std::max<size_t>(lanes.size(), lane + 1));
        errors += error;
        lanes[lane] += !error; // a lane drops what has an error
        if (lane < outputs.size() && !error &&
            capture_add(&outputs[lane], packet.data(), uint32_t(packet.size()), time) != 0)
            lost++;
    });
    build(graph);
    logs.resize(graph.logs.size());
    graph.start(options.seed);
    if (!send_all(graph, inputs, options.signals, lost))
        return 1;
    for (size_t i = 0; i < outputs.size(); i++)
        if (capture_write(&outputs[i], options.outputs[i].c_str(), text, sizeof text) < 0)
            return fail(text);
    for (size_t i = 0; i < logs.size(); i++) {
        const std::string path = log_file(options, graph.logs[i]);
        if (!path.empty() && capture_write(&logs[i], path.c_str(), text, sizeof text) < 0)
            return fail(text);
    }
    report(graph, lanes, lost, errors);
    return 0;
}
