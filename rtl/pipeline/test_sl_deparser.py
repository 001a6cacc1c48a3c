# SPDX-License-Identifier: Apache-2.0
"""sl_deparser and sl_deparser_checksums do what their model does: the default program, and random rows that are loaded while
packets of the other version pass."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import cocotb
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_program import DeparserProgram
from elements.pipeline.test_default_deparser import PROGRAM, cases, change
from models.deparser_program import deparse, repaired
from models.packet import from_flits, to_flits
from models.parser_program import parse, stages_of
from testing.cocotb.channel import start
from toolchain.simulate import simulate

BASES = 3  # that the random programs write to
Case = tuple[bytes, L.Parsed, list[int]]  # a packet, its record, the containers as parsed


TESTS = ["writes_what_the_default_program_says", "changes_programs_under_traffic"]


def test_headers() -> None:
    simulate("sl_deparser", __file__, testcase=TESTS)


def test_checksums() -> None:
    simulate("sl_deparser_checksums", __file__, testcase=TESTS)


class Bench:
    """The deparser, a flit in most cycles, or the checksums, a record; each packet compared with the model of the program of its
    version."""

    def __init__(self, dut, programs: list[DeparserProgram], draw: Callable[[], Case]) -> None:
        self.dut, self.programs, self.draw = dut, programs, draw
        self.versions = [0]  # that packets have
        self.sums = dut._name == "sl_deparser_checksums"
        self.expected: deque[bytes | L.Parsed] = deque()
        self.count = self.changed = 0
        for name in ("valid_i", "write_valid_i", "record_i", "write_i", "original_i" if self.sums else "flit_i"):
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
        while True:
            data, parsed, original = self.draw()
            record = replace(parsed, version=random.choice(self.versions))
            program = self.programs[record.version]
            fixed = record if record.fault else replace(record, containers=repaired(program.checksums, record, original))
            if self.sums:
                await self._cycle(record_i=record.to_int(), original_i=sum(word << 16 * n for n, word in enumerate(original)))
                self.expected.append(fixed)
                self.changed += fixed != record
                continue
            self.expected.append(deparse(program.writers, program.checksums, record, original, data))
            self.changed += self.expected[-1] != data
            for flit in to_flits(data, L.Meta(ingress_port=record.ingress_port)):
                await self._cycle(flit_i=flit.to_int(), record_i=fixed.to_int() if flit.sop else random.getrandbits(L.Parsed.BITS))

    async def _cycle(self, **inputs: int) -> None:
        """These inputs in one cycle, after none or some without."""
        while random.random() < 0.1:
            self.dut.valid_i.value = 0
            await RisingEdge(self.dut.clk_i)
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        self.dut.valid_i.value = 1
        await RisingEdge(self.dut.clk_i)

    async def _compare(self) -> None:
        flits = []
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.valid_o.value == 0:
                continue
            if self.sums:
                assert L.Parsed.from_int(int(self.dut.record_o.value)) == self.expected.popleft()
                self.count += 1
                continue
            flits.append(L.Flit.from_int(int(self.dut.flit_o.value)))
            if flits[-1].eop:
                (packet,) = from_flits(flits)
                expected = self.expected.popleft()
                wrong = [(at, a, b) for at, (a, b) in enumerate(zip(packet.data, expected, strict=True)) if a != b]
                assert not wrong, f"offset, found, expected: {wrong}"
                self.count, flits = self.count + 1, []


@cocotb.test()
async def writes_what_the_default_program_says(dut):
    stages = stages_of(PROGRAM.parser)
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
    assert bench.changed > 200


def some_program() -> DeparserProgram:
    """Random rows at random bases; each base and kind may have a row or not. Rows may share containers and words."""

    def some_row() -> L.DeparserRow:
        return L.DeparserRow([L.ParserExtract(random.choice([0, 0, 1, 2, 3]), random.choice(words)) for _ in range(L.PARSER_SLOTS)])

    def some_checksum(unit: int) -> L.ChecksumRow:  # no container is the checksum of two units
        covers = random.getrandbits(L.PIPELINE_CONTAINERS) & random.getrandbits(L.PIPELINE_CONTAINERS)
        return L.ChecksumRow(covers, 2 * random.randrange(32) + unit, random.random() < 0.9, random.getrandbits(1))

    words = random.sample(range(32), 24)
    bases = random.sample(range(L.PARSER_BASES), BASES)
    kinds = random.sample(range(L.PARSER_KINDS), 6)
    return DeparserProgram(
        tuple((base, {kind: some_row() for kind in kinds}) for base in bases),
        tuple((random.choice(bases), {kind: some_checksum(unit) for kind in kinds}) for unit in range(L.DEPARSER_CHECKSUMS)),
    )


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
    image = DeparserImage().with_program(programs[0], 0)
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
