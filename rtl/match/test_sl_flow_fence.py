# SPDX-License-Identifier: Apache-2.0
"""sl_flow_fence: a record in every cycle, of few flows, is held, let go or forced as a model does."""

from __future__ import annotations

import random
from dataclasses import dataclass

import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

RULES, WORDS, LATENCY, BOUND = 64, 4096, 3, 300


def test_flow_fence() -> None:
    simulate("sl_flow_fence", __file__, {"Rules": RULES})


def test_words_are_in_block_ram() -> None:
    expect_memory("sl_flow_fence", {"Rules": 1024}, xcup=Memory(bram=11.5), ecp5=Memory(bram=23), most_ff=2000)


@dataclass
class Word:
    """What the fence keeps of a flow."""

    last: int = -1  # timestamp of its last packet to the host; -1: none is pending
    since: int = -1  # of the first that was held since then; -1: none was


class Model:
    """The fence by its words: what a record with a hit or without one meets."""

    def __init__(self) -> None:
        self.words: dict[int, Word] = {}
        self.done = [0] * 8
        self.to_host: dict[int, bool] = {}
        self.held = self.forced = 0

    def passes(self, flow: int, time: int, rule: int | None) -> bool:
        word = self.words.setdefault(flow, Word())
        pending = self.done[flow >> 9] < word.last
        to_host = rule is None or self.to_host.get(rule, False)
        over = word.since >= 0 and time - word.since >= BOUND
        if not to_host and (not pending or over):
            self.forced += pending
            self.words[flow] = Word()
            return True
        self.held += not to_host
        since = word.since if pending else -1
        self.words[flow] = Word(time, since if since >= 0 or to_host else time)
        return rule is not None and to_host


class Bench:
    """Drives a record a cycle; counts what comes out."""

    def __init__(self, dut) -> None:
        self.dut, self.model, self.time = dut, Model(), 1 << 40
        self.flows = [lane << 9 | word for lane in (0, 1, 6) for word in (0, 511)]
        self.expected: list[bool | None] = []
        self.got: list[bool] = []
        self.held = self.forced = 0

    async def begin(self) -> None:
        for name in (
            "on_i",
            "set_valid_i",
            "valid_i",
            "hit_i",
            "rule_i",
            "flow_i",
            "time_i",
            "set_rule_i",
            "set_to_host_i",
            "done_i",
        ):
            getattr(self.dut, name).value = 0
        self.dut.bound_i.value = BOUND
        await start(self.dut)
        await ClockCycles(self.dut.clk_i, WORDS + 10)
        self.dut.on_i.value = 1
        await RisingEdge(self.dut.clk_i)

    async def cycle(self, flow: int | None, rule: int | None = None) -> None:
        """A cycle with a record of a flow that matches a rule, or with none."""
        self.dut.valid_i.value = flow is not None
        self.time += random.choice([1, 1, 1, 20])
        if flow is not None:
            self.dut.flow_i.value, self.dut.time_i.value, self.dut.hit_i.value = flow, self.time, rule is not None
            self.dut.rule_i.value = rule if rule is not None else random.randrange(RULES)
        self.expected.append(None if flow is None else self.model.passes(flow, self.time, rule))
        await ReadOnly()
        self.got.append(bool(self.dut.hit_o.value))
        self.held += int(self.dut.held_o.value)
        self.forced += int(self.dut.forced_o.value)
        await RisingEdge(self.dut.clk_i)

    async def finish(self) -> None:
        for _ in range(LATENCY + 2):
            await self.cycle(None)
        for n, expected in enumerate(self.expected[:-LATENCY]):
            assert expected is None or self.got[n + LATENCY] == expected, f"record {n}"
        assert (self.held, self.forced) == (self.model.held, self.model.forced)

    async def tell(self, lane: int, time: int) -> None:
        """Packets of a lane are through up to a timestamp; no record comes while the answer is ambiguous."""
        for _ in range(2):
            await self.cycle(None)
        self.model.done[lane] = time
        self.dut.done_i.value = sum(done << 64 * n for n, done in enumerate(self.model.done))
        for _ in range(2):
            await self.cycle(None)

    async def set_rule(self, rule: int, to_host: bool) -> None:
        """From the next cycle on the rule has other actions."""
        self.dut.set_valid_i.value, self.dut.set_rule_i.value, self.dut.set_to_host_i.value = 1, rule, to_host
        self.model.to_host[rule] = to_host
        await self.cycle(random.choice(self.flows), rule)
        self.dut.set_valid_i.value = 0


@cocotb.test()
async def holds_what_a_model_holds(dut):
    bench = Bench(dut)
    await bench.begin()
    for _ in range(6000):
        drawn = random.random()
        if drawn < 0.01:
            await bench.tell(random.choice([0, 1, 6]), bench.time - random.choice([0, 5, 50]))
        elif drawn < 0.03:
            await bench.set_rule(random.randrange(RULES), random.random() < 0.2)
        elif drawn < 0.1:
            await bench.cycle(None)
        else:
            await bench.cycle(random.choice(bench.flows), random.choice([None, *range(5), *range(40, 45)]) if drawn < 0.5 else 1)
    await bench.finish()
    assert bench.held > 500 and bench.forced > 20


@cocotb.test()
async def a_flow_is_let_go_when_its_last_packet_is_through(dut):
    bench = Bench(dut)
    await bench.begin()
    flow = bench.flows[1]
    for rule in (None, 3, 3, None, 3):
        await bench.cycle(flow, rule)
    assert bench.expected[-5:] == [False] * 5
    await bench.tell(0, bench.time - 1)
    await bench.cycle(flow, 3)
    assert bench.expected[-1] is False, "the last one is not through"
    await bench.tell(0, bench.time)
    for _ in range(3):
        await bench.cycle(flow, 3)
    assert bench.expected[-3:] == [True] * 3
    await bench.finish()
    assert (bench.held, bench.forced) == (4, 0)


@cocotb.test()
async def it_is_off_until_it_is_switched_on(dut):
    bench = Bench(dut)
    await bench.begin()
    dut.on_i.value = 0
    await RisingEdge(dut.clk_i)
    for rule in (None, 3, None, 3):
        dut.valid_i.value, dut.hit_i.value, dut.flow_i.value, dut.time_i.value = 1, rule is not None, 7, 5
        await ClockCycles(dut.clk_i, LATENCY + 1)
        await ReadOnly()
        assert bool(dut.hit_o.value) == (rule is not None)
        await RisingEdge(dut.clk_i)
