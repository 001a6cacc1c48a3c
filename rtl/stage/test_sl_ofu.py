# SPDX-License-Identifier: Apache-2.0
"""sl_ofu with two small tables whose behaviour at their ports is the contract's: rules change under a lookup every cycle and
each result is wholly old or wholly new; counters are exact; errors, register accesses, full FIFOs and reused ids do what
the documents say.

The tables are Python: exact keys of 8 bits, lookups answered after LOOKUP cycles, operations after a random time.
"""

import copy
import random
from collections import deque

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import OFU_REGISTERS_CONTROL as CONTROL
from sluice_layouts import OFU_REGISTERS_COUNTER_DATA as COUNTER_DATA
from sluice_layouts import OFU_REGISTERS_COUNTER_INDEX as COUNTER_INDEX
from sluice_layouts import OFU_REGISTERS_EDIT_DATA as EDIT_DATA
from sluice_layouts import OFU_REGISTERS_EDIT_INDEX as EDIT_INDEX
from sluice_layouts import OFU_REGISTERS_INSTRUCTION as INSTRUCTION
from sluice_layouts import OFU_REGISTERS_PUSH as PUSH
from sluice_layouts import OFU_REGISTERS_REMOVE as REMOVE
from sluice_layouts import OFU_REGISTERS_RESPONSE as RESPONSE
from sluice_layouts import OFU_REGISTERS_STATUS as STATUS
from sluice_layouts import OFU_REGISTERS_USED as USED
from sluice_layouts import InstructionKind, Opcode, Status, Table, Verdict

from models import actions
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers, check_window
from testing.coverage import Coverage
from toolchain.simulate import simulate

LOOKUP = 5
ENTRIES = (64, 32)
VISIBLE = ("sl_rule_control", "sl_rule_fsm")  # what is seen of the rule FSM
LATENCY = LOOKUP + 3 + 16 + 2
POPULATE, DELETE, UPDATE = (
    InstructionKind.INSTRUCTION_POPULATE,
    InstructionKind.INSTRUCTION_DELETE,
    InstructionKind.INSTRUCTION_UPDATE,
)
INITIALIZE = InstructionKind.INSTRUCTION_INITIALIZE


def possible(kind: str, status: str) -> bool:
    """Whether an instruction of this kind can be answered so."""
    others = {
        "INITIALIZE": {"OK"},
        "POPULATE": {"OK", "EEXIST", "ENOSPC"},
        "DELETE": {"OK", "ENOENT"},
        "UPDATE": {"OK", "ENOENT"},
    }
    return status == "EINVAL" or status in others.get(kind, set())


STATES = ("Reset", "Idle", "Write", "Delete", "Update", "Initialize", "Clear")  # state_e of sl_rule_fsm
KINDS, STATUSES = [kind.name[12:] for kind in InstructionKind], [status.name[7:] for status in Status]
SEEN = Coverage(
    "rules",
    {
        "transition": [
            *(f"{a} to {b}" for a, b in (("Reset", "Idle"), ("Initialize", "Clear"), ("Initialize", "Idle"), ("Clear", "Idle"))),
            *(f"Idle to {state}" for state in STATES[2:6]),
            *(f"{state} to Idle" for state in STATES[2:5]),
            *(f"{state} to Reset" for state in STATES[1:]),  # a reset in the middle of it
        ],
        "answer": [f"{kind} {status}" for kind in (*KINDS, "unknown") for status in STATUSES if possible(kind, status)],
        "waits in Idle": ["for the last lookups of a deleted rule", "for room for the response"],
    },
)


