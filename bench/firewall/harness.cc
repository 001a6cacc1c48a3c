// SPDX-License-Identifier: Apache-2.0
// Drives the firewall (Verilated) with packets and with signals, a token in every cycle that has room for one, and says
// in which cycle each went in and came out. Arguments: folder, then phases PACKETS:GROUPS, one after the other, each to
// its end: at least so many packets, and so many groups of signals. Packets repeat while there are groups to come,
// unless there are 0.
//
// Files of the folder: packets (WORDS words of 32 bits each), signals (groups: replies, words, then the words of the
// signal chain, all of 64 bits; the words of a group follow each other, and the next group waits for its replies).
// Written: taken (of each packet the cycle, 64 bits), left (the cycle, 64 bits, and the flit), groups (first word and
// last reply, two cycles of 64 bits), phases (of each: packets, groups, replies refused, and cycles of the first packet
// in and the last out, all of 64 bits).
#include "harness.h"
#include "Vcfg_ofw.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr unsigned WORDS = sizeof(Vcfg_ofw::lane_in_0_data_i) / sizeof(uint32_t); // of a flit
constexpr uint64_t QUIET = 400; // cycles without anything moving, after which all packets have left
constexpr uint64_t LIMIT = 100'000'000;

template <typename T> std::vector<T> contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<T> found(bytes.size() / sizeof(T));
    std::copy_n(bytes.data(), found.size() * sizeof(T), reinterpret_cast<char *>(found.data()));
    return found;
}

class Bench : harness::Clocked<Vcfg_ofw> {
  public:
    explicit Bench(const std::string &folder)
        : folder(folder), packets(contents<uint32_t>(folder + "/packets")),
          signals(contents<uint64_t>(folder + "/signals")) {
        count = packets.size() / WORDS;
        top.lane_out_0_ready_i = 1;
        top.signal_ready_i = 1;
        reset();
    }

    void phase(uint64_t wanted, uint64_t groups_wanted) {
        uint64_t sent = 0, done = 0, first = 0, last = 0, quiet = 0, refused_before = refused;
        while (sent < wanted || done < groups_wanted || quiet < QUIET) {
            bool offers = wanted && (sent < wanted || done < groups_wanted);
            if (offers)
                for (unsigned i = 0; i < WORDS; i++)
                    top.lane_in_0_data_i[i] = packets[next * WORDS + i];
            top.lane_in_0_valid_i = offers;
            if (!words && !replies && done < groups_wanted)
                begin_group();
            top.signal_valid_i = words != 0;
            if (words)
                top.signal_data_i = signals[at];
            top.eval();
            bool moved = words || replies;
            if (offers && top.lane_in_0_ready_o) {
                if (!sent++)
                    first = now;
                write(taken, now);
                next = (next + 1) % count;
                moved = true;
            }
            if (top.lane_out_0_valid_o) {
                last = now;
                write(left, now);
                left.write(reinterpret_cast<const char *>(top.lane_out_0_data_o.data()), WORDS * 4);
                moved = true;
            }
            if (words && top.signal_ready_o) {
                if (starts)
                    begun = now;
                starts = false;
                at++;
                words--;
            }
            if (top.signal_valid_o)
                done += reply();
            edge();
            quiet = moved ? 0 : quiet + 1;
            if (now > LIMIT) {
                std::fprintf(stderr, "no end after %llu cycles\n", (unsigned long long)now);
                std::exit(1);
            }
        }
        for (uint64_t value : {sent, done, refused - refused_before, first, last})
            write(phases, value);
    }

    void finish() {
        top.final();
    }

  private:
    static void write(std::ofstream &file, uint64_t value) {
        file.write(reinterpret_cast<const char *>(&value), sizeof value);
    }

    void begin_group() {
        replies = signals[at++];
        words = signals[at++];
        starts = true;
    }

    // A word of a reply; whether it is the last of its group.
    bool reply() {
        if (is_header && (top.signal_data_o >> 8 & 0xff) != 0x80)
            refused++;
        is_header = top.signal_data_o >> 32 & 1;
        if (!is_header || --replies || words)
            return false;
        write(groups, begun);
        write(groups, now);
        return true;
    }

    std::string folder;
    std::vector<uint32_t> packets;
    std::vector<uint64_t> signals;
    std::ofstream taken{folder + "/taken", std::ios::binary}, left{folder + "/left", std::ios::binary};
    std::ofstream groups{folder + "/groups", std::ios::binary}, phases{folder + "/phases", std::ios::binary};
    uint64_t count = 0, next = 0, at = 0, words = 0, replies = 0, begun = 0, refused = 0;
    bool starts = false, is_header = true;
};

} // namespace

int main(int argc, char **argv) {
    Bench bench(argv[1]);
    for (int n = 2; n < argc; n++) {
        std::string phase = argv[n];
        size_t colon = phase.find(':');
        bench.phase(std::stoull(phase.substr(0, colon)), std::stoull(phase.substr(colon + 1)));
    }
    bench.finish();
    return 0;
}
