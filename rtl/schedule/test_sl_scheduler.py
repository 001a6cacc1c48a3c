# SPDX-License-Identifier: Apache-2.0
"""sl_scheduler with every scheduler: each record sees the state that sequential execution in the order of arrival gives it,
whatever the flows and the stalls; and the cycles between two records of a flow. The process block is Python."""

import itertools
from collections.abc import Callable

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from testing.cocotb.channel import stalls, start
from testing.cocotb.schedule import Bench, by_flow, cycles_until, in_sequence, mixes
from testing.slow import except_for
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

ADDRESS, PAYLOAD, STATE = 5, 12, 16
SIZES = {"AddressBits": ADDRESS, "PayloadWidth": PAYLOAD, "StateWidth": STATE, "ResultWidth": ADDRESS + PAYLOAD + STATE}
STALL = {"Depth": 1, "TagBits": ADDRESS, "Forward": 0}
SCHEDULERS = {
    "stall": {**STALL, "Latency": 7, "Reorder": 0},
    "stall, no room": {**STALL, "Latency": 2, "Reorder": 0, "Window": 2},
    "turns": {"Turns": 1, "TagBits": 2, "Depth": 4, "Forward": 0, "Latency": 7, "Reorder": 0},
    "paper": {"TagBits": ADDRESS, "Forward": 0, "Latency": 7},
    "paper, unordered": {"TagBits": ADDRESS, "Forward": 0, "Latency": 7, "Reorder": 0, "Window": 4},
    "paper, small": {"TagBits": ADDRESS, "Forward": 0, "Latency": 3, "Depth": 3, "Window": 8},
    "sluice": {"TagBits": 3, "Latency": 3},
    "sluice, some keep": {"TagBits": 3, "Latency": 3, "Keeps": 1},
    "sluice, 2": {"TagBits": 1, "Latency": 2, "Reorder": 0},
    "sluice, 1": {"TagBits": 4, "Latency": 1},
}


@pytest.mark.parametrize("scheduler", except_for(["stall, no room", "paper, unordered", "paper, small", "sluice, 2"], SCHEDULERS))
def test_scheduler(scheduler: str) -> None:
    simulate("sl_scheduler", __file__, {**SIZES, **SCHEDULERS[scheduler]})


def test_states_are_in_block_ram() -> None:
    expect_memory(
        "sl_scheduler", {"AddressBits": 9, "PayloadWidth": 32, "StateWidth": 36, "ResultWidth": 32},
        xcup=Memory(bram=0.5, lutram=56), ecp5=Memory(bram=1, lutram=28), most_ff=850,
    )  # fmt: skip


def change(state: int, payload: int) -> int:
    """The new state: no two orders of different payloads give the same."""
    return (5 * state + payload + 1) % 2**STATE


def left_state(dut) -> Callable[[int, int], int]:
    """The state that a record leaves: that of the process block, or the one before where only some records keep theirs."""
    if not int(dut.Keeps.value):
        return change
    return lambda state, payload: change(state, payload) if payload >> PAYLOAD - 1 else state


def bench(dut, in_stalls: float, out_stalls: float) -> Bench:
    return Bench(dut, PAYLOAD, STATE, change, in_stalls, out_stalls)


def check(dut, records, results) -> None:
    """Each flow in order, with the states of sequential execution; all of them in order where that is promised."""
    expected = in_sequence(records, left_state(dut))
    assert by_flow(results) == by_flow(expected)
    if int(dut.Reorder.value) or int(dut.Depth.value) == 1:
        assert results == expected


def distance(dut) -> int:
    return int(dut.Latency.value) + 1 - int(dut.Forward.value)


def has_room(dut) -> bool:
    """The window does not limit a record a cycle."""
    return int(dut.Window.value) > distance(dut) + 8


@cocotb.test()
@cocotb.parametrize(mix=list(mixes(ADDRESS, PAYLOAD)), stalled=[(0, 0), (0.3, 0.3), (0.1, 0.8)])
async def equals_sequential_execution(dut, mix, stalled):
    on = bench(dut, *stalled)
    await start(dut)
    records = mixes(ADDRESS, PAYLOAD)[mix](250)
    on.send(records)
    check(dut, records, await on.results(len(records)))


@cocotb.test()
async def a_flow_back_to_back_takes_the_loop_and_new_flows_a_cycle(dut):
    on = bench(dut, 0, 0)
    await start(dut)
    on.send(mixes(ADDRESS, PAYLOAD)["one flow"](50))
    await on.results(50)
    cycles = [cycle for cycle, _ in on.issues]
    if has_room(dut):
        assert {after - before for before, after in itertools.pairwise(cycles)} == {distance(dut)}
    on.send(mixes(ADDRESS, PAYLOAD)["new flows"](32))
    await on.sink.wait_for(82)
    cycles = [cycle for cycle, _ in on.issues[50:]]
    if has_room(dut) and int(dut.TagBits.value) == ADDRESS:
        assert cycles[-1] - cycles[0] == 31


@cocotb.test()
async def a_reset_forgets_records_and_clears_states(dut):
    on = bench(dut, 0, 1)
    await start(dut)
    on.send(mixes(ADDRESS, PAYLOAD)["one flow"](3))
    await on.source.drained()
    await cycles_until(dut, lambda: len(on.issues) >= 2)
    dut.rst_i.value = 1
    for _ in range(10):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    on.sink.stall = stalls(0.2)
    records = mixes(ADDRESS, PAYLOAD)["any flow"](100)
    on.send(records)
    check(dut, records, await on.results(len(records)))


@cocotb.test()
async def a_flow_does_not_hold_up_others(dut):
    """Of a queue: records of other flows are issued while two of one flow wait for each other."""
    on = bench(dut, 0, 0)
    await start(dut)
    records = [(1, n) for n in range(2)] + [(address, 0) for address in (2, 4, 8, 16)]
    on.send(records)
    check(dut, records, await on.results(len(records)))
    order = [address for _, address in on.issues]
    if int(dut.Depth.value) >= 8 and int(dut.TagBits.value) == ADDRESS and has_room(dut):
        assert order == [1, 2, 4, 8, 16, 1]