class Watch:
    """Counts what the configuration FSM does, cycle by cycle."""

    def __init__(self, dut) -> None:
        self.fsm, self.state = dut.u_control.u_fsm, None

    def look(self) -> None:
        fsm, before = self.fsm, self.state
        self.state = STATES[int(fsm.state_q.value)]
        if before not in (None, self.state):
            SEEN.see("transition", f"{before} to {self.state}")
        if self.state == "Idle" and int(fsm.age_q.value) == 2 and fsm.instruction_ready_o.value == 0 and fsm.issue.value == 0:
            waits = "for room for the response" if fsm.response_ready_i.value == 0 else "for the last lookups of a deleted rule"
            SEEN.see("waits in Idle", waits)
        if fsm.response_valid_o.value == 1 and fsm.response_ready_i.value == 1:
            answer = layouts.Response.from_int(int(fsm.response_data_o.value))
            kind = InstructionKind(answer.kind).name[12:] if answer.kind in set(InstructionKind) else "unknown"
            SEEN.see("answer", f"{kind} {Status(answer.status).name[7:]}")


def test_ofu() -> None:
    simulate("sl_ofu", __file__, {"LookupLatency": LOOKUP, "Entries0": ENTRIES[0], "Entries1": ENTRIES[1]}, visible=VISIBLE)


def key_of(record: layouts.PhvRecord) -> tuple[int, int]:
    """What the tables of this test look at: the table and a key."""
    return int(record.info.l3_kind == layouts.L3Kind.L3_IPV6), record.phv.ip_dst & 0xFF


