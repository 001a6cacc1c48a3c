# SPDX-License-Identifier: Apache-2.0
"""sl_cdc_fifo between clocks of random periods: every word once, in order, under random stalls; the slower clock's rate."""

import random
import re
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from testing.cocotb.channel import Sink, Source, stalls
from toolchain import ROOT
from toolchain.simulate import simulate

CONSTRAINED = ("chan/sl_cdc_fifo.sv", "sync/sl_cdc_count.sv", "sync/sl_sync.sv", "sync/sl_reset_sync.sv")


@pytest.mark.parametrize(("style", "depth"), [(0, 16), (1, 64)])
def test_cdc_fifo(style: int, depth: int) -> None:
    simulate("sl_cdc_fifo", __file__, {"Width": 40, "Depth": depth, "Style": style})


def test_the_timing_constraints_name_registers_and_instances_that_are_there() -> None:
    constraints = Path(__file__).with_name("sl_cdc_fifo.tcl").read_text()
    sources = "".join((ROOT / "rtl" / name).read_text() for name in CONSTRAINED)
    pointers = re.findall(r"\w+_gray_q|u_\w+_seen", constraints)
    registers = [name for name in re.findall(r"(\w+)_reg\b", constraints) if name]
    assert len(pointers) == 6 and set(registers) == {"chain_q", "memory", "out_data_o"}
    for name in [*pointers, *registers, "gen_lut"]:
        assert re.search(rf"\b{name}\b", sources), name
    assert sources.count("sl_sync ") == len(re.findall("_seen", " ".join(pointers))) + 1, "every synchroniser is constrained"


async def begin(dut, in_period, out_period, in_stalls, out_stalls):
    """Start two clocks of these periods in ps, of random phases, and reset both sides."""
    source = Source(dut, "in", in_stalls, dut.in_clk_i)
    sink = Sink(dut, "out", out_stalls, dut.out_clk_i)
    dut.in_rst_i.value = dut.out_rst_i.value = 1
    clocks = []
    for clock, period in ((dut.in_clk_i, in_period), (dut.out_clk_i, out_period)):
        await Timer(2 * random.randrange(1, 2000), unit="ps")
        clocks.append(cocotb.start_soon(Clock(clock, period, unit="ps").start()))
    await Timer(6 * max(in_period, out_period), unit="ps")
    await RisingEdge(dut.in_clk_i)
    dut.in_rst_i.value = 0
    await RisingEdge(dut.out_clk_i)
    dut.out_rst_i.value = 0
    return source, sink, clocks


@cocotb.test()
async def keeps_order_between_random_clocks(dut):
    for _ in range(8):
        periods = [2 * random.randrange(1000, 8000) for _ in range(2)]
        source, sink, tasks = await begin(dut, *periods, stalls(random.random() * 0.6), stalls(random.random() * 0.6))
        words = [random.getrandbits(40) for _ in range(300)]
        source.send(*words)
        assert await sink.wait_for(len(words)) == words, f"periods {periods} ps"
        for task in [*tasks, source.task, sink.task]:
            task.cancel()


@cocotb.test()
async def a_full_one_presses_back_and_loses_nothing(dut):
    source, sink, _ = await begin(dut, 3104, 5000, stalls(0), stalls(1))
    words = list(range(200))
    source.send(*words)
    for _ in range(100):
        await RisingEdge(dut.in_clk_i)
    assert dut.in_ready_o.value == 0 and dut.in_roomy_o.value == 0 and not sink.received
    sink.stall = stalls(0)
    assert await sink.wait_for(len(words)) == words


@cocotb.test()
async def moves_one_word_a_cycle_of_the_slower_clock(dut):
    for in_period, out_period in ((3104, 5000), (5000, 3104)):
        source, sink, tasks = await begin(dut, in_period, out_period, stalls(0), stalls(0))
        source.send(*range(400))
        slow = dut.out_clk_i if out_period > in_period else dut.in_clk_i
        for _ in range(400 + 10):
            await RisingEdge(slow)
        assert sink.received == list(range(400))
        for task in [*tasks, source.task, sink.task]:
            task.cancel()


@cocotb.test()
async def a_side_whose_clock_has_stopped_forgets_its_words_in_a_reset(dut):
    for stopped in ("in", "out"):
        source, sink, tasks = await begin(dut, 3104, 5000, stalls(0), stalls(1))
        source.send(*range(30))
        await Timer(200, unit="ns")
        assert not source.queue or dut.in_ready_o.value == 0, "words wait inside"
        clock, period, task = (dut.in_clk_i, 3104, tasks[0]) if stopped == "in" else (dut.out_clk_i, 5000, tasks[1])
        for one in (task, source.task, sink.task):
            one.cancel()
        dut.in_valid_i.value = 0
        dut.in_rst_i.value = dut.out_rst_i.value = 1
        await Timer(25, unit="ns")
        sink = Sink(dut, "out", stalls(0), dut.out_clk_i)
        (dut.out_rst_i if stopped == "in" else dut.in_rst_i).value = 0
        await Timer(100, unit="ns")
        tasks.append(cocotb.start_soon(Clock(clock, period, unit="ps").start()))
        await RisingEdge(clock)
        await RisingEdge(clock)
        dut.in_rst_i.value = dut.out_rst_i.value = 0
        source = Source(dut, "in", stalls(0), dut.in_clk_i)
        source.send(77, 78)
        assert await sink.wait_for(2) == [77, 78]
        await Timer(200, unit="ns")
        assert sink.received == [77, 78], f"old words, the clock of {stopped} was off"
        for task in [*tasks, source.task, sink.task]:
            task.cancel()


@cocotb.test()
async def says_when_half_of_it_is_free(dut):
    source, sink, _ = await begin(dut, 3104, 5000, stalls(0), stalls(1))
    depth = int(dut.Depth.value)
    for count in range(depth):
        await Timer(60, unit="ns")
        # Up to two words have left the memory for the output's registers.
        assert dut.in_roomy_o.value == (count - len(sink.received) <= depth // 2 + 1) or abs(count - depth // 2) <= 2, count
        source.send(count)
    sink.stall = stalls(0)
    await sink.wait_for(depth)
    await Timer(60, unit="ns")
    assert dut.in_roomy_o.value == 1
