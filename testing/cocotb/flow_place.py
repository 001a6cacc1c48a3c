# SPDX-License-Identifier: Apache-2.0
"""A bench for `sl_flow_place`: gives it keys and removals cycle by cycle, and compares every result with `models/flow_place.py`."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from compiler.pipeline.hash_function import KeyedHash
from models.flow_place import FlowPlace, Placement

LATENCY = 12
SEEN_BEFORE = 4  # a removal is seen by keys that entered so many cycles before it


@dataclass(frozen=True)
class Ask:
    """A key of one cycle, and whether the flow is to be removed once its place is known."""

    key: int
    insert: bool = True
    remove: bool = False


@dataclass(frozen=True)
class Asked:
    """A key inside, with the table's `ready_o` when it entered."""

    cycle: int
    ask: Ask
    now: int
    placed: bool


@dataclass(frozen=True)
class Removal:
    """A removal, in the words of the model and of the part."""

    set: int
    way: int
    model_generation: int
    generation: int


class PlaceBench:
    """Drives the part. `tick` gives the ticks that pass in a cycle; `delay` the cycles from a result to its removal, at least."""

    def __init__(self, dut: Any, timeout: int = 0, tick: Callable[[], int] = lambda: 0, now: int = 0) -> None:
        self.dut, self.tick, self.now = dut, tick, now
        self.key_bits, self.sets, self.ways = (int(getattr(dut, name).value) for name in ("KeyBits", "Sets", "Ways"))
        self.timeout, self.secret, self.evict = timeout, random.getrandbits(128), True
        self.delay = 0
        self.cycle = 0
        self.hash = KeyedHash(self.key_bits, self.sets, self.secret)
        self.model = FlowPlace(self.sets, self.ways, self.set_of, timeout)
        self.entering: deque[Asked] = deque()  # the model has not placed them yet
        self.expected: deque[tuple[Asked, Placement]] = deque()
        self.to_remove: deque[tuple[int, Removal]] = deque()
        self.removed: deque[tuple[int, Removal]] = deque()  # the model has not seen them yet
        self.generations: dict[tuple[int, int], tuple[int, int]] = {}  # of each place: the model's, the part's
        self.told: Counter[str] = Counter()

    def set_of(self, key: int) -> int:
        return self.hash.slots(key)[0]

    def keys_of_set(self, wanted: int, count: int) -> list[int]:
        """Different keys of one set."""
        keys: set[int] = set()
        while len(keys) < count:
            key = random.getrandbits(self.key_bits)
            if self.set_of(key) == wanted:
                keys.add(key)
        return list(keys)

    async def begin(self) -> None:
        """Reset from a random state; keys are given at once, before the table is ready."""
        self.dut.rst_i.value, self.dut.flush_i.value = 1, 0
        self.dut.key_valid_i.value, self.dut.remove_valid_i.value = 0, 0
        await Timer(1, "ns")
        Clock(self.dut.clk_i, 10, unit="ns").start()
        await self.reset(4)

    async def reset(self, cycles: int = 1) -> None:
        """Forgets everything, and what is inside."""
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)
            self.dut.rst_i.value = 1
            self.dut.key_valid_i.value = random.getrandbits(1)
            self.dut.remove_valid_i.value = random.getrandbits(1)
        await FallingEdge(self.dut.clk_i)
        self.dut.rst_i.value, self.dut.key_valid_i.value, self.dut.remove_valid_i.value = 0, 0, 0
        for queue in (self.entering, self.expected, self.to_remove, self.removed):
            queue.clear()
        self._clear()

    def _clear(self) -> None:
        self.hash = KeyedHash(self.key_bits, self.sets, self.secret)
        self.model.clear()
        self.generations.clear()

    async def wait_until_ready(self) -> None:
        """Gives keys that must all be absent, but the last."""
        while self.dut.ready_o.value != 1:
            await self.give(Ask(random.getrandbits(self.key_bits)))
        await self.run([])
        self.told.clear()

    async def run(self, asks: Iterable[Ask | None]) -> None:
        """One cycle for each of `asks`, then until the last result and removal."""
        for ask in asks:
            await self.give(ask)
        while self.entering or self.expected or self.to_remove or self.removed:
            await self.give(None)

    async def give(self, ask: Ask | None, flush: bool = False) -> None:
        """One cycle."""
        dut = self.dut
        await FallingEdge(dut.clk_i)
        self.cycle += 1
        self.now = (self.now + self.tick()) % 2**32
        dut.now_i.value, dut.flush_i.value = self.now, int(flush)
        dut.timeout_i.value, dut.secret_i.value, dut.evict_i.value = self.timeout, self.secret, int(self.evict)
        self.model.evict = self.evict
        dut.key_valid_i.value = int(ask is not None)
        dut.key_i.value = ask.key if ask else random.getrandbits(self.key_bits)
        dut.insert_i.value = int(ask.insert) if ask else 1
        self._give_removal()
        await ReadOnly()
        if ask is not None:
            self.entering.append(Asked(self.cycle, ask, self.now, dut.ready_o.value == 1))
        self._place()
        self._compare()

    def _give_removal(self) -> None:
        given = bool(self.to_remove) and self.to_remove[0][0] <= self.cycle
        self.dut.remove_valid_i.value = int(given)
        if given:
            removal = self.to_remove.popleft()[1]
            self.dut.remove_set_i.value, self.dut.remove_way_i.value = removal.set, removal.way
            self.dut.remove_generation_i.value = removal.generation
            self.removed.append((self.cycle, removal))

    def _place(self) -> None:
        """The model places a key when every removal that it sees is known."""
        while self.removed and self.removed[0][0] < self.cycle:
            removal = self.removed.popleft()[1]
            self.model.remove(removal.set, removal.way, removal.model_generation)
        if self.entering and self.entering[0].cycle == self.cycle - SEEN_BEFORE - 1:
            asked = self.entering.popleft()
            if not asked.placed:
                self._clear()
                self.to_remove.clear()
                self.removed.clear()
            place = self.model.find_or_insert(asked.ask.key, asked.now, asked.ask.insert) if asked.placed else Placement(0)
            self.expected.append((asked, place))

    def _compare(self) -> None:
        dut = self.dut
        due = bool(self.expected) and self.expected[0][0].cycle == self.cycle - LATENCY
        assert (dut.result_valid_o.value == 1) == due, f"cycle {self.cycle}: a result {LATENCY} cycles after its key, and no other"
        flags = {name: getattr(dut, f"{name}_o").value == 1 for name in ("found", "new", "evicted", "expired")}
        if not due:
            assert not any(flags.values()), f"cycle {self.cycle}: {flags} without a result"
            return
        asked, place = self.expected.popleft()
        wanted = {name: getattr(place, name) for name in flags}
        assert flags == wanted, f"cycle {self.cycle}, {asked}: {flags}, not {wanted}"
        self.told.update([name for name, flag in flags.items() if flag] or ["absent"])
        if place.found or place.new:
            self._compare_place(asked, place)

    def _compare_place(self, asked: Asked, place: Placement) -> None:
        at = (int(self.dut.set_o.value), int(self.dut.way_o.value))
        generation = int(self.dut.generation_o.value)
        assert at == (place.set, place.way), f"cycle {self.cycle}, {asked}: place {at}, not {place}"
        before = self.generations.get(at)
        if before is not None:
            same = before[0] == place.generation
            assert same == (generation == before[1]), f"cycle {self.cycle}, {asked}: {place}, {before} became {generation}"
        self.generations[at] = (place.generation, generation)
        if asked.ask.remove:
            due = self.cycle + 1 + (random.randrange(self.delay) if self.delay else 0)
            if self.to_remove:
                due = max(due, self.to_remove[-1][0])
            self.to_remove.append((due, Removal(place.set, place.way, place.generation, generation)))
