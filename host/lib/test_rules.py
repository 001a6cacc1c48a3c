# SPDX-License-Identifier: Apache-2.0
"""The library's store of the rules of a table against a plain model of it: which instructions and edit data the device gets, what
each call answers, and what is left where the device refuses one. The device's registers are Python."""

from __future__ import annotations

import ctypes as c
import errno
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
import sluice_layouts as L

from host.lib.testing.registers import Registers, RuleTables, opened
from host.python.device import Action, CInstruction, instruction, prefix, set_field
from host.python.flow_table import Counters

LPM, EXACT = L.ELEMENT_LPM, L.ELEMENT_EXACT
INITIALIZE, POPULATE, DELETE, UPDATE = (
    L.INSTRUCTION_INITIALIZE,
    L.INSTRUCTION_POPULATE,
    L.INSTRUCTION_DELETE,
    L.INSTRUCTION_UPDATE,
)
CHOOSE = 0xFFFFFFFF
EDITS = 256
DRAIN = 256  # cycles
PIPELINED = 8
Key = tuple[int, int, int]


@dataclass
class Stored:
    """A rule as the library knows it."""

    key: Key
    edits: list[int]


@dataclass
class Model:
    """What rules.c and actions.c say that they do, with dictionaries and lists. Errors are (errno, text)."""

    entries: tuple[int, int]
    rules: tuple[dict[int, Stored], dict[int, Stored]] = field(default_factory=lambda: ({}, {}))
    hint: list[int] = field(default_factory=lambda: [0, 0])
    values: list[int] = field(default_factory=lambda: [0] * EDITS)
    holders: list[int] = field(default_factory=lambda: [0] * EDITS)
    freed: list[int] = field(default_factory=lambda: [0] * EDITS)
    releases: int = 0
    pushed: list[L.Instruction] = field(default_factory=list)

    def take(self, wanted: Sequence[int]) -> list[int] | None:
        taken: list[int] = []
        for value in wanted:
            there = [n for n in range(EDITS) if self.holders[n] and self.values[n] == value]
            free = sorted((self.freed[n], n) for n in range(EDITS) if not self.holders[n])
            if not there and not free:
                self.release(taken)
                return None
            at = there[0] if there else free[0][1]
            self.values[at] = value
            self.holders[at] += 1
            taken.append(at)
        return taken

    def release(self, taken: Sequence[int]) -> None:
        for at in taken:
            self.holders[at] -= 1
            if self.holders[at] == 0:
                self.releases += 1
                self.freed[at] = self.releases

    def _choose(self, table: int, rule_id: int) -> int | tuple[int, str]:
        entries, rules = self.entries[table], self.rules[table]
        if rule_id == CHOOSE:
            found = next((n + self.hint[table]) % entries for n in range(entries) if (n + self.hint[table]) % entries not in rules)
            self.hint[table] = (found + 1) % entries
            return found
        if rule_id >= entries:
            return errno.EINVAL, f"rule id {rule_id}; the table has {entries}"
        return (errno.EEXIST, f"rule id {rule_id} is in use") if rule_id in rules else rule_id

    def _stage(self, one: Wanted) -> tuple[int, str] | list[int]:
        """The edit data that it takes, or an error."""
        if one.table > 1 or self.entries[one.table] == 0:
            return errno.EINVAL, f"table {one.table}: there is none"
        if one.kind not in (INITIALIZE, POPULATE, DELETE, UPDATE):
            return errno.EINVAL, f"instruction kind {one.kind}"
        rules = self.rules[one.table]
        if one.kind == INITIALIZE:
            return []
        if one.kind in (DELETE, UPDATE):
            if one.rule_id not in rules:
                return errno.ENOENT, f"there is no rule {one.rule_id}"
            one.before = rules[one.rule_id]
            if one.kind == DELETE:
                del rules[one.rule_id]
                return []
        same = [n for n, rule in rules.items() if rule.key == one.key and not (one.kind == UPDATE and n == one.rule_id)]
        if same:
            return errno.EEXIST, f"this key is rule {same[0]} already"
        if one.kind == POPULATE:
            if len(rules) == self.entries[one.table]:
                return errno.ENOSPC, f"the table is full: {self.entries[one.table]} rules"
            chosen = self._choose(one.table, one.rule_id)
            if isinstance(chosen, tuple):
                return chosen
        taken = self.take([value for _, value in one.longs])
        if taken is None:
            return errno.ENOSPC, f"all {EDITS} entries of the edit-data table are in use"
        one.chosen = chosen if one.kind == POPULATE else one.rule_id
        rules[one.chosen] = Stored(one.key, taken)
        return taken

    def _settle(self, one: Wanted, taken: Sequence[int], status: int) -> None:
        rules = self.rules[one.table] if one.table < 2 else {}
        if one.kind == INITIALIZE and not status:
            for n in sorted(rules):
                self.release(rules.pop(n).edits)
        elif one.kind == POPULATE and status:
            self.release(rules.pop(one.chosen).edits)
        elif one.kind in (DELETE, UPDATE) and status:
            rules[one.rule_id] = one.before
            self.release(taken)
        elif one.kind in (DELETE, UPDATE):
            self.release(one.before.edits)

    def run(self, batch: Sequence[Wanted], statuses: Sequence[int]) -> list[tuple[int, str]]:
        """What each instruction of a batch answers, where the device answers these statuses to what it gets."""
        results: list[tuple[int, str]] = []
        waiting = list(statuses)
        while len(results) < len(batch):
            under_way: list[tuple[int, Wanted, list[int]]] = []
            while len(results) < len(batch) and len(under_way) < PIPELINED:
                one = batch[len(results)]
                if one.kind == INITIALIZE and under_way:
                    break
                staged = self._stage(one)
                if isinstance(staged, tuple):
                    results.append(staged)
                    break
                self.pushed.append(one.instruction(staged))
                under_way.append((len(results), one, staged))
                results.append((0, ""))
                if one.kind == INITIALIZE:
                    break
            for at, one, staged in under_way:
                status = waiting.pop(0) if waiting else 0
                known = status in list(L.Status)
                text = f"the device refuses it (errno {status})" if known else f"the device answers {status}, which means nothing"
                if status:
                    results[at] = (status if known else errno.EPROTO, f"rule {one.chosen}: {text}")
                self._settle(one, staged, status)
        return results


