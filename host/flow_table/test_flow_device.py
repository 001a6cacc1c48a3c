# SPDX-License-Identifier: Apache-2.0
"""The flow table of a device access by access: what is read before it is believed, which words of an operation are written, how its
answer is waited for, and where counters are in host memory. The window is Python; rules that move are on the functional device."""

from __future__ import annotations

import ctypes as c
import errno
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sluice_layouts as L

from host.flow_table.test_flow_rules import Manager, marked
from host.lib.testing.devices import Access, Transport
from host.lib.testing.registers import Registers
from host.python.device import Action, CActionSet, Device, set_field
from host.python.flow_table import (
    EXECUTE,
    READ,
    WRITE,
    Counters,
    Flows,
    Operation,
    Rules,
    Table,
    error_text,
    key_bytes,
    key_words,
    library,
)
from host.python.structs import fields, mirror
from testing.device import run

GROUPS, ENTRIES, TERNARY, LATENCY = 3, 8, 4, 10
FACTS = {
    L.OFU_REGISTERS_KIND: int(L.ELEMENT_FLOW_TABLE),
    L.FLOW_REGISTERS_GROUPS: GROUPS,
    L.FLOW_REGISTERS_GROUP_ENTRIES: ENTRIES,
    L.OFU_REGISTERS_ENTRIES + 4: TERNARY,
    L.OFU_REGISTERS_LATENCY: LATENCY,
}
OPERAND, INSTRUCTION = L.FLOW_REGISTERS_OPERAND, L.OFU_REGISTERS_INSTRUCTION
OPERAND_BYTES, INSTRUCTION_BYTES = L.FlowOperand.BITS // 8, L.Instruction.BITS // 8
RESPONSE = (L.OFU_REGISTERS_RESPONSE, L.OFU_REGISTERS_RESPONSE + 4)
POLLS = 100_000
POPULATE, DELETE, UPDATE, INITIALIZE = (
    L.INSTRUCTION_POPULATE,
    L.INSTRUCTION_DELETE,
    L.INSTRUCTION_UPDATE,
    L.INSTRUCTION_INITIALIZE,
)
BATCH = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Access), c.c_uint)


class Bus(c.Structure):
    """struct sluice_flow_bus."""

    _fields_ = fields("sluice_flow_bus", {"read": READ, "write": WRITE, "batch": BATCH})


