# SPDX-License-Identifier: Apache-2.0
"""sh_registers: the page is as its layout says; a 64-bit counter that carries between the reads of its words is read whole, and the
clock counts the microseconds exactly, unless the host writes them."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from testing.cocotb.channel import start
from testing.cocotb.registers import Registers, check_window, kept_fields
from toolchain.simulate import simulate

LANES, CLOCK_KHZ = 2, 322_266  # no whole number of cycles a microsecond
TICK, TICK_SOURCE = layouts.SHELL_REGISTERS_TICK, layouts.SHELL_REGISTERS_TICK_SOURCE
COUNTERS = [
    *((layouts.SHELL_REGISTERS_LANE_COUNTERS + 64 * lane, layouts.LANE_COUNTERS_WIDE_WORDS) for lane in range(LANES)),
    (layouts.SHELL_REGISTERS_HOST_COUNTERS, layouts.HOST_COUNTERS_WIDE_WORDS),
    (layouts.SHELL_REGISTERS_GRAPH_COUNTERS, layouts.GRAPH_COUNTERS_WIDE_WORDS),
]


def test_registers() -> None:
    simulate("sh_registers", __file__, {"Lanes": LANES, "Windows": 4, "ClockKilohertz": CLOCK_KHZ})


async def begin(dut) -> Registers:
    registers = Registers(dut, "")
    for name in ("request_i", "capability_i", "values_i", "reset_done_i", "lane_pair_i", "host_pair_i", "graph_pair_i"):
        getattr(dut, name).value = 0
    await start(dut)
    return registers


def tick(dut) -> int:
    return kept_fields(layouts.SHELL_REGISTERS, int(dut.registers_o.value))["tick"]


@cocotb.test()
async def the_page_is_as_its_layout_says(dut):
    registers = await begin(dut)
    await check_window(registers.access, layouts.SHELL_REGISTERS, values={}, live=("tick",))
    assert await registers.read(layouts.SHELL_REGISTERS_LAYOUT_HASH) == layouts.LAYOUT_HASH
    for register, value in (("LANES", LANES), ("CLOCK_KHZ", CLOCK_KHZ), ("WINDOWS", 4)):
        assert await registers.read(getattr(layouts, f"SHELL_REGISTERS_{register}")) == value
    assert (await registers.access(layouts.SHELL_REGISTERS_LANE_COUNTERS + 64 * LANES)).error, "a lane that is not there"


@cocotb.test()
async def a_64_bit_counter_that_carries_between_two_reads_is_whole(dut):
    registers = await begin(dut)
    draw = random.Random(random.getrandbits(32))
    for kind, (base, wide_words) in enumerate(COUNTERS):
        for pair in range(8):
            high = draw.getrandbits(30)
            before = high << 32 | 0xFFFFFFFF
            set_pair(dut, kind, before)
            low = await registers.read(base + 8 * pair)
            set_pair(dut, kind, before + 1)
            answer = await registers.read(base + 8 * pair + 4)
            assert low == 0xFFFFFFFF
            is_wide = 2 * pair < wide_words
            assert answer == (high if is_wide else high + 1), f"counters {kind}, word {2 * pair + 1}"
            if is_wide:
                assert await registers.read(base + 8 * pair) == 0
                assert await registers.read(base + 8 * pair + 4) == high + 1, "the next read is of the new value"


def set_pair(dut, kind: int, value: int) -> None:
    """Two words of counters of one kind, the others all ones."""
    pairs = [value if n == kind else (1 << 64) - 1 for n in range(len(COUNTERS))]
    dut.lane_pair_i.value = sum(pairs[lane] << 64 * lane for lane in range(LANES))
    dut.host_pair_i.value, dut.graph_pair_i.value = pairs[LANES:]


@cocotb.test()
async def the_clock_counts_microseconds_and_loses_none(dut):
    registers = await begin(dut)
    assert await registers.read(TICK_SOURCE) == 1
    await registers.write(TICK, 0xFFFFFFF0)
    await ReadOnly()
    seen, cycles = [], 0
    while len(seen) < 60:
        before = tick(dut)
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        cycles += 1
        if tick(dut) != before:
            assert tick(dut) == (before + 1) % 2**32
            seen.append(cycles)
    ideal = [CLOCK_KHZ * n / 1000 for n in range(1, 61)]
    offsets = [at - exact for at, exact in zip(seen, ideal, strict=True)]
    assert max(offsets) - min(offsets) <= 1, "each tick in the cycle of its microsecond, for ever"


@cocotb.test()
async def the_time_counts_cycles_and_is_read_whole(dut):
    registers = await begin(dut)
    low, high = layouts.SHELL_REGISTERS_TIME_LOW, layouts.SHELL_REGISTERS_TIME_HIGH
    for start_of_count in (int(dut.time_o.value), (7 << 32) - 40, (7 << 32) - 3):
        dut.time_o.value = start_of_count
        await RisingEdge(dut.clk_i)
        begun = int(dut.time_o.value)
        for _ in range(30):
            edge = int(dut.time_o.value)
            read = await registers.read(low)
            read |= await registers.read(high) << 32
            assert edge <= read <= int(dut.time_o.value), "a moment of the read of its low word"
        await ClockCycles(dut.clk_i, 100)
        assert 160 < int(dut.time_o.value) - begun < 1000
    await ReadOnly()
    before = int(dut.time_o.value)
    await ClockCycles(dut.clk_i, 1000)
    await ReadOnly()
    assert int(dut.time_o.value) == before + 1000


@cocotb.test()
async def the_host_may_write_the_tick_instead(dut):
    registers = await begin(dut)
    await registers.write(TICK_SOURCE, 0)
    await registers.write(TICK, 77)
    await ClockCycles(dut.clk_i, 3 * CLOCK_KHZ // 1000)
    assert await registers.read(TICK) == 77 == tick(dut)
    assert await registers.read(TICK_SOURCE) == 0
    await registers.write(TICK_SOURCE, 1)
    await ClockCycles(dut.clk_i, 3 * CLOCK_KHZ // 1000 + 10)
    assert await registers.read(TICK) == 80