@dataclass
class Wanted:
    """An instruction of a test; `longs` are slots and values of its SET_LONG."""

    kind: int
    table: int = 0
    rule_id: int = CHOOSE
    value: int = 0
    mask: int = 0
    priority: int = 0
    longs: list[tuple[int, int]] = field(default_factory=list)
    chosen: int = -1
    before: Stored = field(default_factory=lambda: Stored((0, 0, 0), []))

    def __post_init__(self) -> None:
        self.chosen = self.rule_id

    @property
    def key(self) -> Key:
        return self.value & self.mask, self.mask, self.priority

    def actions(self) -> list[Action]:
        made = [Action(L.ACTION_MARK, 0x100 + slot) for slot in range(L.ACTION_SLOTS)]
        for slot, value in self.longs:
            made[slot] = set_field(1 + slot, value)
        return made

    def c(self) -> CInstruction:
        where = {"value": self.value, "mask": self.mask, "priority": self.priority}
        return instruction(self.kind, self.table, self.rule_id, actions=self.actions(), **where)

    def instruction(self, taken: Sequence[int]) -> L.Instruction:
        """What the device is to get."""
        slots = [L.Action(action.opcode, action.operand) for action in self.actions()]
        for (slot, _), index in zip(self.longs, taken, strict=False):
            slots[slot] = L.Action(L.ACTION_SET_LONG, 1 + slot << 20 | index)
        return L.Instruction(L.ActionSet(slots), self.mask, self.value, self.chosen, self.priority, self.table, self.kind)


