# SPDX-License-Identifier: Apache-2.0
"""sl_lpm_table: a lookup in every cycle agrees with the model while rules are populated, updated and deleted beside it."""

import random
from collections import deque
from collections.abc import Iterator
from itertools import pairwise

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from sluice_layouts import Instruction, InstructionKind, Status

from models.lpm import Rule, TernaryModel, prefix_rule
from testing.cocotb.channel import start
from testing.cocotb.lookups import answer_only_what_no_reset_ended
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
MAX_LUT_WRITE_CYCLES = 32


@pytest.mark.parametrize(
    ("key_bits", "entries", "parameters"),
    [
        (32, 64, {}),
        (128, 32, {"BankEntries": 16}),
        (18, 30, {"PrefixOnly": 0, "PriorityBits": 3, "GroupEntries": 8, "BankEntries": 8, "LevelsPerStage": 2}),
        (32, 20, {"BlockRam": 1}),
    ],
)
def test_lpm_table(key_bits: int, entries: int, parameters: dict[str, int]) -> None:
    simulate("sl_lpm_table", __file__, {"KeyBits": key_bits, "Entries": entries, **parameters})


def test_memories_are_ram() -> None:
    # Block RAM of either variant: the two shadows, the rule map, the free entries, the rule ids. LUT RAM of the priority
    # encoder: nine leaves. Match memories of 33 entries in whole groups: 36 by 4 chunks in LUT RAM, 40 by 2 in block RAM.
    size = {"KeyBits": 16, "Entries": 32}
    expect_memory("sl_lpm_table", size, xcup=Memory(bram=2.5, lutram=360), ecp5=Memory(bram=5, lutram=54), most_ff=1000)
    block = {**size, "BlockRam": 1}
    expect_memory("sl_lpm_table", block, xcup=Memory(bram=4.5, lutram=72), ecp5=Memory(bram=9, lutram=18), most_ff=1250)


class Bench:
    """The table under test, a key in most cycles, each answer compared with the model as of the cycle the key entered."""

    def __init__(self, dut, gaps: float = 0.1) -> None:
        self.dut, self.gaps = dut, gaps
        self.key_bits, self.entries = int(dut.KeyBits.value), int(dut.Entries.value)
        self.prefix_only = hasattr(dut, "PrefixOnly") and bool(dut.PrefixOnly.value)
        self.priority_bits = int(dut.PriorityBits.value)
        self.write_limit = 2 ** int(dut.ChunkBits.value) + 16
        self.model = TernaryModel(self.key_bits, self.entries, self.priority_bits, self.prefix_only)
        self.op: Instruction | None = None
        self.in_hand: deque[Instruction] = deque()
        self.done: list[tuple[Status, int]] = []
        self.expected: deque[tuple[int, int, frozenset[int]]] = deque()
        self.cycle = self.lookups = self.hits = self.latency = 0
        self.interesting: deque[int] = deque([0], maxlen=8)
        dut.op_valid_i.value = 0
        dut.key_valid_i.value = 0

    async def begin(self) -> None:
        await start(self.dut)
        cocotb.start_soon(self._run())
        while self.dut.ready_o.value != 1:
            await FallingEdge(self.dut.clk_i)

    def _some_key(self) -> int:
        choice = random.random()
        if choice < 0.8:
            key = random.choice(self.interesting)
            if choice < 0.4 and self.model.rules:
                key = self.model.rules[random.choice(list(self.model.rules))].value
            for _ in range(random.choice((0, 0, 1, 3))):
                key ^= 1 << random.randrange(self.key_bits)
            return key
        return random.getrandbits(self.key_bits)

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            valid = random.random() >= self.gaps
            key = self._some_key()
            dut.key_valid_i.value = int(valid)
            dut.key_i.value = key
            dut.op_valid_i.value = int(self.op is not None)
            if self.op is not None:
                self._offer(self.op)
            await ReadOnly()
            self._sample(valid, key)

    def _offer(self, op: Instruction) -> None:
        self.dut.op_i.value = op.to_int()

    def _sample(self, valid: bool, key: int) -> None:
        dut = self.dut
        self.cycle += 1
        if dut.op_commit_o.value == 1:
            self.model.commit(self.in_hand[0])
        if dut.op_done_o.value == 1:
            self.in_hand.popleft()
            self.done.append((Status(int(dut.op_status_o.value)), self.cycle))
        if self.op is not None and dut.op_ready_o.value == 1:
            self.in_hand.append(self.op)
            self.op = None
        if dut.result_valid_o.value == 1:
            self._check()
        if valid:
            self.expected.append((self.cycle, key, self.model.winners(key)))

    def _check(self) -> None:
        entered, key, winners = self.expected.popleft()
        if not self.latency:
            self.latency = self.cycle - entered
        assert self.cycle - entered == self.latency, "the latency changed"
        hit, rule = self.dut.result_hit_o.value == 1, int(self.dut.result_id_o.value)
        assert hit == bool(winners), f"key {key:x}: hit {hit}, the model has {sorted(winners)}"
        assert not hit or rule in winners, f"key {key:x}: rule {rule}, the model has {sorted(winners)}"
        self.lookups += 1
        self.hits += hit

    async def execute(self, op: Instruction) -> Status:
        expected, before = self.model.status(op), len(self.done)
        self.interesting.append(op.value)
        self.op = op
        for _ in range(2 * self.entries + 2 * self.write_limit):
            await FallingEdge(self.dut.clk_i)
            if len(self.done) > before:
                assert self.done[-1][0] == expected
                assert int(self.dut.used_o.value) == len(self.model.rules)
                return expected
        raise AssertionError("the operation did not end")

    def some_rule(self) -> Rule:
        """A rule near those that are there; of prefixes none that another rule has already."""
        while True:
            address = self._some_key()
            if self.prefix_only:
                rule = prefix_rule(address, random.choice((0, self.key_bits, *range(self.key_bits))), self.key_bits)
            else:
                mask = random.getrandbits(self.key_bits) | random.getrandbits(self.key_bits)
                rule = Rule(address, mask, random.getrandbits(self.priority_bits))
            if rule not in self.model.rules.values():
                return rule

    def instruction(self, kind: InstructionKind, rule_id: int, rule: Rule | None = None) -> Instruction:
        rule = rule or self.some_rule()
        return Instruction(kind=kind, rule_id=rule_id, value=rule.value, mask=rule.mask, rule_priority=rule.priority)

    async def drain(self) -> None:
        self.gaps = 1.0
        for _ in range(40):
            await FallingEdge(self.dut.clk_i)
        assert not self.expected, "lookups without an answer"
        assert self.lookups > 0


