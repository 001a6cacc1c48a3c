# SPDX-License-Identifier: Apache-2.0
"""sl_flow_place: agrees with its model, key by key, under every kind of traffic. Its proof: `testing/formal/fv_flow_place.sv`."""

from __future__ import annotations

import random
from collections.abc import Iterator

import cocotb
import pytest

from testing.cocotb.flow_place import Ask, PlaceBench
from testing.slow import first
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

SHAPES = [(12, 4, 4), (20, 2, 1), (33, 8, 2), (12, 2, 8), (104, 32, 4)]


@pytest.mark.parametrize(("key_bits", "sets", "ways"), first(2, SHAPES))
def test_flow_place(key_bits: int, sets: int, ways: int) -> None:
    simulate("sl_flow_place", __file__, {"KeyBits": key_bits, "Sets": sets, "Ways": ways})


def test_all_state_is_in_block_ram() -> None:
    # Of each way: times, keys with generations, removed generations; and the hands. Registers: keys and times of ten stages.
    parameters = {"KeyBits": 104, "Sets": 256}
    expect_memory("sl_flow_place", parameters, xcup=Memory(bram=12.5), ecp5=Memory(bram=25), most_ff=4000)


def random_asks(
    keys: list[int], count: int, *, gaps: float = 0.2, insert: float = 0.8, remove: float = 0.1
) -> Iterator[Ask | None]:
    """Keys of a pool, with gaps."""
    for _ in range(count):
        yield None if random.random() < gaps else Ask(random.choice(keys), random.random() < insert, random.random() < remove)


def seldom() -> int:
    """A tick in one cycle of four."""
    return int(random.random() < 0.25)


def pool(bench: PlaceBench, flows: float) -> list[int]:
    """So many keys for each place of the table, but not more than a test can visit."""
    return [random.getrandbits(bench.key_bits) for _ in range(min(int(flows * bench.sets * bench.ways), 300))]


@cocotb.test()
async def agrees_on_random_keys_with_gaps_and_removals(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    await bench.wait_until_ready()
    for gaps, delay in ((0.5, 0), (0.2, 30), (0.0, 3)):
        bench.delay = delay
        await bench.run(random_asks(pool(bench, 2), 1500, gaps=gaps))
    assert bench.told["found"] > 300 and bench.told["new"] > 200 and bench.told["absent"] > 100


@cocotb.test()
async def agrees_when_one_set_is_hammered(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    await bench.wait_until_ready()
    for extra in (1, 3, 12):
        keys = bench.keys_of_set(random.randrange(bench.sets), bench.ways + extra)
        for insert, remove in ((1.0, 0.0), (0.7, 0.3), (0.9, 1.0)):
            bench.delay = random.choice((0, 10))
            await bench.run(random_asks(keys, 500, gaps=random.choice((0.0, 0.1, 0.6)), insert=insert, remove=remove))
    assert bench.told["evicted"] > 200


@cocotb.test()
async def a_full_set_takes_no_key_without_eviction(dut):
    bench = PlaceBench(dut, timeout=2000, tick=seldom)
    bench.evict = False
    await bench.begin()
    await bench.wait_until_ready()
    for extra in (1, 12):
        keys = bench.keys_of_set(random.randrange(bench.sets), bench.ways + extra)
        for gaps in (0.0, 0.3):
            await bench.run(random_asks(keys, 500, gaps=gaps, insert=0.9, remove=0.02))
    assert bench.told["evicted"] == 0 and bench.told["absent"] > 100 and bench.told["new"] > bench.ways


@cocotb.test()
async def finds_one_key_back_to_back(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    await bench.wait_until_ready()
    key = random.getrandbits(bench.key_bits)
    await bench.run([Ask(key, insert=False)] * 3 + [Ask(key)] * 200)
    assert bench.told["new"] == 1 and bench.told["found"] == 199
    await bench.run([Ask(key, remove=True) for _ in range(200)])
    assert bench.told["new"] > 3


@cocotb.test()
async def inserts_and_removes_in_turn(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    await bench.wait_until_ready()
    keys = bench.keys_of_set(0, bench.ways + 1)
    for distance in range(1, 25):
        script = [
            Ask(key, remove=turn % 2 == 0) if step == 0 else None for turn in range(8) for key in keys for step in range(distance)
        ]
        await bench.run(script)
    assert bench.told["new"] > 100


@cocotb.test()
async def inserts_a_new_flow_in_every_cycle(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    await bench.wait_until_ready()
    places = bench.sets * bench.ways
    count = max(1000, places * 3)
    await bench.run(Ask(key) for key in random.sample(range(2 ** min(bench.key_bits, 60)), count))
    assert bench.told["new"] == count and bench.told["evicted"] >= count - places


@cocotb.test()
async def expires_at_the_exact_tick_also_over_the_wrap(dut):
    for timeout, now in ((7, 0), (16, 2**32 - 60), (100, 2**32 - 200)):
        bench = PlaceBench(dut, timeout, lambda: 1, now)
        if timeout == 7:
            await bench.begin()
        else:
            await bench.reset()
        await bench.wait_until_ready()
        key, other = bench.keys_of_set(0, 2)
        for age in (timeout - 1, timeout, timeout + 1, timeout - 1, timeout):
            script: list[Ask | None] = [Ask(key), *[None] * (age - 1), Ask(key, insert=False)]
            await bench.run(script)
        await bench.run(
            [Ask(other if turn % 3 else key) if step == 0 else None for turn in range(40) for step in range(timeout - 2)]
        )
        assert bench.told["absent"] >= 3 and bench.told["expired"] >= 2


@cocotb.test()
async def agrees_while_flows_expire(dut):
    bench = PlaceBench(dut, timeout=8, tick=seldom, now=2**32 - 300)
    await bench.begin()
    await bench.wait_until_ready()
    bench.delay = 10
    keys = bench.keys_of_set(0, bench.ways + 2)
    for gaps in (0.0, 0.3, 0.8, 0.95):
        await bench.run(random_asks(keys, 1500, gaps=gaps, insert=0.6))
    assert bench.told["expired"] > 10 and bench.told["absent"] > 100


@cocotb.test()
async def forgets_all_on_a_flush_and_on_a_new_secret_under_traffic(dut):
    bench = PlaceBench(dut, timeout=40, tick=seldom)
    await bench.begin()
    await bench.wait_until_ready()
    keys = pool(bench, 1)
    for turn in range(6):
        for ask in random_asks(keys, 300, gaps=0.1):
            await bench.give(ask)
        if turn % 2 == 0:
            await bench.give(Ask(random.choice(keys)), flush=True)
        else:
            bench.secret = random.getrandbits(128)
            await bench.give(None)
        while dut.ready_o.value == 1:
            await bench.give(Ask(random.choice(keys)))
        while dut.ready_o.value != 1:
            await bench.give(Ask(random.choice(keys)))
    await bench.run(random_asks(keys, 300))


@cocotb.test()
async def a_reset_in_the_middle_forgets_keys_inside_and_all_flows(dut):
    bench = PlaceBench(dut)
    await bench.begin()
    for turn in range(8):
        await bench.wait_until_ready()
        keys = pool(bench, 0.5)
        for ask in random_asks(keys, 60 + turn, gaps=0.0):
            await bench.give(ask)
        await bench.reset(1 + turn % 3)
    await bench.wait_until_ready()
    await bench.run(random_asks(pool(bench, 2), 500))