class Window:
    """The window of a flow table: FACTS, what was written, and an answer `late` reads after each push. The access with the number
    `refuse` from now on is refused."""

    def __init__(self, has_batches: bool = True) -> None:
        self.values, self.log = dict(FACTS), list[tuple[int, int | None]]()
        self.values[L.OFU_REGISTERS_STATUS] = 1
        self.refuse, self.late, self.waits, self.status = -1, 0, -1, 0
        self.pushed: list[tuple[L.Instruction, L.FlowOperand]] = []
        self.instruction = L.Instruction()
        self.bus = Bus(None, READ(self._on_read), WRITE(self._on_write), BATCH(self._on_batch) if has_batches else BATCH())
        self.handle = c.c_void_p()

    def _refuses(self) -> bool:
        self.refuse -= 1
        return self.refuse == -1

    def _on_read(self, context: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        self.log.append((address, None))
        if self._refuses():
            return -errno.EFAULT
        value[0] = self._answer(address // 4 % 2 == 0) if address in RESPONSE else self.values.get(address, 0)
        return 0

    def _answer(self, is_high: bool) -> int:
        """The response from the read of its first word on that comes when its time is over; none before."""
        self.waits -= not is_high
        here = L.Response(rule_id=self.instruction.rule_id, status=self.status, cycles=3, kind=self.instruction.kind)
        return here.to_int() >> 32 * is_high & 0xFFFFFFFF if self.waits < 0 else 0

    def _bytes(self, base: int, size: int) -> bytes:
        return b"".join(self.values.get(base + at, 0).to_bytes(4, "little") for at in range(0, size, 4))

    def _on_write(self, context: int, address: int, value: int) -> int:
        self.log.append((address, value))
        if self._refuses():
            self.values[address] = 0xDEADBEEF  # may have come there in part
            return -errno.EFAULT
        self.values[address] = value
        if address == L.OFU_REGISTERS_PUSH:
            self.instruction = L.Instruction.unpack(self._bytes(INSTRUCTION, INSTRUCTION_BYTES))
            self.pushed.append((self.instruction, L.FlowOperand.unpack(self._bytes(OPERAND, OPERAND_BYTES))))
            self.waits = self.late
        return 0

    def _on_batch(self, context: int, accesses: c._Pointer[Access], count: int) -> int:
        for n in range(count):
            one = accesses[n]
            value = c.c_uint32()
            if one.is_read:
                result = self._on_read(context, one.address, c.pointer(value))
                one.value = value.value
            else:
                result = self._on_write(context, one.address, one.value)
            if result:
                return result
        return 0

    def open(self) -> int:
        result: int = library().sluice_flow_device_new(c.byref(self.bus), c.byref(self.handle))
        return result

    def table(self) -> Table:
        table = Table()
        library().sluice_flow_device_table(self.handle, c.byref(table))
        return table

    def taken(self) -> list[tuple[int, int | None]]:
        log, self.log = self.log, []
        return log

    def close(self) -> None:
        library().sluice_flow_device_free(self.handle)


@pytest.fixture(params=[True, False], ids=["batches", "one by one"])
def window(request: pytest.FixtureRequest) -> Iterator[Window]:
    made = Window(request.param)
    assert made.open() == 0
    made.taken()
    yield made
    made.close()


def test_a_table_is_believed_after_its_facts_and_switched_on_when_it_is_ready() -> None:
    window = Window()
    assert window.open() == 0
    table = window.table()
    assert (table.groups, table.group_entries, table.ternary_entries) == (GROUPS, ENTRIES, TERNARY)
    assert window.taken() == [*((at, None) for at in FACTS), (L.OFU_REGISTERS_STATUS, None), (L.OFU_REGISTERS_CONTROL, 1)]
    window.close()
    for number in range(7):
        broken = Window()
        broken.refuse = number
        assert broken.open() == -errno.EFAULT and len(broken.log) == number + 1 and not broken.handle


@pytest.mark.parametrize(
    ("facts", "result", "says"),
    [
        ({L.OFU_REGISTERS_KIND: 3}, errno.ENODEV, "the window is of an element of kind 3, not of a flow table"),
        ({L.FLOW_REGISTERS_GROUPS: 256}, 0, ""),
        ({L.FLOW_REGISTERS_GROUPS: 257}, errno.EPROTO, f"register {L.FLOW_REGISTERS_GROUPS:#x} reads 257; the most is 256"),
        ({L.FLOW_REGISTERS_GROUP_ENTRIES: 1 << 22, L.FLOW_REGISTERS_GROUPS: 1}, 0, ""),
        (
            {L.FLOW_REGISTERS_GROUP_ENTRIES: (1 << 22) + 1},
            errno.EPROTO,
            f"register {L.FLOW_REGISTERS_GROUP_ENTRIES:#x} reads 4194305; the most is 4194304",
        ),
        (
            {L.FLOW_REGISTERS_GROUP_ENTRIES: 1 << 22, L.FLOW_REGISTERS_GROUPS: 2},
            errno.EPROTO,
            "the flow table says that it has 2 groups of 4194304 rules",
        ),
        ({L.OFU_REGISTERS_ENTRIES + 4: (1 << 22) + 1}, errno.EPROTO, "register 0x14 reads 4194305; the most is 4194304"),
        ({L.OFU_REGISTERS_LATENCY: 1 << 16}, 0, ""),
        ({L.OFU_REGISTERS_LATENCY: (1 << 16) + 1}, errno.EPROTO, "register 0x28 reads 65537; the most is 65536"),
        ({L.OFU_REGISTERS_STATUS: 0xFFFFFFFE}, errno.ENODEV, "the flow table's memories are never cleared"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_the_reason(facts: dict[int, int], result: int, says: str) -> None:
    window = Window()
    window.values |= facts
    assert window.open() == -result
    assert not result or (error_text() == says and (L.OFU_REGISTERS_CONTROL, 1) not in window.log)
    assert len(window.log) < 10 or len(window.log) == 5 + POLLS
    window.close()


def operation(draw: random.Random, kind: int) -> Operation:
    """With few bits of its own in key and mask, so that many words stay."""
    made = Operation(kind, draw.randrange(2), draw.randrange(256), draw.getrandbits(16), draw.getrandbits(20))
    made.value, made.mask = (
        key_words(draw.choice([0, 1 << 490, 1 << draw.randrange(L.FlowKey.BITS), draw.getrandbits(L.FlowKey.BITS)]))
        for _ in range(2)
    )
    made.actions = marked(draw.randrange(4))
    made.actions.slots[7].operand = draw.getrandbits(24)
    return made


def words_of(made: Operation) -> tuple[L.Instruction, L.FlowOperand]:
    """What the element is to hold of it."""
    value, mask = (sum(word << 64 * n for n, word in enumerate(words)) for words in (made.value, made.mask))
    actions = L.ActionSet([L.Action(one.opcode, one.operand) for one in made.actions.slots])
    target = L.FlowTarget(group=made.group, operand=0).to_int()
    instruction = L.Instruction(actions, 0, target, made.rule_id, made.rule_priority, made.table_id, made.kind)
    return instruction, L.FlowOperand(value=value, mask=mask)


def differing(held: bytes | None, wanted: bytes, base: int) -> list[tuple[int, int | None]]:
    words = range(0, len(wanted), 4)
    changed = [at for at in words if held is None or held[at : at + 4] != wanted[at : at + 4]]
    return [(base + at, int.from_bytes(wanted[at : at + 4], "little")) for at in changed]


def test_only_words_that_differ_are_written_and_all_where_it_is_not_known_what_is_held(window: Window) -> None:
    draw, table = random.Random(5), window.table()
    held: tuple[bytes, bytes] | None = None  # instruction and operand
    known_operand: bytes | None = None
    for step in range(400):
        made = operation(draw, draw.choice([POPULATE, POPULATE, UPDATE, INITIALIZE, DELETE]))
        has_operand = made.kind in (POPULATE, UPDATE)
        window.late, window.status = draw.choice([0, 0, 1, 3]), draw.choice([0, 0, 17, 28, 99])
        window.refuse = draw.randrange(12) if step % 25 == 24 else -1
        is_refused = window.refuse >= 0
        result = table.execute(table.context, c.byref(made))
        log = window.taken()
        if made.kind == DELETE:
            index = made.table_id << 30 | made.rule_id
            assert log == [(L.OFU_REGISTERS_REMOVE, index)]
            assert result == (-errno.EFAULT if window.refuse == -1 and is_refused else 0)
            window.refuse = -1
            continue
        instruction, operand = words_of(made)
        expected: list[tuple[int, int | None]] = [] if held else [(L.FLOW_REGISTERS_OPERAND_INDEX, 0)]
        if has_operand:
            expected += differing(known_operand if held else None, operand.pack(), OPERAND)
        expected += differing(held[0] if held else None, instruction.pack(), INSTRUCTION)
        expected += [(L.OFU_REGISTERS_PUSH, 0)]
        polls = [(at, None) for at in RESPONSE] * (window.late + 1)
        written = [one for one in log if one[1] is not None]
        assert written == expected[: len(written)] and [one for one in log if one[1] is None] == polls[: len(log) - len(written)]
        if is_refused and result == -errno.EFAULT:
            held = None if len(written) < len(expected) or len(log) <= len(expected) + 2 else (instruction.pack(), b"")
            known_operand = None if held is None else operand.pack() if has_operand else known_operand
            window.refuse = -1
            window.waits = -1
            continue
        window.refuse = -1
        assert written == expected and len(log) == len(expected) + len(polls)
        assert result == {99: -errno.EPROTO}.get(window.status, -window.status)
        got, with_operand = window.pushed[-1]
        assert got == instruction and (not has_operand or with_operand == operand)
        held = (instruction.pack(), b"")
        known_operand = operand.pack() if has_operand else known_operand
    assert len(window.pushed) > 250


def test_a_table_that_never_answers_is_an_error_and_no_hang() -> None:
    window, counts = Window(), list[int]()
    assert window.open() == 0
    table, made = window.table(), operation(random.Random(1), INITIALIZE)
    answers_nothing = BATCH(lambda context, accesses, count: counts.append(count) or 0)
    c.cast(window.handle, c.POINTER(Bus)).contents.batch = answers_nothing  # the first field of struct sluice_flow_device
    assert table.execute(table.context, c.byref(made)) == -errno.ENODEV
    assert len(counts) == POLLS and set(counts[1:]) == {2}
    window.close()


def test_counters_of_a_rule_that_is_gone_are_read_when_its_packets_have_counted(window: Window) -> None:
    table, counters = window.table(), Counters()
    counted = L.RuleCounters(last_hit=0x89ABCDEF, bytes=0x123456789ABC, packets=0xFEDCBA987654)
    data = [(L.OFU_REGISTERS_COUNTER_DATA + 4 * n, None) for n in range(4)]
    window.values |= {at: counted.to_int() >> 32 * n & 0xFFFFFFFF for n, (at, _) in enumerate(data)}
    read = library().sluice_flow_device_free and table.counters
    for table_id, rule_id in ((0, 5), (1, 3)):
        gone = Operation(DELETE, table_id, 0, 0, rule_id)
        index = (L.OFU_REGISTERS_COUNTER_INDEX, table_id << 30 | rule_id)
        waits = [(L.OFU_REGISTERS_STATUS, None)] * (LATENCY // 2)
        for deleted in (True, False):
            if deleted:
                assert table.execute(table.context, c.byref(gone)) == 0
                window.taken()
            call = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint8, c.c_uint32, c.POINTER(Counters))(c.cast(read, c.c_void_p).value or 0)
            assert call(table.context, table_id, rule_id, c.pointer(counters)) == 0
            assert window.taken() == [*(waits if deleted else []), index, *data]
            assert (counters.last_hit, counters.bytes, counters.packets) == (counted.last_hit, counted.bytes, counted.packets)
    for number in range(5):
        window.refuse = number
        before = bytes(counters)
        counters.packets = 77
        assert call(table.context, 1, 3, c.pointer(counters)) == -errno.EFAULT and counters.packets == 77
        counters = Counters.from_buffer_copy(before)


# ---- The rule manager on a table that refuses


class Refusing:
    """A manager whose table refuses the operation with this number."""

    def __init__(self, groups: int = 2, entries: int = 4, ternary: int = 8) -> None:
        self.manager = Manager(groups, entries, entries, ternary)
        self.manager.rules.close()
        self.left, self.error = -1, -errno.EINVAL
        self.watched = self.manager.model.table()
        self.table = self.manager.table
        self.watched.execute = EXECUTE(self._execute)
        self.manager.rules = Rules(self.watched)
        self.kinds: list[int] = []
        self.refuse_population = -1  # the one after that many

    def _execute(self, context: int, made: Any) -> int:
        self.left -= 1
        self.kinds.append(made[0].kind)
        if made[0].kind == POPULATE and self.kinds.count(POPULATE) == self.refuse_population + 1:
            return self.error
        return self.error if self.left == -1 else int(self.table.execute(context, made))

    def close(self) -> None:
        self.manager.close()


def test_a_rule_that_the_table_refuses_leaves_everything_as_it_was() -> None:
    it = Refusing()
    manager, mask = it.manager, L.FlowKey(l4_dst=0xFFFF).to_int()
    port = [L.FlowKey(l4_dst=n).to_int() for n in range(40)]
    for n in range(10):
        for error in (errno.EINVAL, errno.EFAULT):
            it.left, it.error = 0, -error
            assert manager.add(port[n], mask, 0, 9) == -error and error_text() == "the flow table refused the rule"
        assert manager.add(port[n], mask, 0, 1 + n) == n, "the same handle is still free"
        it.left, it.error = 0, -errno.EIO
        assert manager.update(n, 99) == -errno.EIO and error_text() == f"the flow table refused the update of rule {n}"
        it.left = 0
        assert manager.delete(n) == -errno.EIO and error_text() == f"the flow table refused the deletion of rule {n}"
        assert [manager.find(port[m]) for m in range(12)] == [m + 1 if m <= n else 0 for m in range(12)]
    for kind in (0, 1):
        it.left = kind
        assert manager.rules.flush() == -errno.EIO and error_text() == "the flow table refused to be emptied"
    assert manager.rules.flush() == 0 and it.kinds[-2:] == [INITIALIZE] * 2
    manager.known.clear()
    assert [manager.add(port[n], mask, 0, 50 + n) for n in range(16)] == list(range(16))
    assert manager.add(port[20], mask, 0, 1) == -errno.ENOSPC
    says = "2 mask groups of this match are full, no other of 2 is free, and the TCAM is full (8 rules)"
    assert error_text() == says
    assert manager.add(0, 1 << 99, 0, 1) == -errno.ENOSPC
    assert error_text() == "all 2 mask groups hold other masks, and the TCAM is full (8 rules)"
    it.close()


@pytest.mark.parametrize("number", range(1, 9))
def test_a_move_that_the_table_refuses_leaves_each_rule_where_packets_find_it(number: int) -> None:
    """Seven rules of a mask in the TCAM take the place of the group's one; a population on the way is refused."""
    it = Refusing(1, 8, 8)
    manager, mask, other = it.manager, L.FlowKey(l4_dst=0xFF).to_int(), L.FlowKey(ip_dst=1).to_int()
    assert manager.add(0, other, 1, 1) == 0
    keys = [L.FlowKey(l4_dst=n, ip_dst=1).to_int() for n in range(7)]
    for n in range(6):
        assert manager.add(keys[n], mask, 0, 10 + n) == n + 1
    it.kinds, it.error, it.refuse_population = [], -errno.ENOSPC, number
    assert manager.add(keys[6], mask, 0, 16) == 7
    assert it.kinds.count(POPULATE) == (2 if number == 1 else number + 1)
    places = [manager.place(handle)[0] for handle in range(8)]
    moved = max(0, number - 2) if number > 1 else 0
    assert places[0] == (L.TABLE_HASHED if number == 1 else L.TABLE_TERNARY)
    assert places[1:].count(L.TABLE_HASHED) == moved
    for handle in range(8):
        place = manager.rules.place(handle)
        assert library().sluice_flow_model_has(manager.model.handle, c.c_uint8(place.table_id), c.c_uint32(place.rule_id))
    assert [manager.find(key) for key in keys] == [10 + n for n in range(7)] and manager.find(0) == 1
    for handle in (3, 0, 7, 5):
        assert manager.delete(handle) == 0
    assert [manager.find(key) for key in keys] == [10, 11, 0, 13, 0, 15, 0]
    it.close()


def test_a_mask_may_have_every_bit_that_the_device_reads_and_no_other() -> None:
    manager = Manager(4, 16, 16, 16)
    unread = L.FlowKey(tcp_flags=0xF00, reserved=0x3FFF).to_int()
    for bit in range(L.FlowKey.BITS):
        result = manager.add(1 << bit, 1 << bit, 0, 1)
        assert result == (-errno.ENOTSUP if unread >> bit & 1 else 0), bit
        if result == 0:
            assert manager.find(1 << bit) == 1 and manager.find((1 << L.FlowKey.BITS) - 1 ^ 1 << bit) == 0
            assert manager.delete(0) == 0
    manager.close()


def test_a_thread_that_peeks_finds_each_change_of_a_rule_by_its_version() -> None:
    """Two rules in a group and the TCAM; the group's goes there, too, when many of another mask take its place."""
    manager, peek = Manager(1, 8, 8, 8), mirror("sluice_flow_peek")()
    unchanged, handle_of = library().sluice_flow_rule_unchanged, manager.rules.handle
    unchanged.restype = c.c_bool

    def look(handle: int) -> tuple[int, int, int]:
        result = library().sluice_flow_rule_peek(handle_of, handle, c.byref(peek))
        return result, peek.table_id, peek.rule_id

    assert [look(handle)[0] for handle in (-1, 0, 15, 16, 1 << 30)] == [-errno.ENOENT] * 5
    assert manager.add(0, L.FlowKey(ip_dst=1).to_int(), 1, 1) == 0
    assert look(0) == (0, L.TABLE_HASHED, 0) and unchanged(handle_of, 0, c.byref(peek)) and peek.version % 2 == 0
    before = bytes(peek)
    assert manager.update(0, 5) == 0 and look(0)[0] == 0 and bytes(peek) == before, "its place is the same"
    assert [manager.find(0, 100) for _ in range(4)] == [5] * 4
    for n in range(7):
        assert manager.add(L.FlowKey(l4_dst=n).to_int(), L.FlowKey(l4_dst=0xFF).to_int(), 0, 10 + n) == n + 1
    old = type(peek).from_buffer_copy(before)
    assert not unchanged(handle_of, 0, c.byref(old))
    assert look(0)[:2] == (0, L.TABLE_TERNARY) and (peek.base.packets, peek.base.bytes, peek.base.last_hit) == (4, 400, 7)
    assert look(1)[:2] == (0, L.TABLE_HASHED) and peek.version % 2 == 0 and peek.base.packets == 0
    assert manager.delete(0) == 0 and look(0)[0] == -errno.ENOENT and not unchanged(handle_of, 0, c.byref(old))
    assert manager.rules.flush() == 0 and [look(handle)[0] for handle in range(8)] == [-errno.ENOENT] * 8
    manager.known.clear()
    assert manager.add(0, L.FlowKey(ip_dst=1).to_int(), 1, 1) == 0 and look(0) == (0, L.TABLE_HASHED, 0)
    assert peek.base.packets == 0, "what it counted before is another rule's"
    manager.close()


# ---- Behind an open device


class Opened(Registers):
    """A device with a flow table in window 2, and memory for counters."""

    BASE = 2 * L.WINDOW_SIZE

    def __init__(self, **facts: int) -> None:
        super().__init__(L.ELEMENT_LPM, L.ELEMENT_FLOW_TABLE)
        told = {**FACTS, L.OFU_REGISTERS_STATUS: 1, L.FLOW_REGISTERS_PUSH_RECORDS: 40, L.FLOW_REGISTERS_PUSH_TERNARY: 32}
        told |= {getattr(L, f"FLOW_REGISTERS_{name}"): value for name, value in facts.items()}
        self.values |= {self.BASE + at: value for at, value in told.items()}
        self.memory = (c.c_uint64 * (64 * 4))()
        self.asked: list[int] = []
        self.has_memory = True
        self._attach = dict(Transport._fields_)["mirror_attach"](self._on_attach)
        self.transport.mirror_attach = self._attach
        self.flows = c.c_void_p()

    def _on_attach(self, transport: int, records: int) -> int | None:
        self.asked.append(records)
        return c.addressof(self.memory) if self.has_memory else None

    def read(self, address: int) -> int:
        if address - self.BASE in RESPONSE:
            return L.Response(kind=1).to_int() >> 32 * (address % 8 == 0) & 0xFFFFFFFF
        return super().read(address)

    def open(self) -> int:
        result: int = self.library.sluice_flows_open(self.handle, c.byref(self.flows))
        return result

    def add(self, n: int, actions: Sequence[Action] = ()) -> int:
        mask = L.FlowKey(l4_dst=0xFFFF).to_int()
        given = CActionSet()
        result: int = library().sluice_flows_add(
            self.flows, key_bytes(L.FlowKey(l4_dst=n).to_int()), key_bytes(mask), c.c_uint16(0), c.byref(given), None, len(actions)
        )
        return result

    def mirrored(self, handle: int) -> int | tuple[int, int, int]:
        counters = Counters()
        result: int = library().sluice_flows_mirrored(self.flows, handle, c.byref(counters))
        return result or (counters.packets, counters.bytes, counters.last_hit)

    def close(self) -> None:
        library().sluice_flows_close(self.flows)
        super().close()


@pytest.mark.parametrize(
    ("facts", "result", "asked"),
    [
        ({}, 0, [40]),
        ({"PUSH_RECORDS": 0}, 0, []),
        ({"PUSH_RECORDS": 36}, 0, [36]),
        ({"PUSH_RECORDS": 35}, errno.EPROTO, []),
        ({"PUSH_TERNARY": 24}, 0, [40]),
        ({"PUSH_TERNARY": 23}, errno.EPROTO, []),
        ({"PUSH_TERNARY": 36}, 0, [40]),
        ({"PUSH_TERNARY": 37}, errno.EPROTO, []),
        ({"PUSH_TERNARY": 41}, errno.EPROTO, []),
        ({"PUSH_RECORDS": 1 << 24}, 0, [1 << 24]),
        ({"PUSH_RECORDS": (1 << 24) + 1}, errno.EPROTO, []),
        ({"PUSH_CYCLES": 1 << 26}, 0, [40]),
        ({"PUSH_CYCLES": (1 << 26) + 1}, errno.EPROTO, [40]),
    ],
)
def test_memory_for_counters_is_of_the_size_that_the_device_says_if_that_can_be(
    facts: dict[str, int], result: int, asked: list[int]
) -> None:
    device = Opened(**facts)
    records, ternary = (device.values[device.BASE + at] for at in (L.FLOW_REGISTERS_PUSH_RECORDS, L.FLOW_REGISTERS_PUSH_TERNARY))
    assert (device.open(), device.asked) == (-result, asked), device.text()
    if result and not asked:
        says = f"the device has {records} records of counters, the TCAM's from {ternary} on, for 24 and 4 rules"
        assert device.text() == says
    control = (device.BASE + L.FLOW_REGISTERS_PUSH_CONTROL, 1)
    assert device.written().count(control) == len(asked)
    pushed = facts.get("PUSH_CYCLES", 0) if asked else 0
    assert device.library.sluice_device_push_cycles(device.handle) == pushed
    if not result:
        assert library().sluice_flows_limit(device.flows) == GROUPS * ENTRIES + TERNARY
        assert device.add(5) == 0 and device.mirrored(0) == ((0, 0, 0) if asked else -errno.ENOTSUP)
    device.close()


def test_without_memory_for_counters_there_are_only_registers() -> None:
    for has_function in (True, False):
        device = Opened()
        device.has_memory = False
        if not has_function:
            device.transport.mirror_attach = dict(Transport._fields_)["mirror_attach"]()
        assert device.open() == 0 and device.asked == ([40] if has_function else [])
        assert (device.BASE + L.FLOW_REGISTERS_PUSH_CONTROL, 1) not in device.written()
        assert device.add(1) == 0 and device.mirrored(0) == -errno.ENOTSUP
        device.close()
    device = Opened()
    device.values[device.BASE + L.OFU_REGISTERS_KIND] = 1
    assert device.open() == -errno.ENODEV and device.library.sluice_flows_close(None) is not NotImplemented
    device.close()
    other = Registers(L.ELEMENT_LPM)
    assert other.library.sluice_flows_open(other.handle, c.byref(c.c_void_p())) == -errno.ENOENT and other.taken() == []
    other.close()


def test_counters_in_memory_are_those_of_the_place_of_the_rule() -> None:
    device = Opened()
    assert device.open() == 0
    for n in range(40):
        record = L.RuleMirror(packets=1000 + n, bytes=5000 + n, last_hit=9000 + n)
        c.memmove(c.byref(device.memory, 32 * n), record.pack(), 32)
    groups = {}
    for n in range(GROUPS * ENTRIES):
        handle = device.add(n)
        assert handle == n
        place = Operation()
        edits = (mirror("sluice_edit") * 8)()
        assert library().sluice_flows_place(device.flows, handle, c.byref(place), edits) == 0
        at = place.rule_id + (32 if place.table_id == L.TABLE_TERNARY else 0)
        groups[handle] = at
        assert device.mirrored(handle) == (1000 + at, 5000 + at, 9000 + at)
        assert [one.slot for one in edits] == list(range(8))
    assert sorted(groups.values()) == [*range(24)]
    assert [device.mirrored(handle) for handle in (-1, 28, 1 << 30)] == [-errno.ENOENT] * 3
    assert library().sluice_flows_delete(device.flows, 5) == 0 and device.mirrored(5) == -errno.ENOENT
    assert device.add(99) == 5
    for edition in ("packets_edition", "bytes_edition", "last_hit_edition"):
        torn = L.RuleMirror(**{edition: 1}).pack()
        c.memmove(c.byref(device.memory, 32 * groups[7]), torn, 32)
        assert device.mirrored(7) == -errno.EAGAIN
    assert library().sluice_flows_delete(device.flows, 77) == -errno.ENOENT and device.text() == "there is no rule 77"
    counters = Counters()
    assert library().sluice_flows_counters(device.flows, 77, c.byref(counters)) == -errno.ENOENT
    place = Operation()
    assert library().sluice_flows_place(device.flows, 77, c.byref(place), edits) == -errno.ENOENT
    device.close()


def test_a_rule_that_is_refused_holds_no_edit_data() -> None:
    with Device({"lanes": 2, "flow_groups": 1, "flow_group_entries": 8, "flow_ternary": 2}, transport="functional") as device:
        flows, mask = Flows(device), L.FlowKey(l4_dst=0xFFFF).to_int()
        values = [set_field(L.FIELD_ETH_SRC, 1)]
        assert flows.add(0, mask, 0, values) == 0
        for n in range(300):
            more = [*values, set_field(L.FIELD_ETH_DST, 1000 + n)]
            assert flows.add(0, mask, 0, more) == -errno.EEXIST, error_text()
            assert flows.add(0, mask, 0, [Action(L.ACTION_OUTPUT, 2)]) == -errno.EINVAL
        assert flows.delete(0) == 0 and flows.delete(0) == -errno.ENOENT
        for n in range(300):
            assert flows.add(0, mask, 0, [set_field(L.FIELD_ETH_DST, n)]) == 0 == flows.delete(0), error_text()
        flows.close()


@pytest.mark.parametrize("place", [0, 1, 5])
def test_a_record_in_memory_is_written_whole_with_the_next_edition(place: int) -> None:
    memory, draw = (c.c_uint64 * (4 * 7))(*[0x1111111111111111 * (n % 15) for n in range(28)]), random.Random(place)
    edition = 0xFFF8 + place
    c.memmove(c.byref(memory, 32 * place), L.RuleMirror(packets_edition=edition, bytes_edition=7).pack(), 32)
    before, found = bytes(memory), Counters()
    for _ in range(12):
        counted = L.RuleCounters(draw.getrandbits(32), draw.getrandbits(48), draw.getrandbits(48))
        given = Counters(last_hit=counted.last_hit, bytes=counted.bytes, packets=counted.packets)
        edition = (edition + 1) & 0xFFFF
        library().sluice_mirror_write(memory, place, c.byref(given))
        names = ("packets", "bytes", "last_hit")
        now = {name: getattr(counted, name) for name in names} | {f"{name}_edition": edition for name in names}
        assert bytes(memory) == before[: 32 * place] + L.RuleMirror(**now).pack() + before[32 * place + 32 :]
        assert library().sluice_mirror_read(memory, place, c.byref(found)) == 0
        assert [getattr(found, name) for name in names] == [getattr(counted, name) for name in names]


def test_rules_keep_what_they_counted_and_their_long_values_when_they_move() -> None:
    """A small table, so that rules go from TCAM to group and back; packets of each between all changes."""
    draw = random.Random(3)
    with Device({"lanes": 1, "flow_groups": 2, "flow_group_entries": 6, "flow_ternary": 8}, transport="functional") as device:
        flows = Flows(device)
        masks = [L.FlowKey(eth_type=0xFFFF, eth_dst=255 << 8 * n).to_int() for n in range(4)]
        there: dict[int, tuple[int, int, int]] = {}  # handle: number of mask, byte, value of its first long action
        counts: dict[int, int] = {}
        moved, places = 0, {}
        for step in range(500):
            full = step % 60 > 45
            if there and draw.random() < (0.7 if full else 0.25):
                gone = draw.choice(list(there))
                assert flows.delete(gone) == 0
                del there[gone], counts[gone]
                places.pop(gone)
            else:
                mask, byte, value = draw.choice([0, 0, 0, 1, 2, 3]), draw.randrange(1, 12), draw.getrandbits(40)
                key = L.FlowKey(eth_type=0x88B5, eth_dst=byte << 8 * mask).to_int()
                actions = [set_field(L.FIELD_ETH_SRC, value), Action(L.ACTION_MARK, 5), set_field(L.FIELD_ETH_DST, value ^ 1)]
                handle = flows.add(key, masks[mask], 0, actions)
                assert handle >= 0 or "is there already" in error_text() or "is full" in error_text()
                if handle >= 0:
                    there[handle], counts[handle] = (mask, byte, value), 0
            for handle in draw.sample(list(there), min(3, len(there))):
                mask, byte, _ = there[handle]
                destination = bytearray(6)
                destination[5 - mask] = byte
                tick = 1000 * step + handle
                device.call("sluice_device_set_tick", c.c_uint32(tick))
                host, _ = run(device, {0: [bytes(destination) + bytes(6) + b"\x88\xb5" + bytes(46)]})
                assert len(host) <= 1
                counts[handle] += 1
            for handle, (_, _, value) in there.items():
                counted, seen = flows.rules.counters(handle), flows.mirrored(handle)
                shown = [(one.packets, one.bytes, one.last_hit) for one in (counted, seen)]
                assert shown[0] == shown[1] and shown[0][:2] == (counts[handle], 60 * counts[handle]), (step, handle)
                place, edits = Operation(), (mirror("sluice_edit") * 8)()
                assert library().sluice_flows_place(flows.handle, handle, c.byref(place), edits) == 0
                assert [int.from_bytes(bytes(edits[slot].value), "little") for slot in (0, 2)] == [value, value ^ 1]
                now = (place.table_id, place.group, place.rule_id)
                moved += places.get(handle, now) != now
                places[handle] = now
        assert moved > 10
        flows.close()
