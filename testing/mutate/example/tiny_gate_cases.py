# SPDX-License-Identifier: Apache-2.0
"""The test of `tiny_gate`, with a hole in it. Not named test_*: only `test_mutate.py` runs it."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from toolchain.simulate import SOURCES, simulate


def test_tiny_gate() -> None:
    simulate("tiny_gate", __file__, extra_sources=[SOURCES / "testing" / "mutate" / "example" / "tiny_gate.sv"])


@cocotb.test()
async def adds(dut: Any) -> None:
    Clock(dut.clk_i, 10).start()
    dut.rst_i.value = 0
    for a, b in ((1, 0), (1, 2), (9, 0), (9, 4)):
        dut.a_i.value, dut.b_i.value = a, b
        await RisingEdge(dut.clk_i)
        await Timer(1)
        assert (int(dut.sum_o.value), int(dut.both_o.value), int(dut.high_o.value)) == (a + b, int(b != 0), a >> 3)
