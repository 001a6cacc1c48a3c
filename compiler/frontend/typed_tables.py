# SPDX-License-Identifier: Apache-2.0
"""The typed tree: tables of an element, of rules that the host gives it and of flows that it fills itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from compiler.frontend.source import Span
from compiler.frontend.typed_places import Type, Variable

if TYPE_CHECKING:
    from compiler.frontend.typed import Function


class TableKind(Enum):
    EXACT = "exact"
    TERNARY = "ternary"
    LPM = "lpm"


@dataclass(frozen=True, eq=False)
class Table:
    """Rules that an element looks up; filled by its signals `NAME_insert` and `NAME_remove`."""

    name: str
    kind: TableKind
    key: Type
    value: Type
    entries: int
    span: Span


@dataclass(frozen=True, eq=False)
class FlowTable:
    """State by flow. Its methods are functions on `state`, the values by set and way, and on `placement`, which flows there are
    (`frontend/flows.py`); a target that has flow tables of its own needs the rest. `methods`: those that the element calls, by
    name."""

    name: str
    key: Type
    value: Type
    state: Variable
    placement: tuple[Variable, ...]
    sets: int
    ways: int
    timeout: int
    evicts: bool
    methods: Mapping[str, Function]
    span: Span
