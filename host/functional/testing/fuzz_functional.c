// SPDX-License-Identifier: Apache-2.0
// A host that does everything wrong to the functional device, under the sanitizers: `fuzz_functional PACKETS SEED
// ROUNDS`. PACKETS holds packets, each behind its size (4 bytes, little-endian); they, parts of them and noise go into
// lanes, garbage into the rings, and registers are read and written, most of them those of rules. In the end the device
// is reset and must carry a packet both ways; prints what it counted, or what went wrong, and then ends with 1. With an
// odd seed there are rings for some of the receive queues. With bit 1 of the seed it is the overlay with a stateful
// unit, whose memories get garbage in place of rules.
#include <stdio.h>
#include <stdlib.h>

#include "functional.h"

enum { BUFFERS = 8, PACKETS = 4096, VALUES = 3, LANES = 3, QUEUES = 2 };

static uint64_t state;
static uint8_t *packets[PACKETS];
static uint32_t sizes[PACKETS], packet_count;
static uint8_t values[VALUES][SLUICE_FLOW_OPERAND_BYTES], out[UINT16_MAX];
static struct sluice_transport *device;
static uint8_t *rings[FUNCTIONAL_RINGS];
static bool has_looked_up;                  // the stateful unit
static unsigned home = SLUICE_RING_TO_HOST; // where unhashed packets of lane 0 go

static uint32_t draw(uint32_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % limit;
}

static void fail(const char *text) {
    printf("failed: %s\n", text);
    exit(1);
}

static void noise(uint8_t *bytes, uint32_t size) {
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)draw(256);
}

static void read_packets(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t head[4];
    if (!file)
        fail("no packets");
    while (packet_count < PACKETS && fread(head, 1, sizeof head, file) == sizeof head) {
        uint32_t size = functional_word(head);
        uint8_t *bytes = malloc(size);
        if (!bytes || fread(bytes, 1, size, file) != size)
            fail("short packets");
        packets[packet_count] = bytes;
        sizes[packet_count++] = size;
    }
    fclose(file);
}

static void use_lane(void) {
    uint32_t n = draw(packet_count), size = draw(4) ? sizes[n] : 1 + draw(sizes[n]);
    uint8_t *bytes = malloc(size); // of exactly its size
    memcpy(bytes, packets[n], size);
    for (uint32_t i = draw(4); i > 0 && i < 3; i--)
        bytes[draw(size)] = (uint8_t)draw(256);
    device->lane_send(device, draw(LANES + 1), bytes, size, draw(16) == 0);
    free(bytes);
    if (draw(3))
        device->lane_receive(device, draw(LANES + 1), out, draw(8) ? sizeof out : draw(64), NULL);
}

// The next buffer is a packet as it should be, but for a bit sometimes.
static void use_host_packet(void) {
    const struct functional_ring *ring = &((struct functional *)device)->ring[SLUICE_RING_FROM_HOST];
    uint32_t place = (uint32_t)(ring->filled % BUFFERS) * SLUICE_BUFFER_SIZE;
    uint16_t size = (uint16_t)(1 + draw(SLUICE_BUFFER_DATA_SIZE));
    struct sluice_buffer_meta meta = {.length = size,
                                      .buffer_length = size,
                                      .address = place,
                                      .valid = (uint32_t)(ring->filled / BUFFERS) + 1,
                                      .egress_mask = (uint8_t)draw(256)};
    sluice_buffer_meta_pack(&meta, rings[1] + place);
    if (draw(4) == 0)
        rings[1][place + draw(24)] ^= (uint8_t)(1 << draw(8));
}

static void use_rings(void) {
    uint8_t *buffer = rings[draw(2)] + draw(BUFFERS) * SLUICE_BUFFER_SIZE;
    noise(buffer, SLUICE_BUFFER_META_SIZE);
    if (draw(2)) { // a length that may be
        buffer[20] = (uint8_t)draw(256);
        buffer[21] = (uint8_t)draw(40);
    }
    if (draw(2))
        use_host_packet();
    device->ring_submit(device, draw(4));
    device->ring_release(device, draw(FUNCTIONAL_RINGS + 1), draw(4));
    device->ring_release(device, home, draw(4));
}

static void use_registers(void) {
    uint32_t value, address = draw(3) ? draw(7 * SLUICE_WINDOW_SIZE) : SLUICE_WINDOW_SIZE * draw(7) + 4 * draw(0x100);
    if (draw(2))
        device->reg_read(device, address, &value);
    else
        device->reg_write(device, address, draw(2) ? draw(300) : draw(UINT32_MAX));
}

