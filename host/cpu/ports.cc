// SPDX-License-Identifier: Apache-2.0
// Runs a configuration, which is in a shared library (packets/program.h), on DPDK's ports:
// `ports --program LIBRARY --port NAME ... [--packets N] [--seconds N] [--mbufs N] -- EAL OPTIONS`. The n-th port, by
// its name in DPDK, is lane n. Ends after so many packets or seconds, at `stop`, at the end of stdin, by SIGINT or
// SIGTERM.
//
// Lines on stdin; each but the last two gets a line of JSON on stdout, where {"error": ...} says why not:
//   signal INSTANCE/NAME/HEX...  its answer
//   load LIBRARY SIGNALS         another configuration, beside the one that runs, and the answers to its first signals,
//                                which are the lines of a file
//   switch PARTS                 that one, from the next packet on; it takes over its `states`, its states and rules
//                                (`all`), or `nothing`
//   stats                        counters
//   start                        no packet is taken before
//   stop                         the last line on stdout is that of the whole run
// Exit status 1: a port does not start; a sentence on stderr says why.
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <poll.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "program.h"
#include "words.h"

using namespace sluice;

namespace {

constexpr uint16_t BURST = 64, DESCRIPTORS = 512;
constexpr unsigned CACHE = 256;
constexpr uint64_t ROUNDS = 1 << 17;
constexpr unsigned LISTEN_EVERY = 64; // rounds of the ports from one look at stdin to the next

volatile std::sig_atomic_t is_stopped = 0;

// A frame is an mbuf of one segment.
static_assert(offsetof(Frame, memory) == offsetof(rte_mbuf, buf_addr));
static_assert(offsetof(Frame, start) == offsetof(rte_mbuf, data_off));
static_assert(offsetof(Frame, users) == offsetof(rte_mbuf, refcnt));
static_assert(offsetof(Frame, size) == offsetof(rte_mbuf, pkt_len) && sizeof(uint32_t) == sizeof rte_mbuf{}.pkt_len);
static_assert(offsetof(Frame, first_size) == offsetof(rte_mbuf, data_len));

rte_mbuf **mbufs_of(Frame **frames) {
    return reinterpret_cast<rte_mbuf **>(frames);
}

double processor_seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

struct Lane {
    uint64_t received = 0, sent = 0, unsent = 0, errors = 0, lost = 0;
};

struct Options {
    std::string program;
    std::vector<uint16_t> ports; // by lane
    uint64_t packets = ~uint64_t{0};
    double seconds = 1e18;
    unsigned mbufs = 8191;
};

// A configuration on the way: what came of it.
struct Loading {
    std::unique_ptr<Program> program;
    std::string answer; // the line
    std::atomic<bool> is_done = false;
};

// The library stays loaded for ever: what a later one takes over may point to its code. Throws std::runtime_error.
std::unique_ptr<Program> loaded(const std::string &path, Exit *exit) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void *make = library ? dlsym(library, "sluice_make") : nullptr;
    if (!make)
        throw std::runtime_error(dlerror());
    return std::unique_ptr<Program>(reinterpret_cast<SluiceMake>(make)(exit));
}

class Runner : public Exit {
  public:
    Runner(rte_mempool *pool, const Options &options)
        : program_(loaded(options.program, this)), pool_(pool), lanes_(options.ports.size()), options_(options),
          hz_(double(rte_get_tsc_hz())) {}
    ~Runner() override {
        for (std::thread *thread : {&loader_, &retiring_})
            if (thread->joinable())
                thread->join();
    }

    // Up to `start`; false where it is to end before.
    bool prepare() {
        while (!is_started_ && !is_stopped)
            if (!listen(-1))
                return false;
        return !is_stopped;
    }

    // Until it is stopped; false where the configuration does not come to rest.
    bool run() {
        const double processor_begin = processor_seconds();
        const uint64_t begin = rte_get_tsc_cycles(), end = begin + uint64_t(std::min(1e9, options_.seconds) * hz_);
        uint64_t total = 0;
        for (unsigned round = 1; !is_stopped && total < options_.packets; round++) {
            const uint64_t now = rte_get_tsc_cycles();
            if (now >= end)
                break;
            unsigned arrived = 0;
            for (unsigned lane = 0; lane < lanes_.size(); lane++)
                arrived += receive(lane, uint64_t(double(now - begin) / hz_ * 1e6));
            if (arrived && !program_->run(ROUNDS))
                return false;
            total += arrived;
            if (round % LISTEN_EVERY == 0 && !listen(0))
                break;
        }
        seconds_ = double(rte_get_tsc_cycles() - begin) / hz_;
        processor_ = processor_seconds() - processor_begin;
        return true;
    }

