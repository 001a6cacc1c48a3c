# SPDX-License-Identifier: Apache-2.0
"""sl_rule_fsm answers as a set of used rule ids does, whatever the tables say and however long they take; it tells how many cycles
an instruction took, and of one that takes longer than the field can say, the most; and only a deletion makes a populate wait."""

import random
from dataclasses import dataclass, field

import cocotb
import pytest
import sluice_layouts as layouts
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, Timer
from sluice_layouts import Instruction, InstructionKind, Response, Status

from testing.cocotb.channel import start
from toolchain.simulate import simulate

MOST = 0xFFFF
DRAIN = 20
POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE


@pytest.mark.parametrize(("entries0", "entries1"), [(32, 0), (40, 70)])
def test_rule_fsm(entries0: int, entries1: int) -> None:
    simulate("sl_rule_fsm", __file__, {"Entries0": entries0, "Entries1": entries1, "DrainCycles": DRAIN})


@cocotb.test()
@cocotb.parametrize(cycles=[20, MOST + 500])
async def the_cycles_of_an_instruction_saturate(dut, cycles):
    for name in ("instruction_valid_i", "op_ready_i", "op_commit_i", "op_done_i", "op_status0_i", "op_status1_i", "hold_i"):
        getattr(dut, name).value = 0
    dut.table_ready_i.value, dut.response_ready_i.value = 3, 1
    await start(dut)
    await ClockCycles(dut.clk_i, 10)
    dut.instruction_data_i.value = layouts.Instruction(rule_id=3, kind=InstructionKind.INSTRUCTION_POPULATE).to_int()
    dut.instruction_valid_i.value = 1
    await Timer(10 * (cycles - 1), "ns")  # its table is busy
    await RisingEdge(dut.clk_i)
    dut.op_ready_i.value = 3
    await RisingEdge(dut.clk_i)
    dut.op_done_i.value = 1
    await ReadOnly()
    assert dut.response_valid_o.value == 1
    response = layouts.Response.from_int(int(dut.response_data_o.value))
    assert (response.status, response.rule_id) == (Status.STATUS_OK, 3)
    assert response.cycles == MOST if cycles > MOST else cycles <= response.cycles <= cycles + 2
    await RisingEdge(dut.clk_i)


@dataclass
class Ran:
    """What was seen of one instruction, in cycles since it was given; -1: not seen."""

    response: Response = field(default_factory=Response)
    answered: int = -1
    begun: int = -1  # its table was asked
    table: int = -1
    fresh: int = 0
    commits: int = 0


class Bench:
    """Instructions one by one, and tables that take `work` cycles from ready to commit and again to done."""

    def __init__(self, dut):
        self.dut = dut
        self.idle()

    def idle(self):
        for name in ("instruction_valid_i", "op_ready_i", "op_commit_i", "op_done_i", "op_status0_i", "op_status1_i", "hold_i"):
            getattr(self.dut, name).value = 0
        self.dut.table_ready_i.value, self.dut.response_ready_i.value = 3, 1

    async def restart(self):
        self.idle()
        self.dut.rst_i.value = 1
        await ClockCycles(self.dut.clk_i, 2)
        self.dut.rst_i.value = 0
        await RisingEdge(self.dut.clk_i)
        while self.dut.ready_o.value == 0:
            await RisingEdge(self.dut.clk_i)

    async def run(self, what, status=Status.STATUS_OK, work=0, most=400):
        """One instruction; `status` is what its table says. The commit of the other table is on all the time."""
        dut, ran, due = self.dut, Ran(), {}
        dut.instruction_data_i.value = what.to_int()
        dut.instruction_valid_i.value = 1
        for now in range(most):
            commit, done = due.get(now, (0, 0))
            table = max(ran.table, 0)
            dut.op_commit_i.value = commit << table | (1 << 1 - table if ran.table >= 0 else 0)
            dut.op_done_i.value = done << table
            dut.op_status0_i.value = status if done and table == 0 else random.randrange(2)
            dut.op_status1_i.value = status if done and table == 1 else random.randrange(2)
            dut.op_ready_i.value = 3
            await ReadOnly()
            valid = int(dut.op_valid_o.value)
            if valid:
                assert ran.begun < 0 and valid in (1, 2), "a table is asked once"
                ran.begun, ran.table = now, valid - 1
                due[now + 1 + work] = (1, 0)
                due[now + 2 + 2 * work] = (0, 1)
            ran.fresh += int(dut.fresh_o.value)
            ran.commits += int(dut.commit_o.value)
            if dut.response_valid_o.value == 1:
                assert dut.instruction_ready_o.value == 1
                ran.response, ran.answered = Response.from_int(int(dut.response_data_o.value)), now
                break
            await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        self.idle()
        await RisingEdge(dut.clk_i)
        assert ran.answered >= 0, "no answer"
        return ran


