# SPDX-License-Identifier: Apache-2.0
"""The model of `sl_flow_place`, by sequences written by hand: each line gives a key and what it must be told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from models.flow_place import FlowPlace, Placement

KEEP, LOOK = True, False  # insert or not


@dataclass
class Script:
    """A table of one set. Answers are `new 0`, `found 2`, `evicted 1`, `expired 3` (with the way), or `absent`."""

    ways: int = 4
    timeout: int = 0
    now: int = 0

    def __post_init__(self) -> None:
        self.table = FlowPlace(1, self.ways, lambda key: 0, self.timeout)
        self.last = Placement(0)

    def at(self, now: int, key: str, insert: bool = KEEP) -> str:
        return self._answer(self.table.find_or_insert(ord(key), now, insert))

    def forget(self, now: int, key: str) -> str:
        return self._answer(self.table.find_or_insert(ord(key), now, insert=False, forget=True))

    def _answer(self, told: Placement) -> str:
        self.last = told
        if not told.found and not told.new:
            return "absent"
        return f"{'found' if told.found else 'expired' if told.expired else 'evicted' if told.evicted else 'new'} {told.way}"

    def tell(self, keys: str) -> list[str]:
        """Inserts each key of `keys`."""
        return [self.at(self.now, key) for key in keys]

    def remove_last(self) -> None:
        self.table.remove(self.last.set, self.last.way, self.last.generation)


def test_fills_the_lowest_way_first_and_finds() -> None:
    assert Script().tell("abcadb") == ["new 0", "new 1", "new 2", "found 0", "new 3", "found 1"]


def test_without_insert_nothing_changes() -> None:
    script = Script()
    assert [script.at(0, "a", LOOK), script.at(0, "b"), script.at(0, "a", LOOK)] == ["absent", "new 0", "absent"]
    assert script.at(0, "b", LOOK) == "found 0"


def test_the_hand_evicts_in_the_order_of_insertion() -> None:
    # a is used again and again, and still the first to go: a FIFO, not an LRU.
    script = Script(ways=2)
    assert script.tell("abac") == ["new 0", "new 1", "found 0", "evicted 0"]
    assert script.tell("abcd") == ["evicted 1", "evicted 0", "evicted 1", "evicted 0"]


def test_without_eviction_a_full_set_takes_no_key_but_finds_its_own() -> None:
    script = Script(ways=2)
    script.table.evict = False
    assert script.tell("abcab") == ["new 0", "new 1", "absent", "found 0", "found 1"]
    script.at(0, "a")
    script.remove_last()
    assert script.tell("cbd") == ["new 0", "found 1", "absent"]


def test_the_hand_passes_a_way_that_is_taken_for_another_reason() -> None:
    script = Script(ways=2)
    script.tell("a")
    script.remove_last()
    assert script.tell("b") == ["new 0"]  # a free way, but not that of the hand, which stands at 1
    assert script.tell("cd") == ["new 1", "evicted 0"]


def test_a_removed_place_is_taken_again() -> None:
    script = Script()
    script.tell("abc")
    script.at(0, "b")
    script.remove_last()
    assert script.at(0, "b", LOOK) == "absent"
    assert script.tell("de") == ["new 1", "new 3"]


def test_a_removal_that_comes_after_an_eviction_removes_nothing() -> None:
    script = Script(ways=1)
    script.tell("a")
    of_a = script.last
    assert script.tell("b") == ["evicted 0"]
    script.table.remove(0, of_a.way, of_a.generation)
    assert script.tell("b") == ["found 0"]


def test_a_forgotten_flow_is_found_once_more_and_its_place_is_taken_next() -> None:
    script = Script()
    script.tell("abc")
    assert [script.forget(0, "b"), script.at(0, "b", LOOK), script.forget(0, "b")] == ["found 1", "absent", "absent"]
    assert script.tell("deb") == ["new 1", "new 3", "evicted 0"]


def test_a_flow_is_forgotten_and_inserted_again_and_again() -> None:
    script = Script(ways=1)
    assert [script.at(0, "a"), script.forget(0, "a")] * 2 == ["new 0", "found 0"] * 2
    assert script.tell("b") == ["new 0"]
    assert [script.forget(0, "a"), script.at(0, "b", LOOK)] == ["absent", "found 0"]


def test_forgetting_an_absent_or_expired_flow_changes_nothing() -> None:
    script = Script(ways=2, timeout=10)
    assert [script.forget(0, "a"), script.at(0, "a"), script.at(0, "b")] == ["absent", "new 0", "new 1"]
    assert [script.forget(9, "c"), script.forget(9, "b"), script.forget(10, "a")] == ["absent", "found 1", "absent"]
    assert [script.at(10, "c"), script.at(10, "d")] == ["expired 0", "new 1"]  # a only expired; b was dead, though as old


def test_what_is_to_be_inserted_is_not_forgotten() -> None:
    script = Script()
    script.tell("a")
    assert script.table.find_or_insert(ord("a"), 0, insert=True, forget=True).found
    assert script.at(0, "a", LOOK) == "found 0"


def test_forgetting_leaves_the_hand_where_it_is() -> None:
    script = Script(ways=2)
    script.tell("ab")
    assert [script.forget(0, "b"), script.at(0, "c")] == ["found 1", "new 1"]  # the hand stands at 0
    assert script.tell("de") == ["evicted 0", "evicted 1"]


def test_a_removal_of_a_forgotten_flow_does_not_reach_the_next_in_its_place() -> None:
    script = Script(ways=1)
    script.tell("a")
    of_a = script.last
    script.forget(0, "a")
    script.tell("b")
    script.table.remove(0, of_a.way, of_a.generation)
    assert script.tell("b") == ["found 0"]


@pytest.mark.parametrize("begin", [0, 2**32 - 5, 2**32 - 10, 2**32 - 1])
def test_expires_at_the_exact_tick_also_over_the_wrap(begin: int) -> None:
    script = Script(timeout=10)
    assert script.at(begin, "a") == "new 0"
    assert script.at((begin + 9) % 2**32, "a", LOOK) == "found 0"
    assert script.at((begin + 9 + 9) % 2**32, "a", LOOK) == "found 0"
    assert script.at((begin + 18 + 10) % 2**32, "a", LOOK) == "absent"
    assert script.at((begin + 18 + 10) % 2**32, "a") == "expired 0"


def test_takes_an_expired_place_but_its_own_first() -> None:
    script = Script(timeout=10)
    assert [script.at(0, "a"), script.at(5, "b"), script.at(5, "c")] == ["new 0", "new 1", "new 2"]
    assert script.at(10, "d") == "expired 0"
    assert script.at(15, "c") == "expired 2"
    assert script.at(15, "e") == "expired 1"
    assert script.at(15, "f") == "new 3"


def test_a_timeout_of_0_is_never_and_a_flow_idle_for_a_whole_wrap_is_young_again() -> None:
    assert [Script().at(now, "a") for now in (0, 2**32 - 1)] == ["new 0", "new 0"]
    script = Script(timeout=10)
    script.at(0, "a")
    assert script.at(2**32 - 1, "a", LOOK) == "absent"
    assert script.at(2**32 + 3, "a", LOOK) == "found 0"


def test_clear_forgets_everything() -> None:
    script = Script()
    script.tell("ab")
    script.table.clear()
    assert script.tell("b") == ["new 0"]