class Ofu(Registers):
    """The device under test, its two tables, and what must come out of it."""

    def __init__(self, dut, stall: float = 0.0) -> None:
        super().__init__(dut)
        self.source, self.sink = Source(dut, "in", stalls(stall)), Sink(dut, "out", stalls(stall))
        self.tables: tuple[dict[int, int], dict[int, int]] = ({}, {})  # key -> rule id
        self.actions: dict[tuple[int, int], layouts.ActionSet] = {}  # as a lookup that enters now will find them
        self.counters: dict[tuple[int, int], list[int]] = {}
        self.edit_data = [0] * 256
        self.enabled = 0
        self.expected: list[int] = []
        self.entered: list[int] = []
        self.left: list[int] = []
        self.in_flight: deque[tuple[int, tuple[int, int, int]]] = deque()
        self.pending: list[tuple[int, int, layouts.Instruction] | None] = [None, None]
        self.cycle = 0
        self.capacity = ENTRIES
        self.paused = False
        self.refuses_initialize = False
        self.freed: dict[tuple[int, int], int] = {}  # cycle in which a rule was deleted

    async def power_up(self) -> None:
        dut = self.dut
        for name in ("reg_request_i", "tick_i", "lookup_hit_i", "lookup_table_i", "lookup_id_i"):
            getattr(dut, name).value = 0
        for name in ("op_ready_i", "op_commit_i", "op_done_i", "op_status_i", "table_used_i", "hold_i"):
            getattr(dut, name).value = 0
        dut.table_ready_i.value = 3
        await start(dut)
        cocotb.start_soon(self._tables())
        while not await self.read(STATUS) & 1:
            pass

    async def begin(self) -> None:
        await self.power_up()
        for n in range(30):
            await self.write(INSTRUCTION + 4 * n, 0)
        await self.write_edit_data(8)

    async def _tables(self) -> None:
        """Both tables, one pass a cycle; a key that enters in the cycle of a commit sees the new state."""
        dut = self.dut
        watch = Watch(dut)
        while True:
            commit = done = status = 0
            for number, job in enumerate(self.pending):
                if job is not None and job[0] == self.cycle:
                    commit |= self._commit(number, job[2]) << number
                if job is not None and job[1] == self.cycle:
                    code = self._status(number, job[2])
                    self._finish(number, job[2], code)
                    status |= code << 8 * number
                    done |= 1 << number
                    self.pending[number] = None
            dut.op_commit_i.value, dut.op_done_i.value, dut.op_status_i.value = commit, done, status
            ready = sum((not self.paused and self.pending[n] is None and random.random() < 0.7) << n for n in range(2))
            dut.op_ready_i.value = ready
            if self.in_flight and self.in_flight[0][0] == self.cycle:
                _, (hit, table, rule) = self.in_flight.popleft()
                dut.lookup_hit_i.value, dut.lookup_table_i.value, dut.lookup_id_i.value = hit, table, rule
            else:
                dut.lookup_hit_i.value, dut.lookup_id_i.value = random.getrandbits(1), random.randrange(32)
            dut.tick_i.value = self.cycle
            await ReadOnly()
            accepted = int(dut.op_valid_o.value) & ready
            if accepted:
                instruction = layouts.Instruction.from_int(int(dut.op_o.value))
                assert accepted == 1 << instruction.table_id
                if instruction.kind == POPULATE:
                    freed = self.freed.get((instruction.table_id, instruction.rule_id), -100)
                    assert self.cycle - freed >= LOOKUP + 6, "an id is reused only when nothing of it is in flight"
                at = self.cycle + random.randrange(1, 12)
                self.pending[instruction.table_id] = (at, at + random.randrange(4), instruction)
            if SEEN.on:
                watch.look()
            if dut.lookup_valid_o.value == 1:
                self._look_up(int(dut.lookup_record_o.value))
            if dut.out_valid_o.value == 1 and dut.out_ready_i.value == 1:
                self.left.append(self.cycle)
            await RisingEdge(dut.clk_i)
            self.cycle += 1

    def _status(self, number: int, instruction: layouts.Instruction) -> int:
        keys = self.tables[number]
        if instruction.kind == INITIALIZE and self.refuses_initialize:
            return Status.STATUS_EINVAL
        if instruction.kind == POPULATE and instruction.rule_id not in keys.values():
            return Status.STATUS_EEXIST if instruction.value in keys else Status.STATUS_ENOSPC
        return Status.STATUS_OK

    def _commit(self, number: int, instruction: layouts.Instruction) -> int:
        keys, rule = self.tables[number], instruction.rule_id
        match instruction.kind:
            case InstructionKind.INSTRUCTION_POPULATE if instruction.value in keys or len(keys) >= self.capacity[number]:
                return 0
            case InstructionKind.INSTRUCTION_POPULATE:
                assert rule not in keys.values(), "the table never gets an id twice"
                self.counters[number, rule] = [0, 0, None]
            case InstructionKind.INSTRUCTION_INITIALIZE if self.refuses_initialize:
                return 0
            case InstructionKind.INSTRUCTION_INITIALIZE:
                keys.clear()
                return 1
            case _:
                old = [key for key, used in keys.items() if used == rule]
                assert len(old) == 1, "the table never gets an unused id to delete or update"
                del keys[old[0]]
                if instruction.kind == DELETE:
                    self.freed[number, rule] = self.cycle
        if instruction.kind != DELETE:
            keys[instruction.value] = rule
            self.actions[number, rule] = instruction.actions
        return 1

    def _finish(self, number: int, instruction: layouts.Instruction, code: int) -> None:
        used = sum(len(keys) << 32 * n for n, keys in enumerate(self.tables))
        self.dut.table_used_i.value = used

    def _look_up(self, number: int) -> None:
        record = layouts.PhvRecord.from_int(number)
        table, key = key_of(record)
        rule = self.tables[table].get(key)
        answer = (int(rule is not None), table, rule if rule is not None else random.randrange(32))
        self.in_flight.append((self.cycle + LOOKUP, answer))
        self.entered.append(self.cycle)
        if rule is not None and self.enabled and record.eligible:
            record.hits |= 1 << layouts.TABLE_LPM
            actions.execute(record, self.actions[table, rule], self.edit_data)
            count = self.counters[table, rule]
            count[0], count[1], count[2] = count[0] + 1, count[1] + record.length, self.cycle + LOOKUP + 3
        self.expected.append(record.to_int())

    async def reset(self) -> None:
        """Reset the device and both tables."""
        self.dut.rst_i.value = 1
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)
        for keys in self.tables:
            keys.clear()
        self.pending, self.enabled, self.paused = [None, None], 0, False
        self.freed.clear()
        self.dut.table_used_i.value = 0
        self.dut.rst_i.value = 0
        while not await self.read(STATUS) & 1:
            pass

    async def reach(self, state: str) -> None:
        """Wait for a state of the configuration FSM."""
        reached = False
        while not reached:
            await ReadOnly()
            reached = STATES[int(self.dut.u_control.u_fsm.state_q.value)] == state
            await RisingEdge(self.dut.clk_i)

    async def enable(self, on: int = 1) -> None:
        await self.write(CONTROL, on)
        self.enabled = on

    async def push(self, kind: int, table: int, rule: int, key: int = 0, action_set: int = 0) -> bool:
        """Write an instruction into the window; False when the FIFO is full."""
        instruction = layouts.Instruction(
            actions=layouts.ActionSet.from_int(action_set), value=key, rule_id=rule, table_id=table, kind=kind
        ).to_int()
        words = {n: instruction >> 32 * n & 0xFFFFFFFF for n in range(30)}
        for n in (0, 1, 2, *range(22, 30)):  # the keys of this test have 8 bits: the other words stay 0
            await self.write(INSTRUCTION + 4 * n, words[n])
        return not (await self.access(PUSH, 0)).error

    async def response(self) -> layouts.Response:
        for _ in range(500):
            low = await self.read(RESPONSE)
            high = await self.read(RESPONSE + 4)
            answer = layouts.Response.from_int(high << 32 | low)
            if answer.kind:
                return answer
        raise AssertionError("no response")

    async def execute(self, kind: int, table: int, rule: int, key: int = 0, action_set: int = 0) -> int:
        assert await self.push(kind, table, rule, key, action_set)
        answer = await self.response()
        assert (answer.kind, answer.rule_id) == (kind, rule)
        return answer.status

    async def remove(self, table: int, rule: int) -> bool:
        """Delete a rule by one access; False when it is refused."""
        return not (await self.access(REMOVE, table << 30 | rule)).error

    async def read_counters(self, table: int, rule: int) -> layouts.RuleCounters:
        await self.write(COUNTER_INDEX, table << 30 | rule)
        words = [await self.read(COUNTER_DATA + 4 * n) for n in range(4)]
        return layouts.RuleCounters.from_int(sum(word << 32 * n for n, word in enumerate(words)))

    async def write_edit_data(self, count: int) -> None:
        for index in range(count):
            self.edit_data[index] = random.getrandbits(128)
            await self.write(EDIT_INDEX, index)
            for n in range(4):
                await self.write(EDIT_DATA + 4 * n, self.edit_data[index] >> 32 * n & 0xFFFFFFFF)

    async def check_output(self) -> None:
        """Wait until all is out, and compare it with what must have come out."""
        await self.source.drained()
        await self.sink.wait_for(len(self.expected))
        for number, (got, answer) in enumerate(zip(self.sink.received, self.expected, strict=True)):
            assert got == answer, (
                f"record {number}:\n{layouts.PhvRecord.from_int(got)}\nexpected\n{layouts.PhvRecord.from_int(answer)}"
            )