static void write_bytes(uint32_t address, const uint8_t *bytes, uint32_t size) {
    for (uint32_t i = 0; i < size; i += 4)
        device->reg_write(device, SLUICE_WINDOW_SIZE + address + i, functional_word(bytes + i));
}

static void use_rules(void) {
    uint8_t bytes[SLUICE_INSTRUCTION_BYTES];
    struct sluice_instruction instruction = {.kind = (uint8_t)draw(6),
                                             .table_id = (uint8_t)draw(3),
                                             .rule_id = draw(40),
                                             .rule_priority = (uint16_t)draw(3)};
    struct sluice_flow_target target = {.group = (uint8_t)draw(4), .operand = (uint8_t)draw(256)};
    unsigned slots = draw(SLUICE_ACTION_SLOTS);
    for (unsigned slot = 0; slot < slots; slot++)
        instruction.actions.slots[slot] = (struct sluice_action){(uint8_t)draw(20), draw(1 << 24)};
    instruction.actions.slots[slots] = (struct sluice_action){SLUICE_ACTION_REPLICATE, draw(1 << LANES)};
    sluice_flow_target_pack(&target, instruction.value);
    sluice_instruction_pack(&instruction, bytes);
    device->reg_write(device, SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_CONTROL, 1);
    device->reg_write(device, SLUICE_WINDOW_SIZE + SLUICE_FLOW_REGISTERS_OPERAND_INDEX, draw(17));
    write_bytes(SLUICE_FLOW_REGISTERS_OPERAND, values[draw(VALUES)], SLUICE_FLOW_OPERAND_BYTES);
    write_bytes(SLUICE_OFU_REGISTERS_INSTRUCTION, bytes, sizeof bytes);
    device->reg_write(device, SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_PUSH, 0);
    for (uint32_t word = 0, value; word < 2 && draw(8); word++)
        device->reg_read(device, SLUICE_WINDOW_SIZE + SLUICE_OFU_REGISTERS_RESPONSE + 4 * word, &value);
}

static uint32_t draw_word(unsigned dense) { // bits of which one in 2**(1 + dense) is 0
    uint32_t word = 0;
    for (unsigned i = 0; i <= dense; i++)
        word |= draw(1 << 16) << 16 | draw(1 << 16);
    return word;
}

// A step that does not end a packet at once, as most of the others do.
static void tame_step(uint8_t *data) {
    struct sluice_parser_step step;
    sluice_parser_step_unpack(&step, data);
    step.fault = step.needs = step.advance = 0;
    step.length_mask = draw(8) ? 0 : 3;
    step.state = draw(3) ? step.state : SLUICE_PARSER_DONE;
    sluice_parser_step_pack(&step, data);
}

// An action that does not drop a packet, as most of the others do.
static void tame_action(uint8_t *data) {
    struct sluice_unit_action action;
    sluice_unit_action_unpack(&action, data);
    for (unsigned n = 0; n < SLUICE_UNIT_OPERATIONS; n++)
        action.operations[n].kind %= SLUICE_OPERATOR_COUNT_DOWN;
    action.verdict = draw(2) ? SLUICE_VERDICT_FORWARD : SLUICE_VERDICT_PASS;
    action.next = draw(2) ? 1 : action.next; // the stateful unit
    sluice_unit_action_pack(&action, data);
}

// Any words into any places, and some that are none.
static void use_memories(void) {
    uint32_t window = FUNCTIONAL_PIPELINE_WINDOW * SLUICE_WINDOW_SIZE, memory = draw(SLUICE_UNIT_MEMORY_FLOWS + 2);
    uint8_t data[4 * SLUICE_PIPELINE_REGISTERS_DATA_COUNT];
    unsigned dense = draw(7);
    uint32_t looked_up = 0;
    device->reg_read(device, window + SLUICE_PIPELINE_REGISTERS_LOOKED_UP + 4, &looked_up);
    has_looked_up |= looked_up != 0;
    for (unsigned i = 0; i < sizeof data; i += 4)
        functional_put_word(data + i, draw_word(dense));
    if (memory == SLUICE_PARSER_MEMORY_STEP && draw(16))
        tame_step(data);
    if (memory == SLUICE_UNIT_MEMORY_ACTION && draw(4))
        tame_action(data);
    write_bytes(SLUICE_PIPELINE_REGISTERS_DATA, data, sizeof data);
    uint32_t way = memory == SLUICE_UNIT_MEMORY_EXACT ? draw(4) << 14 : 0;
    uint32_t part = memory == SLUICE_UNIT_MEMORY_PROCESS ? draw(17) << 10 : 0; // memory and version
    uint32_t place = memory << 20 | draw(draw(2) ? 3 : 9) << 16 | way | part | (draw(2) ? draw(350) : 0);
    for (uint32_t i = 0; i < 64; i++)
        device->reg_write(device, window + SLUICE_PIPELINE_REGISTERS_PLACE, place + i);
    device->reg_write(device, window + SLUICE_PIPELINE_REGISTERS_VERSION, draw(2));
}

