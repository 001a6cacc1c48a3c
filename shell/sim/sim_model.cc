// SPDX-License-Identifier: Apache-2.0
// Drives the Verilated shell: lanes, the register bus, and the DMA of the self-described buffers. The DMA believes
// nothing the host wrote: lengths and chains are checked against the ring, what cannot be is counted and skipped. Nor
// does it believe the device: what would be written outside of the host's buffers and records is refused and counted.

#include "sim_model.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vsh_sim.h"
#include "sluice_layouts.h"
#include "verilated.h"

namespace {

constexpr unsigned FLIT_BYTES = SLUICE_DATA_BYTES;
constexpr unsigned FLIT_WORDS = 512 / 32;
constexpr unsigned VALID_PLACE = 16; // of buffer_meta_t.valid, in bytes
constexpr unsigned LANE_QUEUE = 16;  // packets
constexpr uint32_t RING_LEAST = (SLUICE_EGRESS_BYTES + SLUICE_BUFFER_DATA_SIZE - 1) / SLUICE_BUFFER_DATA_SIZE;
constexpr uint32_t PATIENCE = 20000;
constexpr unsigned MAX_READY_CYCLES = 1U << 20;
constexpr unsigned RESET_CYCLES = 32;
// Lanes with clocks of their own: slower and faster than the core's, in no simple ratio to it or to each other.
constexpr uint64_t CORE_PERIOD_PS = 5000;
constexpr uint64_t LANE_PERIODS_PS[] = {3107, 7919, 4999, 12473, 2003, 6311, 5003, 10007};
// As MACs of 100 Gbps Ethernet that cannot wait: 322.27 MHz each, and a packet's 24 bytes of FCS, preamble and gap.
constexpr uint64_t MAC_PERIOD_PS = 3103, MAC_BYTE_PS = 80, MAC_GAP_BYTES = 24;
constexpr uint64_t MAC_RESTART = 8; // cycles
constexpr unsigned MAC_QUEUE = 256; // packets
// The core does not see what is between two clocks: it has left this many core cycles after the last that it saw.
constexpr uint32_t CROSSING_CYCLES = 64;
constexpr unsigned ALL_LANES = ~0U;

enum control_bits : uint32_t { SOP = 1, EOP = 2, ERROR = 4 };

struct packet {
    std::vector<uint8_t> bytes;
    bool bad = false;
    sim_packet_info info{};
};

// Cuts a packet into flits. The bytes behind its end read 0.
struct cutter {
    uint32_t offset = 0;

    uint32_t cut(const packet &from, uint32_t *words) const {
        uint32_t size = static_cast<uint32_t>(from.bytes.size()) - offset;
        uint32_t here = size < FLIT_BYTES ? size : FLIT_BYTES;
        uint32_t control = offset == 0 ? SOP : 0U;
        std::memcpy(words, from.bytes.data() + offset, here);
        std::memset(reinterpret_cast<uint8_t *>(words) + here, 0, FLIT_BYTES - here);
        if (here == size)
            control |= EOP | (FLIT_BYTES - here) << 8 | (from.bad ? ERROR : 0U);
        return control;
    }
};

struct lane {
    std::deque<packet> waiting, left;
    cutter cut;
    bool offered = false, listens = true, stopped = false;
    packet leaving;
    uint64_t period_ps = 0, next_edge_ps = 0; // of its own clock
    uint64_t due_ps = 0;                      // a MAC: its line is busy until then

    // A MAC sends no packet before its clock has taken the device's side out of reset.
    void restart(uint64_t now_ps) {
        next_edge_ps = std::max(next_edge_ps, now_ps + period_ps);
        due_ps = now_ps + MAC_RESTART * period_ps;
    }
    bool starts_now() const {
        return cut.offset != 0 || offered || due_ps <= next_edge_ps;
    }
};

struct ring {
    uint8_t *memory = nullptr;
    uint32_t buffers = 0;
    uint64_t filled = 0, freed = 0; // buffers given over and taken back, since the start

