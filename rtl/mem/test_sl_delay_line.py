# SPDX-License-Identifier: Apache-2.0
"""sl_delay_line: each word leaves after its cycles, in several rings too; a reset may come at any time. It stays LUT RAM."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory


@pytest.mark.parametrize(("width", "cycles"), [(1, 3), (40, 4), (128, 5), (300, 18), (605, 9)])
def test_delays(width: int, cycles: int) -> None:
    simulate("sl_delay_line", __file__, {"Width": width, "Cycles": cycles})


def test_the_words_are_in_lut_ram() -> None:
    expect_memory("sl_delay_line", {"Width": 300, "Cycles": 13}, xcup=Memory(lutram=152), ecp5=Memory(lutram=75), most_ff=340)


@cocotb.test()
async def each_word_leaves_after_its_cycles(dut):
    width, cycles = int(dut.Width.value), int(dut.Cycles.value)
    await start(dut)
    entered: list[int] = []  # since the last reset, the newest last
    for _ in range(500):
        word, reset = random.getrandbits(width), random.random() < 0.01
        dut.data_i.value, dut.rst_i.value = word, int(reset)
        await RisingEdge(dut.clk_i)
        entered.append(word)
        await FallingEdge(dut.clk_i)
        if len(entered) >= cycles:
            assert int(dut.data_o.value) == entered[-cycles], f"{cycles} cycles"
        if reset:
            entered.clear()
