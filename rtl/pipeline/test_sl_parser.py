# SPDX-License-Identifier: Apache-2.0
"""sl_parser agrees with its model: the default program on real headers, cut and damaged ones, and random programs that are loaded
while packets of the other version pass."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import sluice_layouts as L
from cocotb.triggers import FallingEdge, RisingEdge

from compiler.pipeline.parser_image import ParserImage
from compiler.pipeline.parser_program import Entry, ParserProgram, read
from elements.pipeline.test_default_parser import DEFAULT, headers
from models.parser_program import parse, stages_of
from testing.cocotb.channel import start
from toolchain.simulate import simulate

STATES, ALPHABET = 5, (0x0000, 0x0101, 0x01FF, 0xFF02)


STAGES = 6


def test_sl_parser() -> None:
    simulate("sl_parser", __file__, {"Stages": STAGES})


class Bench:
    """The parser, a packet in most cycles, each record compared with the model of the program of its version."""

    def __init__(self, dut, programs: list[ParserProgram], packets) -> None:
        self.dut, self.programs, self.packets = dut, programs, packets
        self.versions = [0]  # that packets have
        self.known = [(program, stages_of(program)) for program in programs]
        self.expected: deque[L.Parsed] = deque()
        self.seen: set[L.Fault] = set()
        self.count = 0
        for name in ("valid_i", "write_valid_i", "window_i", "meta_i", "version_i", "begins_i", "write_i"):
            getattr(dut, name).value = 0

    async def load(self, image: ParserImage, before: ParserImage | None = None) -> None:
        for write in image.writes(before):
            self.dut.write_i.value, self.dut.write_valid_i.value = write.to_int(), 1
            await RisingEdge(self.dut.clk_i)
            self.dut.write_valid_i.value = 0
            while random.random() < 0.2:
                await RisingEdge(self.dut.clk_i)
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)

    def begin(self) -> None:
        cocotb.start_soon(self._send())
        cocotb.start_soon(self._compare())

    async def pass_packets(self, count: int) -> None:
        wanted = self.count + count
        while self.count < wanted:
            await RisingEdge(self.dut.clk_i)

    def _model(self, data: bytes, version: int, port: int, begins: int, mark: int) -> L.Parsed:
        program = self.programs[version]
        if self.known[version][0] is not program:
            self.known[version] = program, stages_of(program)
        _, stages = self.known[version]
        return parse(program.start, stages, data, version, port, begins, mark)

    async def _send(self) -> None:
        dut = self.dut
        while True:
            dut.valid_i.value = 0
            if random.random() < 0.9:
                data, port, version = self.packets(), random.randrange(8), random.choice(self.versions)
                window = data[: L.WINDOW_BYTES] + random.randbytes(max(0, L.WINDOW_BYTES - len(data)))  # beyond the end: anything
                dut.window_i.value = int.from_bytes(window, "little")
                begins, mark = random.choice([(0, 0), (random.randrange(16), random.getrandbits(32))])
                dut.meta_i.value = L.Meta(ingress_port=port, length=len(data), mark=mark).to_int()
                dut.version_i.value, dut.begins_i.value, dut.valid_i.value = version, begins, 1
                self.expected.append(self._model(data, version, port, begins, mark))
            await RisingEdge(dut.clk_i)

    async def _compare(self) -> None:
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.valid_o.value == 1:
                expected, found = self.expected.popleft(), L.Parsed.from_int(int(self.dut.parsed_o.value))
                assert found == expected
                self.seen.add(L.Fault(found.fault))
                self.count += 1


@cocotb.test()
async def reads_headers_as_the_default_program_says(dut):
    program = read(DEFAULT, STAGES).parser
    whole = [data for data, _ in headers(random.Random(random.getrandbits(32)))]

    def packet() -> bytes:
        data = bytearray(random.choice(whole))
        if random.random() < 0.3:
            data = data[: random.randrange(14, len(data) + 1)]
        while random.random() < 0.3:
            data[random.randrange(min(len(data), 80))] = random.choice([0, 6, 17, 0x45, 0x60, 0xFF, random.randrange(256)])
        return bytes(data)

    bench = Bench(dut, [program, program], packet)
    await start(dut)
    image = ParserImage(STAGES).with_program(program, 0)
    await bench.load(image)
    bench.begin()
    await bench.load(image.with_program(program, 1), image)
    bench.versions = [0, 1]
    await bench.pass_packets(2000)
    assert bench.seen >= {L.FAULT_NONE, L.FAULT_TRUNCATED, L.FAULT_VERSION, L.FAULT_HEADER_SIZE, L.FAULT_TAGS, L.FAULT_CHAIN}


def some_step() -> L.ParserStep:
    draw = random.random
    return L.ParserStep(
        extracts=[L.ParserExtract(random.choice([0, 0, 0, 0, 0, 0, 1, 2, 3]), random.randrange(32)) for _ in range(L.PARSER_SLOTS)],
        length_mask=random.choice([0, 0, 0xFF, 0xF000, 0x0F00, 0xFFFF]),
        length_word=random.randrange(32),
        length_scale=random.randrange(32) if draw() < 0.2 else random.choice([5, 9, 16]),
        advance=random.choice([0, 1, 7, 20, 63]) if draw() < 0.3 else random.randrange(6),
        needs=random.choice([0, 0, 5, 63]),
        lookups=[random.randrange(32) if draw() < 0.3 else random.randrange(2) for _ in range(2)],
        state=random.randrange(STATES + 1),
        base=random.randrange(8),
        kind=random.randrange(8),
        has_base=random.getrandbits(1),
        fault=L.Fault(random.choice([0] * 12 + [4, 8])),
    )


def some_entry() -> Entry:
    masks = [random.choice([0, 0, 0xFF, 0xFFFF]) for _ in range(2)]
    words = [random.choice(ALPHABET) & mask for mask in masks]
    state = random.randrange(1, STATES + 1)
    return Entry(L.ParserKey(words, state, 0), L.ParserKey(masks, 127 if random.random() < 0.9 else 0, 0), some_step())


def some_program(stages: int, before: ParserProgram | None) -> ParserProgram:
    """Random, or the other one with some entries changed."""
    start = L.ParserStart([random.randrange(4) for _ in range(2)], random.randrange(1, STATES + 1))
    tables = [[some_entry() for _ in range(random.randrange(4, 28))] for _ in range(stages)]
    if before and random.random() < 0.5:
        tables = [[*stage] for stage in before.stages]
        for stage in tables:
            stage[random.randrange(len(stage))] = some_entry()
    return ParserProgram(start, tuple(tuple(stage) for stage in tables))


@cocotb.test()
async def faults_without_a_program(dut):
    bench = Bench(dut, [ParserProgram(L.ParserStart(), ((),) * STAGES)] * 2, lambda: random.randbytes(random.randrange(14, 200)))
    bench.versions = [0, 1]
    await start(dut)
    bench.begin()
    await bench.pass_packets(50)
    assert bench.seen == {L.FAULT_PROGRAM}


@cocotb.test()
async def changes_programs_under_traffic(dut):
    def packet() -> bytes:
        size = random.choice([14, 15, 60, 61, 128, 300, 1500])
        return b"".join(random.choice(ALPHABET).to_bytes(2, "big") for _ in range(size // 2 + 1))[:size]

    programs = [some_program(STAGES, None)] * 2
    bench = Bench(dut, programs, packet)
    await start(dut)
    image = ParserImage(STAGES).with_program(programs[0], 0)
    await bench.load(image)
    bench.begin()
    wanted = {L.FAULT_NONE, L.FAULT_TRUNCATED, L.FAULT_WINDOW, L.FAULT_CHAIN, L.FAULT_PROGRAM, L.FAULT_LENGTH}
    turn = 0
    while turn < 8 or (turn < 40 and not bench.seen >= wanted):  # a chain longer than the stages is rare
        turn += 1
        version = turn % 2
        programs[version] = some_program(STAGES, programs[1 - version])
        before, image = image, image.with_program(programs[version], version)
        await bench.load(image, before)
        bench.versions = [version]  # from the next packet on
        await bench.pass_packets(150)
    assert bench.seen >= wanted