    uint8_t *buffer(uint64_t index) const {
        return memory + (index % buffers) * SLUICE_BUFFER_SIZE;
    }
    uint8_t *key(uint64_t index) const {
        return buffer(index) + SLUICE_BUFFER_META_SIZE;
    }
    uint8_t *data(uint64_t index) const {
        return key(index) + SLUICE_BUFFER_KEY_SIZE;
    }
    uint32_t generation(uint64_t index) const {
        uint32_t round = static_cast<uint32_t>(index / buffers) + 1;
        return round == 0 ? 1 : round;
    }
};

struct sim_model *last = nullptr;

} // namespace

struct sim_model {
    VerilatedContext context;
    std::unique_ptr<Vsh_sim> top;
    std::vector<lane> lanes;
    ring from_host;
    std::vector<ring> to_host;  // the common one, and behind it those of queues
    unsigned queue_rings = 0;   // of those, how many are there
    bool rings_changed = false; // since the device was told which are full
    uint8_t *mirror = nullptr;  // counters of rules
    uint32_t mirror_records = 0;
    uint64_t cycles = 0, invalid = 0, refused = 0;
    bool lane_clocks = false; // lanes have clocks of their own
    bool macs = false;        // then: they are MACs that cannot wait
    uint64_t time_ps = 0;     // then: of the core's last edge
    uint64_t core_period_ps = CORE_PERIOD_PS;
    uint32_t quiet_cycles = 0; // then: since something was seen in the device
    // To-host packet under way: its ring, its first buffer, the one being filled, and how much is in it.
    ring *into = nullptr;
    uint64_t first_buffer = 0, buffer = 0;
    uint32_t received = 0, in_buffer = 0;
    bool receiving = false, skipping = false; // skipping: the rest of a packet that was refused
    sluice_buffer_meta meta{};
    // From-host packet under way.
    packet sending;
    cutter send_cut;
    sluice_meta send_meta{};
    uint64_t sending_buffers = 0; // given back once all of it is in the device
    bool have_sending = false, send_offered = false;

    sim_model() {
        if (const char *seed = std::getenv("SLUICE_SIM_SEED")) {
            int number = std::atoi(seed);
            context.randReset(2);
            context.randSeed(number ? number : 1 << 30); // 0: Verilator takes one of its own in each run
        }
        top.reset(new Vsh_sim(&context));
        top->lanes_wait_i = 1;
        lanes.resize(sizeof(top->lane_rx_control_i) / sizeof(uint32_t));
        for (size_t i = 0; i < lanes.size(); i++)
            lanes[i].period_ps = LANE_PERIODS_PS[i];
        to_host.resize(1 + lanes.size() * SLUICE_HOST_QUEUES);
    }
    ~sim_model() {
        top->final();
    }

    template <typename T> static uint32_t *words(T &wide) {
        return reinterpret_cast<uint32_t *>(&wide);
    }

    // Offer and take: the lanes of a mask, before the edge of their clock.
    void offer_lanes(unsigned clocked) {
        auto valid = static_cast<uint8_t>(top->lane_rx_valid_i & ~clocked);
        for (unsigned i = 0; i < lanes.size(); i++) {
            lane &it = lanes[i];
            if (!(clocked >> i & 1) || it.waiting.empty() ||
                (macs && (top->rst_i ? it.cut.offset == 0 : !it.starts_now())))
                continue;
            if (macs && it.cut.offset == 0 && !it.offered)
                it.due_ps = std::max(it.due_ps + it.period_ps, it.next_edge_ps) - it.period_ps +
                            (it.waiting.front().bytes.size() + MAC_GAP_BYTES) * MAC_BYTE_PS;
            valid = static_cast<uint8_t>(valid | 1U << i);
            if (!it.offered) {
                words(top->lane_rx_control_i)[i] =
                    it.cut.cut(it.waiting.front(), words(top->lane_rx_bytes_i) + i * FLIT_WORDS);
                it.offered = true;
            }
        }
        top->lane_rx_valid_i = valid;
        uint8_t ready = 0;
        for (unsigned i = 0; i < lanes.size(); i++)
            ready = static_cast<uint8_t>(ready | (lanes[i].listens ? 1U << i : 0U));
        top->lane_tx_ready_i = ready;
    }

