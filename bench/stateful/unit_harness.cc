// SPDX-License-Identifier: Apache-2.0
// Sends packets through sl_stateful_unit (Verilated), each `gap` cycles after the one before, and writes of each how
// long it was inside and by which ports it leaves. Arguments: gap (cycles, at least 1), most packets inside, cycles
// until the flow table is clear, files of the writes, of packets in the order in which they come, of the output. Prints
// one JSON object.
#include "Vsl_stateful_unit.h"
#include "files.h"
#include "harness.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Write {
    uint8_t bytes[52]; // pipeline_write_t
};

struct Left {
    uint32_t cycles, egress_mask;
};

class Bench : harness::Clocked<Vsl_stateful_unit> {
  public:
    void load(const std::vector<Write> &writes, unsigned clears) {
        Clocked::load(writes);
        for (unsigned cycle = 0; cycle < clears; cycle++)
            edge();
    }

    // Packets leave in the order in which they came, or what is written of them is wrong.
    std::vector<Left> run(const std::vector<Packet> &packets, unsigned gap, unsigned inside) {
        std::vector<Left> left;
        std::vector<uint64_t> came;
        uint64_t next = now;
        for (uint64_t limit = now + 1000 + packets.size() * (gap + 50ULL);
             left.size() < packets.size() && now < limit;) {
            top.valid_i = came.size() < packets.size() && now >= next && came.size() - left.size() < inside;
            if (top.valid_i) {
                std::memcpy(&top.phv_i[0], packets[came.size()].bytes, sizeof(Packet));
                came.push_back(now);
                next = now + gap;
            }
            top.eval();
            if (top.valid_o && left.size() < came.size()) {
                sluice_pipeline_phv phv{};
                sluice_pipeline_phv_unpack(&phv, reinterpret_cast<const uint8_t *>(&top.phv_o[0]));
                const uint32_t mask = phv.verdict == SLUICE_VERDICT_FORWARD ? phv.egress_mask : 0;
                left.push_back({static_cast<uint32_t>(now - came[left.size()]), mask});
            }
            edge();
        }
        return left;
    }
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: %s gap inside clears writes packets output\n", argv[0]);
        return 2;
    }
    Bench bench;
    bench.load(read_all<Write>(argv[4]), static_cast<unsigned>(std::atoi(argv[3])));
    const std::vector<Packet> packets = read_all<Packet>(argv[5]);
    const std::vector<Left> left =
        bench.run(packets, static_cast<unsigned>(std::atoi(argv[1])), static_cast<unsigned>(std::atoi(argv[2])));
    std::FILE *file = std::fopen(argv[6], "wb");
    if (!file || std::fwrite(left.data(), sizeof(Left), left.size(), file) != left.size() || std::fclose(file)) {
        std::perror(argv[6]);
        return 2;
    }
    harness::print("packets", packets.size(), "left", left.size());
    return left.size() != packets.size();
}