    // The whole run.
    void report() const {
        std::cout << "{" << lanes() << ", \"seconds\": " << std::to_string(seconds_)
                  << ", \"processor_seconds\": " << std::to_string(processor_) << ", " << program_->told(true) << "}"
                  << std::endl;
    }

  private:
    std::string lanes() const {
        std::string out =
            "\"ticks_per_second\": " + std::to_string(hz_) + ", \"switches\": " + std::to_string(switches_);
        out += ", \"dropped\": " + std::to_string(dropped_) + ", \"lanes\": [";
        for (size_t i = 0; i < lanes_.size(); i++) {
            const Lane &lane = lanes_[i];
            out += std::string(i ? ", " : "") + "{\"received\": " + std::to_string(lane.received);
            out += ", \"sent\": " + std::to_string(lane.sent) + ", \"unsent\": " + std::to_string(lane.unsent);
            out += ", \"errors\": " + std::to_string(lane.errors) + ", \"lost\": " + std::to_string(lane.lost) + "}";
        }
        return out + "]";
    }

    unsigned receive(unsigned lane, uint64_t time) {
        rte_mbuf *found[BURST];
        const uint16_t count = rte_eth_rx_burst(options_.ports[lane], 0, found, BURST);
        if (count == 0)
            return 0;
        unsigned segments = 1;
        for (uint16_t i = 0; i < count; i++) {
            segments = std::max<unsigned>(segments, found[i]->nb_segs);
            rte_prefetch0(rte_pktmbuf_mtod(found[i], void *));
        }
        const uint16_t left = segments == 1 ? count : in_one_segment(lanes_[lane], found, count);
        auto *frames = reinterpret_cast<Frame **>(found);
        if (!program_->send(lane, frames, left, time)) {
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
        const uint16_t sent = rte_eth_tx_burst(options_.ports[number], 0, mbufs_of(frames), uint16_t(count));
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

    // What came on stdin, for which it waits so many milliseconds (-1: without end); false where it is to stop. Lines
    // behind `load` wait for it.
    bool listen(int patience) {
        if (loading_) {
            if (!loading_->is_done)
                return true;
            say(loading_->answer);
            loader_.join();
            ready_ = std::move(loading_->program);
            loading_.reset();
        }
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        if (line_.find('\n') == std::string::npos && poll(&ready, 1, patience) > 0) {
            char bytes[4096];
            const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
            if (size <= 0)
                return false;
            line_.append(bytes, size_t(size));
        }
        for (size_t end; !loading_ && (end = line_.find('\n')) != std::string::npos;) {
            const std::string line = line_.substr(0, end);
            line_.erase(0, end + 1);
            if (line == "stop")
                return false;
            follow(line);
        }
        return true;
    }
    void follow(const std::string &line) {
        std::istringstream words(line);
        std::string name, first, second, answer;
        words >> name >> first >> second;
        if (name == "start")
            is_started_ = true;
        else if (name == "stats")
            say(std::string("{") + lanes() + ", " + program_->told(false) + "}");
        else if (name == "load" && !second.empty())
            load(first, second);
        else if (name == "switch" && ready_ && (first == "all" || first == "states" || first == "nothing"))
            change(first);
        else if (name == "signal" && program_->signal(first, answer))
            say(std::string("{\"answer\": ") + quoted(answer) + "}");
        else
            say(error(std::string("cannot follow: ") + line));
    }
    static void say(const std::string &line) {
        std::cout << line << std::endl;
    }
    static std::string error(const std::string &text) {
        return std::string("{\"error\": ") + quoted(text) + "}";
    }

    // In a thread of its own, as both a library and thousands of rules take longer than a port has room for packets.
    void load(const std::string &path, const std::string &signals) {
        loading_ = std::make_unique<Loading>();
        loader_ = std::thread([this, path, signals, &loading = *loading_] {
            try {
                loading.program = loaded(path, this);
                loading.answer =
                    std::string("{\"answers\": ") + list(first_answers(*loading.program, signals), true) + "}";
            } catch (const std::runtime_error &why) {
                loading.program.reset();
                loading.answer = error(why.what());
            }
            loading.is_done = true;
        });
    }
    static std::vector<std::string> first_answers(Program &program, const std::string &path) {
        std::vector<std::string> answers;
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            answers.emplace_back();
            if (!program.signal(line, answers.back()))
                throw std::runtime_error(std::string("cannot follow: ") + line);
        }
        return answers;
    }
    // Between two runs nothing is under way but packets that wait for something: those are dropped and counted.
    void change(const std::string &parts) {
        const Adopted adopted = parts == "nothing" ? Adopted{} : ready_->adopt(*program_, parts == "all");
        const size_t waited = program_->drop();
        dropped_ += waited;
        switches_++;
        if (retiring_.joinable())
            retiring_.join();
        retiring_ = std::thread([old = std::move(program_)]() mutable { old.reset(); }); // large tables take their time
        program_ = std::move(ready_);
        say(std::string("{\"kept\": ") + list(adopted.kept, true) + ", \"cleared\": " + list(adopted.cleared, true) +
            ", \"dropped\": " + std::to_string(waited) + "}");
    }

    std::unique_ptr<Program> program_, ready_;
    std::unique_ptr<Loading> loading_;
    std::thread loader_, retiring_;
    uint64_t switches_ = 0, dropped_ = 0; // packets dropped by them
    rte_mempool *pool_;
    std::vector<Lane> lanes_;
    Options options_;
    std::string line_;
    bool is_started_ = false;
    double hz_, seconds_ = 0, processor_ = 0;
};

bool start_port(uint16_t port, rte_mempool *pool) {
    rte_eth_conf configuration{};
    return rte_eth_dev_configure(port, 1, 1, &configuration) == 0 &&
           rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, nullptr, pool) == 0 &&
           rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, nullptr) == 0 && rte_eth_dev_start(port) == 0 &&
           (rte_eth_promiscuous_enable(port), true);
}

