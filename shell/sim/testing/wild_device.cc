// SPDX-License-Identifier: Apache-2.0
// A device whose outputs are what no device may say, before the model's DMA: nothing outside of the host's memory is
// written, each refusal is counted, and a good packet behind it arrives. `wild_device SEED CYCLES`; built with
// sanitizers. Status 1 and a sentence on stderr at the first thing that is wrong.
#include "sim_model.cc"

#include <random>

namespace {

constexpr uint32_t BUFFERS = 16, RECORDS = 4, QUEUES = 4;
constexpr size_t RING_BYTES = BUFFERS * SLUICE_BUFFER_SIZE;
constexpr size_t MIRROR_BYTES = RECORDS * SLUICE_RULE_MIRROR_BYTES;

void expect(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "wild device: %s\n", what);
        std::exit(1);
    }
}

// A device and the memory that it may use, each piece alone, so that a sanitizer sees what is beside it.
struct bench {
    struct sim_model *model = sim_model_new();
    std::vector<std::unique_ptr<uint8_t[]>> rings;
    uint8_t *mirror = static_cast<uint8_t *>(std::aligned_alloc(SLUICE_RULE_MIRROR_BYTES, MIRROR_BYTES));

    explicit bench(uint32_t queues) {
        model->top->host_queues_o = queues;
        std::memset(mirror, 0, MIRROR_BYTES);
        attach(SIM_RING_FROM_HOST);
        if (queues == 0)
            attach(SIM_RING_TO_HOST);
        for (uint32_t i = 0; i < LANES * queues; i++)
            attach(SIM_RING_QUEUE + SLUICE_HOST_QUEUES * (i / queues) + i % queues);
        expect(sim_model_mirror_attach(model, mirror, RECORDS) == 0, "mirror not attached");
    }
    ~bench() {
        sim_model_free(model);
        std::free(mirror);
    }

    void attach(unsigned ring) {
        rings.emplace_back(new uint8_t[RING_BYTES]());
        expect(sim_model_ring_attach(model, ring, rings.back().get(), BUFFERS) == 0, "ring not attached");
    }

    void flit(uint32_t control, uint8_t byte) {
        model->top->to_host_valid_o = 1;
        model->top->to_host_control_o = control;
        std::memset(model->top->to_host_bytes_o, byte, FLIT_BYTES);
        sim_model_step(model, 1);
        expect(model->top->to_host_ready_i, "no room for a flit");
        model->top->to_host_valid_o = 0;
    }

    // A packet of 3,000 bytes arrives in two buffers of the first ring to the host.
    void check_good_packet() {
        constexpr uint32_t SIZE = 3000, FLITS = (SIZE + FLIT_BYTES - 1) / FLIT_BYTES;
        std::memset(model->top->to_host_meta_o, 0, sizeof model->top->to_host_meta_o);
        std::memset(model->top->to_host_info_o, 0, sizeof model->top->to_host_info_o);
        const ring &it = model->to_host[model->queue_rings ? 1 : 0];
        uint64_t first = it.filled;
        for (uint32_t i = 0; i < FLITS; i++)
            flit((i == 0 ? SOP : 0U) | (i == FLITS - 1 ? EOP | (FLITS * FLIT_BYTES - SIZE) << 8 : 0U),
                 static_cast<uint8_t>(i));
        expect(it.filled == first + 2, "a good packet did not arrive");
        for (uint32_t i = 0; i < SIZE; i++) {
            const uint8_t *data = it.data(first + i / SLUICE_BUFFER_DATA_SIZE);
            expect(data[i % SLUICE_BUFFER_DATA_SIZE] == static_cast<uint8_t>(i / FLIT_BYTES), "a good packet is wrong");
        }
    }
};

void push(Vsh_sim &top, uint32_t place) {
    sluice_rule_push record{};
    record.place = place;
    record.counters.packets = 7;
    sluice_rule_push_pack(&record, reinterpret_cast<uint8_t *>(top.push_o));
}

