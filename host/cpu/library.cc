// SPDX-License-Identifier: Apache-2.0
// A configuration on the packet engine as a shared library (program.h).
#include <algorithm>

#include "graph.h"
#include "program.h"
#include "text.h"

using namespace sluice;

namespace {

class Loaded final : public Program {
  public:
    explicit Loaded(Exit *exit) : graph_([](unsigned, const Bytes &, uint64_t, bool) {}, exit) {
        build(graph_);
        graph_.start(0);
    }

    bool send(unsigned lane, Frame **frames, size_t count, uint64_t time) override {
        return graph_.send(lane, frames, count, time);
    }
    bool run(uint64_t rounds) override {
        return graph_.run(rounds);
    }
    void tick(uint64_t microseconds) override {
        graph_.timers.tick(microseconds);
    }
    bool signal(const std::string &text, std::string &answer) override {
        for (auto &[name, element] : graph_.instances) {
            if (text.compare(0, name.size() + 1, name + "/") != 0)
                continue;
            try {
                element->signals.push_back(call_of(text.substr(name.size() + 1)));
            } catch (const std::logic_error &) { // not a number
                return false;
            }
            element->serve();
            answer = element->answers.back();
            element->answers.clear();
            return true;
        }
        return false;
    }
    std::string told(bool all) const override {
        std::string out = "\"unread\": " + std::to_string(graph_.unread()) + ", \"instances\": {", between;
        for (const auto &[name, element] : graph_.instances) {
            out += between + quoted(name) + ": " + std::to_string(element->iterations);
            between = ", ";
        }
        out += "}, \"stages\": [" + stages() + "]";
        if (!all)
            return out;
        out += ", \"outcomes\": {";
        between.clear();
        for (const auto &[name, element] : graph_.instances) {
            out += between + quoted(name) + ": {" + sluice::told(*element) + "}";
            between = ", ";
        }
        return out + "}";
    }
    std::vector<Lasting> lasting() override {
        std::vector<Lasting> found;
        for (auto &[instance, element] : graph_.instances)
            for (Lasting &one : element->lasting()) {
                one.name = instance + "." + one.name;
                found.push_back(one);
            }
        return found;
    }
    Adopted adopt(Program &other, bool tables) override {
        Adopted adopted;
        std::vector<Lasting> theirs = other.lasting();
        for (const Lasting &mine : lasting()) {
            const auto same = std::find_if(theirs.begin(), theirs.end(), [&](const Lasting &o) {
                return o.name == mine.name && o.type == mine.type;
            });
            const bool is_kept = same != theirs.end() && (tables || !mine.is_table);
            (is_kept ? adopted.kept : adopted.cleared).push_back(mine.name);
            if (is_kept)
                mine.move(mine.place, same->place);
        }
        return adopted;
    }
    size_t drop() override {
        size_t count = 0;
        for (auto &[name, element] : graph_.instances) {
            for (InputPort *port : element->inputs)
                count += port->drop();
            for (OutputPort *port : element->outputs)
                port->drop();
        }
        Done::flush();
        return count;
    }

  private:
    std::string stages() const {
        std::string out;
        for (const auto &stage : graph_.stages())
            out += (out.empty() ? "" : ", ") + std::string("{\"name\": ") + quoted(stage->name) +
                   ", \"ticks\": " + std::to_string(stage->ticks) + "}";
        return out;
    }

    Graph graph_;
};

} // namespace

extern "C" __attribute__((visibility("default"))) Program *sluice_make(Exit *exit) {
    return new Loaded(exit);
}
