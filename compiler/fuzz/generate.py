# SPDX-License-Identifier: Apache-2.0
"""Random well-typed elements as source text, from a seed: one statement a line, so that the reducer can take lines away.

Every operation has operands of known width: what could mix signs is cast. Loops have small bounds, since hardware unrolls them.
`Features` leaves out what a target cannot do yet.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

WIDTHS = (1, 2, 3, 5, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64)
WIDE = (65, 100, 127, 128, 129, 200, 256)
HEADERS = {
    "ethernet_t": (0, ("ethertype",)),
    "ipv4_t": (14, ("ttl", "total_length", "checksum", "source", "destination", "protocol")),
    "udp_t": (34, ("source_port", "length")),
}
WIDEST_DIVISION = 129  # bits
MAX_DEPTH = 3


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
    waiting: bool = True  # reads under a condition
    views: bool = True


@dataclass(frozen=True)
class Kind:
    """A type: `text` as it is written; `kind` "int", "bool", "struct" or "array"; `of` the elements of an array."""

    text: str
    kind: str
    bits: int = 0
    count: int = 0
    of: Kind | None = None
    fields: tuple[tuple[str, Kind], ...] = ()


BOOL = Kind("bool", "bool", 1)


@dataclass
class Scope:
    """What can be named: `values` are readable places of integers and bools, `targets` may be assigned too."""

    values: list[tuple[str, Kind]] = field(default_factory=list)
    targets: list[tuple[str, Kind]] = field(default_factory=list)
    calls: list[tuple[str, tuple[Kind, ...], Kind]] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    in_loop: bool = False
    returns: Callable[[], str] | None = None
    is_handler: bool = False


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
        self.budget = 0
        self.wide_percent = choose.choice([0, 5, 5, 50])  # of the integers; a few programs are full of them
        self.depth = choose.randint(2, MAX_DEPTH)
        self.is_arithmetic = self.chance(30)  # little but expressions of tokens, so that a wrong one is seen at an output
        self.structs: list[Kind] = []
        self.fed: list[str] = []  # integers of tokens, in the handler

    # Helpers

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def inside(self, head: str):  # type: ignore[no-untyped-def]
        """A block; what is declared in it is forgotten behind it."""
        self.line(f"{head} {{")
        self.indent += 1
        values, targets = list(self.scope.values), list(self.scope.targets)
        yield
        self.scope.values, self.scope.targets = values, targets
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
        return BOOL if self.chance(10) else self.integer()

    def struct(self) -> Kind:
        """A struct declared in front of the element; sometimes with an array in it."""
        fields = []
        for number in range(self.choose.randint(1, 4)):
            kind = self.scalar()
            if self.chance(20):
                kind = self.array(kind)
            fields.append((f"f{number}", kind))
        bits = sum(kind.bits for _, kind in fields)
        kind = Kind(f"{self.name}_s{len(self.structs)}_t", "struct", bits, fields=tuple(fields))
        self.structs.append(kind)
        return kind

    def array(self, of: Kind) -> Kind:
        count = self.choose.choice([2, 3, 4, 5, 8])
        return Kind(of.text, "array", of.bits * count, count, of)

    def any_type(self) -> Kind:
        found = self.choose.randrange(10)
        if found < 6:
            return self.scalar()
        if found < 8 and self.structs:
            return self.choose.choice(self.structs)
        return self.array(self.choose.choice(self.structs) if self.structs and self.chance(40) else self.scalar())

    # Places

    def places(self, name: str, kind: Kind) -> list[tuple[str, Kind]]:
        """Integers and bools in a variable, one index chosen for each array."""
        if kind.kind == "struct":
            return [place for part, inner in kind.fields for place in self.places(f"{name}.{part}", inner)]
        if kind.kind == "array":
            assert kind.of is not None
            return [place for _ in range(2) for place in self.places(f"{name}[{self.index(kind.count)}]", kind.of)]
        return [(name, kind)]

    def index(self, count: int) -> str:
        if self.chance(40) or not self.scope.values:
            return str(self.choose.randrange(count))
        values = [text for text, kind in self.scope.values if kind.kind == "int" and "[" not in text]
        if not values:
            return "0"
        return f"({self.unsigned()}) {self.choose.choice(values)}"

    def know(self, name: str, kind: Kind, is_target: bool = True) -> None:
        """A variable that may be used from here on."""
        found = self.places(name, kind)
        self.scope.values += found
        if is_target:
            self.scope.targets += found

    # Expressions: all of them closed, so that any can stand anywhere

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
        if self.features.division and kind.bits <= WIDEST_DIVISION:
            forms += [lambda: f"(({kind.text}) {self.value(below)} {self.choose.choice('/%')} {self.divisor(kind, below)})"] * 2
        if self.scope.calls:
            forms += [lambda: self.call(below)] * 2
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

    def call(self, depth: int) -> str:
        name, parameters, _ = self.choose.choice(self.scope.calls)
        return f"{name}({', '.join(self.of(kind, depth) for kind in parameters)})"

    def of(self, kind: Kind, depth: int) -> str:
        """A value for something of that type."""
        return self.condition(depth) if kind.kind == "bool" else f"({kind.text}) {self.value(depth)}"

    def condition(self, depth: int) -> str:
        """A bool."""
        bools = [text for text, kind in self.scope.values if kind.kind == "bool"] + self.scope.tests
        if bools and self.chance(25):
            return self.choose.choice(bools)
        if depth < self.depth and self.chance(30):
            operator = self.choose.choice(["&&", "||", "!", "?"])
            a, b = self.condition(depth + 1), self.condition(depth + 1)
            if operator == "?":
                return f"({self.condition(depth + 1)} ? {a} : {b})"
            return f"(!{a})" if operator == "!" else f"({a} {operator} {b})"
        kind, operator = self.integer(), self.choose.choice(["==", "!=", "<", "<=", ">", ">="])
        return f"(({kind.text}) {self.value(depth + 1)} {operator} ({kind.text}) {self.value(depth + 1)})"

    # Statements

    def declare(self) -> None:
        kind = self.any_type()
        name = self.fresh("v")
        suffix = f"[{kind.count}]" if kind.kind == "array" else ""
        if kind.kind in ("int", "bool") and self.chance(70):
            self.line(f"{kind.text} {name} = {self.of(kind, 1)};")
        elif kind.kind == "struct" and self.chance(50) and all(k.kind != "array" for _, k in kind.fields):
            self.line(f"{kind.text} {name} = {{{', '.join(self.of(k, 2) for _, k in kind.fields)}}};")
        else:
            self.line(f"{kind.text} {name}{suffix};")
        self.know(name, kind)

    def assign(self) -> None:
        if not self.scope.targets:
            return self.declare()
        place, kind = self.choose.choice(self.scope.targets)
        if kind.kind == "bool":
            return self.line(f"{place} = {self.condition(1)};")
        form = self.choose.randrange(10)
        if form < 6:
            return self.line(f"{place} = ({kind.text}) {self.value(0)};")
        if form == 6:
            return self.line(f"{place} {self.choose.choice(['<<=', '>>='])} {self.shift(1)};")
        if form == 7:
            return self.line(f"{place}{self.choose.choice(['++', '--'])};")
        return self.line(f"{place} {self.choose.choice('+-*&|^')}= ({kind.text}) {self.value(1)};")

    def branch(self) -> None:
        with self.inside(f"if ({self.condition(0)})"):
            self.statements(self.choose.randint(1, 3))
        if self.chance(40):
            with self.inside("else"):
                self.statements(self.choose.randint(1, 2))

    def switch(self) -> None:
        if not self.scope.targets:
            return self.branch()
        kind = self.choose.choice([2, 3, 4])
        with self.inside(f"switch ((uint<{kind}>) {self.value(1)})"):
            for label in self.choose.sample(range(1 << kind), 2):
                self.line(f"case {label}:")
                self.assign()
                self.line("break;")
            self.line("default:")
            self.assign()
        return None

    def loop(self) -> None:
        count = self.choose.randint(1, 4)
        outer = self.scope.in_loop
        if outer:
            return self.assign()
        self.scope.in_loop = True
        if self.chance(70):
            name = self.fresh("i")
            head = f"for (uint {name} = 0; {name} < {count}; {name}++)"
            with self.inside(head):
                self.know(name, Kind("uint", "int", 32), False)
                self.statements(self.choose.randint(1, 3))
        else:
            with self.inside(f"while ({self.condition(0)}) .unroll({count})"):
                self.statements(self.choose.randint(1, 3))
        self.scope.in_loop = outer
        return None

    def leave(self) -> None:
        """`break`, `continue` or `return`, under a condition."""
        words = ["break;", "continue;"] if self.scope.in_loop else []
        if self.scope.returns and self.chance(30 if self.scope.is_handler else 100):
            words.append(self.scope.returns())
        if not words:
            return self.assign()
        with self.inside(f"if ({self.condition(1)})"):
            self.line(self.choose.choice(words))
        return None

    def message(self) -> None:
        if self.chance(50):
            return self.line(f'print("{self.fresh("m")} {{}} {{}}", {self.value(2)}, {self.value(2)});')
        return self.line(f"assert({self.condition(1)});")

    def statement(self) -> None:
        self.budget -= 1
        forms = [self.assign] * 6 + [self.declare] * 2 + [self.branch] * 2
        if self.budget > 0:
            forms += [self.loop, self.switch, self.leave]
        if self.features.messages and self.chance(20):
            forms.append(self.message)
        self.choose.choice(forms)()

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    # Elements

    def function(self) -> None:
        parameters = tuple(self.scalar() for _ in range(self.choose.randint(0, 3)))
        result = self.integer()
        name = self.fresh("f")
        names = [self.fresh("a") for _ in parameters]
        outer, self.scope = self.scope, Scope(calls=list(self.scope.calls))
        self.scope.returns = lambda: f"return ({result.text}) {self.value(2)};"
        with self.inside(f"{result.text} {name}({', '.join(f'{k.text} {n}' for k, n in zip(parameters, names, strict=True))})"):
            for kind, parameter in zip(parameters, names, strict=True):
                self.know(parameter, kind)
            self.statements(self.choose.randint(0, 2))
            self.line(f"return ({result.text}) {self.value(0)};")
        self.scope = outer
        self.scope.calls.append((name, parameters, result))

    def states(self) -> None:
        with self.inside(".state"):
            found = []
            for _ in range(self.choose.randint(1, 4)):
                kind = self.any_type()
                name = self.fresh("s")
                suffix = f"[{kind.count}]" if kind.kind == "array" else ""
                initial = f" = {self.constant(kind)}" if kind.kind == "int" and self.chance(50) else ""
                self.line(f"{kind.text} {name}{suffix}{initial};")
                found.append((name, kind))
        for name, kind in found:
            self.know(name, kind)

    def reads(self, ports: list[tuple[str, Kind]]) -> None:
        """Takes tokens: always, or under a condition, or only looks."""
        for port, kind in ports:
            name = self.fresh("t")
            if self.features.waiting and kind.kind != "struct" and self.chance(5 if self.is_arithmetic else 25):
                self.line(f"{kind.text} {name};")
                with self.inside(f"if ({self.condition(1)})"):
                    self.line(f"{name} = read({port});")
            else:
                self.line(f"{kind.text} {name} = {'peek' if self.chance(8) else 'read'}({port});")
            self.know(name, kind)
            self.fed += [place for place, inner in self.places(name, kind) if inner.kind == "int"]
            if self.features.choices and self.chance(15):
                self.scope.tests.append(f"test({port})")
            if self.chance(0 if self.is_arithmetic else 50):
                self.statement()

    def select(self, ports: list[tuple[str, Kind]], kind: Kind) -> None:
        name, index = self.fresh("t"), self.fresh("v")
        self.line(f"uint {index};")
        self.line(f"{kind.text} {name} = select({', '.join(port for port, _ in ports)}, &{index});")
        self.know(name, kind)
        self.know(index, Kind("uint", "int", 32))
        self.fed += [name] if kind.kind == "int" else []

    def packet(self, name: str) -> None:
        """Reads of, and changes to, the bytes of a flit."""
        bits = [(f"{name}.sop", Kind("uint<1>", "int", 1)), (f"{name}.eop", Kind("uint<1>", "int", 1))]
        self.scope.values += [
            *bits,
            (f"{name}.meta.length", Kind("ushort", "int", 16)),
            (f"{name}.meta.mark", Kind("uint", "int", 32)),
        ]
        self.scope.targets.append((f"{name}.meta.mark", Kind("uint", "int", 32)))
        if self.chance(10):
            self.scope.targets += [*bits, (f"{name}.empty", Kind("uint<6>", "int", 6))]
        if not self.features.views:
            return
        if self.chance(50):
            view = self.fresh("p")
            kind, count = self.choose.choice(
                [(Kind("uchar", "int", 8), 64), (Kind("ushort", "int", 16), 32), (Kind("uint", "int", 32), 16)]
            )
            self.line(f"{kind.text} *{view} = ({kind.text} *) &{name}.data;")
            entries = [(f"{view}[{self.index(count)}]", kind) for _ in range(3)]
            self.scope.values += entries
            self.scope.targets += entries
        if self.chance(50):
            header, (offset, fields) = self.choose.choice(list(HEADERS.items()))
            view = self.fresh("h")
            self.line(f"{header} *{view} = ({header} *) (&{name}.data + {offset});")
            part = self.choose.choice(fields)
            bits_of = {"ttl": 8, "protocol": 8, "source": 32, "destination": 32}.get(part, 16)
            place = (f"{view}->{part}", Kind(f"uint<{bits_of}>", "int", bits_of))
            self.scope.values.append(place)
            self.scope.targets.append(place)

    def writes(self, ports: list[tuple[str, Kind]], flits: list[str]) -> None:
        for port, kind in ports:
            if kind.text == "flit":
                if not flits:
                    continue
                text = f"write({port}, {self.choose.choice(flits)});"
            elif kind.kind == "struct":
                text = f"write({port}, {{{', '.join(self.of(k, 1) for _, k in kind.fields)}}});"
            elif kind.kind == "int":
                text = f"write({port}, ({kind.text}) ({self.fed_leaf()} ^ {self.value(1)}));"
            else:
                text = f"write({port}, {self.of(kind, 0)});"
            if self.chance(0 if self.is_arithmetic else 15):
                with self.inside(f"if ({self.condition(1)})"):
                    self.line(text)
            else:
                self.line(text)

    def signals(self) -> None:
        for _ in range(self.choose.randint(0, 2) if self.features.signals else 0):
            parameters = tuple(self.scalar() for _ in range(self.choose.randint(0, 2)))
            result = self.scalar()
            names = [self.fresh("a") for _ in parameters]
            values, targets = list(self.scope.values), list(self.scope.targets)
            given = ", ".join(f"{k.text} {n}" for k, n in zip(parameters, names, strict=True))
            with self.inside(f".signal {result.text} {self.fresh('get')}({given})"):
                for kind, parameter in zip(parameters, names, strict=True):
                    self.know(parameter, kind)
                self.scope.returns = lambda result=result: f"return {self.of(result, 2)};"
                self.statements(self.choose.randint(0, 2))
                self.line(f"return {self.of(result, 1)};")
            self.scope.values, self.scope.targets = values, targets

    def ports(self) -> tuple[list[tuple[str, Kind]], list[tuple[str, Kind]]]:
        """Inputs and outputs of the named form."""
        flit = Kind("flit", "packet")

        def some(base: str, least: int) -> list[tuple[str, Kind]]:
            count = self.choose.randint(least, 3) + (3 if self.is_arithmetic else 0)
            kinds = [self.struct_port() if self.chance(15) else self.scalar() for _ in range(count)]
            return [(f"{base}{i}", kind) for i, kind in enumerate(kinds)]

        inputs, outputs = some("in", 1), some("out", 1)
        if self.features.packets and self.chance(30):
            inputs.append(("in_packets", flit))
            outputs.append(("out_packets", flit))
        return inputs, outputs

    def struct_port(self) -> Kind:
        flat = [kind for kind in self.structs if all(k.kind != "array" for _, k in kind.fields)]
        return self.choose.choice(flat) if flat else self.scalar()

    def named(self) -> None:
        """An element in the named form."""
        inputs, outputs = self.ports()
        is_merge = self.features.choices and self.chance(12)
        if is_merge:
            kind = self.scalar()
            inputs = [("in0", kind), ("in1", kind), *(port for port in inputs if port[1].text == "flit")]
        text = ", ".join(f"{'packet' if k.text == 'flit' else k.text} {p}" for p, k in inputs)
        text += " -> " + ", ".join(f"{'packet' if k.text == 'flit' else k.text} {p}" for p, k in outputs)
        self.indent += 1
        body = self.body(inputs, outputs, is_merge)
        self.indent -= 1
        self.lines = [f".element {self.name} ({text}) {{", *body, "}"]

    def body(self, inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]], is_merge: bool) -> list[str]:
        for _ in range(self.choose.randint(0, 2)):
            self.function()
        self.states()
        outer = Scope(list(self.scope.values), list(self.scope.targets), list(self.scope.calls))
        self.scope.is_handler = True
        with self.inside(".handler"):
            plain = [port for port in inputs if port[1].text != "flit"]
            if is_merge:
                self.select(plain, plain[0][1])
            else:
                self.reads(plain)
            flits = []
            for port, _ in (port for port in inputs if port[1].text == "flit"):
                flits.append(self.fresh("x"))
                self.line(f"flit {flits[-1]} = read({port});")
                self.packet(flits[-1])
            self.scope.returns = lambda: "return;"
            self.statements(0 if self.is_arithmetic else self.choose.randint(2, 7))
            self.writes(outputs, flits)
        self.scope, self.fed = outer, []
        self.signals()
        return self.lines

    def numbered(self) -> None:
        """An element in the paper's form."""
        inputs, outputs = self.choose.randint(1, 3), self.choose.randint(1, 2)
        self.indent += 1
        self.states()
        outer = Scope(list(self.scope.values), list(self.scope.targets), [])
        self.scope.is_handler = True
        with self.inside(".handler"):
            if self.chance(60):
                self.line("uint ready = get_input_port();")
                self.know("ready", Kind("uint", "int", 32), False)
            flits = []
            for port in range(1, inputs + 1):
                if self.chance(25):
                    self.scope.tests.append(f"test_input_port(PORT_{port})")
                flits.append(self.fresh("x"))
                word = "peek" if self.chance(8) else "read"
                if self.chance(30):
                    self.line(f"flit {flits[-1]};")
                    with self.inside(f"if ({self.condition(1)})"):
                        self.line(f"{flits[-1]} = {word}_input_port(PORT_{port});")
                else:
                    self.line(f"flit {flits[-1]} = {word}_input_port(PORT_{port});")
                self.packet(flits[-1])
            self.scope.returns = lambda: f"return ({self.unsigned(4)}) {self.value(2)};"
            self.statements(self.choose.randint(1, 5))
            for port in range(1, outputs + 1):
                with self.inside(f"if ({self.condition(1)})"):
                    self.line(f"set_output_port(PORT_{port}, {self.choose.choice(flits)});")
            masks = [f"PORT_{port}" for port in range(1, inputs + 1)]
            if self.chance(70):
                self.line(f"return {self.choose.choice([' | '.join(masks), self.choose.choice(masks)])};")
        self.scope = outer
        self.signals()
        self.indent -= 1
        self.lines = [f".element {self.name} <{inputs}, {outputs}> {{", *self.lines, "}"]

    def text(self) -> str:
        """The element and what it needs."""
        self.budget = 14
        for _ in range(self.choose.randint(0, 2)):
            self.struct()
        if self.features.numbered and self.features.packets and self.chance(12):
            self.numbered()
        else:
            self.named()
        structs = []
        for kind in self.structs:
            fields = [f"{k.text} {n}{f'[{k.count}]' if k.kind == 'array' else ''};" for n, k in kind.fields]
            structs += [f"struct {kind.text} {{", *(f"    {f}" for f in fields), "}"]
        return "\n".join([*structs, *self.lines]) + "\n"


def element(seed: int, name: str, features: Features = Features()) -> str:
    """The text of one element."""
    return Writer(random.Random(seed), name, features).text()
