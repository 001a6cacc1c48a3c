# SPDX-License-Identifier: Apache-2.0
"""A rule table element under test (el_lpm, el_exact): records through its channels, instructions through its register window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cocotb
import sluice_layouts as layouts
from cocotb.task import Task
from cocotb.triggers import ClockCycles, RisingEdge
from sluice_layouts import InstructionKind, L3Kind, Opcode, PhvRecord

from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers


class RuleTable(Registers):
    """The element behind its channels and its register window."""

    def __init__(self, dut: Any, stall: float = 0.2) -> None:
        super().__init__(dut)
        self.source, self.sink = Source(dut, "in", stalls(stall)), Sink(dut, "out", stalls(stall))

    async def begin(self) -> None:
        """Reset, until the tables are clear and the element is on."""
        self.dut.tick_i.value = 0
        await start(self.dut)
        while not await self.read(layouts.OFU_REGISTERS_STATUS) & 1:
            await ClockCycles(self.dut.clk_i, 100)
        await self.write(layouts.OFU_REGISTERS_CONTROL, 1)

    async def execute(
        self, kind: InstructionKind, version: L3Kind, rule_id: int, value: int, mask: int, mark: int = 0, priority: int = 0
    ) -> layouts.Response:
        """The answer to one instruction; the action of its rule is a mark."""
        word = layouts.Instruction(
            actions=layouts.ActionSet.from_int(Opcode.ACTION_MARK << 24 | mark),
            mask=mask,
            value=value,
            rule_id=rule_id,
            rule_priority=priority,
            table_id=int(version == L3Kind.L3_IPV6),
            kind=kind,
        ).to_int()
        for n in range(layouts.OFU_REGISTERS_INSTRUCTION_COUNT):
            await self.write(layouts.OFU_REGISTERS_INSTRUCTION + 4 * n, word >> 32 * n & 0xFFFFFFFF)
        await self.write(layouts.OFU_REGISTERS_PUSH, 0)
        for _ in range(200):
            low, high = [await self.read(layouts.OFU_REGISTERS_RESPONSE + 4 * n) for n in range(2)]
            answer = layouts.Response.from_int(high << 32 | low)
            if answer.kind:
                return answer
        raise AssertionError("no response")

    async def used(self) -> tuple[int, int]:
        """Rules in each table."""
        return await self.read(layouts.OFU_REGISTERS_USED), await self.read(layouts.OFU_REGISTERS_USED + 4)

    async def passed(self, words: Sequence[int]) -> list[PhvRecord]:
        """Records through the element: what the last of them became."""
        before = len(self.sink.received)
        self.source.send(*words)
        return [PhvRecord.from_int(word) for word in (await self.sink.wait_for(before + len(words)))[before:]]

    def traffic(self, words: Sequence[int]) -> Task[None]:
        """Sends records again and again, until `quiet`."""

        async def send() -> None:
            while True:
                if len(self.source.queue) < 4:
                    self.source.send(*words)
                await RisingEdge(self.dut.clk_i)

        return cocotb.start_soon(send())

    async def quiet(self, traffic: Task[None]) -> list[PhvRecord]:
        """Ends traffic: what all records became."""
        traffic.cancel()
        await self.source.drained()
        await ClockCycles(self.dut.clk_i, 60)
        return [PhvRecord.from_int(word) for word in self.sink.received]


def assert_whole(records: Sequence[PhvRecord], hits: int, marks: set[int]) -> None:
    """Every record hit, and of each version of IP each rule of these marks, which replaced each other in this order."""
    assert all(record.hits == hits for record in records)
    for version in (L3Kind.L3_IPV4, L3Kind.L3_IPV6):
        seen = [record.mark for record in records if record.info.l3_kind == version]
        assert seen == sorted(seen) and set(seen) == marks, "each version whole, in order, none missed"
