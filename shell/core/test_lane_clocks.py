# SPDX-License-Identifier: Apache-2.0
"""Lanes with clocks of their own: packets cross whole, every signal of a flit in step, at any ratio of the clocks."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from sluice_layouts import DATA_BYTES, Flit

from testing.cocotb.channel import Sink, Source, stalls
from testing.simulate import simulate

CORE_PERIOD_PS = 4000
LANE_PERIODS_PS = (3104, 5880, 15200)


@pytest.mark.parametrize("side", ["rx", "tx"])
def test_lane_clock(side: str) -> None:
    parameters = {"OwnClock": 1, "Flits": 512} | ({"Lane": 3} if side == "rx" else {})
    simulate(f"sh_lane_{side}", __file__, parameters, testcase=f"packets_cross_whole_{side}")


def flits_of(packet: bytes) -> list[int]:
    """The flits of a packet, as integers."""
    chunks = [packet[i : i + DATA_BYTES] for i in range(0, len(packet), DATA_BYTES)]
    return [
        Flit(
            sop=int(i == 0),
            eop=int(i == len(chunks) - 1),
            empty=DATA_BYTES - len(chunk),
            data=int.from_bytes(chunk, "little"),
        ).to_int()
        for i, chunk in enumerate(chunks)
    ]


def packets_of(words: list[int]) -> list[tuple[bytes, Flit]]:
    """Packets with their first flits; asserts that sop and eop stand where they must."""
    packets: list[tuple[bytes, Flit]] = []
    data, first = b"", None
    for flit in map(Flit.from_int, words):
        assert flit.sop == (first is None)
        first = first or flit
        data += flit.data.to_bytes(DATA_BYTES, "little")[: DATA_BYTES - flit.empty]
        if flit.eop:
            packets.append((data, first))
            data, first = b"", None
    assert first is None
    return packets


async def run(dut, in_name, in_clock, out_name, out_clock):
    """Send random packets at every lane period and compare what comes out; yields the first flits."""
    dut.lossless_i.value = 1
    heads = []
    for period in LANE_PERIODS_PS:
        source = Source(dut, in_name, stalls(0.2), in_clock)
        sink = Sink(dut, out_name, stalls(0.3), out_clock)
        dut.rst_i.value = 1
        clocks = [cocotb.start_soon(Clock(dut.clk_i, CORE_PERIOD_PS, unit="ps").start())]
        await Timer(2 * random.randrange(1, 1000), unit="ps")
        clocks.append(cocotb.start_soon(Clock(dut.lane_clk_i, period, unit="ps").start()))
        await ClockCycles(dut.lane_clk_i, 8)
        await ClockCycles(dut.clk_i, 8)
        dut.rst_i.value = 0
        await ClockCycles(dut.lane_clk_i, 4)
        packets = [random.randbytes(random.randrange(14, 400)) for _ in range(60)]
        words = [word for packet in packets for word in flits_of(packet)]
        source.send(*words)
        received = packets_of(await sink.wait_for(len(words)))
        assert [data for data, _ in received] == packets, f"lane period {period} ps"
        heads += [first for _, first in received]
        for task in [*clocks, source.task, sink.task]:
            task.cancel()
    return heads


async def count_time(dut):
    """Core cycles on time_i."""
    cycles = 0
    while True:
        dut.time_i.value = cycles
        await RisingEdge(dut.clk_i)
        cycles += 1


@cocotb.test()
async def packets_cross_whole_rx(dut):
    cocotb.start_soon(count_time(dut))
    heads = await run(dut, "lane", dut.lane_clk_i, "out", dut.clk_i)
    assert all(head.meta.ingress_port == 3 for head in heads)
    times = [head.meta.timestamp for head in heads]
    assert times == sorted(times) and len(set(times)) == len(times)


@cocotb.test()
async def packets_cross_whole_tx(dut):
    await run(dut, "in", dut.clk_i, "lane", dut.lane_clk_i)
    assert dut.idle_o.value == 1
