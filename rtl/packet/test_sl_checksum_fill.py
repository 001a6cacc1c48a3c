# SPDX-License-Identifier: Apache-2.0
"""sl_checksum_fill: the checksums that it fills in are scapy's; what it cannot fill in leaves as it came, and is counted."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge
from sluice_layouts import EGRESS_BYTES, Flit, Meta, TransmitChecksum, Verdict

from models.host import fill
from models.packet import from_flits, to_flits
from models.transmit import Case, asked_packet, hostile
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate


def test_sl_checksum_fill() -> None:
    simulate("sl_checksum_fill", __file__)


def flits_of(case: Case) -> list[int]:
    meta = Meta(mark=case.asked.to_int() | 0xFFE00000, verdict=case.verdict, length=len(case.packet), egress_mask=1)
    return [flit.to_int() for flit in to_flits(case.packet, meta)]


async def run(dut, cases: list[Case], stall: float) -> int:
    """Send them and compare; cycles from the first flit to the last."""
    source, sink = Source(dut, "in", stalls(stall)), Sink(dut, "out", stalls(stall))
    await start(dut)
    words = [word for case in cases for word in flits_of(case)]
    unfilled = sum(case.verdict == Verdict.VERDICT_FORWARD and fill(case.packet, case.asked)[1] for case in cases)
    source.send(*words)
    counted = cycles = 0
    for _ in range(40 * len(words) + 1000):
        await RisingEdge(dut.clk_i)
        counted += int(dut.unfilled_o.value)
        cycles += bool(sink.received) and len(sink.received) < len(words)
        if len(sink.received) == len(words) and dut.idle_o.value == 1:
            break
    left = from_flits([Flit.from_int(word) for word in sink.received])
    assert [one.data for one in left] == [case.expected for case in cases]
    for one, case in zip(left, cases, strict=True):
        assert one.meta.mark == (0 if case.verdict == Verdict.VERDICT_FORWARD else case.asked.to_int() | 0xFFE00000)
        assert (one.meta.verdict, one.meta.length, one.meta.egress_mask) == (case.verdict, len(case.packet), 1)
    assert counted == unfilled
    return cycles


@cocotb.test()
async def fills_in_what_scapy_has(dut):
    draw = random.Random(5)
    cases = [asked_packet(draw, draw.choice([0, 1, 2, 3, 20, 200, 1400])) for _ in range(60)]
    cases += [asked_packet(draw, 2, zero=True) for _ in range(3)] + [asked_packet(draw, EGRESS_BYTES - 100) for _ in range(3)]
    for case in cases:
        assert fill(case.packet, case.asked) == (case.expected, False)
    for stall in (0.0, 0.4):
        await run(dut, cases, stall)


@cocotb.test()
async def leaves_what_cannot_be(dut):
    draw = random.Random(6)
    cases = [hostile(draw) for _ in range(600)]
    assert sum(case.expected != case.packet for case in cases) > 50
    await run(dut, cases, 0.2)


@cocotb.test()
async def takes_a_flit_a_cycle(dut):
    draw = random.Random(7)
    cases = [asked_packet(draw, draw.choice([0, 6, 100, 500])) for _ in range(150)]
    cases += [Case(bytes(60), TransmitChecksum(), bytes(60))] * 20
    flits = sum(len(flits_of(case)) for case in cases)
    cycles = await run(dut, cases, 0.0)
    largest = max(len(flits_of(case)) for case in cases)
    assert cycles <= flits + largest, (cycles, flits)  # the first one waits for no other
