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

from host.python.device import CAction, CActionSet
from host.python.flow_table import EXECUTE, KEY_BYTES, Model, Operation, Rules, error_text

BITS = 8 * KEY_BYTES
FULL = (1 << BITS) - 1 ^ L.FlowKey(tcp_flags=0xF00, reserved=0x3FFF).to_int()


def marked(mark: int) -> CActionSet:
    return CActionSet((CAction * 8)(CAction(L.ACTION_MARK, mark)))


class Manager:
    """A manager on a model, and every rule that it took: handle to (value, mask, priority, mark, earlier marks)."""

    def __init__(self, groups: int = 4, entries: int = 16, fill: int = 12, ternary: int = 16) -> None:
        self.model = Model(groups, entries, fill, ternary)
        self.table, self.watched = self.model.table(), self.model.table()
        self.after: Callable[[], None] = lambda: None
        self.operations = 0
        self.failures: list[AssertionError] = []
        self.watched.execute = EXECUTE(self._execute)
        self.rules = Rules(self.watched)
        self.known: dict[int, tuple[int, int, int, int, list[int]]] = {}

    def close(self) -> None:
        self.rules.close()
        self.model.close()

    def _execute(self, context: int, operation: c._Pointer[Operation]) -> int:
        status: int = self.table.execute(context, operation)
        self.operations += 1
        try:
            self.after()
        except AssertionError as failure:  # C cannot carry it on
            self.failures.append(failure)
        return status

    def add(self, value: int, mask: int, priority: int, mark: int) -> int:
        handle = self.rules.add(value, mask, priority, marked(mark))
        if handle >= 0:
            self.known[handle] = (value & mask, mask, priority, mark, [])
        return handle

    def delete(self, handle: int) -> int:
        status = self.rules.delete(handle)
        if status == 0:
            del self.known[handle]
        return status

    def update(self, handle: int, mark: int) -> int:
        status = self.rules.update(handle, marked(mark))
        if status == 0:
            value, mask, priority, old, earlier = self.known[handle]
            self.known[handle] = (value, mask, priority, mark, [*earlier, old])
        return status

    def place(self, handle: int) -> tuple[int, int]:
        place = self.rules.place(handle)
        return place.table_id, place.group

    def find(self, key: int, length: int = 0) -> int:
        """The mark of the rule that a packet finds, 0 where there is none."""
        found = self.model.find(key, length, 7)
        return found.actions.slots[0].operand if found is not None else 0

    def best(self, key: int) -> dict[int, int]:
        """Mark to handle of the rules that may win."""
        found = [(rule[2], rule[3], handle) for handle, rule in self.known.items() if key & rule[1] == rule[0]]
        top = max((priority for priority, _, _ in found), default=0)
        return {mark: handle for priority, mark, handle in found if priority == top}


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
        counters = manager.rules.counters(handle)
        packets = sum(counts[mark] for mark in (rule[3], *rule[4]))
        assert [counters.packets, counters.bytes] == [packets, 100 * packets], "what it counted in all its places"
    manager.after = lambda: None
    assert manager.rules.flush() == 0
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


def add_one(manager: Manager, number: int, port: int) -> int:
    """A rule of the mask with this number, for packets to a port."""
    mask = L.FlowKey(l4_dst=0xFF, ip_src=1 << number).to_int()
    return manager.add(L.FlowKey(l4_dst=port).to_int(), mask, 0, 1 + port)


