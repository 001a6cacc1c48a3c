# SPDX-License-Identifier: Apache-2.0
"""sl_flow_sets: agrees with the model of `sl_flow_place`, key by key, while flows are forgotten and time jumps from key to key. Its
proof: `testing/formal/fv_flow_place.sv`."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from models.flow_place import FlowPlace, Placement
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

LATENCY, SET_AFTER = 12, 4  # cycles from a key to its result, and to its set
WRAP = 2**32
FARTHEST = 9  # cycles between two keys, in tests of every distance: farther ones find in memory what the first did
SHAPES = [
    (12, 4, 4, 10, 1),
    (1, 1, 1, 0, 1),
    (20, 2, 1, 5, 1),
    (33, 8, 2, 0, 1),
    (12, 2, 8, 7, 0),
    (104, 32, 4, 100, 1),
    (16, 1, 3, 9, 1),
]


@pytest.mark.parametrize(("key_bits", "sets", "ways", "timeout", "evict"), SHAPES)
def test_flow_sets(key_bits: int, sets: int, ways: int, timeout: int, evict: int) -> None:
    parameters = {"KeyBits": key_bits, "Sets": sets, "Ways": ways, "Timeout": timeout, "Evict": evict}
    simulate("sl_flow_sets", __file__, parameters)


def test_all_state_is_in_block_ram() -> None:
    # As in `sl_flow_place`, but nothing is removed by its generation: that memory holds 0, and is not made.
    parameters = {"KeyBits": 104, "Sets": 256, "Timeout": 1000}
    expect_memory("sl_flow_sets", parameters, xcup=Memory(bram=10.5), ecp5=Memory(bram=21), most_ff=4000)


@dataclass(frozen=True)
class Ask:
    """A key of one cycle, and the ticks that pass before it."""

    key: int
    insert: bool = True
    forget: bool = False
    ticks: int = 0


LOOK, FORGET = {"insert": False}, {"insert": False, "forget": True}


class SetsBench:
    """Drives the part; the model says at once what each key must be told. The set of a key is its value modulo `Sets`."""

    def __init__(self, dut: Any, now: int = 0) -> None:
        self.dut, self.now = dut, now
        self.key_bits, self.sets, self.ways, self.timeout, evict = (
            int(getattr(dut, name).value) for name in ("KeyBits", "Sets", "Ways", "Timeout", "Evict")
        )
        self.evict = evict == 1
        self.model = FlowPlace(self.sets, self.ways, lambda key: key % self.sets, self.timeout, self.evict)
        self.cycle = 0
        self.waiting: deque[tuple[int, Ask]] = deque()  # for its set
        self.expected: deque[tuple[int, Ask, Placement]] = deque()
        self.told: Counter[str] = Counter()

    def key(self) -> int:
        return random.getrandbits(self.key_bits)

    def keys_of_set(self, wanted: int, most: int) -> list[int]:
        """Different keys of one set; fewer than `most` if it has no more."""
        count = 2**self.key_bits // self.sets
        return [wanted + self.sets * high for high in random.sample(range(min(count, 2**62)), min(count, most))]

    def jumps(self) -> list[int]:
        """What time may move by: not at all, to the edge of the timeout, beyond it, back, by half a wrap."""
        edges = [self.timeout + offset for offset in (-1, 0, 1)] + [self.timeout // 2, 7 * self.timeout]
        return [0, 0, 1, *edges, WRAP - 1, WRAP - self.timeout, WRAP // 2, random.getrandbits(32)]

    def ticks(self, jumping: float) -> int:
        """0 or 1, or with that probability a jump."""
        return random.choice(self.jumps()) % WRAP if random.random() < jumping else random.getrandbits(1)

    def asks(
        self, keys: list[int], count: int, *, gaps: float = 0.2, insert: float = 0.5, forget: float = 0.3, jumping: float = 0.1
    ) -> Iterator[Ask | None]:
        """Keys of a pool, with gaps."""
        for _ in range(count):
            choice = Ask(random.choice(keys), random.random() < insert, random.random() < forget, self.ticks(jumping))
            yield None if random.random() < gaps else choice

    def others(self, key: int, count: int) -> Iterator[Ask | None]:
        """Cycles between two keys: without a key, or with one that has another place in mind, mostly in the same set."""
        for _ in range(count):
            other = random.choice([*self.keys_of_set(key % self.sets, 2), self.key()])
            yield None if other == key or random.random() < 0.5 else Ask(other, insert=random.random() < 0.3)

    async def begin(self) -> None:
        """Reset from a random state, then until no set is dirty."""
        self.dut.rst_i.value = 1
        await Timer(1, "ns")
        Clock(self.dut.clk_i, 10, unit="ns").start()
        await self.reset(4)

    async def reset(self, cycles: int = 1) -> None:
        """Forgets everything, and what is inside."""
        self.dut.rst_i.value = 1
        for _ in range(cycles):
            self.waiting.clear()
            self.expected.clear()
            self._drive(None, valid=random.getrandbits(1))
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_i.value = 0
        self.model.clear()
        clearing = 0
        await self.give(None)
        while self.dut.ready_o.value != 1:
            clearing += 1
            assert clearing < self.sets + 10, "the table never becomes ready"
            await self.give(None)

    async def run(self, asks: Iterable[Ask | None]) -> None:
        """One cycle for each of `asks`, then until the last result."""
        for ask in asks:
            await self.give(ask)
        while self.expected:
            await self.give(None)

    async def give(self, ask: Ask | None) -> None:
        """One cycle."""
        self._drive(ask, valid=int(ask is not None))
        await ReadOnly()
        self._compare()
        await FallingEdge(self.dut.clk_i)
        self.cycle += 1

    def _drive(self, ask: Ask | None, valid: int) -> None:
        dut = self.dut
        dut.key_valid_i.value = valid
        if ask is None:
            ask, now = Ask(self.key(), random.random() < 0.5, random.random() < 0.5), random.getrandbits(32)
        else:
            now = self.now = (self.now + ask.ticks) % WRAP
            placement = self.model.find_or_insert(ask.key, now, ask.insert, ask.forget)
            self.waiting.append((self.cycle + SET_AFTER, ask))
            self.expected.append((self.cycle + LATENCY, ask, placement))
        dut.key_i.value, dut.now_i.value = ask.key, now
        dut.insert_i.value, dut.forget_i.value = int(ask.insert), int(ask.forget)
        due = bool(self.waiting) and self.waiting[0][0] == self.cycle
        dut.set4_i.value = (self.waiting.popleft()[1].key if due else random.getrandbits(32)) % self.sets

    def _compare(self) -> None:
        found, new = self.dut.found_o.value, self.dut.new_o.value
        if not self.expected or self.expected[0][0] != self.cycle:
            assert found == 0 and new == 0, f"cycle {self.cycle}: {found} {new} without a key"
            return
        _, ask, wanted = self.expected.popleft()
        assert (found == 1, new == 1) == (wanted.found, wanted.new), f"cycle {self.cycle}, {ask}: {found} {new}, not {wanted}"
        self.told["found" if wanted.found else "new" if wanted.new else "absent"] += 1
        self.told["evicted"] += wanted.evicted
        self.told["expired"] += wanted.expired
        if wanted.found or wanted.new:
            place = wanted.set * 2 ** (self.ways - 1).bit_length() + wanted.way
            assert self.dut.place_o.value == place, f"cycle {self.cycle}, {ask}: {self.dut.place_o.value}, not {place}"


@cocotb.test()
async def agrees_on_random_keys_with_gaps_and_jumps_of_time(dut):
    bench = SetsBench(dut, random.getrandbits(32))
    await bench.begin()
    keys = [bench.key() for _ in range(min(2 * bench.sets * bench.ways, 100))]
    for gaps, jumping in ((0.5, 0.1), (0.2, 0.02), (0.0, 0.3), (0.0, 0.02)):
        await bench.run(bench.asks(keys, 700, gaps=gaps, jumping=jumping))
    assert min(bench.told[answer] for answer in ("found", "new", "absent")) > 50
    assert bench.timeout == 0 or bench.told["expired"] > 10


@cocotb.test()
async def agrees_when_one_set_is_hammered(dut):
    bench = SetsBench(dut, WRAP - 400)
    await bench.begin()
    for extra in (0, 1, 4):
        keys = bench.keys_of_set(random.randrange(bench.sets), bench.ways + extra)
        for insert, forget, jumping in ((1.0, 0.0, 0.0), (0.7, 0.1, 0.02), (0.5, 0.9, 0.1), (0.5, 0.5, 0.5), (0.9, 0.1, 0.2)):
            gaps = random.choice((0.0, 0.0, 0.1, 0.6))
            await bench.run(bench.asks(keys, 250, gaps=gaps, insert=insert, forget=forget, jumping=jumping))
    assert min(bench.told[answer] for answer in ("found", "new", "absent")) > 50
    assert bench.timeout == 0 or bench.told["expired"] > 10
    assert (bench.told["evicted"] > 20) == (bench.evict and 2**bench.key_bits // bench.sets > bench.ways)


@cocotb.test()
async def finds_and_forgets_one_key_back_to_back(dut):
    bench = SetsBench(dut)
    await bench.begin()
    key = bench.key()
    await bench.run([Ask(key, **LOOK)] * 3 + [Ask(key)] * 100)
    assert bench.told == Counter(new=1, found=99, absent=3)
    await bench.run([Ask(key, **FORGET)] * 100)
    assert bench.told == Counter(new=1, found=100, absent=102)
    await bench.run([Ask(key), Ask(key, **FORGET)] * 50)
    assert bench.told == Counter(new=51, found=150, absent=102)
    await bench.run(bench.asks([key], 300, gaps=0.0, jumping=0.0))
    await bench.run(bench.asks([key], 300, gaps=0.0, jumping=0.5))
    await bench.run(bench.asks([key], 300, gaps=0.3, jumping=0.5))


@cocotb.test()
async def inserts_a_new_flow_in_every_cycle(dut):
    bench = SetsBench(dut)
    await bench.begin()
    places = bench.sets * bench.ways
    count = min(3 * places + 100, 2**bench.key_bits)
    await bench.run(Ask(key) for key in random.sample(range(2 ** min(bench.key_bits, 60)), count))
    assert bench.told["new"] == (count if bench.evict else places)
    assert bench.told["evicted"] >= (count - places if bench.evict else 0)


@cocotb.test()
async def judges_the_exact_age_at_every_distance(dut):
    bench = SetsBench(dut, WRAP - 300)
    await bench.begin()
    for distance in range(1, FARTHEST + 1):
        for ticks in bench.jumps():
            key = bench.key()
            before, after = (list(bench.others(key, distance - 1)) for _ in range(2))
            ends = Ask(key, ticks=ticks % WRAP, **random.choice((LOOK, {}, FORGET)))
            begins = Ask(key, ticks=bench.timeout)  # what is there is expired
            await bench.run([begins, *before, ends, *after, Ask(key, **LOOK)])
    assert bench.timeout == 0 or bench.told["expired"] > 10


@cocotb.test()
async def inserts_and_forgets_in_turn_at_every_distance(dut):
    bench = SetsBench(dut)
    await bench.begin()
    for distance in range(1, FARTHEST + 1):
        for _ in range(6):
            key = bench.key()
            script: list[Ask | None] = [Ask(key, **LOOK, ticks=bench.timeout)]  # what is there is expired
            for how in ({}, FORGET, LOOK, {}, {}, FORGET, {}, FORGET, FORGET):
                script += [Ask(key, **how), *bench.others(key, distance - 1)]
            await bench.run(script)
    assert bench.told["found"] > 100 and bench.told["new"] > 100 and bench.told["absent"] > 100


@cocotb.test()
async def a_reset_in_the_middle_forgets_keys_inside_and_all_flows(dut):
    bench = SetsBench(dut)
    await bench.begin()
    for turn in range(8):
        keys = [bench.key() for _ in range(10)]
        await bench.run([])
        for ask in bench.asks(keys, 60 + turn, gaps=0.0, jumping=0.0):
            await bench.give(ask)
        await bench.reset(1 + turn % 3)
        await bench.run(Ask(key, **LOOK) for key in keys)
    assert bench.told["found"] > 20
