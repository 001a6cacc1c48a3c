# SPDX-License-Identifier: Apache-2.0
"""sl_reset_sync: the reset asserts without a clock and lets go in step with it, two cycles later."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time

from toolchain.simulate import simulate


def test_reset_sync() -> None:
    simulate("sl_reset_sync", __file__)


@cocotb.test()
async def asserts_without_a_clock(dut):
    dut.clk_i.value = 0
    dut.async_rst_i.value = 0
    await Timer(10, unit="ns")
    dut.async_rst_i.value = 1
    await Timer(1, unit="ns")
    assert dut.rst_o.value == 1


@cocotb.test()
async def lets_go_two_edges_after_its_source(dut):
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for offset in (1, 4, 9):
        dut.async_rst_i.value = 1
        await RisingEdge(dut.clk_i)
        await Timer(offset, unit="ns")
        dut.async_rst_i.value = 0
        edges = []
        for _ in range(2):
            assert dut.rst_o.value == 1
            await RisingEdge(dut.clk_i)
            edges.append(get_sim_time("ns"))
        await FallingEdge(dut.clk_i)
        assert dut.rst_o.value == 0 and edges[1] - edges[0] == 10
