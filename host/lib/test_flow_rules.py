# SPDX-License-Identifier: Apache-2.0
"""The rule manager of the flow table on its software model: a packet finds the best rule at every step of every change, rules
move between groups and TCAM with what they counted, and what has no room is refused and changes nothing."""

from __future__ import annotations

import ctypes as c
import errno
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import sluice_layouts as L

from host.python.device import load

BYTES = len(L.FlowKey().pack())
BITS = 8 * BYTES
FULL = (1 << BITS) - 1 ^ L.FlowKey(tcp_flags=0xF00, reserved=0x3FFF).to_int()


class Action(c.Structure):
    _fields_ = [("opcode", c.c_uint8), ("operand", c.c_uint32)]


class ActionSet(c.Structure):
    _fields_ = [("slots", Action * 8)]


class Counters(c.Structure):
    _fields_ = [("last_hit", c.c_uint32), ("bytes", c.c_uint64), ("packets", c.c_uint64)]


class Operation(c.Structure):
    _fields_ = [
        ("kind", c.c_uint8),
        ("table_id", c.c_uint8),
        ("group", c.c_uint8),
        ("rule_priority", c.c_uint16),
        ("rule_id", c.c_uint32),
        ("value", c.c_uint8 * BYTES),
        ("mask", c.c_uint8 * BYTES),
        ("actions", ActionSet),
    ]


class Found(c.Structure):
    _fields_ = [("table_id", c.c_uint8), ("rule_id", c.c_uint32), ("actions", ActionSet)]


EXECUTE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Operation))
COUNTERS = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint8, c.c_uint32, c.POINTER(Counters))


class Table(c.Structure):
    _fields_ = [
        ("context", c.c_void_p),
        ("groups", c.c_uint32),
        ("group_entries", c.c_uint32),
        ("ternary_entries", c.c_uint32),
        ("execute", EXECUTE),
        ("counters", COUNTERS),
    ]


def key_bytes(key: int) -> c.Array[c.c_uint8]:
    return (c.c_uint8 * BYTES)(*key.to_bytes(BYTES, "little"))


def marked(mark: int) -> ActionSet:
    return ActionSet((Action * 8)(Action(L.ACTION_MARK, mark)))


