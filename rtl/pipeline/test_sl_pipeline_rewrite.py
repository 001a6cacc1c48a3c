# SPDX-License-Identifier: Apache-2.0
"""sl_pipeline_rewrite inserts and removes words as its model says: every number of words in and out, places all over the first
flits, packets that end around the place and around the ends of flits; a flit a cycle. Rows are loaded while packets of the other
version pass. What the deparser writes: test_sl_deparser.py, elements/pipeline/test_el_pipeline.py."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import cocotb
import sluice_layouts as L
from cocotb.triggers import RisingEdge

from compiler.pipeline.deparser_image import DeparserImage
from compiler.pipeline.parser_program import DeparserProgram
from models.deparser_program import spliced
from models.packet import Received, from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate

EMPTY = DeparserProgram(())
COUNTS = [(inserted, removed) for inserted in range(L.SPLICE_WORDS + 1) for removed in range(L.SPLICE_REMOVED + 1)]
BATCH = L.SPLICES - 1


def test_sl_pipeline_rewrite() -> None:
    simulate("sl_pipeline_rewrite", __file__, {"Writers": 1})


class Bench:
    """The part with a source, a sink, and the rows of both versions."""

    def __init__(self, dut, source_stall: float, sink_stall: float) -> None:
        self.dut = dut
        self.source, self.sink = Source(dut, "in", stalls(source_stall)), Sink(dut, "out", stalls(sink_stall))
        self.image = DeparserImage(1)
        self.rows: list[list[L.SpliceRow]] = [[], []]
        self.expected: list[Received] = []
        self.sent_flits = 0
        self.changes: Counter[tuple[int, int]] = Counter()
        dut.write_valid_i.value = dut.write_i.value = 0

    async def load(self, rows: list[L.SpliceRow], version: int, first: bool = False) -> None:
        before, self.image = self.image, self.image.with_program(EMPTY, version, rows)
        self.rows[version] = rows
        for write in self.image.writes(None if first else before):
            self.dut.write_i.value, self.dut.write_valid_i.value = write.to_int(), 1
            await RisingEdge(self.dut.clk_i)
            self.dut.write_valid_i.value = 0
            while random.random() < 0.2:
                await RisingEdge(self.dut.clk_i)
        for _ in range(2):
            await RisingEdge(self.dut.clk_i)

    def send(self, size: int, record: L.Parsed, number: int, error: bool = False) -> None:
        data, meta = random.randbytes(size), L.Meta(length=size, mark=random.getrandbits(32), fault=record.fault)
        record = replace(record, length=size, containers=[random.getrandbits(16) for _ in range(L.PIPELINE_CONTAINERS)])
        for flit in to_flits(data, meta, error):
            beside = [record.to_int(), number] if flit.sop else [random.getrandbits(L.Parsed.BITS), random.getrandbits(4)]
            self.source.send(flit.to_int() | beside[0] << L.Flit.BITS | beside[1] << L.Flit.BITS + L.Parsed.BITS)
        out = spliced(self.rows[record.version], number, record, data)
        row = self.rows[record.version][number - 1]
        self.changes[row.inserted, row.removed] += out != data
        self.sent_flits += len(to_flits(out, meta))
        self.expected.append(Received(out, replace(meta, length=len(out)), error))

    async def check(self) -> None:
        received = from_flits(L.Flit.from_int(word) for word in await self.sink.wait_for(self.sent_flits))
        for found, wanted in zip(received, self.expected, strict=True):
            assert found == wanted, f"\n{found.data.hex()}\n{wanted.data.hex()}\n{found.meta} {wanted.meta}"
        for _ in range(30):
            await RisingEdge(self.dut.clk_i)
        assert len(self.sink.received) == self.sent_flits and not self.source.queue


def some_row(inserted: int, removed: int) -> L.SpliceRow:
    words = [L.SpliceWord(random.randrange(4), random.getrandbits(16)) for _ in range(L.SPLICE_WORDS)]
    return L.SpliceRow(words, inserted, removed, random.choice([0, 1, 6, 15, 16, 31, random.randrange(32)]), random.randrange(8))


def some_size(end: int) -> int:
    """Bytes of a packet, mostly near the end of what is removed, or with an end near that of a flit."""
    near = end + random.choice([-2, -1, 0, 1, 1, 2, 2, 3, 5])
    flits = (end + random.randrange(250)) // L.DATA_BYTES * L.DATA_BYTES + random.choice([-3, -2, -1, 0, 1, 2, 3])
    return max(random.choice([near, flits, end + random.randrange(1, 300)]), 1)


async def every_count(dut, source_stall: float, sink_stall: float, times: int) -> None:
    """Packets of every count, so many times, half of them in any order."""
    await start(dut)
    bench = Bench(dut, source_stall, sink_stall)
    await bench.load([], 0, first=True)
    counts = random.sample(COUNTS, len(COUNTS))
    sent_before = 0  # flits of the packets that have the version before
    for version, batch in enumerate([counts[at : at + BATCH] for at in range(0, len(counts), BATCH)]):
        rows = [some_row(inserted, removed) for inserted, removed in batch]
        await bench.sink.wait_for(sent_before)
        sent_before = bench.sent_flits
        await bench.load(rows, version % 2)
        for number in random.choices(range(1, len(rows) + 1), k=times // 2 * len(rows)) + [*range(1, len(rows) + 1)] * (times // 2):
            row = rows[number - 1]
            position = random.randrange(128)
            bases = [L.ParserBase(random.getrandbits(1), random.randrange(8), random.randrange(128)) for _ in range(L.PARSER_BASES)]
            bases[row.base] = L.ParserBase(random.random() < 0.95, random.randrange(8), position)
            fault = L.FAULT_CHAIN if random.random() < 0.02 else L.FAULT_NONE
            record = L.Parsed(bases=bases, fault=fault, version=version % 2)
            size = some_size(2 * (position + row.word + row.removed))
            bench.send(size, record, number if random.random() < 0.95 else 0, random.random() < 0.05)
    await bench.check()
    assert all(bench.changes[counts] for counts in COUNTS if counts != (0, 0)) or sum(bench.changes.values()) > 500 * times
    assert len(+bench.changes) > 0.85 * len(COUNTS)


@cocotb.test()
async def splices_every_number_of_words(dut):
    await every_count(dut, 0.2, 0.2, 4)


@cocotb.test()
async def splices_behind_a_slow_source(dut):
    await every_count(dut, 0.7, 0, 2)


@cocotb.test()
async def splices_before_a_slow_receiver(dut):
    await every_count(dut, 0, 0.6, 2)


@cocotb.test()
async def takes_a_flit_a_cycle(dut):
    """Of the busier side: removing leaves flits out, inserting adds some."""
    await start(dut)
    bench = Bench(dut, 0, 0)
    places = [(0, 0), (2, 0), (0, 2), (15, 0), (15, 63), (0, 63), (3, 4), (15, 15), (0, 32)]
    rows = [replace(some_row(*counts), word=6, base=0) for counts in places]
    await bench.load(rows, 0, first=True)
    for number, row in enumerate(rows, 1):
        for size in (60, 62, 64, 65, 150, 192, 1500):
            record = L.Parsed(bases=[L.ParserBase(1, 0, 0)] * L.PARSER_BASES)
            before, first = bench.sent_flits, len(bench.sink.received)
            for _ in range(1 + 400 // (size // 32)):
                bench.send(size, record, number)
            flits = max(len(bench.source.queue), bench.sent_flits - before)
            cycles = 0
            while len(bench.sink.received) < bench.sent_flits:
                await RisingEdge(dut.clk_i)
                cycles += len(bench.sink.received) > first
            assert cycles <= flits + 4, (row.inserted, row.removed, size, cycles, flits)
    await bench.check()
