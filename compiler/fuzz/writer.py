# SPDX-License-Identifier: Apache-2.0
"""What random programs are written with: lines and blocks, names in scope, types, places in variables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

WIDTHS = (1, 2, 3, 5, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64)
WIDE = (65, 100, 127, 128, 129, 200, 256)
MAX_DEPTH = 3
REPEATED, MOST_REPEATS = "k", 4  # first letter of the variables of `.repeat`, and how often at most


@dataclass(frozen=True)
class Features:
    """What programs may have."""

    wide: bool = True  # integers above 64 bits
    numbered: bool = True
    packets: bool = True
    signals: bool = True
    choices: bool = True  # test, select, now
    messages: bool = True  # print, assert
    randoms: bool = True
    division: bool = True
    waiting: bool = True  # reads under a condition, and looks without taking
    views: bool = True
    flows: bool = True
    tables: bool = True
    machines: bool = True  # state machines


@dataclass(frozen=True)
class Kind:
    """A type: `text` as it is written; `kind` "int", "bool", "enum", "struct" or "array"; `of` the elements of an array."""

    text: str
    kind: str
    bits: int = 0
    count: int = 0
    of: Kind | None = None
    fields: tuple[tuple[str, Kind], ...] = ()
    labels: tuple[str, ...] = ()  # of an enum

    @property
    def is_flat(self) -> bool:
        """Whether it is a struct without structs and arrays in it."""
        return self.kind == "struct" and all(kind.kind in ("int", "bool", "enum") for _, kind in self.fields)


BOOL = Kind("bool", "bool", 1)
UINT = Kind("uint", "int", 32)


@dataclass
class Scope:
    """What can be named: `values` are readable places of integers and bools, `targets` may be assigned too."""

    values: list[tuple[str, Kind]] = field(default_factory=list)
    targets: list[tuple[str, Kind]] = field(default_factory=list)
    wholes: list[tuple[str, Kind]] = field(default_factory=list)  # structs
    arrays: list[tuple[str, Kind]] = field(default_factory=list)  # of structs
    calls: list[tuple[str, tuple[Kind, ...], Kind]] = field(default_factory=list)
    changers: list[tuple[str, tuple[Kind, ...], tuple[Kind, ...]]] = field(default_factory=list)  # what they take and change
    tests: list[str] = field(default_factory=list)
    loops: int = 0  # around this place
    can_leave_loop: bool = False
    returns: Callable[[], str] | None = None
    is_handler: bool = False
    is_reset: bool = False  # .init: nothing that only simulation says

    def state_only(self) -> Scope:
        """The same for another part of the element."""
        return Scope(
            list(self.values), list(self.targets), list(self.wholes), list(self.arrays), list(self.calls), list(self.changers)
        )


class Writer:
    """Writes one element; `name` is in front of everything that it declares outside."""

    def __init__(self, choose: random.Random, name: str, features: Features) -> None:
        self.choose = choose
        self.name = name
        self.features = features
        self.lines: list[str] = []
        self.indent = 0
        self.scope = Scope()
        self.used: set[str] = set()
        self.budget = 14  # statements in which others may stand
        self.wide_percent = choose.choice([0, 5, 5, 50])  # of the integers; a few programs are full of them
        self.depth = choose.randint(2, MAX_DEPTH)
        self.is_arithmetic = self.chance(30)  # little but expressions of tokens, so that a wrong one is seen at an output
        self.structs: list[Kind] = []
        self.enums: list[Kind] = []
        self.roms: list[tuple[str, Kind, str]] = []  # constant arrays: name, type, values
        self.flows: list[tuple[str, Kind, Kind]] = []  # name, key, value
        self.tables: list[tuple[str, Kind, Kind]] = []  # the same
        self.fed: list[str] = []  # integers of tokens, in the handler

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """A block; what is declared in it is forgotten behind it."""
        self.line(f"{head} {{")
        self.indent += 1
        before = self.scope.state_only()
        yield
        self.scope.values, self.scope.targets = before.values, before.targets
        self.scope.wholes, self.scope.arrays = before.wholes, before.arrays
        self.indent -= 1
        self.line("}")

    def chance(self, percent: int) -> bool:
        return self.choose.randrange(100) < percent

    def fresh(self, base: str) -> str:
        """A name that is not used yet."""
        number = 0
        while f"{base}{number}" in self.used:
            number += 1
        self.used.add(f"{base}{number}")
        return f"{base}{number}"

    # Types

    def integer(self) -> Kind:
        is_wide = self.features.wide and self.chance(self.wide_percent)
        bits = self.choose.choice(WIDE if is_wide else WIDTHS[4:] if self.chance(75) else WIDTHS)
        if bits in (8, 16, 32, 64) and self.chance(30):
            return Kind({8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}[bits], "int", bits)
        return Kind(f"{self.choose.choice(['uint', 'int', 'int'])}<{bits}>", "int", bits)

    def unsigned(self, most: int = 8) -> str:
        return f"uint<{self.choose.randint(1, most)}>"

    def scalar(self) -> Kind:
        if self.enums and self.chance(15):
            return self.choose.choice(self.enums)
        return BOOL if self.chance(10) else self.integer()

    def enum(self) -> Kind:
        """An enum declared in front of the element."""
        number, bits = len(self.enums), self.choose.choice([1, 2, 3, 7, 8])
        values = sorted(self.choose.sample(range(1 << bits), min(1 << bits, self.choose.randint(2, 4))))
        labels = tuple(f"{self.name}_E{number}_{value}" for value in values)
        kind = Kind(f"{self.name}_e{number}_t", "enum", bits, labels=labels)
        self.enums.append(kind)
        return kind

    def struct(self) -> Kind:
        """A struct declared in front of the element; sometimes with an array or another struct in it."""
        fields = []
        for number in range(self.choose.randint(1, 4)):
            kind = self.choose.choice(self.structs) if self.structs and self.chance(15) else self.scalar()
            if self.chance(20):
                kind = self.array(kind)
            fields.append((f"f{number}", kind))
        bits = sum(kind.bits for _, kind in fields)
        kind = Kind(f"{self.name}_s{len(self.structs)}_t", "struct", bits, fields=tuple(fields))
        self.structs.append(kind)
        return kind

    def array(self, of: Kind, counts: tuple[int, ...] = (2, 3, 4, 5, 8)) -> Kind:
        count = self.choose.choice(counts)
        return Kind(of.text, "array", of.bits * count, count, of)

    def any_type(self) -> Kind:
        found = self.choose.randrange(10)
        if found < 6:
            return self.scalar()
        if found < 8 and self.structs:
            return self.choose.choice(self.structs)
        return self.array(self.choose.choice(self.structs) if self.structs and self.chance(40) else self.scalar())

    def declarations(self) -> list[str]:
        """The types, as they stand in front of the element."""
        lines = []
        for kind in self.enums:
            values = ", ".join(f"{label} = {label.rsplit('_', 1)[1]}" for label in kind.labels)
            lines.append(f"enum {kind.text} : uint<{kind.bits}> {{ {values} }}")
        for kind in self.structs:
            fields = [f"{k.text} {n}{f'[{k.count}]' if k.kind == 'array' else ''};" for n, k in kind.fields]
            lines += [f"struct {kind.text} {{", *(f"    {f}" for f in fields), "}"]
        for name, kind, values in self.roms:
            lines.append(f"constexpr {kind.text} {name}[{kind.count}] = {{{values}}};")
        return lines

    # Places

    def places(self, name: str, kind: Kind) -> list[tuple[str, Kind]]:
        """Integers, bools and enums in a variable, one index chosen for each array."""
        if kind.kind == "struct":
            return [place for part, inner in kind.fields for place in self.places(f"{name}.{part}", inner)]
        if kind.kind == "array":
            assert kind.of is not None
            return [place for _ in range(2) for place in self.places(f"{name}[{self.index(kind.count)}]", kind.of)]
        return [(name, kind)]

    def index(self, count: int) -> str:
        """Of an entry. Of a `.repeat` the variable is a constant, and one behind the last entry is an error."""
        if self.chance(40) or not self.scope.values:
            return str(self.choose.randrange(count))
        values = [text for text, kind in self.scope.values if kind.kind == "int" and "[" not in text]
        values = [text for text in values if count >= MOST_REPEATS or not text.startswith(REPEATED)]
        if not values:
            return "0"
        return f"({self.unsigned(max(8, count.bit_length()))}) {self.choose.choice(values)}"

    def know(self, name: str, kind: Kind, is_target: bool = True) -> None:
        """A variable that may be used from here on."""
        found = self.places(name, kind)
        self.scope.values += [
            (f"((uint<{inner.bits}>) {place})", Kind(f"uint<{inner.bits}>", "int", inner.bits))
            if inner.kind == "enum"
            else (place, inner)
            for place, inner in found
        ]
        if not is_target:
            return
        self.scope.targets += found
        if kind.kind == "struct":
            self.scope.wholes.append((name, kind))
        if kind.kind == "array" and kind.of is not None and kind.of.kind == "struct":
            self.scope.arrays.append((name, kind))
            self.scope.wholes.append((f"{name}[{self.index(kind.count)}]", kind.of))