// Each refusal once.
void directed() {
    bench it(0);
    Vsh_sim &top = *it.model->top;
    const ring &host = it.model->to_host[0];
    auto refused = [&](uint64_t count, const char *what) { expect(sim_model_refused(it.model) == count, what); };
    it.flit(0, 1);
    it.flit(0, 2);
    it.flit(EOP, 3);
    refused(1, "a packet without a beginning");
    it.flit(SOP, 4);
    it.flit(SOP, 5);
    it.flit(EOP, 6);
    refused(2, "a packet within another");
    for (uint32_t i = 0; i <= SLUICE_EGRESS_BYTES / FLIT_BYTES + 5; i++)
        it.flit(i == 0 ? SOP : 0U, 7);
    it.flit(EOP, 8);
    refused(3, "a packet that does not end");
    expect(host.filled == 0, "a packet that was refused arrived");
    for (uint32_t place : {RECORDS, RECORDS + 1, UINT32_MAX, RECORDS - 1}) {
        push(top, place);
        top.push_valid_o = 1;
        sim_model_step(it.model, 1);
    }
    top.push_valid_o = 0;
    refused(6, "counters without a record");
    for (size_t i = 0; i < MIRROR_BYTES; i++)
        expect(i / SLUICE_RULE_MIRROR_BYTES == RECORDS - 1 || it.mirror[i] == 0,
               "a record was written that is another's");
    it.check_good_packet();
    refused(6, "a good packet was refused");
}

template <typename T> void scatter(std::mt19937 &draw, T &wide) {
    for (size_t i = 0; i < sizeof wide / sizeof(uint32_t); i++)
        reinterpret_cast<uint32_t *>(&wide)[i] = static_cast<uint32_t>(draw());
}

// Every output of its channels at random; the host gives buffers back and sends what it has not filled in.
void random(unsigned seed, unsigned cycles) {
    std::mt19937 draw(seed);
    bench it(seed % 2 ? QUEUES : 0);
    Vsh_sim &top = *it.model->top;
    for (unsigned i = 0; i < cycles; i++) {
        top.to_host_valid_o = draw() % 8 != 0;
        top.to_host_control_o = (draw() % 20 == 0) * SOP | (draw() % 40 == 0) * EOP | (draw() % FLIT_BYTES) << 8;
        scatter(draw, top.to_host_bytes_o);
        scatter(draw, top.to_host_meta_o);
        scatter(draw, top.to_host_info_o);
        push(top, draw() % (2 * RECORDS));
        top.push_valid_o = draw() % 4 == 0;
        top.from_host_ready_o = draw() % 2;
        top.lane_tx_valid_o = static_cast<uint8_t>(draw() % (1U << LANES));
        for (uint32_t &control : top.lane_tx_control_o)
            control = (draw() % 20 == 0) * SOP | (draw() % 20 == 0) * EOP | (draw() % FLIT_BYTES) << 8;
        sim_model_step(it.model, 1);
        scatter(draw, *reinterpret_cast<uint32_t(*)[RING_BYTES / sizeof(uint32_t)]>(it.rings[0].get()));
        sim_model_ring_submit(it.model, draw() % BUFFERS);
        for (size_t n = 0; n < it.model->to_host.size(); n++) {
            const ring &ours = it.model->to_host[n];
            auto count = static_cast<uint32_t>(ours.filled - ours.freed);
            unsigned number = n == 0 ? 0U + SIM_RING_TO_HOST : SIM_RING_QUEUE + static_cast<unsigned>(n) - 1;
            if (count > 0 && draw() % 4 == 0)
                sim_model_ring_release(it.model, number, count);
        }
    }
    expect(sim_model_refused(it.model) > 100 && sim_model_ring_invalid(it.model) > 100, "nothing was refused");
    top.push_valid_o = top.lane_tx_valid_o = top.to_host_valid_o = 0;
    expect(sim_model_reset(it.model) == 0, "no reset");
    for (size_t n = 0; n < it.model->to_host.size(); n++)
        it.model->to_host[n].freed = it.model->to_host[n].filled;
    it.check_good_packet();
}

} // namespace

int main(int count, char **words) {
    expect(count == 3, "wild_device SEED CYCLES");
    directed();
    random(static_cast<unsigned>(std::atoi(words[1])), static_cast<unsigned>(std::atoi(words[2])));
    return 0;
}