async def fill(bench: Bench) -> None:
    for rule_id in random.sample(range(bench.entries), bench.entries):
        assert await bench.execute(bench.instruction(POPULATE, rule_id)) == Status.STATUS_OK


def random_operations(bench: Bench, count: int) -> Iterator[Instruction]:
    for _ in range(count):
        kind = random.choice((POPULATE, POPULATE, UPDATE, DELETE))
        yield bench.instruction(kind, random.randrange(bench.entries))


@cocotb.test()
async def agrees_with_the_model_while_rules_change(dut):
    bench = Bench(dut)
    await bench.begin()
    for op in random_operations(bench, 3 * bench.entries):
        await bench.execute(op)
    await bench.drain()
    assert 0 < bench.hits < bench.lookups


@cocotb.test()
async def updates_every_rule_of_a_full_table_while_keys_hit_it(dut):
    bench = Bench(dut, gaps=0.0)
    await bench.begin()
    await fill(bench)
    assert await bench.execute(bench.instruction(POPULATE, 0)) == Status.STATUS_EEXIST
    for rule_id in random.sample(range(bench.entries), bench.entries):
        assert await bench.execute(bench.instruction(UPDATE, rule_id)) == Status.STATUS_OK
    await bench.drain()


@cocotb.test()
async def writes_in_few_cycles_and_never_stalls_a_lookup(dut):
    bench = Bench(dut, gaps=0.0)
    await bench.begin()
    await fill(bench)
    first, started = len(bench.done), bench.cycle
    for rule_id in range(8):
        await bench.execute(bench.instruction(UPDATE, rule_id))
    ends = [cycle for _, cycle in bench.done[first:]]
    between = [b - a for a, b in pairwise(ends)]
    dut._log.info("cycles from write to write: %s", between)
    assert max(between) <= bench.write_limit
    if bench.write_limit == MAX_LUT_WRITE_CYCLES:
        assert max(between) <= MAX_LUT_WRITE_CYCLES
    assert bench.lookups >= bench.cycle - started
    await bench.drain()


@cocotb.test()
async def refuses_what_cannot_be_and_changes_nothing(dut):
    bench = Bench(dut)
    await bench.begin()
    assert await bench.execute(bench.instruction(DELETE, 1)) == Status.STATUS_ENOENT
    assert await bench.execute(bench.instruction(UPDATE, 1)) == Status.STATUS_ENOENT
    assert await bench.execute(bench.instruction(POPULATE, 1)) == Status.STATUS_OK
    assert await bench.execute(bench.instruction(POPULATE, 1)) == Status.STATUS_EEXIST
    assert await bench.execute(bench.instruction(POPULATE, bench.entries)) == Status.STATUS_EINVAL
    assert await bench.execute(bench.instruction(DELETE, 1 << 31)) == Status.STATUS_EINVAL
    too_high = Rule(0, 0, 1 << bench.priority_bits)
    assert await bench.execute(bench.instruction(POPULATE, 2, too_high)) == Status.STATUS_EINVAL
    assert await bench.execute(Instruction(kind=77, rule_id=2)) == Status.STATUS_EINVAL
    hole = Rule(0, 0b101 << (bench.key_bits - 3), 1)
    expected = Status.STATUS_EINVAL if bench.prefix_only else Status.STATUS_OK
    assert await bench.execute(bench.instruction(POPULATE, 3, hole)) == expected
    await bench.drain()


@cocotb.test()
async def forgets_everything_at_initialize_and_takes_rules_again(dut):
    bench = Bench(dut)
    await bench.begin()
    await fill(bench)
    for _ in range(2):
        assert await bench.execute(Instruction(kind=INITIALIZE)) == Status.STATUS_OK
        assert await bench.execute(bench.instruction(DELETE, 0)) == Status.STATUS_ENOENT
        await fill(bench)
    await bench.drain()


@cocotb.test()
async def misses_after_reset_and_takes_rules_again(dut):
    bench = Bench(dut)
    await bench.begin()
    await fill(bench)
    await bench.drain()
    dut.rst_i.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    bench.model.rules.clear()
    bench.gaps = 0.0
    for _ in range(2 * bench.entries + 20):
        await FallingEdge(dut.clk_i)
    assert dut.ready_o.value == 1
    assert bench.hits < bench.lookups
    await fill(bench)
    await bench.drain()


@cocotb.test()
async def a_reset_ends_all_lookups_under_way(dut):
    await answer_only_what_no_reset_ended(dut)