def packet(key: int, table: int = 0, eligible: int = 1) -> int:
    """The record of a packet."""
    record = layouts.PhvRecord(eligible=eligible, length=random.randrange(60, 1515))
    record.info.l3_kind = layouts.L3Kind.L3_IPV6 if table else layouts.L3Kind.L3_IPV4
    record.info.l4_kind = layouts.L4Kind.L4_UDP
    record.phv.ip_dst, record.phv.ip_src, record.phv.ip_ttl = key, random.getrandbits(32), 64
    record.phv.l4_src, record.phv.l4_dst = random.getrandbits(16), random.getrandbits(16)
    return record.to_int()


def rule_actions(value: int) -> int:
    """Eight actions that all carry the same value: a set that is half old and half new shows."""
    slots = [
        Opcode.ACTION_MARK << 24 | value,
        Opcode.ACTION_SET << 24 | 1 << 20 | value & 0xFFFF,
        Opcode.ACTION_SET << 24 | 9 << 20 | value & 0xFFFF,
        Opcode.ACTION_SUB << 24,
        Opcode.ACTION_SET_LONG << 24 | 5 << 20 | value & 0xFF,
        Opcode.ACTION_INSERT_VLAN << 24 | value & 0x1FFFF,
        Opcode.ACTION_CHECKSUM << 24,
        Opcode.ACTION_OUTPUT << 24 | value % 7,
    ]
    return sum(slot << 32 * n for n, slot in enumerate(slots))


