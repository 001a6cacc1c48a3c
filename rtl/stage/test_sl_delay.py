# SPDX-License-Identifier: Apache-2.0
"""sl_delay and sl_delay_block: each word leaves after its cycles, in every kind of delay, and a reset discards what is inside."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge

from testing.cocotb.channel import start
from testing.slow import first
from toolchain.simulate import simulate

WIDTH = 40


@pytest.mark.parametrize(
    ("module", "cycles"),
    [
        *first(3, (("sl_delay", cycles) for cycles in (0, 1, 7, 2, 3))),
        *first(2, (("sl_delay_block", cycles) for cycles in (4, 37, 5, 8))),
    ],
)
def test_delays(module: str, cycles: int) -> None:
    simulate(module, __file__, {"Width": WIDTH, "Cycles": cycles})


@cocotb.test()
async def each_word_leaves_after_its_cycles(dut):
    cycles = int(dut.Cycles.value)
    dut.valid_i.value = 0
    await start(dut)
    entered: list[int | None] = [None] * cycles  # in each cycle, the oldest first
    left = None
    for _ in range(600):
        word = random.getrandbits(WIDTH) if random.random() < 0.7 else None
        reset = cycles > 0 and random.random() < 0.02
        dut.valid_i.value, dut.data_i.value, dut.rst_i.value = int(word is not None), word or random.getrandbits(WIDTH), int(reset)
        entered.append(word)
        await FallingEdge(dut.clk_i)
        expected = entered.pop(0)
        left = left if expected is None else expected
        assert (int(dut.valid_o.value) == 1) == (expected is not None)
        if expected is not None or (left is not None and cycles):
            assert int(dut.data_o.value) == left
        if reset:
            entered, left = [None] * cycles, None
        await RisingEdge(dut.clk_i)
