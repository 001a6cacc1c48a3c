# SPDX-License-Identifier: Apache-2.0
"""Few entries for many cases: a list in which the first entry that matches is taken, from what each label and each result of the
conditions is to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Generic, TypeVar

Does = TypeVar("Does")
MOST_RESULTS = 5  # that an entry asks for
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


def listed(cases: Sequence[Case[Does]], labels: int, conditions: int, exclusive: Sequence[tuple[int, int]]) -> list[Entry[Does]]:
    """Entries for all cases; the last takes what is left. `exclusive`: pairs of conditions that are never true together. Each entry
    takes as many packets as it can without one that must do something else."""
    cells = _Cells(labels, conditions)
    left = 0
    right: dict[Does, int] = {}
    for case in cases:
        mask = cells.of(case.label, case.results)
        left |= mask
        for does in case.does:
            right[does] = right.get(does, 0) | mask
    for a, b in exclusive:
        left &= ~(cells.of(None, {a: True, b: True}))
    candidates = list(cells.all())
    entries: list[Entry[Does]] = []
    while left:
        rights: list[tuple[int, int, int | None, Results, Does]] = []
        for mask, label, results in candidates:
            here = mask & left
            fitting = [does for does, allowed in right.items() if not here & ~allowed] if here else []
            rights += [(mask, here.bit_count(), label, results, fitting[0])] if fitting else []
        mask, _, label, results, chosen = max(rights, key=lambda found: (found[1], -len(found[3]) - (found[2] is not None)))
        entries.append(Entry(label, results, chosen))
        left &= ~mask
    return entries


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

    def all(self) -> Iterator[tuple[int, int | None, Results]]:
        """What an entry can match: at most MOST_RESULTS conditions."""
        for count in range(min(self.conditions, MOST_RESULTS) + 1):
            for numbers in combinations(range(self.conditions), count):
                for values in product([True, False], repeat=count):
                    results = dict(zip(numbers, values, strict=True))
                    for label in (None, *range(self.labels)):
                        yield self.of(label, results), label, results