    void take_lanes(unsigned clocked) {
        unsigned moved = top->lane_rx_valid_i & (macs ? ALL_LANES : top->lane_rx_ready_o) & clocked;
        quiet_cycles = moved ? 0 : quiet_cycles;
        for (unsigned i = 0; moved != 0; i++, moved >>= 1) {
            if (!(moved & 1))
                continue;
            lane &it = lanes[i];
            it.offered = false;
            it.cut.offset += FLIT_BYTES;
            if (it.cut.offset >= it.waiting.front().bytes.size()) {
                it.waiting.pop_front();
                it.cut.offset = 0;
            }
        }
        moved = top->lane_tx_valid_o & top->lane_tx_ready_i & clocked;
        for (unsigned i = 0; moved != 0; i++, moved >>= 1)
            if (moved & 1)
                leave(i);
    }

    void leave(unsigned index) {
        lane &it = lanes[index];
        uint32_t control = words(top->lane_tx_control_o)[index];
        const auto *bytes = reinterpret_cast<const uint8_t *>(words(top->lane_tx_bytes_o) + index * FLIT_WORDS);
        uint32_t size = FLIT_BYTES - (control & EOP ? control >> 8 & 0xff : 0U);
        if (control & SOP) {
            it.leaving.bytes.clear();
            it.leaving.info.first_cycle = cycles;
            std::memcpy(&it.leaving.info.ingress_cycle, words(top->lane_tx_timestamp_o) + 2 * index, 8);
        }
        it.leaving.bytes.insert(it.leaving.bytes.end(), bytes, bytes + size);
        if (control & EOP) {
            it.leaving.info.last_cycle = cycles;
            it.left.push_back(it.leaving);
        }
    }

    // To the host: a buffer must be free before a flit is taken. The ring of the packet that is offered, or will be.
    ring *target() {
        if (queue_rings == 0)
            return to_host.data();
        sluice_meta seen;
        sluice_host_info info;
        sluice_meta_unpack(&seen, reinterpret_cast<const uint8_t *>(&top->to_host_meta_o));
        sluice_host_info_unpack(&info, reinterpret_cast<const uint8_t *>(&top->to_host_info_o));
        unsigned lane = seen.ingress_port < lanes.size() ? seen.ingress_port : 0;
        return &to_host[1 + lane * SLUICE_HOST_QUEUES + info.receive_queue];
    }

    bool to_host_room() {
        if (!receiving) {
            into = target();
            buffer = into->filled;
        }
        uint64_t next = receiving && in_buffer == SLUICE_BUFFER_DATA_SIZE ? buffer + 1 : buffer;
        return into->buffers != 0 && next - into->freed < into->buffers;
    }

    // Which queues have no ring, and which of the others no room for the largest packet. As all inputs, between two
    // edges.
    void tell_full() {
        rings_changed = false;
        top->to_host_absent_i = top->to_host_full_i = 0;
        for (size_t i = 1; i < to_host.size() && queue_rings != 0; i++) {
            const ring &it = to_host[i];
            top->to_host_absent_i |= static_cast<uint64_t>(it.buffers == 0) << (i - 1);
            top->to_host_full_i |= static_cast<uint64_t>(it.buffers - (it.filled - it.freed) < RING_LEAST) << (i - 1);
        }
    }

    void refuse(const char *what) {
        if (refused++ == 0)
            std::fprintf(stderr, "sim: the device was refused access to host memory: %s\n", what);
    }

    void begin_to_host() {
        sluice_meta seen;
        sluice_meta_unpack(&seen, reinterpret_cast<const uint8_t *>(&top->to_host_meta_o));
        meta = sluice_buffer_meta{};
        meta.slot = static_cast<uint32_t>(into - to_host.data());
        meta.ingress_port = seen.ingress_port;
        meta.egress_mask = seen.egress_mask;
        meta.queue = seen.queue;
        meta.verdict = seen.verdict;
        meta.fault = seen.fault;
        meta.mark = seen.mark;
        meta.timestamp = seen.timestamp;
        meta.length = seen.length;
        first_buffer = buffer = into->filled;
        received = in_buffer = 0;
        receiving = true;
        skipping = false;
    }

