// SPDX-License-Identifier: Apache-2.0
// What the harnesses of the benchmarks share: the clock of a Verilated module, instructions for its rule tables, cycles
// of operations, and figures as JSON.
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "sluice_layouts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace harness {

using Key = std::array<uint32_t, SLUICE_KEY_BITS / 32>; // of a rule table, the low word first

// A module and its clock. Inputs are set and outputs are read between edges.
template <typename Module> class Clocked {
  protected:
    void edge() {
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        top.eval();
        now++;
    }

    void reset() {
        top.rst_i = 1;
        for (int i = 0; i < 4; i++)
            edge();
        top.rst_i = 0;
    }

    // Resets it, then makes a write in each cycle.
    template <typename Write> void load(const std::vector<Write> &writes) {
        reset();
        top.write_valid_i = 1;
        for (const Write &write : writes) {
            std::memcpy(&top.write_i[0], write.bytes, sizeof write);
            edge();
        }
        top.write_valid_i = 0;
        edge();
    }

    Module top;
    uint64_t now = 0; // in cycles
};

// Sets a port that takes an instruction. Value and mask are integers of the same size, the low byte first.
template <typename Port, typename Value>
void set_instruction(Port &port, sluice_instruction instruction, const Value &value, const Value &mask) {
    std::memcpy(instruction.value, &value, sizeof value);
    std::memcpy(instruction.mask, &mask, sizeof mask);
    uint8_t packed[SLUICE_INSTRUCTION_BYTES];
    sluice_instruction_pack(&instruction, packed);
    std::memcpy(&port[0], packed, sizeof packed);
}

// Cycles that operations took.
struct Rate {
    uint64_t count = 0, cycles = 0, most = 0;

    void add(uint64_t taken) {
        count++;
        cycles += taken;
        most = std::max(most, taken);
    }

    double average() const {
        return count ? double(cycles) / double(count) : 0;
    }
};

template <typename... Fields> std::string json(const Fields &...fields);

template <typename Value> std::string json_value(const Value &value) {
    return std::to_string(value);
}

inline std::string json_value(const Rate &rate) {
    return json("average", rate.average(), "max", rate.most, "count", rate.count);
}

template <typename Value, typename... More>
std::string json_fields(const char *name, const Value &value, const More &...more) {
    std::string field = std::string("\"") + name + "\": " + json_value(value);
    if constexpr (sizeof...(more) > 0)
        field += ", " + json_fields(more...);
    return field;
}

// An object of names and values, given in turn.
template <typename... Fields> std::string json(const Fields &...fields) {
    return "{" + json_fields(fields...) + "}";
}

template <typename... Fields> void print(const Fields &...fields) {
    std::puts(json(fields...).c_str());
}

} // namespace harness

#endif
