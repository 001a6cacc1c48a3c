# SPDX-License-Identifier: Apache-2.0
"""sl_rule_counters: hits in every cycle are counted, a populated rule begins at 0 whatever the memories held at power-up, and a
read gives all hits before it, packets and bytes of one moment."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from sluice_layouts import RuleCounters

from testing.cocotb.channel import start
from toolchain.simulate import simulate

ENTRIES = 32
BEFORE, AFTER = 5, 2  # cycles around a fresh rule without a hit of it


def test_sl_rule_counters() -> None:
    simulate("sl_rule_counters", __file__, {"Entries": ENTRIES})


class Bench:
    """Counts what it sends; each read is compared with the counts of the cycle in which the part took it."""

    def __init__(self, dut) -> None:
        self.dut, self.model = dut, [RuleCounters() for _ in range(ENTRIES)]
        self.recent: deque[int | None] = deque([None] * BEFORE, BEFORE)  # rules hit last
        self.barred: deque[int | None] = deque([None] * (AFTER + 1), AFTER + 1)  # rules that were fresh last
        self.reading: tuple[int, RuleCounters | None] | None = None
        self.reads = 0
        for name in ("hit_valid", "hit_index", "hit_length", "fresh_valid", "fresh_index", "read_valid", "read_index", "tick"):
            getattr(dut, f"{name}_i").value = 0

    async def begin(self) -> None:
        await start(self.dut)
        await self.ready()

    async def ready(self) -> None:
        for cycle in range(ENTRIES + 8):
            await ReadOnly()
            if self.dut.ready_o.value == 1:
                assert cycle >= ENTRIES - 8
                await RisingEdge(self.dut.clk_i)
                return
            await RisingEdge(self.dut.clk_i)
        raise TimeoutError("the memories are never written")

    def _fresh(self, rate: float) -> int | None:
        rule = random.randrange(ENTRIES)
        return rule if random.random() < rate and rule not in self.recent else None

    async def cycle(self, hits: float, fresh_rate: float, reads: float, rules: int) -> None:
        """One cycle with a hit of one of the first rules, a fresh rule and a read, each with a probability."""
        dut, fresh, hit = self.dut, self._fresh(fresh_rate), random.randrange(rules)
        self.barred.append(fresh)
        is_hit = random.random() < hits and hit not in self.barred
        length = random.choice((0, 64, 1514, 0xFFFF))
        dut.hit_valid_i.value, dut.hit_index_i.value, dut.hit_length_i.value = int(is_hit), hit, length
        dut.fresh_valid_i.value, dut.fresh_index_i.value = int(fresh is not None), fresh or 0
        if self.reading is None and random.random() < reads:
            self.reading = (random.randrange(ENTRIES), None)
            if self.reading[0] in self.barred:
                self.reading = None
        dut.read_valid_i.value, dut.read_index_i.value = int(self.reading is not None), self.reading[0] if self.reading else 0
        if self.reading and self.reading[1] is None and not is_hit:
            self.reading = (self.reading[0], self.model[self.reading[0]])
        if is_hit:
            old = self.model[hit]
            self.model[hit] = RuleCounters(int(dut.tick_i.value), old.bytes + length, old.packets + 1)
        if fresh is not None:
            self.model[fresh] = RuleCounters()
        self.recent.append(hit if is_hit else None)
        await ReadOnly()
        if dut.read_done_o.value == 1:
            assert self.reading and self.reading[1] == RuleCounters.from_int(int(dut.read_data_o.value)), self.reading
            self.reading, self.reads = None, self.reads + 1
        await RisingEdge(dut.clk_i)

    async def run(self, cycles: int, hits: float, fresh: float, reads: float, rules: int = ENTRIES) -> None:
        for _ in range(cycles):
            await self.cycle(hits, fresh, reads, rules)

    async def rest(self) -> None:
        """Until nothing is in flight; then the clock of the hits may go on."""
        await self.run(12, 0, 0, 0)
        self.dut.tick_i.value = random.getrandbits(32)


async def populate(bench: Bench) -> None:
    """Every rule once."""
    for rule in range(ENTRIES):
        bench.dut.fresh_valid_i.value, bench.dut.fresh_index_i.value = 1, rule
        await RisingEdge(bench.dut.clk_i)
    bench.model = [RuleCounters() for _ in range(ENTRIES)]
    await bench.rest()


@cocotb.test()
async def counts_are_those_of_the_model(dut):
    bench = Bench(dut)
    await bench.begin()
    await populate(bench)
    await bench.run(40 * ENTRIES, 0, 0, 1)
    assert bench.reads > 3 * ENTRIES, "every rule begins at 0, whatever the memories held"
    for hits, fresh, reads, rules in ((1, 0, 0, 1), (1, 0.2, 0.5, 3), (0.7, 0.3, 1, 2), (0.5, 0.1, 1, ENTRIES), (0.9, 0.05, 1, 4)):
        await bench.run(600, hits, fresh, reads, rules)
        await bench.rest()
    await bench.run(20 * ENTRIES, 0, 0, 1)


@cocotb.test()
async def a_reset_at_any_moment_leaves_nothing_in_flight(dut):
    bench = Bench(dut)
    await bench.begin()
    for turn in range(6):
        dut.rst_i.value = 1
        await ClockCycles(dut.clk_i, 2)
        dut.rst_i.value = 0
        if turn % 2:  # in the middle of the sweep
            await ClockCycles(dut.clk_i, random.randrange(1, ENTRIES - 2))
            continue
        fresh = Bench(dut)
        await fresh.ready()
        await populate(fresh)
        await fresh.run(200, 0.8, 0.1, 0.5)