@pytest.mark.parametrize(
    ("groups", "tcam", "displaced"),
    [
        ([1], [12], None),
        ([1], [13], 0),
        ([3], [13], 0),
        ([4], [13], None),
        ([2], [5, 4, 4], 0),
        ([3], [5, 4, 4], None),
        ([2], [4, 5, 4], 0),
        ([3, 2, 2, 3], [13], 1),
        ([4, 4, 3, 4], [4, 8, 1], 2),
    ],
)
def test_a_group_gives_way_to_twice_as_many_rules_if_its_own_have_room(
    groups: list[int], tcam: list[int], displaced: int | None
) -> None:
    """Rules of each group's mask, then of masks for which no group is left. The TCAM has 16 places; less than 4 are little room."""
    manager = Manager(len(groups), 16, 12, 16)
    handles = [[add_one(manager, number, n) for n in range(count)] for number, count in enumerate([*groups, *tcam])]
    places = [[manager.place(handle) for handle in of_mask] for of_mask in handles]
    for number, count in enumerate(groups):
        here = (L.TABLE_TERNARY, 0) if number == displaced else (L.TABLE_HASHED, number)
        assert places[number] == [here] * count, number
    largest = len(groups) + tcam.index(max(tcam))
    for number in range(len(groups), len(handles)):
        moved = [place for place in places[number] if place[0] == L.TABLE_HASHED]
        gathers = displaced is not None and number == largest
        assert moved == ([(L.TABLE_HASHED, displaced)] * min(len(places[number]), 12) if gathers else [])
    manager.close()


def test_a_mask_does_not_take_the_place_of_its_own_group() -> None:
    manager = Manager(2, 4, 4, 16)
    mine = [add_one(manager, 0, n) for n in range(4)]
    other = [add_one(manager, 1, n) for n in range(2)]
    mine += [add_one(manager, 0, n) for n in range(4, 16)]
    assert [manager.place(handle)[0] for handle in mine].count(L.TABLE_TERNARY) == 12
    for _ in range(3):
        assert manager.delete(mine.pop(0)) == 0
    assert add_one(manager, 2, 0) >= 0, "leaves little room"
    assert manager.place(mine[0]) == (L.TABLE_HASHED, 0)
    assert [manager.place(handle)[0] for handle in other] == [L.TABLE_TERNARY] * 2
    assert [manager.place(handle) for handle in mine].count((L.TABLE_HASHED, 1)) == 4
    manager.close()


@pytest.mark.parametrize("others", [0, 4])
def test_rules_come_back_out_of_the_tcam_into_the_group_of_their_mask_that_became_free(others: int) -> None:
    group = 1 if others else 0
    manager = Manager(1 + group, 16, 12, 16)
    assert all(add_one(manager, 1, n) >= 0 for n in range(others))
    handles = [add_one(manager, 0, n) for n in range(28)]
    gone, left = handles[:12], handles[12:]
    assert {manager.place(handle) for handle in gone} == {(L.TABLE_HASHED, group)}
    assert {manager.place(handle)[0] for handle in left} == {L.TABLE_TERNARY}
    for handle in gone:
        assert manager.delete(handle) == 0
    assert [manager.place(handle) for handle in left].count((L.TABLE_HASHED, group)) == 12
    manager.close()


def test_what_has_no_room_or_cannot_be_enforced_is_refused_with_the_reason(manager: Manager) -> None:
    assert manager.add(0, L.FlowKey(tcp_flags=0x100).to_int(), 0, 1) == -errno.ENOTSUP
    assert "TCP flags" in error_text()
    assert manager.add(0, 0, 0, 1) >= 0
    assert manager.add(5, 0, 0, 2) == -errno.EEXIST, "bits outside the mask do not count"
    assert manager.add(5, 0, 1, 2) >= 0, "the same match with another priority is another rule"
    assert manager.find(99) == 2
    for n in range(18):
        assert manager.add(0, 1 << 100 + n, 0, 3) >= 0
    operations = manager.operations
    assert manager.add(0, 1 << 130, 0, 3) == -errno.ENOSPC
    assert "4 mask groups" in error_text() and "TCAM is full (16" in error_text()
    assert manager.operations == operations, "refused without asking the table"
    for call in (manager.delete, lambda handle: manager.update(handle, 1)):
        assert call(77) == -errno.ENOENT and error_text() == "there is no rule 77"
    for read in (manager.rules.counters, manager.rules.place):
        with pytest.raises(OSError, match="there is no rule -1") as caught:
            read(-1)
        assert caught.value.errno == errno.ENOENT
    assert manager.delete(next(iter(manager.known))) == 0
    assert manager.add(0, 1 << 130, 0, 3) >= 0, "a place that is free again is used again"
