// SPDX-License-Identifier: Apache-2.0
// A core of a run on DPDK's ports (ports.cc): one queue of each port, and a configuration of its own for the packets of
// those queues. Nothing is shared with other cores but the pool of mbufs. What another thread wants from it waits until
// it is between two rounds.
#ifndef SLUICE_CPU_WORKER_H
#define SLUICE_CPU_WORKER_H

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <string>
#include <vector>

#include "program.h"

namespace sluice {

constexpr uint16_t PORT_BURST = 64;
constexpr uint64_t ROUNDS = 1 << 17;  // of an element that writes and takes nothing
constexpr unsigned LISTEN_EVERY = 64; // rounds of the ports from one look at what others want to the next

inline volatile std::sig_atomic_t is_stopped = 0;

// A frame is an mbuf of one segment.
static_assert(offsetof(Frame, memory) == offsetof(rte_mbuf, buf_addr));
static_assert(offsetof(Frame, start) == offsetof(rte_mbuf, data_off));
static_assert(offsetof(Frame, users) == offsetof(rte_mbuf, refcnt));
static_assert(offsetof(Frame, size) == offsetof(rte_mbuf, pkt_len) && sizeof(uint32_t) == sizeof rte_mbuf{}.pkt_len);
static_assert(offsetof(Frame, first_size) == offsetof(rte_mbuf, data_len));

inline rte_mbuf **mbufs_of(Frame **frames) {
    return reinterpret_cast<rte_mbuf **>(frames);
}

struct Lane {
    uint64_t received = 0, sent = 0, unsent = 0, errors = 0, lost = 0;
};

// When a worker ends by itself.
struct Limits {
    uint64_t packets = ~uint64_t{0}; // that it received
    double seconds = 1e18;
};

class Worker final : public Exit {
  public:
    // `ports`: by lane.
    Worker(rte_mempool *pool, const std::vector<uint16_t> &ports, uint16_t queue)
        : pool_(pool), ports_(ports), queue_(queue), lanes_(ports.size()) {}

    // Until it is stopped; false where the configuration does not come to rest. `look`: called now and then; false:
    // end.
    template <class Look> bool run(const Limits &limits, Look look) {
        is_running_ = true;
        const bool rests = rounds(limits, look);
        is_running_ = false;
        return rests;
    }
    bool is_running() const {
        return is_running_;
    }
    // From another thread: between two rounds of this one, or at once where it does not run.
    void between_rounds(const std::function<void()> &what) {
        wanted_ = &what;
        while (wanted_)
            if (!is_running_ && wanted_.exchange(nullptr))
                what();
            else
                rte_pause();
    }
    // Fields of a JSON object.
    std::string told(bool all) const {
        std::string out = "\"dropped\": " + std::to_string(dropped) + ", \"lanes\": [";
        for (size_t i = 0; i < lanes_.size(); i++) {
            const Lane &lane = lanes_[i];
            out += std::string(i ? ", " : "") + "{\"received\": " + std::to_string(lane.received);
            out += ", \"sent\": " + std::to_string(lane.sent) + ", \"unsent\": " + std::to_string(lane.unsent);
            out += ", \"errors\": " + std::to_string(lane.errors) + ", \"lost\": " + std::to_string(lane.lost) + "}";
        }
        return out + "], \"processor_seconds\": " + std::to_string(processor_) + ", " + program->told(all);
    }

    std::unique_ptr<Program> program; // changed between rounds
    uint64_t dropped = 0;             // packets that waited, at changes

  private:
    static double processor_seconds() {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
    }
    template <class Look> bool rounds(const Limits &limits, Look look) {
        const double processor_begin = processor_seconds(), hertz = double(rte_get_tsc_hz());
        const uint64_t begin = rte_get_tsc_cycles(), end = begin + uint64_t(std::min(1e9, limits.seconds) * hertz);
        uint64_t total = 0;
        for (unsigned round = 1; !is_stopped && total < limits.packets; round++) {
            const uint64_t now = rte_get_tsc_cycles();
            if (now >= end)
                break;
            const auto microseconds = uint64_t(double(now - begin) / hertz * 1e6);
            program->tick(microseconds);
            unsigned arrived = 0;
            for (unsigned lane = 0; lane < lanes_.size(); lane++)
                arrived += receive(lane, microseconds);
            if (arrived && !program->run(ROUNDS))
                return false;
            total += arrived;
            if (round % LISTEN_EVERY)
                continue;
            if (const auto *wanted = wanted_.load()) {
                (*wanted)();
                wanted_ = nullptr;
            }
            if (!look())
                break;
        }
        processor_ = processor_seconds() - processor_begin;
        return true;
    }
    unsigned receive(unsigned lane, uint64_t time) {
        rte_mbuf *found[PORT_BURST];
        const uint16_t count = rte_eth_rx_burst(ports_[lane], queue_, found, PORT_BURST);
        if (count == 0)
            return 0;
        unsigned segments = 0;
        for (uint16_t i = 0; i < count; i++)
            segments += found[i]->nb_segs;
        const uint16_t left = segments == count ? count : in_one_segment(lanes_[lane], found, count);
        auto *frames = reinterpret_cast<Frame **>(found);
        if (!program->send(lane, frames, left, time)) {
            give_back(frames, left);
            lanes_[lane].lost += left;
        }
        lanes_[lane].received += count;
        return count;
    }
    // Leaves those at the front for which there is room; their number.
    static uint16_t in_one_segment(Lane &lane, rte_mbuf **found, uint16_t count) {
        uint16_t left = 0;
        for (uint16_t i = 0; i < count; i++)
            if (found[i]->nb_segs == 1 || rte_pktmbuf_linearize(found[i]) == 0) {
                found[left++] = found[i];
            } else {
                lane.lost++;
                rte_pktmbuf_free(found[i]);
            }
        return left;
    }

    void leave(unsigned number, Frame **frames, size_t count) override {
        if (number >= lanes_.size())
            return give_back(frames, count);
        Lane &lane = lanes_[number];
        const uint16_t sent = rte_eth_tx_burst(ports_[number], queue_, mbufs_of(frames), uint16_t(count));
        rte_pktmbuf_free_bulk(mbufs_of(frames) + sent, unsigned(count - sent));
        lane.sent += sent;
        lane.unsent += count - sent;
    }
    void give_back(Frame **frames, size_t count) override {
        for (size_t i = 0; i < count; i++)
            rte_pktmbuf_free(mbufs_of(frames)[i]);
    }
    Frame *allocate(unsigned lane, size_t size) override {
        rte_mbuf *mbuf = rte_pktmbuf_alloc(pool_);
        if (mbuf && rte_pktmbuf_tailroom(mbuf) < size) {
            rte_pktmbuf_free(mbuf);
            mbuf = nullptr;
        }
        if (!mbuf && lane < lanes_.size())
            lanes_[lane].unsent++;
        return reinterpret_cast<Frame *>(mbuf);
    }
    void count_error(unsigned lane) override {
        if (lane < lanes_.size())
            lanes_[lane].errors++;
    }

    rte_mempool *pool_;
    const std::vector<uint16_t> &ports_;
    uint16_t queue_;
    std::vector<Lane> lanes_;
    double processor_ = 0;
    std::atomic<bool> is_running_ = false;
    std::atomic<const std::function<void()> *> wanted_ = nullptr;
};

} // namespace sluice

#endif
