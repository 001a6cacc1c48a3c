# SPDX-License-Identifier: Apache-2.0
"""sl_deparser writes into packets what its model writes: the default program, and random rows that are loaded while packets of the
other version pass."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import cocotb
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_program import DeparserProgram
from elements.pipeline.test_default_deparser import PROGRAM, cases, change
from models.deparser_program import deparse
from models.packet import from_flits, to_flits
from models.parser_program import parse
from testing.cocotb.channel import start
from toolchain.simulate import simulate

WRITERS = 3  # of the random test
Case = tuple[bytes, L.Parsed, list[int]]  # a packet, its record, the containers as parsed


def test_the_default_program() -> None:
    simulate("sl_deparser", __file__, testcase="writes_headers_as_the_default_program_says")


def test_random_programs() -> None:
    simulate("sl_deparser", __file__, {"Writers": WRITERS}, testcase="changes_programs_under_traffic")


class Bench:
    """The deparser, a flit in most cycles, each packet compared with the model of the program of its version."""

    def __init__(self, dut, programs: list[DeparserProgram], draw: Callable[[], Case]) -> None:
        self.dut, self.programs, self.draw = dut, programs, draw
        self.versions = [0]  # that packets have
        self.expected: deque[bytes] = deque()
        self.count = self.changed = 0
        for name in ("valid_i", "write_valid_i", "flit_i", "record_i", "original_i", "write_i"):
            getattr(dut, name).value = 0

    async def load(self, image: DeparserImage, before: DeparserImage | None = None) -> None:
        for write in image.writes(before):
            self.dut.write_i.value, self.dut.write_valid_i.value = write.to_int(), 1
            await RisingEdge(self.dut.clk_i)
            self.dut.write_valid_i.value = 0
            while random.random() < 0.2:
                await RisingEdge(self.dut.clk_i)
        await RisingEdge(self.dut.clk_i)

    def begin(self) -> None:
        cocotb.start_soon(self._send())
        cocotb.start_soon(self._compare())

    async def pass_packets(self, count: int) -> None:
        wanted = self.count + count
        while self.count < wanted:
            await RisingEdge(self.dut.clk_i)

    async def _send(self) -> None:
        dut = self.dut
        while True:
            data, record, original = self.draw()
            record.version = random.choice(self.versions)
            program = self.programs[record.version]
            out = deparse(program.writers, program.checksums, record, original, data)
            self.expected.append(out)
            self.changed += out != data
            for flit in to_flits(data, L.Meta(ingress_port=record.ingress_port)):
                while random.random() < 0.1:
                    dut.valid_i.value = 0
                    await RisingEdge(dut.clk_i)
                dut.flit_i.value, dut.valid_i.value = flit.to_int(), 1
                dut.record_i.value = record.to_int() if flit.sop else random.getrandbits(L.Parsed.BITS)
                dut.original_i.value = sum(word << 16 * n for n, word in enumerate(original)) if flit.sop else 0
                await RisingEdge(dut.clk_i)

    async def _compare(self) -> None:
        flits = []
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.valid_o.value == 1:
                flits.append(L.Flit.from_int(int(self.dut.flit_o.value)))
                if flits[-1].eop:
                    (packet,) = from_flits(flits)
                    expected = self.expected.popleft()
                    wrong = [(at, a, b) for at, (a, b) in enumerate(zip(packet.data, expected, strict=True)) if a != b]
                    assert not wrong, f"offset, found, expected: {wrong}"
                    self.count, flits = self.count + 1, []


@cocotb.test()
async def writes_headers_as_the_default_program_says(dut):
    stages = [[(entry.value, entry.mask, entry.step) for entry in stage] for stage in PROGRAM.parser.stages]
    drawn: list[Case] = []
    for data, _, changes in cases(random.Random(random.getrandbits(32))):
        record = parse(PROGRAM.parser.start, stages, data)
        original = [*record.containers]
        change(record.containers, changes)
        drawn.append((data, record, original))
    bench = Bench(dut, [PROGRAM.deparser] * 2, lambda: random.choice(drawn))
    await start(dut)
    image = DeparserImage().with_program(PROGRAM.deparser, 0)
    await bench.load(image)
    bench.begin()
    await bench.load(image.with_program(PROGRAM.deparser, 1), image)
    bench.versions = [0, 1]
    await bench.pass_packets(600)
    assert bench.changed > 300


def some_program() -> DeparserProgram:
    """Random rows at random bases; each base and kind may have a row or not."""

    def some_row() -> L.DeparserRow:
        return L.DeparserRow([L.ParserExtract(random.choice([0, 0, 1, 2, 3]), random.choice(words)) for _ in range(L.PARSER_SLOTS)])

    def some_checksum() -> L.ChecksumRow:
        covers = random.getrandbits(L.PIPELINE_CONTAINERS) & random.getrandbits(L.PIPELINE_CONTAINERS)
        return L.ChecksumRow(covers, random.randrange(64), random.random() < 0.9, random.getrandbits(1))

    words = random.sample(range(32), 24)
    bases = random.sample(range(L.PARSER_BASES), WRITERS)
    kinds = random.sample(range(L.PARSER_KINDS), 6)
    return DeparserProgram(
        tuple((base, {kind: distinct(some_row()) for kind in kinds}) for base in bases),
        tuple((random.choice(bases), {kind: some_checksum() for kind in kinds}) for _ in range(L.DEPARSER_CHECKSUMS)),
    )


def distinct(row: L.DeparserRow) -> L.DeparserRow:
    """The row without places that share a word, and without the containers behind the last."""
    seen: set[int] = set()
    for slot, place in enumerate(row.places):
        if place.word in seen or L.PARSER_SLOTS * (place.row - 1) + slot >= L.PIPELINE_CONTAINERS:
            row.places[slot] = L.ParserExtract()
        seen.add(place.word)
    return row


@cocotb.test()
async def changes_programs_under_traffic(dut):
    def some_case() -> Case:
        size = random.choice([14, 15, 60, 61, 128, 191, 300, 1500])
        original = [random.choice([0, 0xFFFF, random.getrandbits(16)]) for _ in range(L.PIPELINE_CONTAINERS)]
        containers = [random.choice([0, 0xFFFF, word, word, word]) for word in original]
        farthest = min(size // 2 - 32, L.WINDOW_BYTES // 2)  # where a header of 32 words ends in the packet
        bases = [
            L.ParserBase(random.random() < 0.7, random.randrange(L.PARSER_KINDS), random.randint(0, farthest))
            if farthest >= 0
            else L.ParserBase()
            for _ in range(L.PARSER_BASES)
        ]
        fault = random.choice([L.FAULT_NONE] * 9 + [L.FAULT_WINDOW])
        record = L.Parsed(containers=containers, bases=bases, fault=fault, ingress_port=random.randrange(8), length=size)
        return random.randbytes(size), record, original

    programs = [some_program()] * 2
    bench = Bench(dut, programs, some_case)
    await start(dut)
    image = DeparserImage(WRITERS).with_program(programs[0], 0)
    await bench.load(image)
    bench.begin()
    for turn in range(1, 9):
        version = turn % 2
        programs[version] = some_program()
        before, image = image, image.with_program(programs[version], version)
        await bench.load(image, before)
        bench.versions = [version]
        await bench.pass_packets(60)
    assert bench.changed > 100
