# SPDX-License-Identifier: Apache-2.0
"""Tables of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; a cell of None is `-`, whole numbers have commas."""
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