    // A flit to the host begins a packet, or goes on with one that is not too long; of others the packet is refused.
    void check_to_host(uint32_t control, uint32_t size) {
        const char *wrong = nullptr;
        if (receiving && control & SOP)
            wrong = "a packet begins within another";
        else if (receiving && received + size > SLUICE_EGRESS_BYTES)
            wrong = "a packet is longer than any can be";
        else if (!receiving && !skipping && !(control & SOP))
            wrong = "a packet begins in its middle";
        if (wrong) {
            refuse(wrong);
            receiving = false;
            skipping = true;
        } else if (control & SOP) {
            begin_to_host();
        }
    }

    void take_to_host() {
        uint32_t control = top->to_host_control_o;
        uint32_t size = FLIT_BYTES - (control & EOP ? control >> 8 & 0xff : 0U);
        check_to_host(control, size);
        if (receiving) {
            if (in_buffer == SLUICE_BUFFER_DATA_SIZE) {
                buffer++;
                in_buffer = 0;
            }
            std::memcpy(into->data(buffer) + in_buffer, &top->to_host_bytes_o, size);
            in_buffer += size;
            received += size;
            if (control & EOP)
                finish_to_host();
        }
        skipping = skipping && !(control & EOP);
    }

    void describe() {
        sluice_host_info info;
        sluice_host_info_unpack(&info, reinterpret_cast<const uint8_t *>(&top->to_host_info_o));
        meta.receive_queue = info.receive_queue;
        meta.tags = info.tags;
        meta.l3_kind = info.l3_kind;
        meta.l4_kind = info.l4_kind;
        meta.l3_offset = info.l3_offset;
        meta.l4_offset = info.l4_offset;
        meta.hash_kind = info.hash_kind;
        meta.hash = info.hash;
        meta.has_key = info.has_key;
        meta.checksum_verified = info.checksum_verified;
        meta.l4_sum = info.l4_sum;
    }

    // Payload is there; now the key, and metadata, chained buffers first, the first buffer's valid word last of all.
    void finish_to_host() {
        describe();
        if (top->host_queues_o != 0)
            std::memcpy(into->key(first_buffer), &top->to_host_key_o, SLUICE_BUFFER_KEY_SIZE);
        uint32_t rest = received;
        for (uint64_t index = buffer + 1; index-- > first_buffer;) {
            uint32_t before = static_cast<uint32_t>(index - first_buffer) * SLUICE_BUFFER_DATA_SIZE;
            uint8_t packed[SLUICE_BUFFER_META_BYTES];
            meta.address = (index % into->buffers) * SLUICE_BUFFER_SIZE;
            meta.next = index == buffer ? 0 : ((index + 1) % into->buffers) * SLUICE_BUFFER_SIZE;
            meta.length = static_cast<uint16_t>(received);
            meta.buffer_length = static_cast<uint16_t>(rest - before);
            meta.valid = 0;
            rest = before;
            sluice_buffer_meta_pack(&meta, packed);
            std::memcpy(into->buffer(index), packed, sizeof packed);
            // Whoever polls in another thread sees the rest once it sees this.
            auto *valid = reinterpret_cast<uint32_t *>(into->buffer(index) + VALID_PLACE);
            __atomic_store_n(valid, into->generation(index), __ATOMIC_RELEASE);
        }
        buffer++;
        into->filled = buffer;
        receiving = false;
        rings_changed = true;
    }

    // From the host: read the next packet out of its buffers.
    void fetch_from_host() {
        while (!have_sending && from_host.freed < from_host.filled) {
            sluice_buffer_meta head;
            sluice_buffer_meta_unpack(&head, from_host.buffer(from_host.freed));
            uint64_t count = (head.length + SLUICE_BUFFER_DATA_SIZE - 1) / SLUICE_BUFFER_DATA_SIZE;
            if (head.length == 0 || head.length > SLUICE_EGRESS_BYTES || count > from_host.filled - from_host.freed) {
                invalid++;
                from_host.freed++;
                continue;
            }
            sending.bytes.resize(head.length);
            for (uint64_t i = 0; i < count; i++) {
                uint32_t at = static_cast<uint32_t>(i) * SLUICE_BUFFER_DATA_SIZE, size = head.length - at;
                std::memcpy(sending.bytes.data() + at, from_host.data(from_host.freed + i),
                            size < SLUICE_BUFFER_DATA_SIZE ? size : SLUICE_BUFFER_DATA_SIZE);
            }
            send_meta.ingress_port = head.ingress_port;
            send_meta.egress_mask = head.egress_mask;
            send_meta.queue = head.queue & 0xf;
            send_meta.verdict = head.verdict & 0x7;
            send_meta.fault = head.fault & 0xf;
            send_meta.mark = head.mark;
            send_meta.timestamp = head.timestamp;
            sending_buffers = count;
            have_sending = true;
            send_cut.offset = 0;
            send_offered = false;
        }
    }

