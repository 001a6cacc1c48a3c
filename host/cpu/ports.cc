// SPDX-License-Identifier: Apache-2.0
// Runs a configuration, which is in a shared library (packets/program.h), on DPDK's ports:
// `ports --program LIBRARY --port NAME ... [--packets N] [--seconds N] [--mbufs N] -- EAL OPTIONS`. The n-th port, by
// its name in DPDK, is lane n. Each core of EAL has a queue of each port and a configuration of its own (worker.h).
// Ends after so many packets of a core or seconds, at `stop`, at the end of stdin, by SIGINT or SIGTERM.
//
// Lines on stdin; each but the last two gets a line of JSON on stdout, where {"error": ...} says why not:
//   signal INSTANCE/NAME/HEX...  its answers, one of each core
//   load LIBRARY SIGNALS         another configuration, beside the one that runs, and the answers to its first signals,
//                                which are the lines of a file
//   switch PARTS                 that one, from the next packet on; it takes over its `states`, its states and rules
//                                (`all`), or `nothing`
//   stats                        counters, by core
//   start                        no packet is taken before
//   stop                         the last line on stdout is that of the whole run
// Exit status 1: a port does not start; a sentence on stderr says why.
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <map>
#include <poll.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf_pool_ops.h>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "words.h"
#include "worker.h"

using namespace sluice;

namespace {

constexpr uint16_t DESCRIPTORS = 512;
constexpr unsigned CACHE = 256;

struct Options {
    std::string program;
    std::vector<uint16_t> ports; // by lane
    Limits limits;
    unsigned mbufs = 8191;
};

using Programs = std::vector<std::unique_ptr<Program>>; // by core

// Configurations on the way: what came of them.
struct Loading {
    Programs programs;
    std::string answer; // the line
    std::atomic<bool> is_done = false;
};

// A path to the library of a core: a library has packets that it keeps, and so each core needs a copy of its own.
std::string library_of(const std::string &path, size_t core) {
    static std::map<std::pair<std::string, size_t>, std::string> copies;
    if (core == 0)
        return path;
    std::string &copy = copies[{path, core}];
    if (copy.empty()) {
        const int file = memfd_create("sluice", MFD_CLOEXEC);
        std::ifstream source(path, std::ios::binary);
        std::ostringstream bytes;
        bytes << source.rdbuf();
        const std::string all = bytes.str();
        for (size_t done = 0; done < all.size();) {
            const ssize_t more = write(file, all.data() + done, all.size() - done);
            if (more <= 0)
                throw std::runtime_error("no memory for a library");
            done += size_t(more);
        }
        copy = std::string("/proc/self/fd/") + std::to_string(file);
    }
    return copy;
}

// The library stays loaded for ever: what a later one takes over may point to its code. Throws std::runtime_error.
std::unique_ptr<Program> loaded(const std::string &path, size_t core, Exit *exit) {
    void *library = dlopen(library_of(path, core).c_str(), RTLD_NOW | RTLD_LOCAL);
    void *make = library ? dlsym(library, "sluice_make") : nullptr;
    if (!make)
        throw std::runtime_error(dlerror());
    return std::unique_ptr<Program>(reinterpret_cast<SluiceMake>(make)(exit));
}

// The cores of a run; the first of them, whose thread this one is, looks at stdin, too.
class Runner {
  public:
    Runner(rte_mempool *pool, const Options &options) : options_(options) {
        for (uint16_t core = 0; core < rte_lcore_count(); core++) {
            workers_.push_back(std::make_unique<Worker>(pool, options_.ports, core));
            workers_[core]->program = loaded(options.program, core, workers_[core].get());
        }
    }
    ~Runner() {
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
        const uint64_t begin = rte_get_tsc_cycles();
        unsigned lcore, core = 0;
        RTE_LCORE_FOREACH_WORKER(lcore) {
            Worker &worker = *workers_[++core];
            tasks_.push_back({&worker, &options_.limits, true});
        }
        core = 0;
        RTE_LCORE_FOREACH_WORKER(lcore) {
            rte_eal_remote_launch(work, &tasks_[core++], lcore);
            while (!tasks_[core - 1].worker->is_running() && rte_eal_get_lcore_state(lcore) == RUNNING)
                rte_pause();
        }
        bool rests = workers_[0]->run(options_.limits, [this] { return listen(0); });
        is_stopped = 1;
        rte_eal_mp_wait_lcore();
        for (const Task &task : tasks_)
            rests = rests && task.rests;
        seconds_ = double(rte_get_tsc_cycles() - begin) / double(rte_get_tsc_hz());
        return rests;
    }

