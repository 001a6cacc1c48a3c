# SPDX-License-Identifier: Apache-2.0
"""The syntax tree, as written: names are not resolved, expressions not evaluated. Every node knows its place."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.lexer import Token
from compiler.frontend.source import Source, Span


@dataclass(frozen=True)
class Name:
    """An identifier where it stands."""

    text: str
    span: Span


@dataclass(frozen=True)
class Number:
    value: int
    span: Span
    text: str


@dataclass(frozen=True)
class Reference:
    """A constant, enum member or, in `bits()` and `bytes()`, a type."""

    name: str
    span: Span


@dataclass(frozen=True)
class Unary:
    operator: str
    operand: Expression
    span: Span


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression
    span: Span


@dataclass(frozen=True)
class Call:
    function: Name
    arguments: tuple[Expression, ...]
    span: Span


# In programs only


@dataclass(frozen=True)
class Text:
    """A string, for `print`."""

    value: str
    span: Span


@dataclass(frozen=True)
class Member:
    """`a.name` or `a->name`."""

    operand: Expression
    name: Name
    span: Span


@dataclass(frozen=True)
class Index:
    operand: Expression
    index: Expression
    span: Span


@dataclass(frozen=True)
class Bits:
    """`x[high:low]`, both inclusive."""

    operand: Expression
    high: Expression
    low: Expression
    span: Span


@dataclass(frozen=True)
class Invoke:
    """`table.lookup(key, value)`."""

    operand: Expression
    method: Name
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True)
class Cast:
    """`(type) a`, or `(type *) a`."""

    type: Type
    is_view: bool
    operand: Expression
    span: Span


@dataclass(frozen=True)
class TypeValue:
    """A type where a value stands: an argument of `bits()` or of an element's parameters."""

    type: Type
    span: Span


@dataclass(frozen=True)
class Braces:
    """`{a, b}`, what a struct or array is made from."""

    parts: tuple[Expression, ...]
    span: Span


Expression = (
    Number | Reference | Unary | Binary | Conditional | Call | Text | Member | Index | Bits | Invoke | Cast | TypeValue | Braces
)  # fmt: skip


@dataclass(frozen=True)
class IntegerType:
    """`uint<N>`, `int<N>`, `bool` or a C name; `width` is None where the name says it."""

    name: str
    width: Expression | None
    span: Span


@dataclass(frozen=True)
class NamedType:
    name: str
    span: Span


Type = IntegerType | NamedType


@dataclass(frozen=True)
class Import:
    path: str
    span: Span


@dataclass(frozen=True)
class Constant:
    type: Type
    name: Name
    value: Expression
    doc: str
    span: Span


@dataclass(frozen=True)
class EnumMember:
    name: Name
    value: Expression | None
    doc: str
    span: Span


@dataclass(frozen=True)
class Enum:
    name: Name
    type: Type
    members: tuple[EnumMember, ...]
    doc: str
    span: Span


@dataclass(frozen=True)
class Field:
    type: Type
    name: Name
    count: Expression | None
    doc: str
    span: Span


@dataclass(frozen=True)
class Aggregate:
    """A `struct`, `header` or `record`."""

    kind: str
    name: Name
    fields: tuple[Field, ...]
    doc: str
    span: Span


@dataclass(frozen=True)
class Register:
    access: str
    type: Type
    name: Name
    count: Expression | None
    offset: Expression
    reset: Expression | None
    doc: str
    span: Span


@dataclass(frozen=True)
class Registers:
    name: Name
    registers: tuple[Register, ...]
    doc: str
    span: Span


@dataclass(frozen=True)
class StaticAssert:
    condition: Expression
    message: str
    span: Span


Declaration = Constant | Enum | Aggregate | Registers | StaticAssert


@dataclass(frozen=True)
class File:
    """One source file; `tokens` keep its comments for tools that print the source back."""

    source: Source
    doc: str
    imports: tuple[Import, ...]
    declarations: tuple[Declaration, ...]
    tokens: tuple[Token, ...]
