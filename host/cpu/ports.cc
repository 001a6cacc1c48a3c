// SPDX-License-Identifier: Apache-2.0
// Runs a configuration on DPDK's ports: `ports --port NAME ... [--packets N] [--seconds N] [--mbufs N] -- EAL OPTIONS`.
// The n-th port, by its name in DPDK, is lane n. Ends after so many packets or seconds, at `stop`, at the end of stdin,
// by SIGINT or SIGTERM.
//
// Lines on stdin: `signal INSTANCE/NAME/HEX...`, `stats`, `start`, `stop`. No packet is taken before `start`. A signal
// gets a line of JSON with its answer on stdout, `stats` one with counters; the last line is that of the whole run.
// Exit status 1: a port does not start; a sentence on stderr says why.
#include <csignal>
#include <ctime>
#include <iostream>
#include <poll.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sstream>
#include <unistd.h>

#include "graph.h"
#include "text.h"

using namespace sluice;

namespace {

constexpr uint16_t DESCRIPTORS = 512;
constexpr unsigned CACHE = 256;
constexpr uint64_t ROUNDS = 1 << 17;
constexpr unsigned LISTEN_EVERY = 1024; // rounds of the ports from one look at stdin to the next

volatile std::sig_atomic_t is_stopped = 0;

// In the private bytes of an mbuf.
struct Held : Buffer {
    rte_mbuf *mbuf;
};

Held *held(rte_mbuf *mbuf) {
    return static_cast<Held *>(rte_mbuf_to_priv(mbuf));
}

void free_mbuf(Buffer *buffer) {
    rte_pktmbuf_free(static_cast<Held *>(buffer)->mbuf);
}

// What stays the same of an mbuf of the pool.
void prepare_mbuf(rte_mempool *, void *, void *object, unsigned) {
    auto *mbuf = static_cast<rte_mbuf *>(object);
    *held(mbuf) = {{0, free_mbuf}, mbuf};
}

double processor_seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

struct Lane {
    uint64_t received = 0, sent = 0, unsent = 0, errors = 0, lost = 0;
    rte_mbuf *waiting[BURST];
    uint16_t count = 0;
};

struct Options {
    std::vector<uint16_t> ports; // by lane
    uint64_t packets = ~uint64_t{0};
    double seconds = 1e18;
    unsigned mbufs = 8191;
};

class Runner {
  public:
    Runner(rte_mempool *pool, const Options &options)
        : graph_([](unsigned, const Bytes &, uint64_t, bool) {},
                 [this](unsigned lane, const Leaving *packets, size_t count) { leave(lane, packets, count); }),
          pool_(pool), lanes_(options.ports.size()), options_(options), hz_(double(rte_get_tsc_hz())) {
        build(graph_);
        graph_.start(0);
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
            if (arrived && !pass())
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
        std::string out = counters() + "}, \"seconds\": " + std::to_string(seconds_);
        out += ", \"processor_seconds\": " + std::to_string(processor_) +
               ", \"unread\": " + std::to_string(graph_.unread());
        out += ", \"outcomes\": {";
        for (size_t i = 0; i < graph_.instances.size(); i++)
            out +=
                (i ? ", " : "") + quoted(graph_.instances[i].first) + ": {" + told(*graph_.instances[i].second) + "}";
        std::cout << "{" << out << "}}" << std::endl;
    }

  private:
    // Of lanes, and iterations of instances; the object of the latter stays open.
    std::string counters() const {
        std::string out = "\"lanes\": [";
        for (size_t i = 0; i < lanes_.size(); i++) {
            const Lane &lane = lanes_[i];
            out += std::string(i ? ", " : "") + "{\"received\": " + std::to_string(lane.received);
            out += ", \"sent\": " + std::to_string(lane.sent) + ", \"unsent\": " + std::to_string(lane.unsent);
            out += ", \"errors\": " + std::to_string(lane.errors) + ", \"lost\": " + std::to_string(lane.lost) + "}";
        }
        out += "], \"instances\": {";
        for (size_t i = 0; i < graph_.instances.size(); i++)
            out += (i ? ", " : "") + quoted(graph_.instances[i].first) + ": " +
                   std::to_string(graph_.instances[i].second->iterations);
        return out;
    }

    unsigned receive(unsigned lane, uint64_t time) {
        rte_mbuf *found[BURST];
        Arriving arriving[BURST];
        size_t left = 0;
        const uint16_t count = rte_eth_rx_burst(options_.ports[lane], 0, found, uint16_t(BURST));
        if (count == 0)
            return 0;
        for (uint16_t i = 0; i < count; i++) {
            rte_mbuf *mbuf = found[i];
            if (mbuf->nb_segs > 1 && rte_pktmbuf_linearize(mbuf) != 0) {
                lanes_[lane].lost++;
                rte_pktmbuf_free(mbuf);
                continue;
            }
            Held *buffer = held(mbuf);
            buffer->users = 1;
            arriving[left++] = {rte_pktmbuf_mtod(mbuf, uint8_t *), mbuf->data_len, buffer, time};
        }
        if (!graph_.send(lane, arriving, left)) {
            for (size_t i = 0; i < left; i++)
                give_back(arriving[i].buffer);
            lanes_[lane].lost += left;
        }
        lanes_[lane].received += count;
        return count;
    }