int fail(const std::string &text) {
    std::cerr << text << '\n';
    return 1;
}

void stop(int) {
    is_stopped = 1;
}

} // namespace

// The words in front of `--`; the place of that, or -1.
static int parsed(int count, char **words, Options &options, std::vector<std::string> &names) {
    for (int at = 1; at < count; at += 2) {
        const std::string name = words[at];
        if (name == "--")
            return at;
        if (at + 1 == count)
            return -1;
        if (name == "--program")
            options.program = words[at + 1];
        else if (name == "--port")
            names.push_back(words[at + 1]);
        else if (name == "--packets")
            options.packets = std::stoull(words[at + 1]);
        else if (name == "--mbufs")
            options.mbufs = unsigned(std::stoul(words[at + 1]));
        else if (name == "--seconds")
            options.seconds = std::stod(words[at + 1]);
        else
            return -1;
    }
    return -1;
}

int main(int count, char **words) {
    Options options;
    std::vector<std::string> names;
    const int at = parsed(count, words, options, names);
    if (at < 0)
        return fail("options: --program LIBRARY, --port NAME, --packets N, --seconds N, --mbufs N, -- EAL OPTIONS");
    words[at] = words[0];
    if (rte_eal_init(count - at, words + at) < 0)
        return fail("DPDK does not start with these options");
    rte_mempool *pool =
        rte_pktmbuf_pool_create("packets", options.mbufs, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool)
        return fail("no memory for packets: give DPDK more with -m");
    for (const std::string &name : names) {
        uint16_t port = 0;
        if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0 || !start_port(port, pool))
            return fail("port " + name + " does not start");
        options.ports.push_back(port);
    }
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    try {
        Runner runner(pool, options);
        if (runner.prepare() && !runner.run())
            return fail("the program does not terminate: an element keeps writing tokens");
        runner.report();
    } catch (const std::runtime_error &why) { // the library does not load
        return fail(why.what());
    }
    for (const uint16_t port : options.ports)
        rte_eth_dev_stop(port);
    rte_eal_cleanup();
    return 0;
}
