# SPDX-License-Identifier: Apache-2.0
"""sl_composed: each record sees the state that sequential execution gives it, and none waits, whatever the flows and the updates.

The payload of a record here is its update, so that the judge reads it off the result."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from testing.cocotb.channel import stalls, start
from testing.cocotb.schedule import Bench, in_sequence, mixes
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

ADDRESS, STATE = 4, 6
PAYLOAD = 3 * STATE + 1
MOST = 2**STATE - 1
SIZES = {"AddressBits": ADDRESS, "PayloadWidth": PAYLOAD, "StateWidth": STATE, "ResultWidth": ADDRESS + PAYLOAD + STATE}


@pytest.mark.parametrize(
    "parameters",
    [{"Lag": 2, "Latency": 1}, {"Lag": 3, "Latency": 3}, {"Lag": 7, "Latency": 1}, {"Lag": 2, "Window": 4}],
    ids=lambda parameters: " ".join(f"{name}={value}" for name, value in parameters.items()),
)
def test_composed(parameters: dict[str, int]) -> None:
    simulate("sl_composed", __file__, {**SIZES, **parameters})


def test_states_are_in_block_ram() -> None:
    expect_memory(
        "sl_composed", {"AddressBits": 9, "PayloadWidth": 32, "StateWidth": 36, "ResultWidth": 32},
        xcup=Memory(bram=0.5, lutram=40), ecp5=Memory(bram=1, lutram=24), most_ff=1500,
    )  # fmt: skip


def update(add: int, low: int, high: int) -> int:
    return add % 2 ** (STATE + 1) << 2 * STATE | low << STATE | high


def change(state: int, payload: int) -> int:
    """The update of a payload, in integers."""
    add, low, high = payload >> 2 * STATE, payload >> STATE & MOST, payload & MOST
    return min(max(state + (add - 2 ** (STATE + 1) if add >> STATE else add), low), high)


def updates(kind: str) -> int:
    """An update of a kind; of `any` also ones whose limits contradict each other."""
    value = random.randrange(MOST + 1)
    kinds = {
        "count": update(1, 0, MOST),
        "count down": update(-1, 0, MOST),
        "set": update(0, value, value),
        "most": update(0, value, MOST),
        "least": update(0, 0, value),
        "add": update(random.randrange(-MOST - 1, MOST + 1), 0, MOST),
        "any": random.getrandbits(PAYLOAD),
    }
    return kinds[kind] if kind != "mixed" else kinds[random.choice(list(kinds))]


async def begin(dut, in_stalls: float = 0, out_stalls: float = 0) -> Bench:
    bench = Bench(dut, PAYLOAD, STATE, change, in_stalls, out_stalls)
    await start(dut)
    return bench


async def judge(bench: Bench, kind: str, mix: str, count: int) -> None:
    records = [(address, updates(kind)) for address, _ in mixes(ADDRESS, 1)[mix](count)]
    bench.source.send(*((payload << ADDRESS | address) << PAYLOAD | payload for address, payload in records))
    assert await bench.results(count) == in_sequence(records, change)


@cocotb.test()
@cocotb.parametrize(mix=list(mixes(ADDRESS, 1)), stalled=[(0, 0), (0.3, 0.3), (0.1, 0.8)])
async def equals_sequential_execution(dut, mix, stalled):
    await judge(await begin(dut, *stalled), "mixed", mix, 300)


@cocotb.test()
@cocotb.parametrize(kind=["count", "count down", "set", "most", "least", "add", "any"], mix=["one flow", "few flows"])
async def every_update_composes_with_its_own_kind(dut, kind, mix):
    await judge(await begin(dut), kind, mix, 150)


@cocotb.test()
@cocotb.parametrize(mix=list(mixes(ADDRESS, 1)))
async def no_record_waits(dut, mix):
    bench = await begin(dut)
    await judge(bench, "mixed", mix, 100)
    cycles = [cycle for cycle, _ in bench.issues]
    if int(dut.Window.value) >= 32:
        assert cycles[-1] - cycles[0] == 99


@cocotb.test()
async def a_reset_forgets_records_and_clears_states(dut):
    bench = await begin(dut, out_stalls=1)
    bench.send([(1, updates("any")) for _ in range(3)])
    await bench.source.drained()
    await RisingEdge(dut.clk_i)
    dut.rst_i.value = 1
    for _ in range(10):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    bench.sink.stall = stalls(0.2)
    await judge(bench, "mixed", "any flow", 100)