class Both:
    """The library and the model; what they do is compared at once."""

    def __init__(self, kind: int, entries: tuple[int, int], key_bits: tuple[int, int]) -> None:
        self.device, self.model, self.kind = RuleTables(kind, entries, key_bits), Model(entries), c.c_uint16(kind)

    def run(self, *batch: Wanted, statuses: Sequence[int] = ()) -> list[int]:
        """The errors of a batch."""
        device, library = self.device, self.device.library
        given, results = (CInstruction * len(batch))(*(one.c() for one in batch)), (c.c_int * len(batch))(*[77] * len(batch))
        device.statuses = list(statuses)
        device.late = (device.late + 1) % 3
        library.sluice_fail(0, b"untouched")
        if len(batch) == 1:
            results[0] = library.sluice_rule_ops(device.handle, self.kind, given)
            failed = results[0] != 0
        else:
            failed = library.sluice_rule_ops_many(device.handle, self.kind, given, len(batch), results)
        expected = self.model.run(batch, statuses)
        assert [-result for result in results] == [error for error, _ in expected], (batch, statuses)
        assert failed == sum(error != 0 for error, _ in expected)
        assert device.text() == next((text for error, text in expected[::-1] if error), "untouched") or len(batch) > 1
        chosen = [one.chosen if error == 0 or statuses else one.rule_id for one, (error, _) in zip(batch, expected, strict=True)]
        assert [one.rule.id for one in given] == chosen, "the id is written back"
        self.compare()
        return [error for error, _ in expected]

    def compare(self) -> None:
        device, model = self.device, self.model
        assert device.instructions == model.pushed
        device.instructions, model.pushed = [], []
        assert device.edits == {n: value for n, value in enumerate(model.values) if n in device.edits}
        assert all(n in device.edits for n, holders in enumerate(model.holders) if holders)
        for table in (0, 1):
            entries, used = c.c_uint32(), c.c_uint32()
            size = (self.kind, c.c_uint8(table), c.byref(entries), c.byref(used))
            assert device.library.sluice_ofu_size(device.handle, *size) == 0
            assert (entries.value, used.value) == (model.entries[table], len(model.rules[table]))
        assert not device.redundant and not device.failures, device.failures

    def close(self) -> None:
        self.device.close()


def some_key(draw: random.Random, kind: int) -> dict[str, int]:
    """Of few different keys, with bits outside the mask that do not count."""
    if kind == EXACT:
        return {"value": draw.randrange(24), "mask": (1 << 104) - 1, "priority": draw.randrange(3)}
    length = draw.choice([0, 8, 16, 16, 16, 32])
    where = prefix((10 << 24) + (draw.randrange(6) << 16), length, 32)
    return where | {"value": where["value"] | draw.getrandbits(32) & ~where["mask"] & 0xFFFFFFFF}


@pytest.fixture(params=[LPM, EXACT])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    key_bits = (32, 128) if request.param == LPM else (104, 0)
    made = Both(request.param, (11, 5) if request.param == LPM else (11, 0), key_bits)
    yield made
    made.close()


def test_random_instructions_leave_what_the_model_holds(both: Both) -> None:
    draw = random.Random(11)
    kind = int(both.kind.value)
    seen: set[int] = set()

    def some(kinds: Sequence[int]) -> Wanted:
        what = draw.choice(kinds)
        table = 0 if draw.random() < 0.97 else draw.choice([1, 2, 255])
        longs = [(slot, draw.randrange(5) << 70 | 9) for slot in sorted(draw.sample(range(8), draw.choice([0, 0, 1, 3])))]
        rule_id = draw.choice([CHOOSE, CHOOSE, *range(12)]) if what == POPULATE else draw.randrange(12)
        return Wanted(what, table if what != INITIALIZE else table % 2, rule_id, **some_key(draw, kind), longs=longs)

    for step in range(500):
        if kind == LPM or draw.random() < 0.9:
            refused = draw.choice([2, 17, 22, 28, 99]) if draw.random() < 0.25 else 0
            one = some([POPULATE] * 5 + [DELETE] * 3 + [UPDATE] * 4 + [INITIALIZE] * (step % 50 == 0) + [0, 9])
            if one.table == 0 or kind == EXACT or one.kind in (DELETE, INITIALIZE):
                seen |= set(both.run(one, statuses=[refused]))
    assert seen == {0, errno.ENOENT, errno.EEXIST, errno.EINVAL, errno.ENOSPC, errno.EPROTO}
    for _ in range(40):
        batch = [some([POPULATE] * 4 + [DELETE] * 3 + [UPDATE] * 2 + [INITIALIZE] * (draw.random() < 0.1)) for _ in range(20)]
        both.run(*[one for one in batch if one.table == 0])
        both.run(Wanted(INITIALIZE))
        fresh = [Wanted(POPULATE, **some_key(draw, kind), longs=[(n, 1 << n)]) for n in range(8)]
        both.run(*fresh, statuses=[draw.choice([0, 28]) for _ in fresh])


