# SPDX-License-Identifier: Apache-2.0
"""sl_unit does what its model does: random programs for both tables, loaded while packets of the other version pass."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.pipeline.unit_image import NOTHING, UnitEntry, UnitImage, UnitProgram
from models.unit_program import execute, find
from testing.cocotb.channel import start
from toolchain.simulate import simulate

NUMBER, EXACT, TERNARY = 3, 32, 64
COUNT_LATENCY = 5  # cycles from the count of a packet until it leaves, at most
ALPHABET = (0, 1, 0x8000, 0xFFFF)


def test_random_programs() -> None:
    simulate("sl_unit", __file__, {"Number": NUMBER, "ExactEntries": EXACT, "TernaryEntries": TERNARY})


class Bench:
    """The unit, a packet in most cycles, each compared with the model of the program of its version."""

    def __init__(self, dut) -> None:
        self.dut, self.image = dut, UnitImage(EXACT, TERNARY)
        self.versions = [0]  # that packets have
        self.expected: deque[tuple[L.PipelinePhv, tuple[int, int] | None]] = deque()
        self.count, self.seen = 0, set()
        for name in ("valid_i", "phv_i", "write_valid_i", "write_i"):
            getattr(dut, name).value = 0

    async def load(self, program: UnitProgram, version: int, first: bool = False) -> None:
        before, self.image = self.image, self.image.with_program(program, version)
        for write in self.image.writes(NUMBER, None if first else before):
            while random.random() < 0.2:
                await self._write(
                    L.PipelineWrite(random.getrandbits(384), random.getrandbits(16), random.choice([0, 2, 4]))
                )  # to others
            await self._write(write)
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)

    async def _write(self, write: L.PipelineWrite) -> None:
        self.dut.write_i.value, self.dut.write_valid_i.value = write.to_int(), 1
        await RisingEdge(self.dut.clk_i)
        self.dut.write_valid_i.value = 0

    def begin(self) -> None:
        cocotb.start_soon(self._send())
        cocotb.start_soon(self._compare())

    async def pass_packets(self, count: int) -> None:
        wanted = self.count + count
        while self.count < wanted:
            await RisingEdge(self.dut.clk_i)

    def _packet(self, version: int) -> L.PipelinePhv:
        """Random; half of them have the key of an entry."""
        containers = [random.choice([*ALPHABET, random.getrandbits(16)]) for _ in range(L.PIPELINE_CONTAINERS)]
        program = self.image.programs[version]
        if program.entries and random.random() < 0.7:
            entry = random.choice(program.entries)
            for at, number in enumerate(program.selector.words):
                if number < L.PIPELINE_CONTAINERS:
                    containers[number] = entry.value >> 16 * at & 0xFFFF
        fault = random.choice([L.FAULT_NONE] * 9 + [L.FAULT_CHAIN])
        bases = [L.ParserBase(*(random.getrandbits(bits) for bits in (1, 3, 7))) for _ in range(L.PARSER_BASES)]
        port, length = random.randrange(8), random.randrange(14, 1500)
        parsed = L.Parsed(containers, bases, random.getrandbits(7), 0, fault, version, port, length)
        verdict = random.choice([L.VERDICT_PASS, L.VERDICT_FORWARD])
        return L.PipelinePhv(
            parsed,
            verdict,
            random.getrandbits(8),
            random.getrandbits(4),
            random.choice([NUMBER] * 8 + [0, L.UNIT_END]),
            random.getrandbits(4),
        )

    async def _send(self) -> None:
        dut = self.dut
        while True:
            dut.valid_i.value = 0
            if random.random() < 0.9:
                version = random.choice(self.versions)
                phv = self._packet(version)
                dut.phv_i.value, dut.valid_i.value = phv.to_int(), 1
                self.expected.append(self._model(phv, version))
            await RisingEdge(dut.clk_i)

    def _model(self, phv: L.PipelinePhv, version: int) -> tuple[L.PipelinePhv, tuple[int, int] | None]:
        """The packet that leaves; the action and the bytes that are counted."""
        if phv.next != NUMBER or phv.parsed.fault:
            return phv, None
        program = self.image.programs[version]
        number = find(program.selector, [(entry.value, entry.mask, entry.action) for entry in program.entries], phv)
        entry = None if number is None else program.entries[number]
        self.seen.add((bool(program.selector.exact), entry is not None))
        out = execute(entry.action if entry else program.miss, phv)
        return out, (self.image.action_of(entry, version), phv.parsed.length)

    async def _compare(self) -> None:
        events: deque[tuple[int, int]] = deque()
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.looked_up_o.value == 1:
                events.append((int(self.dut.action_o.value), int(self.dut.length_o.value)))
            if self.dut.valid_o.value == 1:
                expected, event = self.expected.popleft()
                assert event is None or events.popleft() == event
                found = L.PipelinePhv.from_int(int(self.dut.phv_o.value))
                assert found == expected
                self.count += 1
                assert len(events) <= COUNT_LATENCY


def elsewhere() -> L.PipelineWrite:
    """A write that is not for this unit."""
    unit, memory = random.choice([0, 2, 4]), random.choice([*L.PipelineMemory])
    if random.random() < 0.5:
        unit, memory = NUMBER, random.choice([L.PARSER_MEMORY_STEP, L.DEPARSER_MEMORY_ROW, L.DEPARSER_MEMORY_BASE])
    return L.PipelineWrite(random.getrandbits(384), random.getrandbits(16), unit, memory)


def some_action() -> L.UnitAction:
    operations = [
        L.UnitOperation(
            random.choice([0, 0xFFFF, 0xFF00, 0x0FF0, 1]),
            random.getrandbits(16),
            random.choice([random.randrange(L.UNIT_SOURCES), L.UNIT_SOURCES, 63]),
            random.randrange(8),
            random.choice([*L.UnitOperator] + [L.OPERATOR_NONE] * 4),
        )
        for _ in range(L.UNIT_OPERATIONS)
    ]
    verdict = random.choice([L.VERDICT_PASS, L.VERDICT_FORWARD, L.VERDICT_DROP, L.VERDICT_TO_CONTROLLER])
    splice, again = (random.choice([0, random.getrandbits(4)]) for _ in range(2))
    return L.UnitAction(operations, random.randrange(16), verdict, random.getrandbits(8), random.getrandbits(4), splice, again)


def some_program(exact: bool, before: UnitProgram) -> UnitProgram:
    """Random; or of the same kind as the other one, with some of its entries."""
    if before.entries and random.random() < 0.5:
        kept = random.sample(before.entries, random.randrange(len(before.entries)))
        added = some_program(bool(before.selector.exact), NOTHING).entries[:4]
        unique = {entry.value & before.selector.mask: entry for entry in (*kept, *added)}
        return UnitProgram(before.selector, tuple(unique.values() if before.selector.exact else (*kept, *added)), some_action())
    words = random.sample(range(L.UNIT_SOURCES), L.UNIT_KEY_WORDS)
    mask = sum(random.choice([0xFFFF, 0xFFFF, 0, 0x0FF0]) << 16 * n for n in range(L.UNIT_KEY_WORDS))
    selector = L.UnitSelector(words, mask, int(exact))
    entries: dict[int, UnitEntry] = {}
    for _ in range(random.randrange(4, 14)):
        value = sum(random.choice(ALPHABET) << 16 * n for n in range(L.UNIT_KEY_WORDS))
        cares = sum(random.choice([0, 0, 0xFFFF, 0x8001]) << 16 * n for n in range(L.UNIT_KEY_WORDS)) & mask
        entries[value & mask if exact else len(entries)] = UnitEntry(value, mask if exact else cares, some_action())
    return UnitProgram(selector, tuple(entries.values()), some_action())


@cocotb.test()
async def changes_programs_under_traffic(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.load(some_program(False, NOTHING), 0, first=True)
    bench.begin()
    for turn in range(1, 13):
        version = turn % 2
        bench.versions = [1 - version]
        await bench.pass_packets(40)  # the last of the version have left
        other = NOTHING if turn % 3 == 1 else bench.image.programs[1 - version]
        await bench.load(some_program(turn % 2 > 0, other), version)
        bench.versions = [0, 1]
        await bench.pass_packets(150)
    assert len(bench.seen) == 4
