# SPDX-License-Identifier: Apache-2.0
"""Few entries for many cases: a list in which the first entry that matches is taken, from what each label and each result of the
conditions is to do."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from operator import or_
from typing import Generic, TypeVar

MOST_RESULTS = 5  # that an entry asks for
TRIES = 60
NOISE = 0.4  # of a try: how much less a larger entry may count than a smaller one
Does = TypeVar("Does")
Results = Mapping[int, bool]  # of conditions, by number


@dataclass(frozen=True)
class Case(Generic[Does]):
    """What these packets may do: any of `does` is right."""

    label: int
    results: Results
    does: tuple[Does, ...]


@dataclass(frozen=True)
class Entry(Generic[Does]):
    """A label, or None for all; results of conditions."""

    label: int | None
    results: Results
    does: Does


@dataclass(frozen=True)
class Space:
    """The packets that there can be: so many labels and conditions; `exclusive`: pairs of conditions that are never true together;
    `possible`: labels with results that go with them."""

    labels: int
    conditions: int
    exclusive: Sequence[tuple[int, int]]
    possible: Sequence[tuple[int, Results]]


def listed(cases: Sequence[Case[Does]], space: Space, most: int) -> list[Entry[Does]]:
    """Entries for all cases; the last takes what is left. They are `most`, or as few as a search finds: each entry takes as many
    packets as it can without one that must do something else, or, in another try, about as many. Then entries are left out that
    others can take over."""
    task = _Task(cases, space)
    draw, found = random.Random(1), task.listed(None)
    for _ in range(TRIES):
        if len(found) > most:
            found = min(found, task.shortened(found), key=len)
        if len(found) <= most:
            break
        found = task.listed(draw)
    return found


class _Task(Generic[Does]):
    """`left`: all packets; `right`: those for which an action is right; as sets of cells. `candidates`: what an entry can match."""

    def __init__(self, cases: Sequence[Case[Does]], space: Space) -> None:
        self.cells = _Cells(space.labels, space.conditions)
        self.left = 0
        self.right: dict[Does, int] = {}
        for case in cases:
            mask = self.cells.of(case.label, case.results)
            self.left |= mask
            for does in case.does:
                self.right[does] = self.right.get(does, 0) | mask
        self.left &= reduce(or_, (self.cells.of(label, results) for label, results in space.possible), 0)
        for a, b in space.exclusive:
            self.left &= ~self.cells.of(None, {a: True, b: True})
        asked = [number for number in range(space.conditions) if not self._is_idle(number)]
        by_mask = {mask & self.left: (label, results) for mask, label, results in self.cells.matched(asked)}
        self.candidates = [(mask, label, results) for mask, (label, results) in by_mask.items() if mask]
        self.candidates.sort(key=lambda candidate: len(candidate[2]) + (candidate[1] is not None))

    def _is_idle(self, number: int) -> bool:
        """Whether a condition makes no difference; then packets for which it is true need not be looked at."""
        step, false = 1 << number, self.cells.everything & ~self.cells.true[number]
        low, high = self.left & false, self.left >> step & false
        right = {does: (cells | ~low) & (cells >> step | ~high) & false for does, cells in self.right.items()}
        if (low | high) & ~reduce(or_, right.values(), 0):
            return False
        self.left, self.right = low | high, right
        return True

    def listed(self, draw: random.Random | None) -> list[Entry[Does]]:
        left, entries, candidates = self.left, list[Entry[Does]](), self.candidates
        while left:
            candidates = [candidate for candidate in candidates if candidate[0] & left]
            best, chosen = -1.0, 0
            for mask, _, _ in candidates:
                here = mask & left
                score = here.bit_count() * (1 - NOISE * draw.random() if draw is not None else 1)
                if score > best and self._does(here):
                    best, chosen = score, here
            label, results = next((label, results) for mask, label, results in candidates if mask & left == chosen)  # the shortest
            entries.append(Entry(label, results, self._does(chosen)[0]))
            left &= ~chosen
        return entries

    def shortened(self, entries: list[Entry[Does]]) -> list[Entry[Does]]:
        """Without entries that the others can do without, as they are or narrower or wider."""
        number = 0
        while number < len(entries):
            shorter = self._without(entries, number)
            entries, number = (shorter, 0) if shorter is not None else (entries, number + 1)
        return entries

    def _without(self, entries: Sequence[Entry[Does]], dropped: int) -> list[Entry[Does]] | None:
        """The other entries, each for the packets that it had and as many more as it can take; None if some are left."""
        before, left, made = self.left, self.left, list[Entry[Does]]()
        for number, entry in enumerate(entries):
            had = before & self.cells.of(entry.label, entry.results)
            before &= ~had
            had, right = had & left, self.right[entry.does]
            if number == dropped or not had:
                continue
            fitting = [
                (mask & left, label, results)
                for mask, label, results in self.candidates
                if not had & ~mask and not mask & left & ~right
            ]
            if not fitting:
                return None
            taken, label, results = max(fitting, key=lambda candidate: candidate[0].bit_count())
            made.append(Entry(label, results, entry.does))
            left &= ~taken
        return None if left else made

    def _does(self, cells: int) -> list[Does]:
        """What all these may do."""
        return [does for does, right in self.right.items() if not cells & ~right]


class _Cells:
    """Sets of pairs of a label and all results of conditions, as masks."""

    def __init__(self, labels: int, conditions: int) -> None:
        self.labels, self.conditions, self.size = labels, conditions, 1 << conditions
        row = (1 << self.size) - 1
        self.everything = (1 << self.size * labels) - 1
        self.by_label = [row << self.size * label for label in range(labels)]
        self.true = [self._true(number) for number in range(conditions)]

    def _true(self, number: int) -> int:
        row = sum(1 << cell for cell in range(self.size) if cell >> number & 1)
        return sum(row << self.size * label for label in range(self.labels))

    def of(self, label: int | None, results: Results) -> int:
        mask = self.everything if label is None else self.by_label[label]
        for number, result in results.items():
            mask &= self.true[number] if result else self.everything & ~self.true[number]
        return mask

    def matched(self, numbers: Sequence[int]) -> Iterator[tuple[int, int | None, Results]]:
        """What an entry can match by these conditions, at most MOST_RESULTS of them; those that ask for less come last."""
        for count in range(min(len(numbers), MOST_RESULTS), -1, -1):
            for asked in combinations(numbers, count):
                for values in product([True, False], repeat=count):
                    results = dict(zip(asked, values, strict=True))
                    for label in (*range(self.labels), None):
                        yield self.of(label, results), label, results
