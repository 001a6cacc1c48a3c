# SPDX-License-Identifier: Apache-2.0
"""sl_process does what its model does, whatever its memories hold, with the latencies that its package promises."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.stateful.program import BlockSizes, assembled, read
from models.stateful import VERSION_SHIFT, WORD, Outcome, Packet, Process, Sizes, action_address
from testing.cocotb.channel import start
from testing.slow import first
from toolchain import ROOT
from toolchain.simulate import SimulationError, simulate

SIZES = {
    "small": Sizes(inputs=4, conditions=4, words=2, updates=3, entries=4, actions=2),
    "default": Sizes(),
    "odd": Sizes(inputs=3, words=3, updates=1, entries=32, actions=21),
}
INPUTS, AHEAD, LOOP, ACTION = 7, 2, 3, 4  # cycles that the schedulers rely on
ALPHABET = (0, 1, 0x7F, 0x80, 0x8000, 0x80000000, 0x7FFFFFFF, WORD)
IMMEDIATE_AT = {
    L.PROCESS_MEMORY_INPUT: L.ProcessInput.BITS - 32,
    L.PROCESS_MEMORY_CONDITION: L.ProcessCondition.BITS - 32,
    L.PROCESS_MEMORY_UPDATE: L.ProcessInstruction.BITS - 32,
    L.PROCESS_MEMORY_ACTION: L.ProcessAction.BITS - 32,
}
BROKEN = [
    ("sl_process_pkg", "(n == 0 || !lanes[n-1])", "1'b1"),  # only where lanes touch
    ("sl_process_loop", "if (row.sets_label) state_d", "if (row.sets_label && version_q[4]) state_d"),
]


def parameters(sizes: Sizes) -> dict[str, int]:
    return {name.capitalize(): value for name, value in vars(sizes).items()}


@pytest.mark.parametrize("name", first(1, SIZES))
def test_any_memories(name: str) -> None:
    simulate("sl_process", __file__, parameters(SIZES[name]))


@pytest.mark.parametrize(("module", "text", "broken"), BROKEN)
def test_finds_a_broken_part(module: str, text: str, broken: str, tmp_path: Path) -> None:
    source = (ROOT / "rtl" / "stateful" / f"{module}.sv").read_text()
    assert source.count(text) == 1
    changed = tmp_path / f"{module}.sv"
    changed.write_text(source.replace(text, broken))
    with pytest.raises(SimulationError):
        simulate("sl_process", __file__, parameters(SIZES["small"]), flags=("-y", str(tmp_path)), extra_sources=[changed])


def addresses(sizes: Sizes) -> list[tuple[int, int]]:
    """All of a version, without global and table state."""
    return [
        *((L.PROCESS_MEMORY_INPUT, n) for n in range(sizes.inputs)),
        *((L.PROCESS_MEMORY_CONDITION, n) for n in range(sizes.conditions)),
        *((L.PROCESS_MEMORY_UPDATE, word << 4 | n) for word in range(sizes.words) for n in range(sizes.updates)),
        *((L.PROCESS_MEMORY_MATCH, group << 4 | value) for group in range((sizes.entries + 15) // 16) for value in range(16)),
        *((L.PROCESS_MEMORY_ENTRY, n) for n in range(sizes.entries)),
        *((L.PROCESS_MEMORY_ACTION, action_address(n, alu)) for n in range(sizes.entries) for alu in range(sizes.actions)),
        *((L.PROCESS_MEMORY_DECISION, n) for n in range(sizes.entries)),
    ]


def some_word() -> int:
    return random.choice([*ALPHABET, *ALPHABET, random.getrandbits(32)])


def some_content(memory: int) -> int:
    """Random bits. Most immediates are of the alphabet, and entries match more often than with random bits."""
    data = random.getrandbits(72)
    if memory in IMMEDIATE_AT and random.random() < 0.7:
        data = data & ~(WORD << IMMEDIATE_AT[memory]) | some_word() << IMMEDIATE_AT[memory]
    return data | random.getrandbits(72) if memory == L.PROCESS_MEMORY_MATCH else data


def some_packet(version: int) -> Packet:
    containers = [some_word() >> random.choice([0, 16]) & 0xFFFF for _ in range(L.PIPELINE_CONTAINERS)]
    bases = [L.ParserBase(*(random.getrandbits(bits) for bits in (1, 3, 7))) for _ in range(L.PARSER_BASES)]
    parsed = L.Parsed(containers, bases, 0, 0, 0, version, random.randrange(8), random.randrange(60, 1500))
    phv = L.PipelinePhv(parsed, *(random.getrandbits(bits) for bits in (2, 8, 4, 4, 4, 4)))
    return Packet(phv, some_word())


@dataclass
class Expected:
    """A packet on its way, and the cycles in which something happened to it."""

    outcome: Outcome
    flow: tuple[int, ...]
    entered: int


class Bench:
    """A packet in most cycles, with a state of its own, each compared with the model."""

    def __init__(self, dut, sizes: Sizes) -> None:
        self.dut, self.sizes = dut, sizes
        self.memories: dict[tuple[int, int], int] = {}
        self.model = Process(self.memories, sizes)
        self.waiting: deque[Expected] = deque()  # for their state
        self.looping: deque[Expected] = deque()
        self.leaving: deque[Expected] = deque()
        self.versions, self.cycle, self.count = [0], 0, 0
        self.entries: set[int] = set()
        for name in ("valid_i", "phv_i", "tick_i", "state_i", "write_valid_i", "write_i"):
            getattr(dut, name).value = 0

    async def write(self, memory: int, address: int, data: int) -> None:
        self.memories[memory, address] = data
        self.dut.write_i.value, self.dut.write_valid_i.value = L.ProcessWrite(data, address, memory).to_int(), 1
        await RisingEdge(self.dut.clk_i)
        self.dut.write_valid_i.value = 0
        self.dut.write_i.value = random.getrandbits(L.ProcessWrite.BITS)

    async def load(self, version: int) -> None:
        for memory, address in addresses(self.sizes):
            await self.write(memory, version << VERSION_SHIFT | address, some_content(memory))

    def begin(self) -> None:
        cocotb.start_soon(self._send())
        cocotb.start_soon(self._compare())

    async def pass_packets(self, count: int) -> None:
        wanted = self.count + count
        while self.count < wanted:
            await RisingEdge(self.dut.clk_i)

    async def _send(self) -> None:
        dut, density = self.dut, 0.9
        while True:
            dut.valid_i.value = 0
            if random.random() < 0.02:
                density = random.choice([0.2, 0.9, 1])
            if random.random() < density:
                packet = some_packet(random.choice(self.versions))
                flow = tuple(some_word() for _ in range(self.sizes.words))
                dut.valid_i.value, dut.phv_i.value = 1, packet.phv.to_int()
                dut.tick_i.value = packet.tick
                self.waiting.append(Expected(self.model.run(packet, flow), flow, self.cycle))
            await RisingEdge(dut.clk_i)
            self.cycle += 1

    def _packet_leaves(self) -> None:
        expected = self.leaving.popleft()
        assert self.cycle - expected.entered == INPUTS + AHEAD + LOOP + ACTION
        packet = expected.outcome.packet
        assert L.PipelinePhv.from_int(int(self.dut.phv_o.value)) == packet.phv
        self.count += 1

    def _state_leaves(self) -> None:
        expected = self.looping.popleft()
        assert self.cycle - expected.entered == INPUTS + AHEAD + LOOP
        state = int(self.dut.state_o.value)
        assert tuple(state >> 32 * n & WORD for n in range(self.sizes.words)) == expected.outcome.flow
        assert int(self.dut.entry_o.value) == expected.outcome.entry
        self.entries.add(expected.outcome.entry)
        self.leaving.append(expected)

    async def _compare(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            if dut.valid_o.value == 1:
                self._packet_leaves()
            if dut.state_valid_o.value == 1:
                self._state_leaves()
            dut.state_i.value = random.getrandbits(32 * self.sizes.words)  # of no packet
            if dut.take_o.value == 1:
                expected = self.waiting.popleft()
                assert self.cycle - expected.entered == INPUTS + AHEAD
                dut.state_i.value = sum(word << 32 * n for n, word in enumerate(expected.flow))
                self.looping.append(expected)


def words_of(phv: L.PipelinePhv) -> list[int]:
    containers = phv.parsed.containers
    return [high << 16 | low for high, low in zip(containers[::2], containers[1::2], strict=True)]


def sizes_of(dut) -> Sizes:
    names = {name: int(getattr(dut, name.capitalize()).value) for name in vars(Sizes())}
    return Sizes(**names)


@cocotb.test()
async def does_what_its_memories_say(dut):
    bench = Bench(dut, sizes_of(dut))
    await start(dut)
    for n in range(2 * L.PROCESS_SHARED_WORDS):
        await bench.write(L.PROCESS_MEMORY_SHARED, n, random.getrandbits(64))
    await bench.load(0)
    await bench.load(1)
    for _ in range(2):
        await RisingEdge(dut.clk_i)
    bench.begin()
    for turn in range(24):
        version = turn % 2
        bench.versions = [1 - version]
        await bench.pass_packets(20)  # the last of the version have left
        await bench.load(version)
        for _ in range(2):
            await RisingEdge(dut.clk_i)
        bench.versions = [0, 1]
        await bench.pass_packets(60)
    assert len(bench.entries) > min(bench.sizes.entries, 16) // 2


SHARED = """
[containers]
x = { first = 0, words = 2 }
y = { first = 2, words = 2 }
[shared]
high = { table = 3, byte = 4 }
low = { table = 3 }
[[entries]]
packet = ["x = high", "y = low"]
"""


@cocotb.test()
async def writes_of_shared_state_are_whole(dut):
    bench = Bench(dut, sizes_of(dut))
    await start(dut)
    for write in assembled(SHARED, "shared", BlockSizes(**vars(bench.sizes))).writes(0):
        await bench.write(write.memory, write.address, write.data)
    values: list[int] = []
    for cycle in range(400):
        if cycle % 3 == 0:
            dut.write_valid_i.value = 1
            dut.write_i.value = L.ProcessWrite(cycle << 32 | cycle, L.PROCESS_SHARED_WORDS + 3, L.PROCESS_MEMORY_SHARED).to_int()
        dut.valid_i.value = int(cycle > 10)
        await FallingEdge(dut.clk_i)
        if dut.valid_o.value == 1:
            high, low, *_ = words_of(L.PipelinePhv.from_int(int(dut.phv_o.value)))
            assert high == low
            values.append(high)
        await RisingEdge(dut.clk_i)
        dut.write_valid_i.value = 0
    assert values == sorted(values)
    assert len(set(values)) > 100


@cocotb.test()
async def one_flow_has_a_packet_every_three_cycles(dut):
    """The new state of a packet is the state of the next, as soon as it is there: retransmissions of one flow."""
    bench = Bench(dut, sizes_of(dut))
    await start(dut)
    program = ROOT / "compiler" / "stateful" / "programs" / "retransmissions.toml"
    for write in read(program, BlockSizes(**vars(bench.sizes))).writes(0):
        await bench.write(write.memory, write.address, write.data)
    sequences = [random.randrange(4) << 30 | random.randrange(4) for _ in range(100)]
    counts = [sum(b < a for a, b in pairwise(sequences[: n + 1])) for n in range(len(sequences))]
    marks: list[int] = []
    for cycle in range(LOOP * (len(sequences) + 8)):
        number, turn = divmod(cycle, LOOP)
        dut.valid_i.value = int(turn == 0 and number < len(sequences))
        containers = [0] * L.PIPELINE_CONTAINERS
        containers[34:36] = divmod(sequences[min(number, len(sequences) - 1)], 1 << 16)
        dut.phv_i.value = L.PipelinePhv(L.Parsed(containers)).to_int()
        await FallingEdge(dut.clk_i)
        if dut.valid_o.value == 1:
            marks.append(words_of(L.PipelinePhv.from_int(int(dut.phv_o.value)))[21])
        if dut.take_o.value == 1:
            dut.state_i.value = int(dut.state_o.value) if dut.state_valid_o.value == 1 else 0
        await RisingEdge(dut.clk_i)
    assert marks == counts
    assert counts[-1] > 20


@cocotb.test()
async def forgets_packets_at_reset(dut):
    await start(dut)
    dut.write_valid_i.value, dut.valid_i.value = 0, 1
    for _ in range(INPUTS + AHEAD + LOOP + ACTION + 5):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value, dut.valid_i.value = 1, 0
    await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for _ in range(INPUTS + AHEAD + LOOP + ACTION + 5):
        await FallingEdge(dut.clk_i)
        assert (dut.take_o.value, dut.state_valid_o.value, dut.valid_o.value) == (0, 0, 0)
