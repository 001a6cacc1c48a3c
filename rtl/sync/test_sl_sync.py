# SPDX-License-Identifier: Apache-2.0
"""sl_sync: every bit comes out unchanged, as many edges later as there are flip-flops."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from toolchain.simulate import simulate

WIDTH = 5


@pytest.mark.parametrize("stages", [2, 3])
def test_sync(stages: int) -> None:
    simulate("sl_sync", __file__, {"Width": WIDTH, "Stages": stages})


@cocotb.test()
async def each_value_comes_out_behind_all_stages(dut):
    stages, sent = int(dut.Stages.value), []
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(200):
        await FallingEdge(dut.clk_i)
        if len(sent) >= stages:
            assert dut.sync_o.value == sent[-stages]
        sent.append(random.getrandbits(WIDTH))
        dut.async_i.value = sent[-1]