    // The whole run.
    void report() {
        std::cout << "{\"seconds\": " << std::to_string(seconds_) << ", " << told(true) << "}" << std::endl;
    }

  private:
    struct Task {
        Worker *worker;
        const Limits *limits;
        bool rests;
    };
    static int work(void *argument) {
        auto *task = static_cast<Task *>(argument);
        task->rests = task->worker->run(*task->limits, [] { return true; });
        if (!task->rests)
            is_stopped = 1;
        return 0;
    }

    // Calls with each worker and its number, between two of its rounds.
    void each(const std::function<void(Worker &worker, size_t core)> &what) {
        what(*workers_[0], 0);
        for (size_t core = 1; core < workers_.size(); core++)
            workers_[core]->between_rounds([&] { what(*workers_[core], core); });
    }
    std::string told(bool all) {
        std::string out = "\"ticks_per_second\": " + std::to_string(double(rte_get_tsc_hz()));
        out += ", \"switches\": " + std::to_string(switches_) + ", \"cores\": [";
        each([&](Worker &worker, size_t core) { out += std::string(core ? ", {" : "{") + worker.told(all) + "}"; });
        return out + "]";
    }

    // What came on stdin, for which it waits so many milliseconds (-1: without end); false where it is to stop. Lines
    // behind `load` wait for it.
    bool listen(int patience) {
        if (loading_) {
            if (!loading_->is_done)
                return true;
            say(loading_->answer);
            loader_.join();
            ready_ = std::move(loading_->programs);
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
        std::string name, first, second;
        words >> name >> first >> second;
        if (name == "start")
            is_started_ = true;
        else if (name == "stats")
            say(std::string("{") + told(false) + "}");
        else if (name == "load" && !second.empty())
            load(first, second);
        else if (name == "switch" && !ready_.empty() && (first == "all" || first == "states" || first == "nothing"))
            change(first);
        else if (name != "signal" || !signal(first))
            say(error(std::string("cannot follow: ") + line));
    }
    static void say(const std::string &line) {
        std::cout << line << std::endl;
    }
    static std::string error(const std::string &text) {
        return std::string("{\"error\": ") + quoted(text) + "}";
    }
    bool signal(const std::string &text) {
        std::vector<std::string> answers(workers_.size());
        bool is_known = true;
        each([&](Worker &worker, size_t core) { is_known &= worker.program->signal(text, answers[core]); });
        if (is_known)
            say(std::string("{\"answers\": ") + list(answers, true) + "}");
        return is_known;
    }

    // In a thread of its own, as both a library and thousands of rules take longer than a port has room for packets.
    void load(const std::string &path, const std::string &signals) {
        loading_ = std::make_unique<Loading>();
        loader_ = std::thread([this, path, signals, &loading = *loading_] {
            try {
                std::vector<std::string> answers;
                for (size_t core = 0; core < workers_.size(); core++) {
                    loading.programs.push_back(loaded(path, core, workers_[core].get()));
                    answers = first_answers(*loading.programs[core], signals);
                }
                loading.answer = std::string("{\"answers\": ") + list(answers, true) + "}";
            } catch (const std::runtime_error &why) {
                loading.programs.clear();
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
    // Between two rounds nothing is under way but packets that wait for something: those are dropped and counted.
    void change(const std::string &parts) {
        Adopted adopted;
        Programs old(workers_.size());
        uint64_t dropped = 0;
        each([&](Worker &worker, size_t core) {
            std::unique_ptr<Program> &next = ready_[core];
            adopted = parts == "nothing" ? Adopted{} : next->adopt(*worker.program, parts == "all");
            const size_t waited = worker.program->drop();
            worker.dropped += waited;
            dropped += waited;
            old[core] = std::exchange(worker.program, std::move(next));
        });
        ready_.clear();
        switches_++;
        if (retiring_.joinable())
            retiring_.join();
        retiring_ = std::thread([old = std::move(old)]() mutable { old.clear(); }); // large tables take their time
        say(std::string("{\"kept\": ") + list(adopted.kept, true) + ", \"cleared\": " + list(adopted.cleared, true) +
            ", \"dropped\": " + std::to_string(dropped) + "}");
    }

    Options options_;
    std::vector<std::unique_ptr<Worker>> workers_; // by core
    std::vector<Task> tasks_;                      // of all but the first
    Programs ready_;
    std::unique_ptr<Loading> loading_;
    std::thread loader_, retiring_;
    uint64_t switches_ = 0;
    std::string line_;
    bool is_started_ = false;
    double seconds_ = 0;
};

// With a queue for each core; packets of a flow come to one of them. Throws std::runtime_error.
void start_port(const std::string &name, uint16_t port, rte_mempool *pool) {
    const auto queues = uint16_t(rte_lcore_count());
    rte_eth_conf configuration{};
    rte_eth_dev_info info{};
    rte_eth_dev_info_get(port, &info);
    const unsigned most = std::min(info.max_rx_queues, info.max_tx_queues);
    if (queues > most)
        throw std::runtime_error("port " + name + " has " + std::to_string(most) + " queues: --threads " +
                                 std::to_string(most) + " is the most");
    const uint64_t hashed = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
    if (queues > 1 && hashed && std::strcmp(info.driver_name, "net_tap") != 0) { // behind a TAP, the kernel does it
        configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        configuration.rx_adv_conf.rss_conf.rss_hf = hashed;
    }
    bool is_good = rte_eth_dev_configure(port, queues, queues, &configuration) == 0;
    for (uint16_t queue = 0; is_good && queue < queues; queue++)
        is_good = rte_eth_rx_queue_setup(port, queue, DESCRIPTORS, SOCKET_ID_ANY, nullptr, pool) == 0 &&
                  rte_eth_tx_queue_setup(port, queue, DESCRIPTORS, SOCKET_ID_ANY, nullptr) == 0;
    if (!is_good || rte_eth_dev_start(port) != 0)
        throw std::runtime_error("port " + name + " does not start");
    rte_eth_promiscuous_enable(port);
}

// As rte_pktmbuf_pool_create. That gives each mbuf a page where pages are small, so that all heads of packets are in
// one set of the first cache; only devices that see physical addresses need it.
rte_mempool *made_pool(unsigned count) {
    const unsigned flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
    rte_pktmbuf_pool_private room{};
    room.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE;
    rte_mempool *pool = rte_mempool_create_empty("packets", count, sizeof(rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, CACHE,
                                                 sizeof room, SOCKET_ID_ANY, flags);
    if (!pool)
        return nullptr;
    rte_pktmbuf_pool_init(pool, &room);
    if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) != 0 ||
        rte_mempool_populate_default(pool) < 0) {
        rte_mempool_free(pool);
        return nullptr;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
    return pool;
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
            options.limits.packets = std::stoull(words[at + 1]);
        else if (name == "--mbufs")
            options.mbufs = unsigned(std::stoul(words[at + 1]));
        else if (name == "--seconds")
            options.limits.seconds = std::stod(words[at + 1]);
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
    rte_mempool *pool = made_pool(options.mbufs);
    if (!pool)
        return fail("no memory for packets: give DPDK more with -m");
    try {
        for (const std::string &name : names) {
            uint16_t port = 0;
            if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0)
                throw std::runtime_error("port " + name + " does not start");
            start_port(name, port, pool);
            options.ports.push_back(port);
        }
        std::signal(SIGINT, stop);
        std::signal(SIGTERM, stop);
        Runner runner(pool, options);
        if (runner.prepare() && !runner.run())
            return fail("the program does not terminate: an element keeps writing tokens");
        runner.report();
    } catch (const std::runtime_error &why) { // a port does not start, or the library does not load
        return fail(why.what());
    }
    for (const uint16_t port : options.ports)
        rte_eth_dev_stop(port);
    rte_eal_cleanup();
    return 0;
}
