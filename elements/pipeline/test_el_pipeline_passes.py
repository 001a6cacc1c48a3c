# SPDX-License-Identifier: Apache-2.0
"""Packets that enter el_pipeline once more leave as its model says, in each pass; under traffic a packet has one program in all its
passes, and none is lost. What k passes cost is measured."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import RisingEdge

from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from elements.pipeline.test_default_parser import PLACES, headers
from elements.pipeline.test_el_pipeline import HEADERS, SIZES, Element, Traffic, some_program
from models.pipeline import model_of
from testing.cocotb.channel import start
from toolchain.simulate import simulate

UNITS = 4
ALL = {**SIZES, "Units": UNITS, "PassFlits": 1024}
FEW = {**ALL, "PassFlits": 160}  # little more than the longest packet has
MARK = PLACES["mark"][0]
Left = list[tuple[bytes, L.Meta]]


def test_passes() -> None:
    simulate("el_pipeline", __file__, ALL)


@pytest.mark.slow
def test_passes_of_few_packets_at_once() -> None:
    simulate("el_pipeline", __file__, FEW, testcase="packets_leave_in_each_pass_and_see_one_program")


def copies(draw: random.Random, unit: int) -> UnitProgram:
    """The mark that a pass before left chooses what is done: other addresses, one hop less, another port, and the next mark."""
    entries = []
    for mark in range(1, 4):
        operations = set_words(PLACES["eth_src"], draw.getrandbits(48))
        operations.append(Operation(MARK, L.OPERATOR_SET, draw.randrange(5)))
        if draw.random() < 0.5:
            operations.append(Operation(PLACES["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00))
        ports = [draw.randrange(4)] if draw.random() < 0.8 else []
        again = draw.choice([0, *range(unit + 1, UNITS)])
        entries.append(UnitEntry(mark, 0xFFFF, action(operations, L.UNIT_END, L.VERDICT_FORWARD, ports, 0, again)))
    selector = L.UnitSelector([MARK, *[0] * (L.UNIT_KEY_WORDS - 1)], 0xFFFF, draw.getrandbits(1))
    return UnitProgram(selector, tuple(entries), action(verdict=draw.choice([L.VERDICT_TO_HOST, L.VERDICT_DROP])))


def some_passes(draw: random.Random) -> PipelineProgram:
    """The filter and the router, nearly all of whose actions ask for a pass at a unit that copies."""

    def asking(unit: int, done: L.UnitAction) -> L.UnitAction:
        operations = [replace(one) for one in done.operations]
        if operations[MARK % 8].kind == L.OPERATOR_NONE:
            operations[MARK % 8] = L.UnitOperation(0xFFFF, draw.randrange(5), L.UNIT_SOURCES, MARK // 8, L.OPERATOR_SET)
        return replace(done, operations=operations, again=draw.choice([0, 2, 2, 3, UNITS - 1]))

    units = [
        UnitProgram(
            unit.selector,
            tuple(replace(entry, action=asking(number, entry.action)) for entry in unit.entries),
            asking(number, unit.miss),
        )
        for number, unit in enumerate(some_program(draw).units)
    ]
    return PipelineProgram(HEADERS, (*units, copies(draw, 2), copies(draw, 3)))


class Numbered(Traffic):
    """Each packet ends with its number; some are as long as packets can be."""

    long = 0.01

    def choose(self) -> tuple[bytes, int]:
        data, port = super().choose()
        if random.random() < self.long:
            data += bytes(L.MTU_BYTES - 4 - len(data))
        return data + len(self.sent).to_bytes(4, "big"), port


def by_number(count: int, left: Left) -> list[Left]:
    """What has left of each packet, in order."""
    found: list[Left] = [[] for _ in range(count)]
    for data, meta in left:
        found[int.from_bytes(data[-4:], "big")].append((data, meta))
    return found


def took_over(programs: list[PipelineProgram], sent: list[tuple[bytes, int]], found: list[Left]) -> None:
    """Each packet is one of the first program up to one of them, then of the second, in all its passes."""
    old, new = ([model_of(program).run(data, port) for data, port in sent] for program in programs)
    first_new = next((at for at, left in enumerate(found) if left != old[at]), len(found))
    last_old = next((at for at in reversed(range(len(found))) if found[at] != new[at]), -1)
    assert last_old < first_new, (last_old, first_new)
    assert last_old >= 0 and first_new < len(found), "both programs were seen"


@cocotb.test()
async def packets_leave_in_each_pass_and_see_one_program(dut):
    draw = random.Random(random.getrandbits(32))
    element = Element(dut, 0.05, 0.2, ALL)
    await start(dut)
    packets = [(data, port) for port in (0, 3) for data, _ in headers(draw)]
    programs, passes, dropped = [some_passes(draw)], 0, 0
    await element.load(programs[0], 0, first=True)
    for turn in range(1, 5):
        traffic = Numbered(element, packets)
        for _ in range(100):
            await RisingEdge(dut.clk_i)
        programs.append(some_passes(draw))
        await element.load(programs[-1], turn % 2)
        for _ in range(500):
            await RisingEdge(dut.clk_i)
        traffic.on = False
        await element.settle()
        found, element.sink.received = by_number(len(traffic.sent), element.left()), deque()
        took_over(programs[-2:], traffic.sent, found)
        passes += sum(len(left) > 1 for left in found)
        dropped += sum(not left for left in found)
        assert await element.registers.read(L.PIPELINE_REGISTERS_DRAINING) == 0
    assert passes > 50 and dropped > 0, (passes, dropped)
    assert await element.registers.read(L.PIPELINE_REGISTERS_PASSES) >= passes
    assert await element.registers.read(L.PIPELINE_REGISTERS_PASSES_REFUSED) == 0


def in_passes(count: int) -> PipelineProgram:
    """Every packet leaves so many times, with the unit's number as the port of each."""
    units = [
        UnitProgram(
            L.UnitSelector(), (), action(verdict=L.VERDICT_FORWARD, ports=[unit], again=unit + 1 if unit + 1 < count else 0)
        )
        for unit in range(count)
    ]
    return PipelineProgram(HEADERS, tuple(units))