async def traffic(ofu: Ofu, keys: int) -> None:
    """A record every cycle, for ever."""
    while True:
        if len(ofu.source.queue) < 4:
            ofu.source.send(*(packet(random.randrange(keys), random.getrandbits(1)) for _ in range(8)))
        await RisingEdge(ofu.dut.clk_i)


@cocotb.test()
async def rules_change_under_a_lookup_every_cycle(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    await ofu.enable()
    running = cocotb.start_soon(traffic(ofu, 6))
    rules: dict[tuple[int, int], int] = {}
    ids = ((0, 1, 2, 63), (0, 1, 2, 31))
    for _ in range(80):
        table = random.randrange(2)
        rule = random.choice(ids[table])
        key = random.choice([k for k in range(6) if k not in [v for (t, r), v in rules.items() if t == table and r != rule]])
        kind = random.choice([UPDATE, UPDATE, DELETE]) if (table, rule) in rules else POPULATE
        value = random.getrandbits(24) & ~0xF8
        if kind == DELETE and random.random() < 0.5:
            assert await ofu.remove(table, rule)
            assert rule not in ofu.tables[table].values(), "gone when it is answered"
        else:
            assert await ofu.execute(kind, table, rule, key, rule_actions(value)) == Status.STATUS_OK
        if kind == DELETE:
            del rules[table, rule]
        else:
            rules[table, rule] = key
    running.cancel()
    await ofu.source.drained()
    first, last = ofu.entered[0], ofu.entered[-1]
    assert len(ofu.entered) == last - first + 1, "a lookup every cycle, none held up by a change"
    assert {out - into for into, out in zip(ofu.entered, ofu.left, strict=False)} == {LATENCY}
    assert await ofu.read(layouts.OFU_REGISTERS_LATENCY) == LATENCY
    await ofu.check_output()
    marks = {layouts.PhvRecord.from_int(got).mark for got in ofu.sink.received}
    assert len(marks) > 20, "the changes were seen"
    for (table, rule), key in rules.items():
        assert ofu.tables[table][key] == rule
        count = await ofu.read_counters(table, rule)
        assert [count.packets, count.bytes] == ofu.counters[table, rule][:2]


@cocotb.test()
async def counters_are_exact_and_readable_under_full_traffic(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    await ofu.enable()
    for rule in range(3):
        assert await ofu.execute(POPULATE, 0, rule, rule, rule_actions(rule)) == 0
        empty = await ofu.read_counters(0, rule)
        assert (empty.packets, empty.bytes) == (0, 0)
    keys = [0] * 40 + [0, 1] * 30 + [random.randrange(3) for _ in range(400)] + [0, 1, 2, 0, 2, 1, 1, 0, 0, 9] * 20
    ofu.source.send(*(packet(key) for key in keys))
    await RisingEdge(dut.clk_i)
    seen = 0
    while ofu.source.queue:  # every packet hits for most of this time
        began = ofu.cycle
        count = await ofu.read_counters(0, 0)
        assert ofu.cycle - began < 100, "a read does not wait for a pause in the traffic"
        assert count.packets >= seen
        seen = count.packets
    assert seen > 0
    await ofu.check_output()
    for _ in range(10):
        await RisingEdge(dut.clk_i)
    for rule in range(3):
        count = await ofu.read_counters(0, rule)
        assert [count.packets, count.bytes, count.last_hit] == ofu.counters[0, rule]
    assert await ofu.execute(DELETE, 0, 1) == 0
    assert await ofu.execute(POPULATE, 0, 1, 7, rule_actions(5)) == 0
    fresh = await ofu.read_counters(0, 1)
    assert (fresh.packets, fresh.bytes) == (0, 0), "a reused id starts at 0"
    ofu.source.send(packet(7))
    await ofu.check_output()
    assert (await ofu.read_counters(0, 1)).packets == 1


@cocotb.test()
async def failed_instructions_answer_their_error_and_change_nothing(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    await ofu.enable()
    good = rule_actions(1)
    assert await ofu.execute(POPULATE, 0, 5, 10, good) == 0
    before = copy.deepcopy((ofu.tables, ofu.actions))
    bad = [
        (POPULATE, 0, 5, 11, Status.STATUS_EEXIST),  # the id
        (POPULATE, 0, 6, 10, Status.STATUS_EEXIST),  # the key
        (DELETE, 0, 6, 0, Status.STATUS_ENOENT),
        (UPDATE, 0, 6, 0, Status.STATUS_ENOENT),
        (UPDATE, 1, 5, 0, Status.STATUS_ENOENT),
        (POPULATE, 0, ENTRIES[0], 1, Status.STATUS_EINVAL),
        (POPULATE, 1, ENTRIES[1], 1, Status.STATUS_EINVAL),
        (POPULATE, 0, 0xFFFFFFFF, 1, Status.STATUS_EINVAL),
        (POPULATE, 2, 1, 1, Status.STATUS_EINVAL),
        (DELETE, 0, ENTRIES[0], 0, Status.STATUS_EINVAL),
        (UPDATE, 3, 5, 1, Status.STATUS_EINVAL),
        (INITIALIZE, 200, 1, 1, Status.STATUS_EINVAL),
        (9, 0, 1, 1, Status.STATUS_EINVAL),
    ]
    for kind, table, rule, key, status in bad:
        assert await ofu.execute(kind, table, rule, key, good) == status, (kind, table, rule)
    ofu.refuses_initialize = True
    assert await ofu.execute(INITIALIZE, 0, 0) == Status.STATUS_EINVAL, "as the table says"
    ofu.refuses_initialize = False
    assert await ofu.push(InstructionKind.INSTRUCTION_NONE, 0, 5)
    while not await ofu.read(STATUS) >> 16 & 0xFF:  # the kind of its response is that of no response
        pass
    answer = layouts.Response.from_int(await ofu.read(RESPONSE) | await ofu.read(RESPONSE + 4) << 32)
    assert (answer.kind, answer.status, answer.rule_id) == (InstructionKind.INSTRUCTION_NONE, Status.STATUS_EINVAL, 5)
    assert await ofu.execute(POPULATE, 0, 5, 11, good) == Status.STATUS_EEXIST, "no rule has gone"
    assert before == (ofu.tables, ofu.actions)
    ofu.capacity = (1, 1)
    assert await ofu.execute(POPULATE, 0, 7, 12, good) == Status.STATUS_ENOSPC
    ofu.capacity = ENTRIES
    assert await ofu.execute(POPULATE, 0, 7, 12, good) == 0, "a failed populate does not use up the id"
    assert await ofu.execute(POPULATE, 1, 31, 12, good) == 0
    assert await ofu.execute(INITIALIZE, 0, 0) == 0
    assert ofu.tables == ({}, {12: 31})
    assert await ofu.execute(DELETE, 0, 5) == Status.STATUS_ENOENT
    assert await ofu.execute(POPULATE, 0, 5, 10, good) == 0
    assert await ofu.execute(UPDATE, 1, 31, 13, good) == 0
    assert [await ofu.read(USED), await ofu.read(USED + 4)] == [1, 1]


@cocotb.test()
async def a_reset_in_the_middle_of_an_operation_forgets_the_rules_and_what_waits(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    for state, kind, rule in (
        ("Idle", UPDATE, 3),
        ("Write", POPULATE, 4),
        ("Delete", DELETE, 3),
        ("Update", UPDATE, 3),
        ("Initialize", INITIALIZE, 0),
        ("Clear", INITIALIZE, 0),
    ):
        for table in range(2):
            assert await ofu.execute(POPULATE, table, 3, 9, rule_actions(1)) == 0, state
        ofu.paused = True
        if state != "Idle":
            assert await ofu.push(kind, 0, rule, 10, rule_actions(2))
            assert await ofu.push(DELETE, 1, 3)
        ofu.paused = state != "Clear"
        await ofu.reach(state)
        await ofu.reset()
        assert await ofu.read(STATUS) >> 8 == 16, f"{state}: nothing waits"
        for table, old in ((0, 3), (0, 4), (1, 3)):
            assert await ofu.execute(DELETE, table, old) == Status.STATUS_ENOENT, state
    assert await ofu.execute(POPULATE, 0, 3, 9, rule_actions(5)) == 0
    await ofu.enable()
    ofu.source.send(packet(9), packet(10))
    await ofu.check_output()
    assert (await ofu.read_counters(0, 3)).packets == 1


@cocotb.test()
async def a_removal_that_cannot_be_changes_nothing(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    for table, rule in ((0, 5), (0, 63), (1, 31)):
        assert await ofu.execute(POPULATE, table, rule, rule, rule_actions(1)) == 0
    assert (await ofu.access(REMOVE)).error, "it is not to be read"
    for table, rule in ((0, 6), (1, 5), (0, ENTRIES[0] + 5), (1, ENTRIES[1] + 31), (2, 5), (0, 1 << 29 | 5)):
        assert not await ofu.remove(table, rule), (table, rule)
    ofu.paused = True
    assert await ofu.push(UPDATE, 0, 5, 9, rule_actions(2))
    assert not await ofu.remove(0, 63), "an instruction waits"
    ofu.paused = False
    while not await ofu.read(STATUS) >> 16 & 0xFF:
        pass
    assert not await ofu.remove(0, 63), "a response waits"
    assert (await ofu.response()).status == 0
    assert ofu.tables == ({9: 5, 63: 63}, {31: 31})
    words = [await ofu.read(INSTRUCTION + 4 * n) for n in range(30)]
    for table, rule in ((0, 63), (1, 31)):
        assert await ofu.remove(table, rule)
        assert not await ofu.remove(table, rule), "it is gone"
    assert ofu.tables == ({9: 5}, {})
    assert words == [await ofu.read(INSTRUCTION + 4 * n) for n in range(30)], "the words of an instruction stay"
    assert await ofu.read(RESPONSE) == 0
    assert await ofu.execute(UPDATE, 0, 5, 3, rule_actions(3)) == 0


@cocotb.test()
async def a_full_fifo_refuses_and_responses_come_in_order(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    dut.table_ready_i.value = 3
    pushed = []
    for rule in range(64):
        if not await ofu.push(POPULATE, 0, rule, rule, 0):
            break
        pushed.append(rule)
    # 32 responses, 16 instructions in the FIFO; the one at its output is among the 16
    assert len(pushed) == 48
    for _ in range(50):
        await RisingEdge(dut.clk_i)
    status = await ofu.read(STATUS)
    assert (status & 1, status >> 8 & 0xFF, status >> 16 & 0xFF) == (1, 0, 32)
    for rule in pushed:
        answer = await ofu.response()
        assert (answer.rule_id, answer.status, answer.kind) == (rule, 0, POPULATE)
        assert 4 <= answer.cycles < 2000
    assert await ofu.read(RESPONSE) == 0
    assert await ofu.read(RESPONSE + 4) == 0
    assert await ofu.read(STATUS) >> 8 == 16


@cocotb.test()
async def no_answer_is_seen_and_no_populate_begins_while_it_is_held(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    dut.hold_i.value = 1
    assert await ofu.push(DELETE, 0, 7)
    assert await ofu.push(POPULATE, 0, 3, 5, 0)
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    assert await ofu.read(STATUS) >> 16 & 0xFF == 0 and await ofu.read(RESPONSE) == 0
    assert ofu.tables == ({}, {})
    dut.hold_i.value = 0
    answers = [await ofu.response() for _ in range(2)]
    assert [(answer.kind, answer.status) for answer in answers] == [(DELETE, Status.STATUS_ENOENT), (POPULATE, Status.STATUS_OK)]
    assert ofu.tables == ({5: 3}, {})


@cocotb.test()
async def ids_are_reused_under_traffic_only_after_the_lookups_in_flight(dut):
    ofu = Ofu(dut)
    await ofu.begin()
    await ofu.enable()
    assert await ofu.execute(POPULATE, 0, 3, 0, rule_actions(1)) == 0
    running = cocotb.start_soon(traffic(ofu, 2))
    for _ in range(3):
        ofu.paused = True  # instructions gather in the FIFO, then run back to back
        for n in range(8):
            assert await ofu.push(DELETE, 0, 3)
            assert await ofu.push(POPULATE, 0, 3, n & 1, rule_actions(n))
        ofu.paused = False
        assert [(await ofu.response()).status for _ in range(16)] == [0] * 16
    running.cancel()
    await ofu.check_output()
    assert (await ofu.read_counters(0, 3)).packets == ofu.counters[0, 3][0]


@cocotb.test()
async def the_window_is_as_its_layout_says(dut):
    ofu = Ofu(dut)
    await ofu.power_up()
    limits = {"edit_index": range(256), "counter_index": [0, ENTRIES[0] - 1, 1 << 30, 1 << 30 | ENTRIES[1] - 1]}
    await check_window(ofu.access, layouts.OFU_REGISTERS, values=limits)
    assert await ofu.read(layouts.OFU_REGISTERS_KIND) == layouts.ElementKind.ELEMENT_LPM
    for register, expected in (("ENTRIES", list(ENTRIES)), ("KEY_BITS", [32, 128])):
        first = getattr(layouts, f"OFU_REGISTERS_{register}")
        assert [await ofu.read(first + 4 * n) for n in range(2)] == expected
    for index in (ENTRIES[0], 1 << 30 | ENTRIES[1], 1 << 31):
        assert (await ofu.access(COUNTER_INDEX, index)).error == 1


@cocotb.test()
async def records_pass_untouched_when_off_or_not_eligible_under_random_stalls(dut):
    ofu = Ofu(dut, 0.3)
    await ofu.begin()
    for rule in range(4):
        assert await ofu.execute(POPULATE, 1, rule, rule, rule_actions(rule)) == 0
    ofu.source.send(*(packet(n % 4, 1) for n in range(100)))
    await ofu.check_output()
    assert all(layouts.PhvRecord.from_int(got).verdict == Verdict.VERDICT_PASS for got in ofu.sink.received)
    await ofu.enable()
    ofu.source.send(*(packet(random.randrange(6), Table.TABLE_IPV6, random.getrandbits(1)) for _ in range(300)))
    await ofu.check_output()
    verdicts = {layouts.PhvRecord.from_int(got).verdict for got in ofu.sink.received[100:]}
    assert verdicts == {Verdict.VERDICT_PASS, Verdict.VERDICT_FORWARD}