    void offer_host() {
        if (rings_changed)
            tell_full();
        top->to_host_ready_i = to_host_room();
        fetch_from_host();
        top->from_host_valid_i = have_sending;
        if (have_sending && !send_offered) {
            top->from_host_control_i = send_cut.cut(sending, words(top->from_host_bytes_i));
            sluice_meta_pack(&send_meta, reinterpret_cast<uint8_t *>(words(top->from_host_meta_i)));
            send_offered = true;
        }
    }

    void take_host() {
        if (top->to_host_valid_o && top->to_host_ready_i)
            take_to_host();
        if (have_sending && top->from_host_ready_o) {
            send_offered = false;
            send_cut.offset += FLIT_BYTES;
            have_sending = send_cut.offset < sending.bytes.size();
            if (!have_sending)
                from_host.freed += sending_buffers;
        }
    }

    // Counters of a rule into host memory; whoever reads them in another thread sees by the editions whether words
    // belong together.
    void take_push() {
        sluice_rule_push push;
        uint64_t words[SLUICE_RULE_MIRROR_BYTES / sizeof(uint64_t)];
        sluice_rule_push_unpack(&push, reinterpret_cast<const uint8_t *>(&top->push_o));
        if (push.place >= mirror_records) {
            if (mirror)
                refuse("counters of a rule have no record");
            return;
        }
        sluice_rule_mirror record{};
        record.packets = push.counters.packets;
        record.bytes = push.counters.bytes;
        record.last_hit = push.counters.last_hit;
        record.packets_edition = record.bytes_edition = record.last_hit_edition = push.edition;
        sluice_rule_mirror_pack(&record, reinterpret_cast<uint8_t *>(words));
        auto *place = reinterpret_cast<uint64_t *>(mirror + static_cast<size_t>(push.place) * sizeof words);
        for (uint64_t word : words)
            __atomic_store_n(place++, word, __ATOMIC_RELAXED);
    }

    void lane_edge(unsigned index) {
        unsigned clocked = 1U << index;
        top->lane_clk_i = static_cast<uint8_t>(top->lane_clk_i & ~clocked);
        offer_lanes(clocked);
        top->eval();
        take_lanes(clocked);
        top->lane_clk_i = static_cast<uint8_t>(top->lane_clk_i | clocked);
        top->eval();
        lanes[index].next_edge_ps += lanes[index].period_ps;
    }

    // The edges of the lanes' clocks up to the core's next one, in the order of time.
    void lane_edges() {
        time_ps += core_period_ps;
        for (;;) {
            auto next = std::min_element(lanes.begin(), lanes.end(), [](const lane &a, const lane &b) {
                return a.stopped != b.stopped ? b.stopped : a.next_edge_ps < b.next_edge_ps;
            });
            if (next->stopped || next->next_edge_ps >= time_ps)
                break;
            lane_edge(static_cast<unsigned>(next - lanes.begin()));
        }
        quiet_cycles = top->idle_o ? quiet_cycles + 1 : 0;
    }

    void cycle() {
        if (lane_clocks)
            lane_edges();
        else
            offer_lanes(ALL_LANES);
        offer_host();
        top->clk_i = 0;
        top->eval();
        if (!lane_clocks)
            take_lanes(ALL_LANES);
        take_host();
        if (top->push_valid_o)
            take_push();
        top->clk_i = 1;
        top->eval();
        cycles++;
    }