class Manager:
    """A manager on a model, and every rule that it took: handle to (value, mask, priority, mark, earlier marks)."""

    def __init__(self, groups: int = 4, entries: int = 16, fill: int = 12, ternary: int = 16) -> None:
        self.library = load()
        for name in ("sluice_flow_model_new", "sluice_flow_rules_new", "sluice_error_text"):
            getattr(self.library, name).restype = c.c_void_p
        self.library.sluice_flow_model_find.restype = c.c_bool
        self.model = c.c_void_p(self.library.sluice_flow_model_new(groups, entries, fill, ternary))
        self.table, self.watched = Table(), Table()
        self.library.sluice_flow_model_table(self.model, c.byref(self.table))
        self.library.sluice_flow_model_table(self.model, c.byref(self.watched))
        self.after: Callable[[], None] = lambda: None
        self.operations = 0
        self.failures: list[AssertionError] = []
        self.watched.execute = EXECUTE(self._execute)
        self.rules = c.c_void_p(self.library.sluice_flow_rules_new(c.byref(self.watched)))
        self.known: dict[int, tuple[int, int, int, int, list[int]]] = {}

    def close(self) -> None:
        self.library.sluice_flow_rules_free(self.rules)
        self.library.sluice_flow_model_free(self.model)

    def _execute(self, context: int, operation: c._Pointer[Operation]) -> int:
        status: int = self.table.execute(context, operation)
        self.operations += 1
        try:
            self.after()
        except AssertionError as failure:  # C cannot carry it on
            self.failures.append(failure)
        return status

    def add(self, value: int, mask: int, priority: int, mark: int) -> int:
        actions = marked(mark)
        handle: int = self.library.sluice_flow_rule_add(
            self.rules, key_bytes(value), key_bytes(mask), c.c_uint16(priority), c.byref(actions)
        )
        if handle >= 0:
            self.known[handle] = (value & mask, mask, priority, mark, [])
        return handle

    def delete(self, handle: int) -> int:
        status: int = self.library.sluice_flow_rule_delete(self.rules, handle)
        if status == 0:
            del self.known[handle]
        return status

    def update(self, handle: int, mark: int) -> int:
        actions = marked(mark)
        status: int = self.library.sluice_flow_rule_update(self.rules, handle, c.byref(actions))
        if status == 0:
            value, mask, priority, old, earlier = self.known[handle]
            self.known[handle] = (value, mask, priority, mark, [*earlier, old])
        return status

    def place(self, handle: int) -> tuple[int, int]:
        place = Operation()
        assert self.library.sluice_flow_rule_place(self.rules, handle, c.byref(place)) == 0
        return place.table_id, place.group

    def find(self, key: int, length: int = 0) -> int:
        """The mark of the rule that a packet finds, 0 where there is none."""
        found = Found()
        hit = self.library.sluice_flow_model_find(self.model, key_bytes(key), length, 7, c.byref(found))
        return found.actions.slots[0].operand if hit else 0

    def best(self, key: int) -> dict[int, int]:
        """Mark to handle of the rules that may win."""
        found = [(rule[2], rule[3], handle) for handle, rule in self.known.items() if key & rule[1] == rule[0]]
        top = max((priority for priority, _, _ in found), default=0)
        return {mark: handle for priority, mark, handle in found if priority == top}

    def text(self) -> str:
        return c.string_at(self.library.sluice_error_text()).decode()


@pytest.fixture
def manager() -> Iterator[Manager]:
    made = Manager()
    yield made
    made.close()


def some_key() -> int:
    """Of few different keys, so that rules meet."""
    key = L.FlowKey(ingress_port=random.randrange(2), eth_type=0x800, ip_dst=random.randrange(24), ip_src=random.randrange(3))
    key.l4_dst = random.randrange(4)
    return key.to_int()


FIELDS = [
    L.FlowKey(**field).to_int()
    for field in (
        {"ingress_port": 0xFF},
        {"ip_dst": 0x1F},
        {"ip_dst": 0x1C},
        {"ip_src": 3},
        {"l4_dst": 3},
        {"l4_dst": 2},
        {"eth_type": 0xFFFF},
    )
]