    bool pass() {
        if (!graph_.run(ROUNDS))
            return false;
        for (unsigned lane = 0; lane < lanes_.size(); lane++)
            flush(lane);
        return true;
    }

    void leave(unsigned number, const Leaving *packets, size_t count) {
        if (number >= lanes_.size()) {
            for (size_t i = 0; i < count; i++)
                give_back(packets[i].buffer);
            return;
        }
        Lane &lane = lanes_[number];
        for (size_t i = 0; i < count; i++) {
            if (packets[i].is_bad) {
                lane.errors++;
                give_back(packets[i].buffer);
            } else if (rte_mbuf *mbuf = mbuf_of(packets[i])) {
                lane.waiting[lane.count++] = mbuf;
                if (lane.count == BURST)
                    flush(number);
            } else {
                lane.unsent++;
            }
        }
    }
    // Of a packet, with its bytes; none where there is no memory.
    rte_mbuf *mbuf_of(const Leaving &packet) {
        const bool is_kept = packet.buffer && packet.buffer->users == 1;
        rte_mbuf *mbuf = is_kept ? static_cast<Held *>(packet.buffer)->mbuf : copied(packet);
        if (!mbuf)
            return nullptr;
        auto *bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
        if (bytes != packet.head)
            std::memcpy(bytes, packet.head, packet.head_size);
        mbuf->data_len = uint16_t(packet.head_size + packet.rest_size);
        mbuf->pkt_len = mbuf->data_len;
        return mbuf;
    }
    // Another mbuf with the bytes behind the first flit; none where there is no memory, or they do not fit.
    rte_mbuf *copied(const Leaving &packet) {
        rte_mbuf *mbuf = rte_pktmbuf_alloc(pool_);
        if (mbuf && rte_pktmbuf_tailroom(mbuf) < packet.head_size + packet.rest_size) {
            rte_pktmbuf_free(mbuf);
            mbuf = nullptr;
        }
        if (mbuf && packet.rest_size) {
            const auto *from = rte_pktmbuf_mtod(static_cast<Held *>(packet.buffer)->mbuf, const uint8_t *);
            std::memcpy(rte_pktmbuf_mtod(mbuf, uint8_t *) + packet.head_size, from + packet.head_size,
                        packet.rest_size);
        }
        give_back(packet.buffer);
        return mbuf;
    }
    static void give_back(Buffer *buffer) {
        if (buffer && --buffer->users == 0)
            buffer->give_back(buffer);
    }

    void flush(unsigned number) {
        Lane &lane = lanes_[number];
        const uint16_t count = lane.count;
        if (count == 0)
            return;
        const uint16_t sent = rte_eth_tx_burst(options_.ports[number], 0, lane.waiting, count);
        rte_pktmbuf_free_bulk(lane.waiting + sent, unsigned(count - sent));
        lane.sent += sent;
        lane.unsent += unsigned(count - sent);
        lane.count = 0;
    }

    // What came on stdin, for which it waits so many milliseconds (-1: without end); false where it is to stop.
    bool listen(int patience) {
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        if (poll(&ready, 1, patience) <= 0)
            return true;
        char bytes[4096];
        const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
        if (size <= 0)
            return false;
        line_.append(bytes, size_t(size));
        for (size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1))
            if (!follow(line_.substr(0, end)))
                return false;
        return true;
    }
    bool follow(const std::string &line) {
        if (line == "stop")
            return false;
        if (line == "start")
            is_started_ = true;
        else if (line == "stats")
            std::cout << "{" << counters() << "}}" << std::endl;
        else if (line.rfind("signal ", 0) != 0 || !serve(line.substr(7)))
            std::cout << "{\"error\": " << quoted("cannot follow: " + line) << "}" << std::endl;
        return true;
    }
    bool serve(const std::string &text) {
        for (auto &[name, element] : graph_.instances) {
            if (text.compare(0, name.size() + 1, name + "/") != 0)
                continue;
            try {
                element->signals.push_back(call_of(text.substr(name.size() + 1)));
            } catch (const std::logic_error &) { // not a number
                return false;
            }
            if (!pass())
                return false;
            std::cout << "{\"answer\": " << quoted(element->answers.back()) << "}" << std::endl;
            element->answers.clear();
            return true;
        }
        return false;
    }

    Graph graph_;
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
        if (name == "--port")
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
        return fail("options: --port NAME, --packets N, --seconds N, --mbufs N, -- EAL OPTIONS");
    words[at] = words[0];
    if (rte_eal_init(count - at, words + at) < 0)
        return fail("DPDK does not start with these options");
    rte_mempool *pool = rte_pktmbuf_pool_create("packets", options.mbufs, CACHE, RTE_CACHE_LINE_SIZE,
                                                RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool)
        return fail("no memory for packets: give DPDK more with -m");
    rte_mempool_obj_iter(pool, prepare_mbuf, nullptr);
    for (const std::string &name : names) {
        uint16_t port = 0;
        if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0 || !start_port(port, pool))
            return fail("port " + name + " does not start");
        options.ports.push_back(port);
    }
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    {
        Runner runner(pool, options);
        if (runner.prepare() && !runner.run())
            return fail("the program does not terminate: an element keeps writing tokens");
        runner.report();
    }
    for (const uint16_t port : options.ports)
        rte_eth_dev_stop(port);
    rte_eal_cleanup();
    return 0;
}