    // One register access. The request holds until it is taken; the answer is a pulse.
    int access(bool write, uint32_t address, uint32_t data, uint32_t *value) {
        top->reg_valid_i = 1;
        top->reg_write_i = write;
        top->reg_address_i = address;
        top->reg_data_i = data;
        for (uint32_t i = 0; i < PATIENCE; i++) {
            top->clk_i = 0;
            top->eval();
            bool taken = top->reg_valid_i && top->reg_ready_o;
            cycle();
            if (taken)
                top->reg_valid_i = 0;
            if (top->reg_response_valid_o && !top->reg_valid_i) {
                if (top->reg_response_error_o)
                    return -EFAULT;
                if (value)
                    *value = top->reg_response_data_o;
                return 0;
            }
        }
        top->reg_valid_i = 0;
        return -ETIMEDOUT;
    }

    bool idle() const {
        for (const lane &it : lanes)
            if (!it.waiting.empty())
                return false;
        if (lane_clocks && (quiet_cycles < CROSSING_CYCLES || top->lane_tx_valid_o))
            return false;
        return top->idle_o && !top->to_host_valid_o && !have_sending && from_host.freed == from_host.filled;
    }

    // Reset, and wait until the tables are ready. Lanes go on with what they send; the rings start a new packet.
    bool start() {
        top->rst_i = 1;
        top->eval();
        lane_clocks = top->lane_clocks_o;
        top->clk_i = 0; // nothing leaves by the edge that begins it
        top->eval();
        top->clk_i = 1;
        top->eval();
        for (unsigned i = 0; i < RESET_CYCLES; i++)
            cycle();
        top->rst_i = 0;
        receiving = skipping = send_offered = false;
        send_cut.offset = 0;
        for (lane &it : lanes)
            it.restart(time_ps);
        cycles = 0;
        for (unsigned window : {2U, 3U}) {
            uint32_t status = 0;
            for (unsigned i = 0; !(status & 1); i++) {
                int result = access(false, window * SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_STATUS, 0, &status);
                if (result == -EFAULT) // no rule table: a compiled configuration
                    break;
                if (i > MAX_READY_CYCLES / 64 || result)
                    return false;
                sim_model_step(this, 64);
            }
        }
        return true;
    }
};

