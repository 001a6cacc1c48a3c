# SPDX-License-Identifier: Apache-2.0
"""The rules of a table, as a plain list: what `lookup` finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend.typed import Table


@dataclass(frozen=True)
class Rule:
    """`key` where `mask` is 1. Of those that match the one with the highest priority wins (LPM: its length), then the first."""

    key: int
    mask: int
    priority: int
    value: int


@dataclass
class Rules:
    """The rules that a table has now."""

    table: Table
    rules: list[Rule] = field(default_factory=list)

    def find(self, key: int) -> int | None:
        """The value of the rule that matches, or None."""
        matching = [rule for rule in self.rules if key & rule.mask == rule.key & rule.mask]
        return max(matching, key=lambda rule: rule.priority).value if matching else None
