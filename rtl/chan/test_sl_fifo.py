# SPDX-License-Identifier: Apache-2.0
"""sl_fifo, LUT and block RAM: order under random stalls, one word a cycle, exactly `Depth` words, memories inferred."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

DEPTH = 13


@pytest.mark.parametrize(("style", "steady"), [(0, 0), (0, 1), (1, 0)])
def test_fifo(style: int, steady: int) -> None:
    parameters = {"Width": 32, "Depth": DEPTH, "Style": style, "Steady": steady}
    simulate("sl_fifo", __file__, parameters, env={"STYLE": str(style)})


def test_lut_fifo_is_in_lut_ram() -> None:
    expect_memory("sl_fifo", {"Width": 28, "Depth": 16}, xcup=Memory(lutram=16), ecp5=Memory(lutram=7), most_ff=64)


def test_block_fifo_is_in_block_ram() -> None:
    expect_memory(
        "sl_fifo", {"Width": 36, "Depth": 512, "Style": 1}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=80
    )  # fmt: skip


@cocotb.test()
async def keeps_order_under_random_stalls(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    words = [random.getrandbits(32) for _ in range(1000)]
    source.send(*words)
    assert await sink.wait_for(len(words)) == words


@cocotb.test()
async def keeps_order_when_mostly_full_and_mostly_empty(dut):
    slow_side = {"in": 0.0, "out": 0.9}
    source = Source(dut, "in", lambda: random.random() < slow_side["in"])
    sink = Sink(dut, "out", lambda: random.random() < slow_side["out"])
    await start(dut)
    words = list(range(400))
    source.send(*words)
    await sink.wait_for(200)
    slow_side.update({"in": 0.9, "out": 0.0})
    assert await sink.wait_for(400) == words


@cocotb.test()
async def moves_one_word_a_cycle_without_stalls(dut):
    source, sink = Source(dut, "in", stalls(0)), Sink(dut, "out", stalls(0))
    await start(dut)
    source.send(*range(100))
    for _ in range(105):
        await RisingEdge(dut.clk_i)
    assert sink.received == list(range(100))


@cocotb.test()
async def holds_exactly_depth_words_and_counts_them(dut):
    source, sink = Source(dut, "in", stalls(0)), Sink(dut, "out", stalls(1))
    await start(dut)
    source.send(*range(DEPTH + 5))
    for _ in range(DEPTH + 10):
        await RisingEdge(dut.clk_i)
    await ReadOnly()
    assert dut.count_o.value == DEPTH
    assert dut.in_ready_o.value == 0
    assert len(source.queue) == 5
    sink.stall = stalls(0)
    assert await sink.wait_for(DEPTH + 5) == list(range(DEPTH + 5))
    for _ in range(2):
        await RisingEdge(dut.clk_i)
    assert dut.count_o.value == 0
