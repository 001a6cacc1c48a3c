# SPDX-License-Identifier: Apache-2.0
"""Random expressions: all of them closed, so that any can stand anywhere. Every operation has operands of known width: what could
mix signs is cast."""

from __future__ import annotations

from collections.abc import Callable

from compiler.fuzz.writer import REPEATED, Kind, Writer

WIDEST_DIVISION = 129  # bits
COUNTED_WIDE = 33  # bits, where they are counted: hardware adds each
CHEAP_DIVISION = 13  # bits; hardware takes a step for each


class Expressions(Writer):
    """Writes expressions of what is in scope."""

    def constant(self, kind: Kind) -> str:
        bits = kind.bits - (1 if kind.text.startswith("int") else 0)
        if bits <= 0:
            return "0"
        choices = [0, 1, (1 << bits) - 1, 1 << (bits - 1), self.choose.getrandbits(bits), self.choose.getrandbits(min(bits, 4))]
        value = self.choose.choice(choices)
        return str(value) if value < 1000 else hex(value)

    def typed_constant(self) -> str:
        kind = self.integer()
        return f"(({kind.text}) {self.constant(kind)})"

    def fed_leaf(self) -> str:
        """Something that came in, where there is such a thing: what leaves should vary."""
        return self.choose.choice(self.fed) if self.fed else self.leaf()

    def leaf(self) -> str:
        if self.fed and self.chance(85 if self.is_arithmetic else 40):
            return self.fed_leaf()
        integers = [text for text, kind in self.scope.values if kind.kind == "int"]
        if integers and self.chance(85):
            return self.choose.choice(integers)
        return self.typed_constant()

    def value(self, depth: int) -> str:
        """An integer."""
        if depth >= self.depth or self.chance(10):
            return self.leaf()
        kind = self.integer()
        below = depth + 1
        forms: list[Callable[[], str]] = [
            self.leaf,
            lambda: f"(({kind.text}) {self.value(below)})",
            lambda: f"(({kind.text}) {self.value(below)} {self.choose.choice('+-*&|^')} ({kind.text}) {self.value(below)})",
            lambda: f"({self.value(below)} {self.choose.choice('+-&|^')} {self.value(below)})",
            lambda: f"({self.value(below)} {self.choose.choice(['<<', '>>'])} {self.shift(below)})",
            lambda: f"(({kind.text}) {self.value(below)} {self.choose.choice(['<<', '>>', '>>'])} {self.shift(below)})",
            lambda: f"({self.choose.choice('-~')}{self.value(below)})",
            lambda: f"({self.condition(below)} ? ({kind.text}) {self.value(below)} : ({kind.text}) {self.value(below)})",
            lambda: f"(({kind.text}) {self.condition(below)})",
        ]
        if self.features.division and kind.bits <= (WIDEST_DIVISION if self.chance(10) else CHEAP_DIVISION):
            forms += [lambda: f"(({kind.text}) {self.value(below)} {self.choose.choice('/%')} {self.divisor(kind, below)})"] * 2
        if self.chance(15):
            forms += [lambda: self.of_bits(below), lambda: self.bits(), lambda: self.extreme(kind, below)]
        if self.scope.calls:
            forms += [lambda: self.call(below)] * 2
        if self.roms and self.chance(40):
            forms.append(self.of_constants)
        if self.features.randoms and self.scope.is_handler and self.chance(10):
            forms.append(lambda: "random()")
        if self.features.choices and self.scope.is_handler and self.chance(5):
            forms.append(lambda: "now()")
        return self.choose.choice(forms)()

    def divisor(self, kind: Kind, depth: int) -> str:
        if self.chance(50):
            return f"({kind.text}) {self.value(depth)}"
        return f"({kind.text}) {self.choose.choice(['0', '1', '2', '3', '7', '(-1)', '(-3)'])}"

    def shift(self, depth: int) -> str:
        if self.chance(50):
            return str(self.choose.choice([0, 1, 1, 2, 3, 4, 7, 8, 31, 32, 33, 40, 64, 100]))
        return f"({self.unsigned()}) {self.value(depth)}"

    def of_bits(self, depth: int) -> str:
        kinds = ["uchar", "int<12>", *(f"uint<{bits}>" for bits in (1, 2, 3, 5, 6, 7, 13, COUNTED_WIDE))]
        return f"{self.choose.choice(['popcount', 'clz'])}(({self.choose.choice(kinds)}) {self.value(depth)})"

    def extreme(self, kind: Kind, depth: int) -> str:
        values = [f"({kind.text}) {self.value(depth)}" for _ in range(self.choose.choice([2, 2, 3]))]
        return f"{self.choose.choice(['min', 'max'])}({', '.join(values)})"

    def bits(self) -> str:
        """Some bits of an integer that has a name."""
        named = [(text, kind) for text, kind in self.scope.values if kind.kind == "int" and not text.startswith(("(", REPEATED))]
        if not named:
            return self.leaf()
        text, kind = self.choose.choice(named)
        return text + self.range_of(kind)[0]

    def range_of(self, kind: Kind) -> tuple[str, int]:
        """`[high:low]` of an integer, and how many bits that are."""
        low = self.choose.randrange(kind.bits)
        high = self.choose.randrange(low, kind.bits)
        return f"[{high}:{low}]", high - low + 1

    def constant_array(self) -> None:
        """One of the file, which hardware reads as a ROM."""
        kind = self.array(self.integer(), (1, 2, 3, 4, 8, 32))
        assert kind.of is not None
        values = ", ".join(self.constant(kind.of) for _ in range(kind.count))
        self.roms.append((f"{self.name}_C{len(self.roms)}", kind, values))

    def of_constants(self) -> str:
        name, kind, _ = self.choose.choice(self.roms)
        return f"{name}[{self.index(kind.count)}]"

    def call(self, depth: int) -> str:
        name, parameters, _ = self.choose.choice(self.scope.calls)
        return f"{name}({', '.join(self.of(kind, depth) for kind in parameters)})"

    def of(self, kind: Kind, depth: int) -> str:
        """A value for something of that type."""
        if kind.kind == "bool":
            return self.condition(depth)
        if kind.kind == "enum":
            return self.choose.choice(kind.labels) if self.chance(50) else f"({kind.text}) (uint<{kind.bits}>) {self.value(depth)}"
        return f"({kind.text}) {self.value(depth)}"

    def literal(self, kind: Kind, depth: int) -> str:
        """A flat struct."""
        return f"{{{', '.join(self.of(k, depth) for _, k in kind.fields)}}}"

    def condition(self, depth: int) -> str:
        """A bool."""
        bools = [text for text, kind in self.scope.values if kind.kind == "bool"] + self.scope.tests
        if bools and self.chance(25):
            return self.choose.choice(bools)
        enums = [(place, kind) for place, kind in self.scope.targets if kind.kind == "enum"]
        if enums and self.chance(20):
            place, kind = self.choose.choice(enums)
            return f"({place} {self.choose.choice(['==', '!='])} {self.choose.choice(kind.labels)})"
        if depth < self.depth and self.chance(30):
            operator = self.choose.choice(["&&", "||", "!", "?"])
            a, b = self.condition(depth + 1), self.condition(depth + 1)
            if operator == "?":
                return f"({self.condition(depth + 1)} ? {a} : {b})"
            return f"(!{a})" if operator == "!" else f"({a} {operator} {b})"
        kind, operator = self.integer(), self.choose.choice(["==", "!=", "<", "<=", ">", ">="])
        return f"(({kind.text}) {self.value(depth + 1)} {operator} ({kind.text}) {self.value(depth + 1)})"
