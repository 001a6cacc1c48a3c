# SPDX-License-Identifier: Apache-2.0
"""What names mean: bindings, and the scopes that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.source import Span


@dataclass(frozen=True)
class Number:
    """A constant: of a declared type, or (None) of the type that its value would have as a literal."""

    value: int
    type: typed.Integer | None


@dataclass(frozen=True)
class Value:
    """A constant struct or array."""

    value: typed.Expression


@dataclass(frozen=True)
class TypeName:
    type: typed.Type
    is_packet: bool = False


@dataclass(frozen=True)
class Ports:
    """A port, or an array of ports."""

    ports: tuple[typed.Port, ...]
    is_array: bool


@dataclass(frozen=True)
class View:
    """`count` elements of `element` from bit `low` of `base`. `in_bytes`: `&place`, to which numbers are added as bytes."""

    base: typed.Place
    low: int
    element: typed.Type
    count: int
    swap: bool
    in_bytes: bool = False


@dataclass(frozen=True, eq=False)
class FunctionName:
    declaration: tree.Function
    scope: Scope


@dataclass(frozen=True, eq=False)
class ElementName:
    declaration: tree.Element | tree.Group
    scope: Scope


@dataclass(frozen=True, eq=False)
class Pending:
    """A declaration that is looked into when its name is first used, so that order does not matter."""

    declaration: ast.Constant | tree.Declaration | ast.Enum | ast.Aggregate
    scope: Scope


@dataclass(frozen=True)
class Broken:
    """An error was reported for its declaration; uses say nothing more."""


Binding = (
    Number | Value | TypeName | Ports | View | FunctionName | ElementName | Pending | Broken | typed.Variable | typed.Table
)  # fmt: skip


@dataclass(eq=False)
class Scope:
    """Names of one block, element or file, and what is around it."""

    parent: Scope | None = None
    names: dict[str, Binding] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    namespaces: dict[str, Scope] = field(default_factory=dict)

    def find(self, name: str) -> Binding | None:
        """What a name means here."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def own(self, name: str) -> Binding | None:
        """What a name means in this scope alone."""
        return self.names.get(name)

    def chain(self) -> Iterator[Scope]:
        """This scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def visible(self) -> dict[str, Binding]:
        """Every name that can be used here, for 'did you mean'."""
        found: dict[str, Binding] = {}
        for scope in self.chain():
            for name, binding in scope.names.items():
                found.setdefault(name, binding)
        return found