def test_ids_go_round_and_the_last_free_one_is_found(both: Both) -> None:
    def host(number: int) -> Wanted:
        mask = (1 << (32 if both.kind.value == LPM else 104)) - 1
        return Wanted(POPULATE, 0, CHOOSE, number, mask, 32)

    assert both.run(*(host(n) for n in range(11))) == [0] * 11
    assert both.run(host(11)) == [errno.ENOSPC]
    for gone in (3, 10, 0, 4, 3):
        assert both.run(Wanted(DELETE, 0, gone)) == [0]
        assert both.run(host(100 + gone)) == [0]
    assert both.run(*(Wanted(DELETE, 0, n) for n in (7, 2))) == [0, 0]
    assert both.run(host(200), host(201), host(202)) == [0, 0, errno.ENOSPC]


def test_what_one_slot_too_many_asks_for_is_given_back() -> None:
    both = Both(LPM, (300, 0), (32, 0))
    used = [Wanted(POPULATE, 0, n, **prefix(n << 16, 16, 32), longs=[(n % 8, 1000 + n)]) for n in range(EDITS - 2)]
    assert set(both.run(*used)) == {0}
    three = Wanted(POPULATE, 0, CHOOSE, **prefix(999 << 16, 16, 32), longs=[(0, 1), (1, 2), (7, 3)])
    assert both.run(three) == [errno.ENOSPC]
    assert both.run(Wanted(POPULATE, 0, CHOOSE, **prefix(999 << 16, 16, 32), longs=[(0, 1000), (1, 2), (7, 3)])) == [0]
    assert both.run(Wanted(UPDATE, 0, 5, **prefix(5 << 16, 16, 32), longs=[(2, 4)])) == [errno.ENOSPC]
    assert both.run(Wanted(UPDATE, 0, 5, **prefix(5 << 16, 16, 32), longs=[(2, 1006)])) == [0]
    assert both.run(Wanted(UPDATE, 0, 6, **prefix(6 << 16, 16, 32), longs=[(2, 4)])) == [0], "entry 5 is free"
    both.close()


