# SPDX-License-Identifier: Apache-2.0
"""Drives an exact-match table with a lookup in every cycle and compares each answer with the model."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import ActionSet, Instruction, InstructionKind, Status

from models.exact import ExactModel
from testing.cocotb.channel import start

POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
FULL = (1 << 320) - 1


class TableBench:
    """The table under test with a lookup in every cycle, each answer compared with the model as of the key's entry."""

    def __init__(self, dut: Any, load: float = 1.0) -> None:
        self.dut, self.load = dut, load
        self.key_bits, self.entries = int(dut.KeyBits.value), int(dut.Entries.value)
        self.model = ExactModel(self.key_bits, self.entries)
        self.pool = [random.getrandbits(self.key_bits) for _ in range(2 * self.entries)]
        self.cleared: list[int] = []  # keys that an INITIALIZE under way takes out
        self.pending: tuple[InstructionKind, int, int] | None = None
        self.commits = self.hits = self.lookups = 0
        self.expected: list[tuple[int, int, int | None]] = []
        dut.op_valid_i.value = 0
        dut.key_valid_i.value = 0

    async def begin(self) -> None:
        await start(self.dut)
        cocotb.start_soon(self._drive())
        cocotb.start_soon(self._watch())
        while self.dut.ready_o.value != 1:
            await RisingEdge(self.dut.clk_i)

    def _some_key(self) -> int:
        if self.cleared:
            return random.choice(self.cleared)
        kind = random.random()
        if kind < 0.6 and self.model.by_key:
            key = random.choice(list(self.model.by_id.values()))
            return key ^ (1 << random.randrange(self.key_bits)) if kind < 0.1 else key
        if kind < 0.8 and self.pending is not None:
            return self.pending[2]
        return random.choice(self.pool)

    async def _drive(self) -> None:
        while True:
            valid = random.random() < self.load
            self.dut.key_valid_i.value = int(valid)
            if valid:
                self.dut.key_i.value = self._some_key()
            await RisingEdge(self.dut.clk_i)

    async def _watch(self) -> None:
        """Samples each cycle before its end: first the commit, then the key that enters with it."""
        cycle, latency = 0, None
        while True:
            await ReadOnly()
            if self.dut.op_commit_o.value == 1:
                assert self.pending is not None, "a commit without an operation"
                self.model.commit(*self.pending)
                self.commits += 1
            if self.dut.result_valid_o.value == 1:
                entered, key, rule = self.expected.pop(0)
                latency = latency or cycle - entered
                assert cycle - entered == latency, "the latency is fixed"
                hit = self.dut.result_hit_o.value == 1
                found = int(self.dut.result_id_o.value) if hit else None
                assert found == rule, f"key {key:#x}: {found}, not {rule}"
                self.hits += hit
                self.lookups += 1
            if self.dut.key_valid_i.value == 1:
                key = int(self.dut.key_i.value)
                self.expected.append((cycle, key, self.model.by_key.get(key)))
            cycle += 1
            await RisingEdge(self.dut.clk_i)

    async def operate(self, kind: InstructionKind, rule_id: int, key: int, mask: int = FULL) -> Status:
        """One operation, checked against the model; returns its status."""
        expected = self.model.expect(kind, rule_id, key, mask)
        word = Instruction(
            actions=ActionSet.from_int(0), mask=mask, value=key, rule_id=rule_id, rule_priority=0, table_id=0, kind=kind
        )
        self.pending, commits = (kind, rule_id, key), self.commits
        self.cleared = list(self.model.by_key) if kind == INITIALIZE else []
        self.dut.op_i.value = word.to_int()
        self.dut.op_valid_i.value = 1
        while True:
            await ReadOnly()
            taken = self.dut.op_ready_o.value == 1
            await RisingEdge(self.dut.clk_i)
            if taken:
                break
        self.dut.op_valid_i.value = 0
        while True:
            await ReadOnly()
            if self.dut.op_done_o.value == 1:
                break
            await RisingEdge(self.dut.clk_i)
        status = Status(int(self.dut.op_status_o.value))
        await RisingEdge(self.dut.clk_i)
        if not (kind == POPULATE and expected == Status.STATUS_OK and status == Status.STATUS_ENOSPC):
            assert status == expected, f"{kind.name} of rule {rule_id}: {status.name}, not {expected.name}"
        assert self.commits - commits == (status == Status.STATUS_OK)
        assert int(self.dut.used_o.value) == len(self.model.by_id)
        self.pending, self.cleared = None, []
        return status

    async def fill(self, count: int) -> int:
        """Populate `count` new rules of new keys; returns how many were refused."""
        refused = 0
        free = [n for n in range(self.entries) if n not in self.model.by_id]
        keys = [key for key in self.pool if key not in self.model.by_key]
        for rule_id, key in zip(random.sample(free, count), random.sample(keys, count), strict=True):
            refused += await self.operate(POPULATE, rule_id, key) == Status.STATUS_ENOSPC
        return refused

    async def empty(self) -> None:
        for rule_id in random.sample(sorted(self.model.by_id), len(self.model.by_id)):
            assert await self.operate(DELETE, rule_id, 0, 0) == Status.STATUS_OK