extern "C" {

struct sim_model *sim_model_new(void) {
    std::unique_ptr<sim_model> model(new (std::nothrow) sim_model());
    return last = model && model->start() ? model.release() : nullptr;
}

struct sim_model *sim_model_last(void) {
    return last;
}

int sim_model_reset(struct sim_model *model) {
    return model->start() ? 0 : -ETIMEDOUT;
}

uint32_t sim_model_lane_waiting(const struct sim_model *model, unsigned index) {
    if (index >= model->lanes.size())
        return 0;
    const lane &it = model->lanes[index];
    return static_cast<uint32_t>(it.waiting.size()) - (it.cut.offset != 0 ? 1U : 0U);
}

uint32_t sim_model_lane_forget(struct sim_model *model, unsigned index) {
    uint32_t count = sim_model_lane_waiting(model, index);
    if (count == 0)
        return 0;
    lane &it = model->lanes[index];
    it.waiting.resize(it.waiting.size() - count);
    it.offered = it.offered && !it.waiting.empty();
    return count;
}

int sim_model_macs(struct sim_model *model, uint32_t core_period_ps) {
    if (!model->lane_clocks || core_period_ps == 0)
        return -EINVAL;
    model->core_period_ps = core_period_ps;
    model->macs = true;
    model->top->lanes_wait_i = 0;
    for (lane &it : model->lanes)
        it.period_ps = MAC_PERIOD_PS;
    return 0;
}

int sim_model_lane_clock(struct sim_model *model, unsigned index, int runs) {
    if (!model->lane_clocks || index >= model->lanes.size())
        return -EINVAL;
    lane &it = model->lanes[index];
    if (it.stopped && runs)
        it.restart(model->time_ps);
    it.stopped = !runs;
    return 0;
}

void sim_model_free(struct sim_model *model) {
    if (last == model)
        last = nullptr;
    delete model;
}

unsigned sim_model_lanes(const struct sim_model *model) {
    return static_cast<unsigned>(model->lanes.size());
}

uint64_t sim_model_cycles(const struct sim_model *model) {
    return model->cycles;
}

void sim_model_step(struct sim_model *model, uint32_t cycles) {
    for (uint32_t i = 0; i < cycles; i++)
        model->cycle();
}

bool sim_model_idle(const struct sim_model *model) {
    return model->idle();
}

int sim_model_reg_read(struct sim_model *model, uint32_t address, uint32_t *value) {
    return model->access(false, address, 0, value);
}

int sim_model_reg_write(struct sim_model *model, uint32_t address, uint32_t value) {
    return model->access(true, address, value, nullptr);
}

int sim_model_lane_send(struct sim_model *model, unsigned index, const uint8_t *bytes, uint32_t size, unsigned flags) {
    if (index >= model->lanes.size() || size == 0 || size > UINT16_MAX)
        return -EINVAL;
    lane &it = model->lanes[index];
    if (it.waiting.size() >= (model->macs ? MAC_QUEUE : LANE_QUEUE))
        return -EAGAIN;
    it.waiting.emplace_back();
    it.waiting.back().bytes.assign(bytes, bytes + size);
    it.waiting.back().bad = (flags & 1U) != 0;
    return 0;
}

int sim_model_lane_recv(struct sim_model *model, unsigned index, uint8_t *bytes, uint32_t capacity,
                        struct sim_packet_info *info) {
    if (index >= model->lanes.size())
        return -EINVAL;
    lane &it = model->lanes[index];
    if (it.left.empty())
        return -EAGAIN;
    const packet &front = it.left.front();
    if (front.bytes.size() > capacity)
        return -ENOSPC;
    int size = static_cast<int>(front.bytes.size());
    std::memcpy(bytes, front.bytes.data(), front.bytes.size());
    if (info)
        *info = front.info;
    it.left.pop_front();
    return size;
}

void sim_model_lane_listen(struct sim_model *model, unsigned index, int listens) {
    if (index < model->lanes.size())
        model->lanes[index].listens = listens != 0;
}

int sim_model_ring_attach(struct sim_model *model, unsigned which, uint8_t *memory, uint32_t buffers) {
    bool is_queue = which >= SIM_RING_QUEUE;
    unsigned place = is_queue ? which - SIM_RING_QUEUE + 1 : 0;
    if (!memory || buffers < RING_LEAST || place >= model->to_host.size())
        return -EINVAL;
    ring &it = which == SIM_RING_FROM_HOST ? model->from_host : model->to_host[place];
    if (is_queue && (it.buffers || (place - 1) % SLUICE_HOST_QUEUES >= model->top->host_queues_o))
        return -EINVAL;
    it = ring{};
    it.memory = memory;
    it.buffers = buffers;
    model->queue_rings += is_queue;
    model->rings_changed = true;
    return 0;
}

int sim_model_ring_release(struct sim_model *model, unsigned which, uint32_t count) {
    size_t place = which >= SIM_RING_QUEUE ? which - SIM_RING_QUEUE + 1 : 0;
    if (which == SIM_RING_FROM_HOST || place >= model->to_host.size())
        return -EINVAL;
    ring &it = model->to_host[place];
    if (count > it.filled - it.freed)
        return -EINVAL;
    it.freed += count;
    model->rings_changed = true;
    return 0;
}

int sim_model_ring_submit(struct sim_model *model, uint32_t count) {
    ring &it = model->from_host;
    if (count > it.buffers - (it.filled - it.freed))
        return -EINVAL;
    it.filled += count;
    return 0;
}

int sim_model_mirror_attach(struct sim_model *model, uint8_t *memory, uint32_t records) {
    if (!memory || reinterpret_cast<uintptr_t>(memory) % SLUICE_RULE_MIRROR_BYTES != 0)
        return -EINVAL;
    model->mirror = memory;
    model->mirror_records = records;
    return 0;
}

uint64_t sim_model_ring_sent(const struct sim_model *model) {
    return model->from_host.freed;
}

uint64_t sim_model_ring_invalid(const struct sim_model *model) {
    return model->invalid;
}

uint64_t sim_model_refused(const struct sim_model *model) {
    return model->refused;
}
}