@pytest.mark.parametrize("start", [1 << 20, (1 << 32) - 3 * DRAIN, (1 << 33) - DRAIN // 2])
@pytest.mark.parametrize(("later", "step"), [(0, 1), (100, 7), (254, 1), (255, 1), (256, 1), (300, 1), (0, 300), (5000, 1)])
def test_edit_data_that_packets_may_still_read_is_not_overwritten(start: int, later: int, step: int) -> None:
    """All entries but one are in use; that one is taken again when the time of its release is DRAIN cycles ago, and not later."""
    both = Both(LPM, (300, 0), (32, 0))
    device = both.device
    both.run(*(Wanted(POPULATE, 0, n, **prefix(n << 16, 16, 32), longs=[(0, n)]) for n in range(EDITS)))
    device.time, device.step = start, 0
    assert both.run(Wanted(DELETE, 0, 77)) == [0]
    device.time, device.step = start + later - step, step  # the first read gives start + later
    device.taken()
    assert both.run(Wanted(POPULATE, 0, 77, **prefix(77 << 16, 16, 32), longs=[(0, 77777)])) == [0]
    times = [at for at, _ in device.taken() if at in (L.SHELL_REGISTERS_TIME_LOW, L.SHELL_REGISTERS_TIME_HIGH)]
    reads = 1 + -(-max(0, DRAIN - later) // step)
    assert times == [L.SHELL_REGISTERS_TIME_LOW, L.SHELL_REGISTERS_TIME_HIGH] * reads
    both.close()


def test_time_that_stands_still_is_an_error_and_no_hang() -> None:
    both = Both(LPM, (300, 0), (32, 0))
    both.run(*(Wanted(POPULATE, 0, n, **prefix(n << 16, 16, 32), longs=[(0, n)]) for n in range(EDITS)))
    both.device.step = 0
    both.run(Wanted(DELETE, 0, 77))
    again = Wanted(POPULATE, 0, 77, **prefix(77 << 16, 16, 32), longs=[(0, 77777)]).c()
    assert both.device.library.sluice_rule_ops(both.device.handle, both.kind, c.byref(again)) == -errno.ENODEV
    assert both.device.text() == "the device's time stands still"
    both.close()


def test_an_instruction_of_which_a_word_was_refused_is_written_again_whole(both: Both) -> None:
    one, other = (Wanted(POPULATE, 0, n, **some_key(random.Random(n), int(both.kind.value))) for n in (1, 2))
    assert both.run(one) == [0]
    for number in (0, 1, 2):
        both.device.refuse = number
        given = other.c()
        assert both.device.library.sluice_rule_ops(both.device.handle, both.kind, c.byref(given)) == -errno.EFAULT
        assert both.device.text().endswith("the device refuses a write")
        both.device.counts_redundant = False
        assert both.run(Wanted(DELETE, 0, 1)) == [0]
        both.device.counts_redundant = True
        assert both.run(one) == [0]


@pytest.mark.parametrize("length", [0, 1, 8, 31, 32])
def test_a_prefix_has_its_own_mask_and_nothing_above_the_key(length: int) -> None:
    device = RuleTables(LPM, (4, 4), (32, 128))
    where = prefix(0xFFFFFFFF, length, 32)

    def add(**changes: int) -> int:
        given = instruction(POPULATE, 0, **(where | changes))  # type: ignore[arg-type]
        result: int = device.library.sluice_rule_ops(device.handle, c.c_uint16(LPM), c.byref(given))
        if result == 0:
            gone = instruction(DELETE, 0, given.rule.id)
            assert device.library.sluice_rule_ops(device.handle, c.c_uint16(LPM), c.byref(gone)) == 0
        return result

    says = "bad mask or value at bit {}: a prefix of the length that the priority says"
    for bit in range(L.KEY_BITS):
        assert (add(mask=where["mask"] ^ 1 << bit), device.text()) == (-errno.EINVAL, says.format(bit))
    for bit in range(0, L.KEY_BITS, 5):
        inside = bit < 32
        assert (add(value=where["value"] ^ 1 << bit), inside or device.text() == says.format(bit)) == (
            -errno.EINVAL * (not inside),
            True,
        )
    assert (add(priority=33), device.text()) == (-errno.EINVAL, "prefix length 33 of 32 bits")
    assert add() == 0
    device.close()


def test_init_waits_empties_the_tables_that_are_there_and_switches_on(both: Both) -> None:
    device, library = both.device, both.device.library
    control = device.BASE + L.OFU_REGISTERS_CONTROL
    both.run(Wanted(POPULATE, 0, 3, **some_key(random.Random(1), int(both.kind.value)), longs=[(1, 5)]))
    device.taken()
    assert library.sluice_ofu_init(device.handle, both.kind) == 0
    log = device.taken()
    assert log[0] == (device.BASE + L.OFU_REGISTERS_STATUS, None) and log[-1] == (control, 1)
    tables = [0, 1] if both.kind.value == LPM else [0]
    cleared = [Wanted(INITIALIZE, table, 0) for table in tables]
    empty = L.Instruction(kind=INITIALIZE, actions=L.ActionSet([L.Action(0, 0)] * 8))
    assert device.instructions == [empty.replace(table_id=table) for table in tables]
    device.instructions = []
    for one in cleared:
        both.model.run([one], [])
    both.model.pushed = []
    both.compare()
    device.statuses = [28]
    assert library.sluice_ofu_init(device.handle, both.kind) == -errno.ENOSPC
    assert control not in dict(device.written()) and library.sluice_ofu_uninit(device.handle, both.kind) == 0
    assert device.written() == [(control, 0)]
    device.statuses, device.instructions = [0, 28], []
    assert library.sluice_ofu_init(device.handle, both.kind) == (-errno.ENOSPC if both.kind.value == LPM else 0)


def test_memories_that_are_never_cleared_are_an_error_and_no_hang() -> None:
    device = RuleTables(LPM, (4, 4), (32, 128))
    device.read = lambda address: device.values.get(address, 0) & ~1  # type: ignore[method-assign]
    assert device.library.sluice_ofu_init(device.handle, c.c_uint16(LPM)) == -errno.ENODEV
    assert device.text() == f"OFU at {device.BASE:#x}: its memories are never cleared"
    assert not device.written()
    given = instruction(POPULATE, 0, **prefix(0, 0, 32))
    assert device.library.sluice_rule_ops(device.handle, c.c_uint16(LPM), c.byref(given)) == -errno.ENODEV
    assert device.text() == f"OFU at {device.BASE:#x}: no answer to an instruction"
    device.close()


def test_counters_are_those_of_the_rule_and_table(both: Both) -> None:
    device, kind = both.device, both.kind
    kept = Wanted(POPULATE, 0, 3, **some_key(random.Random(1), int(kind.value)))
    both.run(kept)
    counted = L.RuleCounters(last_hit=0x89ABCDEF, bytes=0x123456789ABC, packets=0xFEDCBA987654)
    device.values |= {device.BASE + L.OFU_REGISTERS_COUNTER_DATA + 4 * n: counted.to_int() >> 32 * n & 0xFFFFFFFF for n in range(4)}
    counters = Counters()

    def read(table: int, rule_id: int) -> int:
        where = (kind, c.c_uint8(table), c.c_uint32(rule_id), c.byref(counters))
        result: int = device.library.sluice_rule_counters_read(device.handle, *where)
        return result

    device.taken()
    assert read(0, 3) == 0
    assert (counters.last_hit, counters.bytes, counters.packets) == (counted.last_hit, counted.bytes, counted.packets)
    assert device.written() == [(device.BASE + L.OFU_REGISTERS_COUNTER_INDEX, 3)]
    for table, rule_id in ((0, 2), (0, 11), (0, 4), (1, 3), (1, 0), (2, 3), (255, 3), (0, CHOOSE)):
        assert (read(table, rule_id), device.text()) == (-errno.ENOENT, f"there is no rule {rule_id} in table {table}")
    assert device.taken() == []
    if kind.value == LPM:
        both.run(Wanted(POPULATE, 1, 4, **prefix(1 << 100, 64, 128)))
        device.taken()
        assert read(1, 4) == 0 and device.written() == [(device.BASE + L.OFU_REGISTERS_COUNTER_INDEX, 1 << 30 | 4)]
    used = c.c_uint32(9)
    assert device.library.sluice_ofu_size(device.handle, kind, c.c_uint8(2), None, c.byref(used)) == -errno.EINVAL
    assert (used.value, device.text()) == (9, "table 2: there is none")


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (L.OFU_REGISTERS_ENTRIES, (1 << 22) + 1, "register 0x1010 reads 4194305; the most is 4194304"),
        (L.OFU_REGISTERS_ENTRIES + 4, 1 << 31, "register 0x1014 reads 2147483648; the most is 4194304"),
        (L.OFU_REGISTERS_KEY_BITS, L.KEY_BITS + 1, "register 0x1020 reads 321; the most is 320"),
        (L.OFU_REGISTERS_KEY_BITS + 4, L.KEY_BITS + 1, "register 0x1024 reads 321; the most is 320"),
    ],
)
def test_a_table_of_a_size_that_cannot_be_is_refused_each_time(at: int, value: int, says: str) -> None:
    device = RuleTables(EXACT, (4, 0), (104, 0))
    used, where = c.c_uint32(9), device.BASE + at
    right = device.values[where]
    for value_now, result in ((value, -errno.EPROTO), (value, -errno.EPROTO), (right, 0)):
        device.values[where] = value_now
        assert device.library.sluice_ofu_size(device.handle, c.c_uint16(EXACT), c.c_uint8(0), None, c.byref(used)) == result
        assert result == 0 or (used.value, device.text()) == (9, says)
    device.close()


def test_only_rule_tables_of_this_api_are_units_and_page_0_is_none() -> None:
    device = Registers(L.ELEMENT_DEPARSE, L.ELEMENT_FLOW_TABLE, L.ELEMENT_HOST | 1 << 16)
    for kind in (L.ELEMENT_LPM, L.ELEMENT_DEPARSE, L.ELEMENT_FLOW_TABLE, L.ELEMENT_NONE, 77):
        for call in (device.library.sluice_ofu_init, device.library.sluice_ofu_uninit):
            assert (call(device.handle, c.c_uint16(kind)), device.text()) == (-errno.ENOENT, f"the device has no OFU {int(kind)}")
    assert device.taken() == []
    device.close()


LANES, CLOCK = 2, 200000
GOOD = {"WINDOWS": 2, "LANES": LANES, "CLOCK": CLOCK, "KIND_3": 0}


@pytest.mark.parametrize(
    ("settings", "result", "says"),
    [
        ({}, 0, ""),
        ({"MAGIC": L.DEVICE_MAGIC ^ 1}, errno.ENODEV, f"this is no Sluice device: its magic is {L.DEVICE_MAGIC ^ 1:#x}"),
        ({"VERSION": 2}, errno.EPROTO, f"the device has layouts {L.LAYOUT_HASH:#x}, the library {L.LAYOUT_HASH:#x}; build both"),
        (
            {"HASH": 5},
            errno.EPROTO,
            f"the device has layouts 0x5, the library {L.LAYOUT_HASH:#x}; build both from the same sources",
        ),
        ({"LANES": 0}, errno.EPROTO, "the device says that it has no lanes"),
        ({"LANES": 1}, 0, ""),
        ({"LANES": 7}, 0, ""),
        ({"LANES": 8}, errno.EPROTO, "register 0xc reads 8; the most is 7"),
        ({"CLOCK": 10_000_000}, 0, ""),
        ({"CLOCK": 10_000_001}, errno.EPROTO, "register 0x10 reads 10000001; the most is 10000000"),
        ({"WINDOWS": 16}, 0, ""),
        ({"WINDOWS": 17}, errno.EPROTO, "register 0x14 reads 17; the most is 16"),
        ({"KIND_0": 1}, 0, ""),
        ({"KIND_0": LANES << 24 | 1}, 0, ""),
        ({"KIND_0": 1 << 24 | 1}, errno.EPROTO, "the device says that it has 0 queues a lane and 1 host lanes for 2 lanes"),
        ({"KIND_1": LANES - 1 << 24 | L.ELEMENT_LPM}, 0, ""),
        ({"KIND_1": 8 << 16 | L.ELEMENT_HOST}, 0, ""),
        ({"KIND_1": 9 << 16 | L.ELEMENT_HOST}, errno.EPROTO, "the device says that it has 9 queues a lane and 0 host lanes for 2"),
        ({"KIND_1": 9 << 16 | L.ELEMENT_LPM}, 0, ""),
        ({"KIND_1": 0x1FFFF}, errno.EPROTO, "register 0x44 reads 0x1ffff: there is no such element"),
        ({"WINDOWS": 1, "KIND_1": 0x1FFFF}, 0, ""),
    ],
)
def test_a_device_is_what_page_0_says_or_is_refused(settings: dict[str, int], result: int, says: str) -> None:
    library, handle, opens, text = opened(GOOD | settings)
    told = GOOD | settings
    assert opens == -result and (opens == 0 or text.startswith(says)), text
    if opens == 0:
        sizes = [getattr(library, f"sluice_device_{name}")(handle) for name in ("lanes", "host_lanes", "clock_khz", "queues")]
        host = told.get("KIND_1", 0)
        queues = host >> 16 if host & 0xFFFF == L.ELEMENT_HOST else 0
        assert sizes == [told["LANES"], told.get("KIND_0", 0) >> 24, told["CLOCK"], queues]
        library.sluice_device_close(handle)
