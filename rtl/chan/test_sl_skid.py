# SPDX-License-Identifier: Apache-2.0
"""sl_skid: every word comes out once, in order, under random stalls on both sides; one word a cycle without stalls."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate


def test_skid() -> None:
    simulate("sl_skid", __file__, {"Width": 32})


@cocotb.test()
async def keeps_order_under_random_stalls(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    words = [random.getrandbits(32) for _ in range(1000)]
    source.send(*words)
    assert await sink.wait_for(len(words)) == words


@cocotb.test()
async def moves_one_word_a_cycle_without_stalls(dut):
    source, sink = Source(dut, "in", stalls(0)), Sink(dut, "out", stalls(0))
    await start(dut)
    source.send(*range(100))
    for _ in range(103):
        await RisingEdge(dut.clk_i)
    assert sink.received == list(range(100))
