// SPDX-License-Identifier: Apache-2.0
// Sends packets to program_harness (Verilated) and judges each result by what the functional process block makes of all
// packets one after the other, which is in the file of records. Without stalls a packet is offered and a result taken
// in every cycle. Arguments: overall order (0 or 1), stalls (percent), seed, files of the program's writes, of packets,
// of records. Prints one JSON object.
#include "Vprogram_harness.h"
#include "files.h"
#include "harness.h"
#include "order.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace harness {

// Cycles that something took.
struct Span {
    uint64_t least = UINT64_MAX, most = 0;

    void add(uint64_t cycles) {
        least = std::min(least, cycles);
        most = std::max(most, cycles);
    }
};

inline std::string json_value(const Span &span) {
    return json("least", std::min(span.least, span.most), "most", span.most);
}

} // namespace harness

namespace {

using harness::Span;

constexpr unsigned CONTAINERS = SLUICE_PIPELINE_CONTAINERS;

struct Write {
    uint8_t bytes[12]; // process_write_t
};

// A packet of a flow at a time, and what becomes of both.
struct Record {
    uint32_t address, packet, tick, entry;
    uint32_t before[SLUICE_PROCESS_WORDS], after[SLUICE_PROCESS_WORDS];
    uint16_t containers[CONTAINERS];
    uint8_t verdict, egress_mask, queue, next, splice, again, unused[2];
};

class Bench : harness::Clocked<Vprogram_harness> {
  public:
    Bench(bool ordered, unsigned stalls, uint64_t seed, std::vector<Packet> packets, std::vector<Record> records)
        : stalls(stalls), random(seed), packets(std::move(packets)), records(std::move(records)), order(ordered) {
        for (const Record &record : this->records)
            order.arrive(record.address);
    }

    using Clocked::load;

    void run() {
        entered.resize(records.size());
        issued.resize(records.size());
        done.resize(records.size());
        size_t sent = 0;
        bool waiting = false;
        for (uint64_t limit = now + 1'000'000 + 50 * records.size(); acted < records.size() && now < limit;) {
            top.in_valid_i = sent < records.size() && (waiting || !stall());
            if (top.in_valid_i && !waiting)
                offer(static_cast<uint32_t>(sent));
            top.out_ready_i = !stall();
            top.eval();
            waiting = top.in_valid_i && !top.in_ready_o;
            observe();
            sent += top.in_valid_i && top.in_ready_o;
            edge();
        }
    }

    void print() const {
        harness::print("phvs", records.size(), "cycles_per_phv", order.cycles(), "shortest_loop", order.shortest,
                       "misordered", order.misordered, "lost_updates", lost, "wrong_results", wrong_results, "missing",
                       missing(), "entered_to_state", entered_to_state, "issued_to_state", issued_to_state,
                       "state_to_result", state_to_result, "entered_to_packet", entered_to_packet, "issued_to_packet",
                       issued_to_packet);
    }

    bool wrong() const {
        return order.misordered || lost || wrong_results || missing();
    }

  private:
    bool stall() {
        return stalls && random() % 100 < stalls;
    }

    uint64_t missing() const {
        return records.size() - std::min<size_t>(acted, records.size());
    }

    void offer(uint32_t number) {
        top.in_number_i = number;
        top.in_address_i = records[number].address;
        top.in_tick_i = records[number].tick;
        std::memcpy(&top.in_phv_i[0], packets[records[number].packet].bytes, sizeof(Packet));
    }

    void observe() {
        if (top.enter_valid_o && top.enter_number_o < records.size())
            entered[top.enter_number_o] = now;
        if (top.issue_valid_o) {
            order.issue(top.issue_address_o, now);
            if (top.issue_number_o < records.size())
                issued[top.issue_number_o] = now;
        }
        if (top.done_valid_o && top.done_number_o < records.size()) {
            done[top.done_number_o] = now;
            entered_to_state.add(now - entered[top.done_number_o]);
            issued_to_state.add(now - issued[top.done_number_o]);
        }
        if (top.acted_valid_o)
            judge_packet();
        if (top.out_valid_o && top.out_ready_i)
            judge_state(top.out_number_o);
    }

    // The state that a packet found, its entry and the new state.
    void judge_state(uint32_t number) {
        if (!order.leave(number, now)) {
            lost++;
            number = UINT32_MAX;
        } else {
            const Record &record = records[number];
            lost += !same(top.out_before_o, record.before);
            wrong_results += top.out_entry_o != record.entry || !same(top.out_after_o, record.after);
            state_to_result.add(now - done[number]);
            std::memcpy(&top.acts_phv_i[0], packets[record.packet].bytes, sizeof(Packet));
        }
        acting.push_back(number);
    }

    template <typename Port> static bool same(const Port &port, const uint32_t *words) {
        return std::memcmp(&port, words, sizeof port) == 0;
    }

    // The packet with the actions of its entry.
    void judge_packet() {
        acted++;
        if (acting.empty()) {
            wrong_results++;
            return;
        }
        const uint32_t number = acting.front();
        acting.pop_front();
        if (number == UINT32_MAX)
            return;
        entered_to_packet.add(now - entered[number]);
        issued_to_packet.add(now - issued[number]);
        wrong_results +=
            std::memcmp(&top.acted_phv_o[0], expected(records[number]).bytes, SLUICE_PIPELINE_PHV_BYTES) != 0;
    }

    Packet expected(const Record &record) const {
        sluice_pipeline_phv phv{};
        sluice_pipeline_phv_unpack(&phv, packets[record.packet].bytes);
        std::memcpy(phv.parsed.containers, record.containers, sizeof record.containers);
        phv.verdict = record.verdict;
        phv.egress_mask = record.egress_mask;
        phv.queue = record.queue;
        phv.next = record.next;
        phv.splice = record.splice;
        phv.again = record.again;
        Packet packet{};
        sluice_pipeline_phv_pack(&phv, packet.bytes);
        return packet;
    }

    unsigned stalls;
    std::mt19937_64 random;
    std::vector<Packet> packets;
    std::vector<Record> records;
    Order order;
    std::vector<uint64_t> entered, issued,
        done;                    // cycles in which inputs and state of a packet entered, and its new state was there
    std::deque<uint32_t> acting; // packets whose state has left, without their actions
    Span entered_to_state, issued_to_state, state_to_result, entered_to_packet, issued_to_packet;
    uint64_t acted = 0, lost = 0, wrong_results = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: %s ordered stalls seed writes packets records\n", argv[0]);
        return 2;
    }
    Bench bench(std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])),
                static_cast<uint64_t>(std::atoll(argv[3])), read_all<Packet>(argv[5]), read_all<Record>(argv[6]));
    bench.load(read_all<Write>(argv[4]));
    bench.run();
    bench.print();
    return bench.wrong();
}