@cocotb.test()
async def answers_as_a_set_of_used_ids_does(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.restart()
    entries = (int(dut.Entries0.value), int(dut.Entries1.value))
    used, statuses = (set(), set()), set()
    for _ in range(400):
        kind = random.choice([POPULATE] * 4 + [DELETE] * 2 + [UPDATE] * 2 + [5, 255] + [INITIALIZE] * (random.random() < 0.3))
        table = random.choice([0, 0, 0, 1, 1, 1, 2, 255])
        rule = random.choice([0, 1, 31, 32, 33, *(at + n for at in entries for n in (-1, 0)), 1 << 31, 1 << 12]) % 2**32
        said = random.choice([Status.STATUS_OK] * 3 + [Status.STATUS_ENOSPC])
        ran = await bench.run(Instruction(rule_id=rule, table_id=table, kind=kind), said, random.randrange(3))
        is_there = table < 2 and entries[table] > 0
        if kind not in (POPULATE, DELETE, UPDATE, INITIALIZE) or not is_there or (kind != INITIALIZE and rule >= entries[table]):
            expected, asked = Status.STATUS_EINVAL, False
        elif kind != INITIALIZE and (rule in used[table]) == (kind == POPULATE):
            expected, asked = Status.STATUS_EEXIST if kind == POPULATE else Status.STATUS_ENOENT, False
        else:
            expected, asked = said, True
        seen = ran.response
        assert (seen.rule_id, seen.kind, seen.status) == (rule, kind, expected), (table, used)
        assert seen.cycles == min(ran.answered, MOST)
        assert ran.table == (table if asked else -1)
        assert ran.fresh == (asked and kind == POPULATE)
        assert ran.commits == (asked and kind in (POPULATE, UPDATE))
        statuses.add((kind, expected))
        if expected == Status.STATUS_OK and kind == POPULATE:
            used[table].add(rule)
        elif expected == Status.STATUS_OK and kind == DELETE:
            used[table].discard(rule)
        elif expected == Status.STATUS_OK and kind == INITIALIZE:
            used[table].clear()
    assert len(statuses) >= 13


@cocotb.test()
async def only_a_deletion_makes_a_populate_wait_and_a_reset_ends_that(dut):
    bench = Bench(dut)
    await start(dut)
    while dut.ready_o.value == 0:
        await RisingEdge(dut.clk_i)
    first = await bench.run(Instruction(rule_id=1, kind=POPULATE))
    assert 0 <= first.begun <= 4, "nothing was deleted yet"
    for kind, waits in ((UPDATE, False), (DELETE, True), (POPULATE, False), (INITIALIZE, True)):
        await bench.run(Instruction(rule_id=1, kind=kind))
        rule = 2 + int(kind)
        assert (await bench.run(Instruction(rule_id=rule, kind=DELETE))).begun < 0, "not there, so nothing leaves"
        ran = await bench.run(Instruction(rule_id=rule, kind=POPULATE))
        assert DRAIN - 8 <= ran.begun <= DRAIN if waits else ran.begun <= 4, kind
    for _ in range(2):
        await bench.run(Instruction(rule_id=7, kind=POPULATE))
        await bench.run(Instruction(rule_id=7, kind=DELETE))
        await bench.restart()
        assert 0 <= (await bench.run(Instruction(rule_id=7, kind=POPULATE))).begun <= 4
