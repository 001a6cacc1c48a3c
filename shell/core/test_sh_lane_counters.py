# SPDX-License-Identifier: Apache-2.0
"""sh_lane_counters: each event counts in its own counter, and lengths add up; all of them are 0 after a reset."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import LaneCounters

from testing.cocotb.channel import start
from toolchain.simulate import simulate

DROPS = ("rx_error", "rx_oversize", "rx_overflow", "rx_runt")  # in the order of rx_drop_i


def test_lane_counters() -> None:
    simulate("sh_lane_counters", __file__)


async def counters(dut) -> LaneCounters:
    """All of them, a pair of words after the other."""
    value = 0
    for pair in range(LaneCounters.BITS // 64):
        dut.pair_i.value = pair
        await ReadOnly()
        value |= int(dut.pair_o.value) << 64 * pair
        await RisingEdge(dut.clk_i)
    return LaneCounters.from_int(value)


@cocotb.test()
async def each_event_counts_in_its_own_counter(dut):
    for name in ("rx_packet", "rx_drop", "tx_packet", "tx_overflow", "tx_error"):
        getattr(dut, f"{name}_i").value = 0
    await start(dut)
    expected = Counter[str]()
    for _ in range(40):
        found = await counters(dut)
        assert found == LaneCounters(**expected)
        pulses = {name: int(random.random() < 0.2) for name in ("rx_packet", "tx_packet", "tx_overflow", "tx_error", *DROPS)}
        lengths = {way: random.getrandbits(16) for way in ("rx", "tx")}
        for name in ("rx_packet", "tx_packet", "tx_overflow", "tx_error"):
            getattr(dut, f"{name}_i").value = pulses[name]
        dut.rx_drop_i.value = sum(pulses[name] << bit for bit, name in enumerate(DROPS))
        dut.rx_length_i.value, dut.tx_length_i.value = lengths["rx"], lengths["tx"]
        await RisingEdge(dut.clk_i)
        for name in ("rx_packet", "rx_drop", "tx_packet", "tx_overflow", "tx_error"):
            getattr(dut, f"{name}_i").value = 0
        for way in ("rx", "tx"):
            expected[f"{way}_packets"] += pulses[f"{way}_packet"]
            expected[f"{way}_bytes"] += pulses[f"{way}_packet"] * lengths[way]
        expected.update({name: pulses[name] for name in ("tx_overflow", "tx_error", *DROPS)})
    assert min(expected.values()) > 0
    dut.rst_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    assert await counters(dut) == LaneCounters()