// After the reset a packet of lane 0 goes to the host, and one of the host out of lane 1.
static void check(void) {
    static const uint8_t good[60] = "good";
    struct functional *it = (struct functional *)device;
    device->reg_write(device, SLUICE_SHELL_REGISTERS_CONTROL, FUNCTIONAL_RESET);
    device->advance(device, UINT32_MAX);
    for (unsigned lane = 0; lane < LANES; lane++)
        while (device->lane_receive(device, lane, out, sizeof out, NULL) >= 0)
            ;
    while (device->ring_release(device, home, 1) == 0)
        ;
    uint64_t sent = device->ring_sent(device);
    uint8_t *buffer = rings[1] + sent % BUFFERS * SLUICE_BUFFER_SIZE;
    const struct sluice_buffer_meta meta = {.address = sent % BUFFERS * SLUICE_BUFFER_SIZE,
                                            .valid = (uint32_t)(sent / BUFFERS) + 1,
                                            .length = sizeof good,
                                            .buffer_length = sizeof good,
                                            .egress_mask = 2};
    sluice_buffer_meta_pack(&meta, buffer);
    memcpy(buffer + SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE, good, sizeof good);
    const uint8_t *seen = rings[home] + it->ring[home].filled % BUFFERS * SLUICE_BUFFER_SIZE;
    if (device->ring_submit(device, 1) || device->lane_send(device, 0, good, sizeof good, 0))
        fail("it takes no packet any more");
    device->advance(device, 1);
    if (device->lane_receive(device, 1, out, sizeof out, NULL) != sizeof good || memcmp(out, good, sizeof good))
        fail("the host's packet");
    if (memcmp(seen + SLUICE_BUFFER_META_SIZE + SLUICE_BUFFER_KEY_SIZE, good, sizeof good) || !device->idle(device))
        fail("the lane's packet");
}

int main(int argc, char **argv) {
    if (argc != 4)
        fail("fuzz_functional PACKETS SEED ROUNDS");
    read_packets(argv[1]);
    state = strtoull(argv[2], NULL, 10);
    bool is_overlay = state >> 1 & 1;
    device = sluice_transport_functional(is_overlay ? "lanes=3,pipeline_units=3,stateful_units=2,flow_sets=4"
                                                    : "lanes=3,groups=3,entries=8,ternary=6");
    for (unsigned i = 0; i < 2 && device; i++)
        rings[i] = device->ring_attach(device, i, BUFFERS);
    home = state % 2 ? SLUICE_RING_QUEUE : SLUICE_RING_TO_HOST;
    for (unsigned lane = 0; lane < LANES && home != SLUICE_RING_TO_HOST && device; lane++)
        for (unsigned i = home + lane * SLUICE_HOST_QUEUES, queue = 0; queue < QUEUES; i++, queue++)
            if (!(rings[i] = device->ring_attach(device, i, BUFFERS)) || device->ring_attach(device, i, BUFFERS))
                fail("a ring of a queue");
    if (packet_count == 0 || !device || !rings[0] || !rings[1])
        fail("no device");
    for (unsigned i = 0; i < VALUES; i++)
        noise(values[i], sizeof values[i]);
    memset(values[0], 0, sizeof values[0]); // matches every packet
    void (*const uses[])(void) = {use_lane,  use_lane,      use_lane,
                                  use_rings, use_registers, is_overlay ? use_memories : use_rules};
    for (unsigned long rounds = strtoul(argv[3], NULL, 10); rounds > 0; rounds--) {
        uses[draw(sizeof uses / sizeof *uses)]();
        if (draw(64) == 0) // or a pause would last
            device->reg_write(device, SLUICE_SHELL_REGISTERS_CONTROL, draw(8) ? 0 : draw(8));
    }
    const struct functional *it = (const struct functional *)device;
    if (is_overlay && !has_looked_up)
        fail("no packet came to the stateful unit");
    printf("{\"forwarded\": %llu, \"to_host\": %llu, \"drops\": %u, \"faults\": %u, \"invalid\": %u, \"from_host\": "
           "%llu}\n",
           (unsigned long long)it->graph.forwarded_packets, (unsigned long long)it->graph.to_host_packets,
           it->graph.drop_rule + it->graph.drop_ttl + it->graph.drop_no_port, it->graph.faults,
           it->host.from_host_invalid, (unsigned long long)it->host.from_host_packets);
    check();
    device->close(device);
    for (uint32_t i = 0; i < packet_count; i++)
        free(packets[i]);
    return 0;
}
