// SPDX-License-Identifier: Apache-2.0
// Drives el_pipeline (Verilated): loads a program through its register window, then sends packets in every cycle in
// which it takes a flit, and compares what leaves with what must. Arguments: file of register writes (pairs of
// 32-bit words: address, data), file of flits that enter, file of flits that must leave, both as packed words of
// `flit_t`. Prints one JSON object.
#include "harness.h"
#include "Vel_pipeline.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

namespace {

constexpr size_t FLIT_WORDS = (SLUICE_FLIT_BITS + 31) / 32;
constexpr size_t SOP_BIT = 8 * SLUICE_DATA_BYTES + std::bit_width(SLUICE_DATA_BYTES - 1); // behind data and empty
using Flit = std::array<uint32_t, FLIT_WORDS>;

bool bit(const Flit &flit, size_t number) {
    return flit[number / 32] >> number % 32 & 1;
}

template <typename Value> std::vector<Value> read(const char *path) {
    std::vector<Value> values;
    Value value;
    FILE *file = std::fopen(path, "rb");
    if (!file) {
        std::perror(path);
        std::exit(2);
    }
    while (std::fread(&value, sizeof value, 1, file) == 1)
        values.push_back(value);
    std::fclose(file);
    return values;
}

class Bench : harness::Clocked<Vel_pipeline> {
  public:
    explicit Bench(const std::vector<std::array<uint32_t, 2>> &writes) {
        top.out_ready_i = 1;
        reset();
        for (auto [address, data] : writes) {
            sluice_register_request request = {.write = 1, .address = address, .data = data};
            uint8_t packed[SLUICE_REGISTER_REQUEST_BYTES];
            sluice_register_request_pack(&request, packed);
            std::memcpy(&top.reg_request_i, packed, sizeof packed);
            top.reg_request_valid_i = 1;
            edge();
            top.reg_request_valid_i = 0;
        }
        for (int i = 0; i < 16; i++)
            edge();
    }

    void run(const std::vector<Flit> &in, const std::vector<Flit> &expected) {
        uint64_t first = 0, last = 0;
        std::deque<uint64_t> entered; // cycles of the first flits
        size_t next = 0, idle = 0;
        while (left < expected.size() && idle < 100000) {
            top.in_valid_i = next < in.size();
            if (top.in_valid_i)
                std::memcpy(&top.in_data_i[0], in[next].data(), sizeof(Flit));
            top.eval();
            idle++;
            if (top.out_valid_o) {
                Flit flit;
                std::memcpy(flit.data(), &top.out_data_o[0], sizeof flit);
                wrong_flits += flit != expected[left++];
                first = first ? first : now;
                last = now;
                idle = 0;
                if (bit(flit, SOP_BIT) && !entered.empty()) {
                    latency.add(now - entered.front());
                    entered.pop_front();
                }
            }
            if (top.in_valid_i && top.in_ready_o) {
                if (bit(in[next], SOP_BIT))
                    entered.push_back(now);
                next++;
            }
            edge();
        }
        packets = latency.count;
        window = last - first + 1;
        wrong_flits += expected.size() - left;
    }

    bool print() const {
        harness::print("packets", packets, "flits_per_cycle", double(left) / double(window), "packets_per_cycle",
                       double(packets) / double(window), "latency_cycles", latency, "wrong_flits", wrong_flits);
        return wrong_flits == 0;
    }

  private:
    uint64_t packets = 0, wrong_flits = 0, left = 0, window = 1;
    harness::Rate latency;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s writes flits expected\n", argv[0]);
        return 2;
    }
    Bench bench(read<std::array<uint32_t, 2>>(argv[1]));
    bench.run(read<Flit>(argv[2]), read<Flit>(argv[3]));
    return bench.print() ? 0 : 1;
}
