# SPDX-License-Identifier: Apache-2.0
"""The typed tree's types, variables and places. Its other parts, and how values are represented, are in `typed`, which gives these
names too: consumers import that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from compiler.frontend.source import Span

if TYPE_CHECKING:
    from compiler.frontend.typed import Expression

# Types


@dataclass(frozen=True)
class Integer:
    """`uint<N>`, `int<N>`, `bool` (1 bit, unsigned), or an enum by its bits."""

    bits: int
    signed: bool = False
    name: str = ""  # of the enum, or "bool"; "" for a plain integer


@dataclass(frozen=True)
class StructField:
    name: str
    type: Type
    low: int  # lowest bit in the struct


@dataclass(frozen=True)
class Struct:
    """A `struct` or a `header`; `fields` from the highest bits down."""

    name: str
    bits: int
    fields: tuple[StructField, ...]
    is_header: bool = False


@dataclass(frozen=True)
class Array:
    element: Type
    count: int

    @property
    def bits(self) -> int:
        return self.element.bits * self.count


Type = Integer | Struct | Array

BOOL = Integer(1, False, "bool")

# Variables and places


class Placement(Enum):
    """Where the source asks a state to be; AUTO leaves it to the compiler."""

    AUTO = "auto"
    REGISTER = "register"
    LOCAL = "local"  # block RAM


@dataclass(frozen=True, eq=False)
class Variable:
    """A local, a parameter or a state; identity is the object. Locals start at 0 where they are declared (written as
    an `Assign` of 0 where there is no initial value), states at reset."""

    name: str
    type: Type
    span: Span
    is_state: bool = False
    placement: Placement = Placement.AUTO


@dataclass(frozen=True)
class Slice:
    """Bits `low` to `low + type.bits - 1`, always inside. `swap`: the bytes are reversed (a header seen in packet bytes)."""

    low: int
    type: Type
    swap: bool = False


@dataclass(frozen=True)
class Entry:
    """Element `index` of `count` elements of `type` that start at bit 0. Outside: reads 0, writes nothing. `index` is unsigned.

    With `swap` every element is byte-swapped, as in `Slice`."""

    index: Expression
    type: Type
    count: int
    swap: bool = False


Step = Slice | Entry


@dataclass(frozen=True)
class Place:
    """Part of a variable. The type is that of the last step, or of the variable where there is none."""

    variable: Variable
    steps: tuple[Step, ...]
    span: Span

    @property
    def type(self) -> Type:
        return self.steps[-1].type if self.steps else self.variable.type