def test_every_packet_finds_its_rule_at_every_step_of_random_changes(manager: Manager) -> None:
    random.seed(4)
    masks = [random.choice(FIELDS) | random.choice(FIELDS) | random.choice(FIELDS) for _ in range(24)]
    statuses, places, moved = set(), {}, 0
    counts: Counter[int] = Counter()  # by mark: each rule and each update brings another

    def verdicts() -> None:
        for key in random.choices(keys, k=4):
            mark = manager.find(key, 100)
            best = manager.best(key)
            if changing:  # the rule that is being changed: with or without it
                assert mark in best or mark in without(key) or mark in changing
            else:
                assert mark in best if best else mark == 0
            counts[mark] += 1

    def without(key: int) -> dict[int, int]:
        kept = {handle: rule for handle, rule in manager.known.items() if rule[3] not in changing}
        found = [(rule[2], rule[3], handle) for handle, rule in kept.items() if key & rule[1] == rule[0]]
        top = max((priority for priority, _, _ in found), default=0)
        return {m: handle for priority, m, handle in found if priority == top} or {0: -1}

    manager.after = verdicts
    for step in range(1500):
        keys = [some_key() for _ in range(8)]
        mark = step + 1
        changing: set[int] = set()
        if manager.known and random.random() < (0.3 if step % 500 < 350 else 0.8):
            handle = random.choice(list(manager.known))
            changing = {manager.known[handle][3], mark}
            if random.random() < 0.8:
                assert manager.delete(handle) == 0
            else:
                assert manager.update(handle, mark) == 0
        else:
            changing = {mark}
            mask = random.choice(masks[: 4 + step // 60])
            statuses.add(min(0, manager.add(random.choice(keys) | random.getrandbits(8) << 480, mask, random.randrange(3), mark)))
        changing = set()
        assert not manager.failures
        verdicts()
        now = {handle: manager.place(handle) for handle in manager.known}
        moved += sum(places.get(handle, place) != place for handle, place in now.items())
        places = now
    assert statuses == {0, -errno.EEXIST, -errno.ENOSPC} and moved > 20
    for handle, rule in list(manager.known.items()):
        counters = Counters()
        assert manager.library.sluice_flow_rule_counters(manager.rules, handle, c.byref(counters)) == 0
        packets = sum(counts[mark] for mark in (rule[3], *rule[4]))
        assert [counters.packets, counters.bytes] == [packets, 100 * packets], "what it counted in all its places"
    manager.after = lambda: None
    assert manager.library.sluice_flow_rules_flush(manager.rules) == 0
    manager.known.clear()
    assert all(manager.find(some_key()) == 0 for _ in range(50))
    assert manager.add(0, FULL, 0, 1) >= 0


def test_groups_fill_first_then_the_tcam_and_a_large_mask_takes_the_place_of_a_small_one(manager: Manager) -> None:
    masks = [1 << 8 * n + 88 | 0xFFFF << 200 for n in range(5)]
    small = [manager.add(0, mask, 0, 1 + n) for n, mask in enumerate(masks[:4])]
    assert [manager.place(handle) for handle in small] == [(L.TABLE_HASHED, n) for n in range(4)], "a group for each mask"
    large = [manager.add(n << 200, masks[4], 0, 100 + n) for n in range(12)]
    assert {manager.place(handle)[0] for handle in large} == {L.TABLE_TERNARY}, "no group is free"
    large += [manager.add(n << 200, masks[4], 0, 100 + n) for n in range(12, 16)]
    assert [manager.place(handle)[0] for handle in large].count(L.TABLE_HASHED) == 12, "the TCAM had little room left: a full group"
    assert [manager.place(handle)[0] for handle in small].count(L.TABLE_TERNARY) >= 1, "a small mask made room"
    others = sum(mask & 0xFFFF << 88 for mask in masks[:2]) | sum(mask & 0xFFFF << 104 for mask in masks[2:4])
    assert all(manager.find(n << 200 | others) == 100 + n for n in range(1, 16))
    assert manager.delete(small[-1]) == 0 and manager.add(0, masks[3], 0, 4) >= 0


def test_what_has_no_room_or_cannot_be_enforced_is_refused_with_the_reason(manager: Manager) -> None:
    assert manager.add(0, L.FlowKey(tcp_flags=0x100).to_int(), 0, 1) == -errno.ENOTSUP
    assert "TCP flags" in manager.text()
    assert manager.add(0, 0, 0, 1) >= 0
    assert manager.add(5, 0, 0, 2) == -errno.EEXIST, "bits outside the mask do not count"
    assert manager.add(5, 0, 1, 2) >= 0, "the same match with another priority is another rule"
    assert manager.find(99) == 2
    for n in range(18):
        assert manager.add(0, 1 << 100 + n, 0, 3) >= 0
    operations = manager.operations
    assert manager.add(0, 1 << 130, 0, 3) == -errno.ENOSPC
    assert "4 mask groups" in manager.text() and "TCAM is full (16" in manager.text()
    assert manager.operations == operations, "refused without asking the table"
    assert manager.delete(77) == -errno.ENOENT and manager.update(-1, 1) == -errno.ENOENT
    assert manager.delete(next(iter(manager.known))) == 0
    assert manager.add(0, 1 << 130, 0, 3) >= 0, "a place that is free again is used again"
