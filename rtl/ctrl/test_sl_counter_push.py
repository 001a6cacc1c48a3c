# SPDX-License-Identifier: Apache-2.0
"""sl_counter_push: what rules count is in host memory within a sweep, whatever the traffic; a rule that starts again is there as 0
before anyone hears of it; records that follow each other can be told apart."""

import random
from collections import Counter

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate

ENTRIES = 37
BOUND = ENTRIES + 16  # cycles from a sum to its record, where the DMA takes a record a cycle and no rule is held
STAMPS = 3  # bits: numbers of sweeps wrap often
UNDER_WAY = 8  # cycles in which a rule may have neither hits nor a start before its start: those of sl_rule_counters
MARKS = [0] * ENTRIES  # of rules: their memory outlives a reset, and so a test
Life = tuple[int, int]  # of a rule: which, and what it has counted


def test_counter_push() -> None:
    simulate("sl_counter_push", __file__, {"Entries": ENTRIES, "StampBits": STAMPS})


class Push:
    """The design, the rules that count, and the host's memory; one call of `cycle` is a cycle."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.words = [0] * ENTRIES  # marks of the rules' words
        self.lives: list[Life | None] = [None] * ENTRIES  # None: the rule was never made
        self.changed = [0] * ENTRIES  # cycle of the last sum
        self.due = [0] * ENTRIES  # the same, in cycles that were not held
        self.memory: list[layouts.RulePush | None] = [None] * ENTRIES
        self.waits: int | None = None  # a fresh rule
        self.now, self.active, self.life, self.holds, self.taken = 0, 0, 0, 0, Counter()  # active: cycles that were not held

    async def begin(self, period: int = 0) -> None:
        self.dut.on_i.value, self.dut.event_i.value, self.dut.push_ready_i.value = 0, 0, 1
        self.dut.period_i.value = period
        await start(self.dut)
        for rule in range(ENTRIES):  # sl_rule_counters writes every word after reset
            self.dut.event_i.value = (1 << 149 | rule << 129) << 22
            await RisingEdge(self.dut.clk_i)
        self.dut.event_i.value = 0
        self.dut.on_i.value = 1

    def counters(self, rule: int) -> layouts.RuleCounters:
        """Bytes tell a life from the others."""
        life, packets = self.lives[rule] or (0, 0)
        return layouts.RuleCounters(last_hit=life, bytes=life << 16 | packets, packets=packets)

    async def cycle(self, hit: int | None, fresh: int | None, ready: bool = True) -> None:
        """A sum of the rule `hit`, a start of the rule `fresh`."""
        event = 0
        if fresh is not None:
            self.life += 1
            self.lives[fresh], self.waits = (self.life, 0), fresh
            MARKS[fresh] = 1 - self.words[fresh]
            self.changed[fresh] = self.now
            event |= 1 << 21 | fresh << 1 | MARKS[fresh]
        if hit is not None:
            life, packets = self.lives[hit] or (0, 0)
            self.lives[hit] = (life, packets + 1)
            self.changed[hit], self.due[hit] = self.now, self.active
            self.words[hit] = MARKS[hit]
            event |= (1 << 149 | hit << 129 | MARKS[hit] << 128 | self.counters(hit).to_int()) << 22
        self.dut.event_i.value = event
        self.dut.push_ready_i.value = int(ready)
        await ReadOnly()
        if ready and self.dut.push_valid_o.value == 1:
            self.take(layouts.RulePush.from_int(int(self.dut.push_data_o.value)))
        held = self.dut.hold_o.value == 1
        self.holds += held
        self.active += not held and fresh is None
        await RisingEdge(self.dut.clk_i)
        self.now += 1
        if self.waits is not None and fresh is None and not held:
            record, life = self.memory[self.waits], self.lives[self.waits]
            assert record and life and record.counters.last_hit in (0, life[0]), "the host may see it: nothing of an old life"
            self.waits = None

    def take(self, record: layouts.RulePush) -> None:
        rule, count = record.place, record.counters
        life = self.lives[rule]
        before = self.memory[rule]
        self.taken[rule] += 1
        if before is not None and before.counters != count:
            assert before.edition != record.edition, "a reader must be able to tell them apart"
        if life is not None and rule != self.waits:
            assert count.last_hit == life[0] or count.to_int() == 0, "nothing of an old life comes after the answer"
        if life is not None and count.last_hit == life[0]:
            assert count.packets <= life[1] and count.bytes == life[0] << 16 | count.packets
            if before is not None and before.counters.last_hit == life[0]:
                assert count.packets >= before.counters.packets
        self.memory[rule] = record

    def check(self, bound: int) -> None:
        """What was counted `bound` cycles ago or before is in memory."""
        for rule, life in enumerate(self.lives):
            if life is not None and life[1] and self.active - self.due[rule] > bound:
                record = self.memory[rule]
                assert record is not None and record.counters == self.counters(rule), f"rule {rule}: {record}, not {life}"

    def quiet(self) -> list[int]:
        """Rules that may start."""
        return [rule for rule in range(ENTRIES) if self.now - self.changed[rule] > UNDER_WAY and self.waits is None]

    async def traffic(self, cycles: int, hits: float, starts: float, stalls: float) -> None:
        """Random traffic; an elephant among the rules."""
        blocked: dict[int, int] = {}  # rule: until which cycle it has no hits, around its start
        for _ in range(cycles):
            fresh = random.choice(self.quiet() or [None]) if random.random() < starts else None
            passed = (int(self.dut.next_q.value) - random.randrange(1, 4)) % ENTRIES
            if fresh is not None and passed in self.quiet():
                fresh = passed  # its word is on its way
            if fresh is not None:
                blocked[fresh] = self.now + 3
            known = [rule for rule, life in enumerate(self.lives) if life is not None and blocked.get(rule, 0) < self.now]
            hit = None
            if known and random.random() < hits:
                hit = known[0] if random.random() < 0.4 else random.choice(known)
            await self.cycle(hit, fresh, random.random() >= stalls)
            if stalls == 0:
                self.check(BOUND)


@cocotb.test()
async def each_count_is_in_memory_within_a_sweep(dut):
    push = Push(dut)
    await push.begin()
    for _ in range(4):
        await push.traffic(400, 1.0, 0.05, 0.0)
        await push.traffic(400, 0.9, 0.03, 0.7)
        for _ in range(4 * BOUND):  # what waited while the DMA took little
            await push.cycle(None, None)
        await push.traffic(500, 1.0, 0.0, 0.0)
        await push.traffic(300, 0.1, 0.0, 0.0)
    assert push.life > 60 and push.holds < 16 * push.life + 2000
    for _ in range(BOUND + 1):
        await push.cycle(None, None)
    push.check(0)


@cocotb.test()
async def one_rule_in_every_cycle_is_sent_once_a_sweep_and_hides_no_other(dut):
    push = Push(dut)
    await push.begin()
    for rule in (5, 36):
        await push.cycle(None, rule)
        for _ in range(20):
            await push.cycle(None, None)
    for n in range(20 * ENTRIES):
        await push.cycle(36 if n == 100 else 5, None)
        push.check(BOUND)
    assert 18 <= push.taken[5] <= 24, push.taken
    assert push.taken[36] <= 10, "what does not change is sent twice, and in 2 of 8 sweeps"


@cocotb.test()
async def sweeps_begin_no_sooner_than_the_period_and_nothing_is_sent_while_off(dut):
    push = Push(dut)
    await push.begin(period=100)
    await push.cycle(None, 3)
    for n in range(1000):
        await push.cycle(3 if n % 2 else None, None)
    assert 9 <= push.taken[3] <= 13 and 9 <= int(dut.sweeps_o.value) <= 11, push.taken
    dut.on_i.value = 0
    for _ in range(30):
        await push.cycle(3, None)
    sent = Counter(push.taken)
    for _ in range(300):
        await push.cycle(3, None)
    push.waits = None
    await push.cycle(None, 4)
    push.waits = None
    assert dut.hold_o.value == 0 and push.taken == sent
    dut.on_i.value = 1
    for _ in range(100 * (1 << STAMPS)):
        await push.cycle(None, None)
    push.check(0)
