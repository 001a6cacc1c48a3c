# SPDX-License-Identifier: Apache-2.0
"""Every register of the functional device against a model of its windows: what each word of every window answers, which writes are
taken, what they change, and what a reset leaves. Accesses are made at the transport, one a cycle."""

from __future__ import annotations

import ctypes as c
import errno
import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest
import sluice_layouts as L

from host.lib.testing.devices import Transport
from host.python.device import load

LANES, GROUPS, ENTRIES, TERNARY, QUEUES = 3, 2, 8, 4, 2
OPTIONS = f"lanes={LANES},groups={GROUPS},entries={ENTRIES},ternary={TERNARY},queues={QUEUES}"
FLOW, DEPARSE, HOST = (L.WINDOW_SIZE * window for window in (1, 4, 5))
CLOCK = 200_000  # kHz
CYCLES_OF_TICK = CLOCK // 1000
ALL = range(0, 8 * L.WINDOW_SIZE, 4)
U32 = 0xFFFFFFFF


class Model:
    """The registers by address: how each is read, and written; a write returns whether it is taken. A register is as its layout
    says, unless something is said of it here."""

    def __init__(self, queues: int = QUEUES, push: bool = True) -> None:
        self.cycles, self.time_high, self.tick, self.tick_from, self.by_clock = 0, 0, 0, 0, 1
        self.queues, self.push = queues, push
        self.words: dict[int, int] = {}  # of kept registers
        self.resets: dict[int, int] = {}
        self.kinds, self.done, self.done_low = [0] * LANES, [0] * 8, 0
        self.reads: dict[int, Callable[[], int]] = {}
        self.writes: dict[int, Callable[[int], bool]] = {}
        self._shell()
        self._flow()
        self._deparse()
        if queues:
            self._host()

    def _window(self, base: int, *registers: L.Register) -> None:
        """A kept register holds what is written; others read as a constant, or 0. An order is refused."""
        for at, register in ((base + offset, one) for one in registers for offset in one.offsets):
            if register.is_kept:
                self.words[at] = self.resets[at] = register.reset or 0
                self._plain(at, (1 << register.width) - 1, readable=register.access == "rw")
            elif register.access != "wo":
                self._constants({at: register.reset or 0})

    def _constants(self, values: dict[int, int]) -> None:
        self.reads |= {at: lambda value=value: value for at, value in values.items()}

    def _plain(self, at: int, mask: int = U32, limit: int = 1 << 32, readable: bool = True) -> None:
        def write(value: int) -> bool:
            if value < limit:
                self.words[at] = value & mask
            return value < limit

        self.writes[at] = write
        if readable:
            self.reads[at] = lambda: self.words.get(at, 0)

    def now(self) -> int:
        passed = (self.cycles - self.tick_from) // CYCLES_OF_TICK if self.by_clock else 0
        return (self.tick + passed) & U32

    def _set_tick(self, tick: int, by_clock: int) -> bool:
        self.tick, self.by_clock, self.tick_from = tick, by_clock, self.cycles
        return True

    def _time(self) -> int:
        self.time_high = self.cycles >> 32
        return self.cycles & U32

    def _shell(self) -> None:
        self._window(0, *L.SHELL_REGISTERS)
        capability = {
            0: LANES << 16 | L.ELEMENT_SHELL,
            1: 4 << 16 | L.ELEMENT_FLOW_TABLE,  # 16 rules
            4: 8 << 16 | L.ELEMENT_DEPARSE,  # 256 templates
            5: self.queues << 16 | L.ELEMENT_HOST if self.queues else 0,
        }
        self._constants({L.SHELL_REGISTERS_CAPABILITY + 4 * window: value for window, value in capability.items()})
        self._constants(
            {
                L.SHELL_REGISTERS_LAYOUT_HASH: L.LAYOUT_HASH,
                L.SHELL_REGISTERS_LANES: LANES,
                L.SHELL_REGISTERS_CLOCK_KHZ: CLOCK,
                L.SHELL_REGISTERS_WINDOWS: 6 if self.queues else 5,
                L.SHELL_REGISTERS_STATUS: 7,
            }
        )
        for n in range(16 * LANES, L.SHELL_REGISTERS_LANE_COUNTERS_COUNT):  # of lanes that are not there
            del self.reads[L.SHELL_REGISTERS_LANE_COUNTERS + 4 * n]
        self.reads[L.SHELL_REGISTERS_TIME_LOW] = self._time
        self.reads[L.SHELL_REGISTERS_TIME_HIGH] = lambda: self.time_high
        self.reads[L.SHELL_REGISTERS_TICK] = self.now
        self.reads[L.SHELL_REGISTERS_TICK_SOURCE] = lambda: self.by_clock
        self.writes[L.SHELL_REGISTERS_TICK] = lambda value: self._set_tick(value, self.by_clock)
        self.writes[L.SHELL_REGISTERS_TICK_SOURCE] = lambda value: self._set_tick(self.now(), value & 1)
        self._plain(L.SHELL_REGISTERS_CONTROL, 6)
        control = self.writes[L.SHELL_REGISTERS_CONTROL]
        self.writes[L.SHELL_REGISTERS_CONTROL] = lambda value: control(value) and (not value & 1 or self._reset())

    def _reset(self) -> bool:
        """Of the graph: windows 1 to 4."""
        self.words |= {at: value for at, value in self.resets.items() if FLOW <= at < HOST}
        self.done, self.done_low = [0] * 8, 0
        return True

    def _set_done(self, place: int, value: int) -> bool:
        if place % 2:
            self.done[place // 2] = value << 32 | self.done_low
        else:
            self.done_low = value
        return True

    def _flow(self) -> None:
        self._window(FLOW, *L.OFU_REGISTERS, *L.FLOW_REGISTERS)
        constants = {
            L.OFU_REGISTERS_KIND: L.ELEMENT_FLOW_TABLE,
            L.OFU_REGISTERS_STATUS: 1 | 16 << 8,
            L.OFU_REGISTERS_ENTRIES: GROUPS * ENTRIES,
            L.OFU_REGISTERS_ENTRIES + 4: TERNARY,
            L.OFU_REGISTERS_KEY_BITS: L.FlowKey.BITS,
            L.OFU_REGISTERS_KEY_BITS + 4: L.FlowKey.BITS,
            L.FLOW_REGISTERS_GROUPS: GROUPS,
            L.FLOW_REGISTERS_GROUP_ENTRIES: ENTRIES,
            L.FLOW_REGISTERS_PUSH_RECORDS: 20 if self.push else 0,
            L.FLOW_REGISTERS_PUSH_TERNARY: 16,
        }
        self._constants({FLOW + at: value for at, value in constants.items()})
        self._plain(FLOW + L.OFU_REGISTERS_EDIT_INDEX, limit=256)
        self._plain(FLOW + L.FLOW_REGISTERS_OPERAND_INDEX, limit=L.FLOW_OPERANDS)
        self._plain(FLOW + L.FLOW_REGISTERS_GROUP_INDEX, limit=GROUPS)
        self._plain(FLOW + L.FLOW_REGISTERS_FENCE_BOUND, limit=1 << 31)
        for at in range(0, L.FlowOperand.BITS // 8, 4):
            self._plain(FLOW + L.FLOW_REGISTERS_OPERAND + at, readable=False)
        for at, mask in ((L.FLOW_REGISTERS_PUSH_CONTROL, 1), (L.FLOW_REGISTERS_PUSH_PERIOD, U32)):
            self._plain(FLOW + at, mask, limit=1 << 32 if self.push else 0)
        for place in range(16):
            at = FLOW + L.FLOW_REGISTERS_FENCE_DONE + 4 * place
            self.reads[at] = lambda place=place: self.done[place // 2] >> 32 * (place % 2) & U32
            self.writes[at] = lambda value, place=place: self._set_done(place, value)
        counter = FLOW + L.OFU_REGISTERS_COUNTER_INDEX
        self._plain(counter)
        select = self.writes[counter]
        limits = (GROUPS * ENTRIES, TERNARY, 0, 0)
        self.writes[counter] = lambda value: value & 0x3FFFFFFF < limits[value >> 30] and select(value)

    def _is_template(self, value: int) -> bool:
        words = [self.words.get(DEPARSE + L.DEPARSE_REGISTERS_TEMPLATE_INFO + 4 * n, 0) for n in range(2)]
        info = L.TemplateInfo.from_int(words[0] | words[1] << 32)
        return value < L.TEMPLATES and info.size % 2 == 0 and info.size <= L.TEMPLATE_BYTES

    def _deparse(self) -> None:
        self._window(DEPARSE, *L.DEPARSE_REGISTERS)
        self.writes[DEPARSE + L.DEPARSE_REGISTERS_TEMPLATE_INDEX] = self._is_template

    def _set_kinds(self, value: int) -> bool:
        self.kinds[self.words.get(HOST + L.HOST_REGISTERS_LANE, 0)] = value & 0xFF
        return True

    def _host(self) -> None:
        self._window(HOST, *L.HOST_REGISTERS)
        self._constants({HOST + L.HOST_REGISTERS_QUEUES: self.queues})
        self._plain(HOST + L.HOST_REGISTERS_LANE, limit=LANES)
        self._plain(HOST + L.HOST_REGISTERS_TABLE_INDEX, limit=L.RSS_TABLES)
        self.reads[HOST + L.HOST_REGISTERS_HASH_KINDS] = lambda: self.kinds[self.words.get(HOST + L.HOST_REGISTERS_LANE, 0)]
        self.writes[HOST + L.HOST_REGISTERS_HASH_KINDS] = self._set_kinds
        for n in range(L.HOST_REGISTERS_KEY_COUNT):
            self._plain(HOST + L.HOST_REGISTERS_KEY + 4 * n, readable=False)
        for n in range(L.RSS_ENTRIES):
            self._plain(HOST + L.HOST_REGISTERS_TABLE + 4 * n, limit=self.queues, readable=False)


class Both:
    """A device and the model; every access is compared."""

    def __init__(self, options: str, model: Model) -> None:
        library = load()
        library.sluice_transport_functional.restype = c.POINTER(Transport)
        self.handle, self.model = library.sluice_transport_functional(options.encode()), model
        self.it, self.value = self.handle.contents, c.c_uint32()

    def read(self, at: int) -> None:
        self.model.cycles += 1
        self.value.value = 0xDEADBEEF
        result = self.it.reg_read(self.handle, at, c.byref(self.value))
        expected = self.model.reads.get(at)
        assert (result, self.value.value) == ((0, expected()) if expected else (-errno.EFAULT, 0xDEADBEEF)), hex(at)

    def write(self, at: int, value: int) -> None:
        self.model.cycles += 1
        result = self.it.reg_write(self.handle, at, value)
        taken = self.model.writes.get(at)
        assert result == (0 if taken and taken(value) else -errno.EFAULT), (hex(at), value)

    def read_all(self) -> None:
        for at in self.model.reads:
            self.read(at)

    def advance(self, cycles: int) -> None:
        self.it.advance(self.handle, cycles)
        self.model.cycles += cycles
        assert self.it.cycles(self.handle) == self.model.cycles

    def close(self) -> None:
        self.it.close(self.handle)


@pytest.fixture(params=["", "queues=0", "nopush"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    options = f"{OPTIONS},{request.param}" if request.param else OPTIONS
    made = Both(options, Model(0 if request.param == "queues=0" else QUEUES, request.param != "nopush"))
    yield made
    made.close()


def test_each_word_of_every_window_is_a_register_or_an_error(both: Both) -> None:
    for at in ALL:
        both.read(at)
    for at in (*ALL[:200], *ALL[1024:1300], *ALL[4096:4120], *ALL[5120:5300]):
        for odd in (1, 2, 3):
            both.read(at + odd)
            both.write(at + odd, 1)
    for at in ALL:
        if at not in both.model.writes and at != FLOW + L.OFU_REGISTERS_PUSH:
            both.write(at, 0)
    both.read_all()


def test_each_register_takes_what_it_can_hold_and_changes_no_other(both: Both) -> None:
    for at in list(both.model.writes):
        for value in (0, 1, 2, 3, 7, 8, 15, 16, 31, 127, 128, 129, 130, 254, 255, 256, 0x7FFFFFFF, 1 << 31, 0xFFFFFFFE):
            both.write(at, value)
            if at in both.model.reads:
                both.read(at)
        both.read_all()


def test_random_writes_leave_what_the_model_holds(both: Both) -> None:
    draw = random.Random(13)
    known = list(both.model.writes)
    rare = [at for at in known if at >> 12 in (0, 4) or at & 0xF80 == 0 or FLOW + 0x100 <= at < FLOW + 0x180]
    for step in range(3000):
        at = draw.choice(rare if draw.random() < 0.7 else known)
        value = draw.choice([0, 1, 2, 3, 15, 16, 126, 128, 255, 1 << 30, 1 << 30 | 3, 1 << 30 | 4, 1 << 31, draw.getrandbits(32)])
        if at == L.SHELL_REGISTERS_CONTROL and draw.random() < 0.8:
            value &= ~1
        both.write(at, value)
        both.read(draw.choice(list(both.model.reads)))
        if step % 100 == 0:
            both.advance(draw.choice([0, 1, 199, 200, 201, 123456, U32]))
            both.read_all()


@pytest.mark.parametrize(
    ("ternary", "entries", "first"), [(4, 8, 16), (3, 8, 16), (5, 8, 16), (16, 8, 16), (17, 8, 32), (1, 7, 14), (2, 7, 14)]
)
def test_records_of_the_tcam_begin_at_a_multiple_of_its_power_of_two(ternary: int, entries: int, first: int) -> None:
    library, value = load(), c.c_uint32()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(f"lanes=1,groups=2,entries={entries},ternary={ternary}".encode())
    it = handle.contents
    for at, expected in ((L.FLOW_REGISTERS_PUSH_TERNARY, first), (L.FLOW_REGISTERS_PUSH_RECORDS, first + ternary)):
        assert it.reg_read(handle, FLOW + at, c.byref(value)) == 0 and value.value == expected
    assert not it.mirror_attach(handle, first + ternary - 1), "too small"
    memory = it.mirror_attach(handle, first + ternary)
    assert memory and it.mirror_attach(handle, first + ternary) == memory
    assert not it.mirror_attach(handle, first + ternary + 1), "there with another size"
    it.close(handle)


@pytest.mark.parametrize(
    ("entries", "groups", "bits"), [(1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 1, 2), (8, 2, 4), (9, 2, 5), (4096, 16, 16)]
)
def test_the_capability_of_the_table_is_the_bits_of_a_rule_id(entries: int, groups: int, bits: int) -> None:
    library, value = load(), c.c_uint32()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(f"groups={groups},entries={entries}".encode())
    assert handle.contents.reg_read(handle, L.SHELL_REGISTERS_CAPABILITY + 4, c.byref(value)) == 0
    assert value.value == bits << 16 | L.ELEMENT_FLOW_TABLE
    handle.contents.close(handle)


def instruct(both: Both, what: L.Instruction) -> int:
    """Write an instruction and push it; what the push answers."""
    words = what.to_int()
    for n in range(L.Instruction.BITS // 32):
        both.write(FLOW + L.OFU_REGISTERS_INSTRUCTION + 4 * n, words >> 32 * n & U32)
    both.model.cycles += 1
    result: int = both.it.reg_write(both.handle, FLOW + L.OFU_REGISTERS_PUSH, 1)
    return result


def value_of(both: Both, at: int) -> int:
    both.model.cycles += 1
    assert both.it.reg_read(both.handle, FLOW + at, c.byref(both.value)) == 0
    return both.value.value


INSTRUCTIONS, RESPONSES = 16, 32


@pytest.mark.parametrize("both", [""], indirect=True)
def test_answers_wait_in_order_and_instructions_behind_them(both: Both) -> None:
    """Of rules that are not there: each instruction has an answer, whose low word latches it and whose high word takes it away."""
    draw, waiting, answers = random.Random(2), deque[L.Response](), deque[L.Response]()
    latched: L.Response | None = None
    high, refused = 0, 0
    for step in range(600):
        if draw.random() < (0.6 if step % 300 < 200 else 0.2):
            kind, table, rule_id = draw.choice([0, 3, 4, 5]), draw.choice([0, 1, 2]), draw.choice([0, 3, 4, 15, 16, U32])
            missing = table < 2 and rule_id < (GROUPS * ENTRIES, TERNARY)[table] and kind in (3, 4)
            status = L.Status.STATUS_ENOENT if missing else L.Status.STATUS_EINVAL
            result = instruct(both, L.Instruction(kind=kind, table_id=table, rule_id=rule_id))
            assert result == (0 if len(waiting) < INSTRUCTIONS else -errno.EFAULT)
            refused += result != 0
            if result == 0:
                (answers if len(answers) < RESPONSES else waiting).append(L.Response(rule_id=rule_id, status=status, kind=kind))
        elif draw.random() < 0.6:
            latched = answers[0] if answers else None
            high = latched.to_int() >> 32 if latched else 0
            assert value_of(both, L.OFU_REGISTERS_RESPONSE) == (latched.to_int() & U32 if latched else 0)
        else:
            assert value_of(both, L.OFU_REGISTERS_RESPONSE + 4) == high
            if latched:
                answers.popleft()
                latched = None
                if waiting:
                    answers.append(waiting.popleft())
        assert value_of(both, L.OFU_REGISTERS_STATUS) == 1 | INSTRUCTIONS - len(waiting) << 8 | len(answers) << 16
        if answers:
            both.model.cycles += 1
            assert both.it.reg_write(both.handle, FLOW + L.OFU_REGISTERS_REMOVE, 0) == -errno.EFAULT, "answers are waiting"
    assert refused > 20
    instruct(both, L.Instruction(kind=3))
    both.write(L.SHELL_REGISTERS_CONTROL, 1)
    assert value_of(both, L.OFU_REGISTERS_STATUS) == 1 | INSTRUCTIONS << 8
    assert value_of(both, L.OFU_REGISTERS_RESPONSE + 4) == high, "nothing is latched any more"


@pytest.mark.parametrize("both", [""], indirect=True)
def test_rules_that_are_there_are_counted_by_table_and_group(both: Both) -> None:
    draw = random.Random(4)
    rules: tuple[dict[int, int], dict[int, int]] = ({}, {})  # by table: rule id to group

    def answered(kind: int, table: int, rule_id: int, group: int, key: int) -> int:
        operand = L.FlowOperand(value=key, mask=(1 << L.FlowKey.BITS) - 1).to_int()
        both.write(FLOW + L.FLOW_REGISTERS_OPERAND_INDEX, rule_id % L.FLOW_OPERANDS)
        for n in range(L.FlowOperand.BITS // 32):
            both.write(FLOW + L.FLOW_REGISTERS_OPERAND + 4 * n, operand >> 32 * n & U32)
        target = L.FlowTarget(group=group, operand=rule_id % L.FLOW_OPERANDS).to_int()
        assert instruct(both, L.Instruction(kind=kind, table_id=table, rule_id=rule_id, value=target)) == 0
        low, high = (value_of(both, L.OFU_REGISTERS_RESPONSE + at) for at in (0, 4))
        return int(L.Response.from_int(low | high << 32).status)

    for step in range(200):
        table, rule_id = draw.choice([(0, draw.randrange(GROUPS * ENTRIES)), (1, draw.randrange(TERNARY))])
        there = rule_id in rules[table]
        group = draw.randrange(GROUPS)
        match draw.choice(["add", "add", "delete", "remove", "update"]):
            case "add":
                room = table == 1 or list(rules[0].values()).count(group) < ENTRIES
                expected = L.Status.STATUS_EEXIST if there else 0 if room else L.Status.STATUS_ENOSPC
                assert answered(L.INSTRUCTION_POPULATE, table, rule_id, group, rule_id + 1) == expected
                if expected == 0:
                    rules[table][rule_id] = group
            case "delete":
                expected = 0 if there else L.Status.STATUS_ENOENT
                assert answered(L.INSTRUCTION_DELETE, table, rule_id, group, 0) == expected
                rules[table].pop(rule_id, None)
            case "remove":
                both.model.cycles += 1
                result = both.it.reg_write(both.handle, FLOW + L.OFU_REGISTERS_REMOVE, table << 30 | rule_id)
                assert result == (0 if there else -errno.EFAULT)
                rules[table].pop(rule_id, None)
            case "update" if there:
                kept = rules[table][rule_id]
                assert answered(L.INSTRUCTION_UPDATE, table, rule_id, kept, rule_id + 1) == 0
        if step == 170:
            assert answered(L.INSTRUCTION_INITIALIZE, 0, 0, 0, 0) == 0
            rules[0].clear()
        assert [value_of(both, L.OFU_REGISTERS_USED + 4 * n) for n in range(2)] == [len(rules[0]), len(rules[1])]
        for number in range(GROUPS):
            both.write(FLOW + L.FLOW_REGISTERS_GROUP_INDEX, number)
            assert value_of(both, L.FLOW_REGISTERS_GROUP_USED) == list(rules[0].values()).count(number)
    for wrong in (2 << 30, 3 << 30, GROUPS * ENTRIES, 1 << 30 | TERNARY):
        both.model.cycles += 1
        assert both.it.reg_write(both.handle, FLOW + L.OFU_REGISTERS_REMOVE, wrong) == -errno.EFAULT
    both.write(L.SHELL_REGISTERS_CONTROL, 1)
    assert [value_of(both, L.OFU_REGISTERS_USED + 4 * n) for n in range(2)] == [0, 0]