@cocotb.test()
async def k_passes_take_k_times_the_flits(dut):
    element = Element(dut, 0, 0, ALL)
    await start(dut)
    for passes in range(1, UNITS + 1):
        await element.load(in_passes(passes), passes % 2, first=passes == 1)
        while await element.registers.read(L.PIPELINE_REGISTERS_DRAINING):  # the version changes some cycles later
            pass
        for size, count in ((60, 600), (64, 600), (1500, 200)):  # a flit more for each of them is more than the latency
            packets = [bytes(14) + random.randbytes(size - 14) for _ in range(6000 // size + count // passes)]
            for data in packets:
                element.send(data, 0)
            flits = len(element.source.queue)
            cycles = 0
            while len(element.sink.received) < passes * flits:
                await RisingEdge(dut.clk_i)
                cycles += 1
            latency = 6 * 16 + 18 * UNITS + 60  # of each pass; they overlap but for the last packets
            dut._log.info("%d passes of %d bytes: %d flits in %d cycles", passes, size, flits, cycles)
            assert cycles <= passes * (flits + latency), (passes, size, flits, cycles)
            assert [meta.egress_mask for _, meta in element.left()].count(1 << passes - 1) == len(packets)
            element.sink.received = deque()


@cocotb.test()
async def a_program_cannot_keep_a_packet_for_ever(dut):
    """A loader that nobody checks: unit 1 always asks for unit 1. It gets one pass."""
    element = Element(dut, 0.1, 0.1, ALL)
    await start(dut)
    await element.load(PipelineProgram(HEADERS, (UnitProgram(L.UnitSelector(), (), action(following=1)),)), 0, first=True)
    endless = action(verdict=L.VERDICT_FORWARD, ports=[2], again=1)
    for word in range(12):
        await element.registers.write(L.PIPELINE_REGISTERS_DATA + 4 * word, endless.to_int() >> 32 * word & 0xFFFFFFFF)
    number = SIZES["ExactEntries"] + SIZES["TernaryEntries"]
    await element.registers.write(L.PIPELINE_REGISTERS_PLACE, L.UNIT_MEMORY_ACTION << 20 | 1 << 16 | number)
    packets = [bytes(14) + random.randbytes(50) for _ in range(50)]
    for data in packets:
        element.send(data, 1)
    await element.settle()
    assert sorted(data for data, _ in element.left()) == sorted(packets * 2)
    for register in (L.PIPELINE_REGISTERS_PASSES, L.PIPELINE_REGISTERS_PASSES_REFUSED):
        assert await element.registers.read(register) == 50
    counters = await element.counters(1, number)
    assert (counters.packets, counters.bytes) == (100, 6400), "each pass is counted"


@cocotb.test()
async def drains_until_the_last_pass_has_left(dut):
    """Packets of the new program, which have one pass, leave between the passes of the old one's."""
    element = Element(dut, 0, 0.6, ALL)
    await start(dut)
    await element.load(in_passes(UNITS), 1, first=True)
    traffic = Numbered(element, [(bytes(60), 0)])
    traffic.long = 0
    for _ in range(600):
        await RisingEdge(dut.clk_i)
    await element.load(in_passes(1), 0)
    while await element.registers.read(L.PIPELINE_REGISTERS_DRAINING):
        pass
    drained = len(element.left())
    traffic.on = False
    await element.settle()
    masks = [meta.egress_mask for _, meta in element.left()]
    assert 8 in masks[:drained] and {*masks[drained:]} == {1}
