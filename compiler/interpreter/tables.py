# SPDX-License-Identifier: Apache-2.0
"""The rules of a table: what `lookup` finds, and what updates do to them (`frontend/tables.py` has the updates)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from compiler.frontend.tables import EINVAL, ENOENT, ENOSPC, OK


@dataclass(frozen=True)
class Rule:
    """`key` where `mask` is 1. Of those that match the one with the highest priority wins (LPM: its length)."""

    key: int
    mask: int
    priority: int
    value: int


@dataclass
class Rules:
    """The rules that a table has now. `kind`: exact, lpm or ternary; `bits`: of a key."""

    kind: str
    bits: int
    entries: int
    rules: dict[Hashable, Rule] = field(default_factory=dict)  # by what makes two rules the same

    def find(self, key: int) -> int | None:
        """The value of the rule that matches, or None."""
        if self.kind == "exact":
            rule = self.rules.get((key, (1 << self.bits) - 1))
            return None if rule is None else rule.value
        matching = [rule for rule in self.rules.values() if key & rule.mask == rule.key]
        return max(matching, key=lambda rule: rule.priority).value if matching else None

    def status(self, is_insert: bool, arguments: Sequence[int]) -> int:
        """The errno that an update is answered with."""
        if self.kind == "lpm" and arguments[1] > self.bits:
            return EINVAL
        is_there = self._same(is_insert, arguments) in self.rules
        if is_insert:
            return OK if is_there or len(self.rules) < self.entries else ENOSPC
        return OK if is_there else ENOENT

    def update(self, is_insert: bool, arguments: Sequence[int]) -> int:
        """Insert or remove; the errno."""
        status = self.status(is_insert, arguments)
        if status == OK and is_insert:
            self.rules[self._same(is_insert, arguments)] = self._rule(arguments)
        elif status == OK:
            del self.rules[self._same(is_insert, arguments)]
        return status

    def _rule(self, arguments: Sequence[int]) -> Rule:
        ones = (1 << self.bits) - 1
        if self.kind == "ternary":
            key, mask, priority, value = arguments
            return Rule(key & mask, mask, priority, value)
        key, length = arguments[0], arguments[1] if self.kind == "lpm" else self.bits
        mask = ones ^ ones >> length
        return Rule(key & mask, mask, length, arguments[-1])

    def _same(self, is_insert: bool, arguments: Sequence[int]) -> Hashable:
        if self.kind == "ternary":
            return arguments[2] if is_insert else arguments[0]
        rule = self._rule(arguments)
        return rule.key, rule.mask
