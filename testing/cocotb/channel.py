# SPDX-License-Identifier: Apache-2.0
"""Source, Sink and Monitor of the one channel (valid, ready, data), with random stalls by default.

Signal names follow the style of the project: a channel `in` has `in_data_i`, `in_valid_i`, `in_ready_o`; a channel
`out` has `out_data_o`, `out_valid_o`, `out_ready_i`. The random stalls come from cocotb's seed, which it prints.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

Stall = Callable[[], bool]


def stalls(probability: float) -> Stall:
    """A stall pattern that stalls in each cycle with `probability`."""
    return lambda: random.random() < probability


async def start(dut: Any, period_ns: int = 10) -> None:
    """Hold the reset for four cycles of the clock, from before its first edge: registers hold anything until then."""
    dut.rst_i.value = 1
    await Timer(1, "ns")
    Clock(dut.clk_i, period_ns, unit="ns").start()
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await RisingEdge(dut.clk_i)


class Source:
    """Drives an input channel of the design from a queue of integers; once valid, it holds until the word moved."""

    def __init__(self, dut: Any, name: str, stall: Stall | None = None, clock: Any = None) -> None:
        self.data = getattr(dut, f"{name}_data_i")
        self.valid = getattr(dut, f"{name}_valid_i")
        self.ready = getattr(dut, f"{name}_ready_o")
        self.clock = clock if clock is not None else dut.clk_i
        self.queue: deque[int] = deque()
        self.stall = stall if stall is not None else stalls(0.3)
        self.valid.value = 0
        self.data.value = 0
        self.task = cocotb.start_soon(self._run())

    def send(self, *words: int) -> None:
        self.queue.extend(words)

    async def drained(self) -> None:
        """Wait until every word given to `send` has moved."""
        while self.queue or self.valid.value == 1:
            await RisingEdge(self.clock)

    async def _run(self) -> None:
        valid = 0
        while True:
            if not self.queue or self.stall():
                if valid:
                    self.valid.value = valid = 0
                await RisingEdge(self.clock)
                continue
            self.data.value = self.queue[0]
            if not valid:
                self.valid.value = valid = 1
            while True:
                await ReadOnly()
                moved = self.ready.value == 1
                await RisingEdge(self.clock)
                if moved:
                    break
            self.queue.popleft()


class Sink:
    """Takes words from an output channel of the design into `received`, but in reset; checks that a waiting word holds still."""

    def __init__(self, dut: Any, name: str, stall: Stall | None = None, clock: Any = None) -> None:
        self.data = getattr(dut, f"{name}_data_o")
        self.valid = getattr(dut, f"{name}_valid_o")
        self.ready = getattr(dut, f"{name}_ready_i")
        self.clock = clock if clock is not None else dut.clk_i
        self.reset = getattr(dut, "rst_i", None)
        self.received: list[int] = []
        self.stall = stall if stall is not None else stalls(0.3)
        self.ready.value = 0
        self.task = cocotb.start_soon(self._run())

    async def wait_for(self, count: int, timeout_cycles: int = 100_000) -> list[int]:
        """Wait until `count` words in all have come; raises TimeoutError after `timeout_cycles`."""
        for _ in range(timeout_cycles):
            if len(self.received) >= count:
                return self.received
            await RisingEdge(self.clock)
        raise TimeoutError(f"{len(self.received)} of {count} words after {timeout_cycles} cycles")

    async def _run(self) -> None:
        waiting: int | None = None
        ready = False
        while True:
            if ready == self.stall():
                ready = not ready
                self.ready.value = int(ready)
            await ReadOnly()
            in_reset = self.reset is not None and self.reset.value == 1
            valid = self.valid.value == 1 and not in_reset
            word = int(self.data.value) if valid else None
            if waiting is not None and not in_reset:
                assert word == waiting, f"a waiting word changed or vanished: {waiting:#x} -> {word}"
            moved = valid and self.ready.value == 1
            if moved:
                assert word is not None
                self.received.append(word)
            waiting = None if moved else word
            await RisingEdge(self.clock)
