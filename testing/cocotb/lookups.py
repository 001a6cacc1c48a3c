# SPDX-License-Identifier: Apache-2.0
"""What every part with lookups has in common: a key in any cycle (`key_valid_i`) and its result a fixed number of cycles later
(`result_valid_o`)."""

from __future__ import annotations

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

RESET, PERIOD = 4, 64  # cycles of a reset, and from one to the next


async def answer_only_what_no_reset_ended(dut: Any) -> None:
    """Keys in every cycle but some, through several resets: a key has a result after as many cycles as the first one had, unless
    there was a reset from that cycle to the one before the result; and nothing else has one. Registers hold anything at first."""
    dut.rst_i.value, dut.key_valid_i.value, dut.key_i.value, dut.op_valid_i.value = 1, 0, 0, 0
    await Timer(1, "ns")
    Clock(dut.clk_i, 10, unit="ns").start()
    asked: list[bool] = []  # by cycle: a key, and no reset since
    latency = results = 0
    for cycle in range(4 * PERIOD):
        await FallingEdge(dut.clk_i)
        at = cycle % PERIOD
        reset = at < RESET
        valid = at % 7 != 3 if latency else at == RESET + 1
        dut.rst_i.value, dut.key_valid_i.value = int(reset), int(valid)
        await ReadOnly()
        result = dut.result_valid_o.value == 1
        if result and not latency and cycle > RESET:
            latency = cycle - asked.index(True)
        if latency or cycle > RESET:
            expected = latency > 0 and asked[cycle - latency]
            assert result == expected, f"cycle {cycle}"
            results += expected
        asked = [False] * (cycle + 1) if reset else [*asked, valid]
    assert results > PERIOD
