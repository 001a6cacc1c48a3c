# SPDX-License-Identifier: Apache-2.0
"""sl_cdc_count between clocks of random periods: as many pulses come out as went in; a reset forgets them, clock or not."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from toolchain.simulate import simulate


def test_cdc_count() -> None:
    simulate("sl_cdc_count", __file__, {"Bits": 6})


class Bench:
    """Two clocks, and how many pulses came out."""

    def __init__(self, dut):
        self.dut, self.out, self.periods = dut, 0, [2 * random.randrange(1000, 8000) for _ in range(2)]
        dut.in_pulse_i.value = dut.out_ready_i.value = 0
        dut.in_rst_i.value = dut.out_rst_i.value = 1
        self.clocks = [
            Clock(clock, period, unit="ps") for clock, period in zip((dut.in_clk_i, dut.out_clk_i), self.periods, strict=True)
        ]
        for clock in self.clocks:
            clock.start()
        self.task = cocotb.start_soon(self._take())

    async def let_go(self, *sides):
        """End the reset of sides, in step with their clocks."""
        await Timer(6 * max(self.periods), unit="ps")
        for side in sides:
            await RisingEdge(getattr(self.dut, f"{side}_clk_i"))
            getattr(self.dut, f"{side}_rst_i").value = 0

    def stop(self):
        self.task.cancel()
        for clock in self.clocks:
            clock.stop()

    async def _take(self):
        while True:
            self.dut.out_ready_i.value = random.random() < 0.8
            await ReadOnly()
            self.out += int(self.dut.out_valid_o.value == 1 and self.dut.out_ready_i.value == 1 and self.dut.out_rst_i.value == 0)
            await RisingEdge(self.dut.out_clk_i)

    async def pulse(self, count):
        """Some pulses, as fast as they are sure to be taken, in bursts."""
        for _ in range(count):
            self.dut.in_pulse_i.value = 1
            await RisingEdge(self.dut.in_clk_i)
            if random.random() < 0.5:
                self.dut.in_pulse_i.value = 0
                await Timer(random.choice([1, 4]) * max(self.periods), unit="ps")
                await RisingEdge(self.dut.in_clk_i)
        self.dut.in_pulse_i.value = 0

    async def settle(self):
        await Timer(120 * max(self.periods), unit="ps")


@cocotb.test()
async def counts_every_pulse_between_random_clocks(dut):
    for _ in range(6):
        bench = Bench(dut)
        await bench.let_go("out", "in")
        for count in (1, 30, 50, 50):
            before = bench.out
            await bench.pulse(count)
            await bench.settle()
            assert bench.out - before == count, f"periods {bench.periods} ps"
        bench.stop()


@cocotb.test()
async def a_reset_forgets_pulses_of_a_clock_that_has_stopped(dut):
    bench = Bench(dut)
    await bench.let_go("out", "in")
    await bench.pulse(21)
    await bench.settle()
    assert bench.out == 21
    bench.clocks[0].stop()
    dut.in_rst_i.value = dut.out_rst_i.value = 1
    await bench.let_go("out")
    await bench.settle()
    assert bench.out == 21, "old pulses"
    bench.clocks[0].start()
    await bench.let_go("in")
    await bench.pulse(5)
    await bench.settle()
    assert bench.out == 26
