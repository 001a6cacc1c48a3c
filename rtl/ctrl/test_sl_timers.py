# SPDX-License-Identifier: Apache-2.0
"""sl_timers: each period of each timer is counted once, timers take turns, the handler keeps its share, and signals get through."""

import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate

EVERY, SIGNALS, SHARE, BITS = (5, 12, 1000), 2, 8, 40
MOST = 0xFFFF


def test_timers() -> None:
    every = f"{32 * len(EVERY)}'h{sum(period << 32 * n for n, period in enumerate(EVERY)):x}"
    parameters = {"Timers": len(EVERY), "Signals": SIGNALS, "Share": SHARE, "ArgumentBits": BITS, "Every": every}
    simulate("sl_timers", __file__, parameters)


class Bench:
    """An element that begins the handler in two cycles of three, a node with signals now and then, and the tick."""

    def __init__(self, dut, rate: int, signals: float) -> None:
        self.dut, self.rate, self.signals = dut, rate, signals
        self.tick = random.getrandbits(32)
        self.first = self.tick
        self.timers: list[tuple[int, int, int]] = []  # timer, periods, iterations of the handler before it
        self.sent: list[tuple[int, int]] = []
        self.got: list[tuple[int, int]] = []
        self.began = self.results = 0

    async def begin(self) -> None:
        dut = self.dut
        dut.tick_i.value = self.tick
        for name in ("may_begin", "signal_pending", "signal_kind", "signal_arguments", "take", "result_valid"):
            getattr(dut, f"{name}_i").value = 0
        await start(dut)
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        cocotb.start_soon(self._ticks())
        cocotb.start_soon(self._element())
        cocotb.start_soon(self._node())

    async def _ticks(self) -> None:
        while True:
            for _ in range(self.rate):
                await RisingEdge(self.dut.clk_i)
            self.tick = (self.tick + 1) % 2**32
            self.dut.tick_i.value = self.tick

    async def _element(self) -> None:
        dut = self.dut
        while True:
            dut.may_begin_i.value = may_begin = int(random.random() < 0.67)
            await ReadOnly()
            pending = int(dut.pending_o.value)
            seen = int(dut.kind_o.value), int(dut.arguments_o.value)
            await RisingEdge(dut.clk_i)
            if not pending or not may_begin:
                self.began += may_begin
                continue
            for _ in range(random.randrange(3)):  # what is pending stays
                await ReadOnly()
                assert dut.pending_o.value == 1 and (int(dut.kind_o.value), int(dut.arguments_o.value)) == seen
                await RisingEdge(dut.clk_i)
            await self._iteration(*seen)

    async def _iteration(self, kind: int, arguments: int) -> None:
        dut = self.dut
        if kind < SIGNALS:
            self.got.append((kind, arguments))
        else:
            self.timers.append((kind - SIGNALS, arguments, self.began))
            self.began = 0
        dut.take_i.value = 1
        wait = random.randrange(4)
        dut.result_valid_i.value = int(wait == 0)
        dut.may_begin_i.value = 0
        await RisingEdge(dut.clk_i)
        dut.take_i.value = 0
        for left in range(wait, 0, -1):
            dut.result_valid_i.value = int(left == 1)
            await ReadOnly()
            assert dut.pending_o.value == 0, "one at a time"
            await RisingEdge(dut.clk_i)
        dut.result_valid_i.value = 0

    async def _node(self) -> None:
        """Answers are counted; a signal stays until it is taken, and the next one comes only behind its result."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk_i)
            if random.random() >= self.signals:
                continue
            call = random.randrange(SIGNALS), random.getrandbits(BITS)
            self.sent.append(call)
            dut.signal_pending_i.value = 1
            dut.signal_kind_i.value, dut.signal_arguments_i.value = call
            await self._until("signal_take_o")
            if not int(dut.signal_result_valid_o.value):
                await RisingEdge(dut.clk_i)
                dut.signal_pending_i.value = 0
                await self._until("signal_result_valid_o")
            self.results += 1
            await RisingEdge(dut.clk_i)
            dut.signal_pending_i.value = 0

    async def _until(self, name: str) -> None:
        await ReadOnly()
        while not int(getattr(self.dut, name).value):
            await RisingEdge(self.dut.clk_i)
            await ReadOnly()

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)

    def counted(self, timer: int) -> int:
        return sum(periods for number, periods, _ in self.timers if number == timer)

    def check_share(self) -> None:
        assert all(began >= SHARE - 1 for _, _, began in self.timers[1:]), "the handler has its share"
        calls = self.sent[: len(self.got)]
        assert self.got == calls and len(self.sent) - self.results <= 1


@cocotb.test()
async def every_period_is_counted_once(dut):
    bench = Bench(dut, 20, 0.02)
    await bench.begin()
    for rate in (20, 7, 3):
        bench.rate = rate
        await bench.run(20_000)
        elapsed = (bench.tick - bench.first) % 2**32
        for timer, period in enumerate(EVERY):
            late = 1 + (4 * SHARE * len(EVERY) + 60) // (rate * period)  # what waits for its turn
            assert elapsed // period - late <= bench.counted(timer) <= elapsed // period, (rate, timer)
            assert bench.counted(timer) or elapsed < period + 10
    bench.check_share()
    assert len(bench.got) > 200


@cocotb.test()
async def timers_that_are_always_due_take_turns(dut):
    bench = Bench(dut, 1, 0)
    await bench.begin()
    await bench.run(20_000)
    numbers = [number for number, _, _ in bench.timers]
    assert len(numbers) > 500 and set(numbers) == {0, 1, 2}
    for often in (0, 1):
        places = [place for place, number in enumerate(numbers) if number == often]
        assert max(second - first for first, second in pairwise(places)) <= 2 * len(EVERY)


@cocotb.test()
async def signals_do_not_starve_timers_nor_timers_signals(dut):
    bench = Bench(dut, 1, 1)
    await bench.begin()
    await bench.run(20_000)
    assert len(bench.got) > 500 and len(bench.timers) > 200
    bench.check_share()


@cocotb.test()
async def a_jump_collapses_and_one_back_begins_anew(dut):
    bench = Bench(dut, 1_000_000, 0)  # the tick is set here alone
    await bench.begin()
    await bench.run(50)
    assert not bench.timers
    for jump, expected in ((1001, (200, 83, 1)), (2**31 - 5, (MOST, MOST, MOST)), (2**31 + 2000, (0, 0, 0)), (12, (2, 1, 0))):
        bench.timers.clear()
        bench.tick = (bench.tick + jump) % 2**32
        dut.tick_i.value = bench.tick
        await bench.run(4 * MOST if expected[0] == MOST else 3000)
        counts = tuple(bench.counted(timer) for timer in range(len(EVERY)))
        assert counts == expected, (jump, counts)
