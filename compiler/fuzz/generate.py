# SPDX-License-Identifier: Apache-2.0
"""Random well-typed elements as source text, from a seed. `Features` leaves out what a target cannot do yet."""

from __future__ import annotations

import random

from compiler.fuzz.packets import Packets
from compiler.fuzz.writer import UINT, Features, Kind

FLIT = Kind("flit", "packet")
BOUNDS = (16, 33, 64, 100, 256, 1000)  # entries of states that are meant as memories


class Elements(Packets):
    """Writes an element."""

    def states(self) -> None:
        found = []
        with self.inside(".state"):
            for _ in range(self.choose.randint(1, 4)):
                kind = self.any_type()
                if kind.kind == "array" and kind.of is not None and self.chance(40):
                    kind = self.array(kind.of, BOUNDS)
                if kind.kind == "array" and self.chance(20):
                    kind = self.array(kind, (2, 3, 4))
                name, suffix = self.fresh("s"), dimensions(kind)
                initial = f" = {self.constant(kind)}" if kind.kind == "int" and self.chance(50) else ""
                self.line(f"{kind.text} {name}{suffix}{initial};")
                found.append((name, kind))
        for name, kind in found:
            self.know(name, kind)
        if self.features.flows and self.chance(12):
            self.flow_table()
        if self.chance(15):
            self.scope.is_reset = True
            with self.inside(".init"):
                self.statements(self.choose.randint(1, 3))
            self.scope.is_reset = False

    def flow_table(self) -> None:
        flat = [kind for kind in self.structs if kind.is_flat]
        key = self.choose.choice(flat) if flat and self.chance(30) else Kind(self.unsigned(5), "int", 5)
        value = self.choose.choice(flat) if flat and self.chance(50) else self.integer()
        name, entries = self.fresh("flows"), self.choose.choice([8, 16])
        options = [f"ways = {self.choose.choice([1, 2, 4, 8])}"]
        options += [f"timeout = {self.choose.choice([1, 5, 100])}"] if self.chance(60) else []
        options += ["evict = true"] if self.chance(50) else []
        self.line(f"flow<{key.text}, {value.text}> {name}[{entries}] ({', '.join(options)});")
        self.flows.append((name, key, value))

    def rule_tables(self) -> None:
        """A table of rules, which its own signals fill."""
        flat = [kind for kind in self.structs if kind.is_flat]
        bits = self.choose.choice([1, 2, 3, 3, 4, 4, 5, 8, 33, 128])
        name, kind = self.fresh("rules"), self.choose.choice(["exact", "lpm", "ternary"])
        is_struct = flat and kind != "lpm" and self.chance(25)
        key = self.choose.choice(flat) if is_struct else Kind(f"uint<{bits}>", "int", bits)
        value = self.choose.choice(flat) if flat and self.chance(40) else self.integer()
        self.line(f"table {kind}<{key.text}, {value.text}> {name}[{self.choose.choice([1, 2, 3, 4, 6, 9])}];")
        self.tables.append((name, key, value))

    # What comes in and goes out

    def ports(self) -> tuple[list[tuple[str, Kind]], list[tuple[str, Kind]]]:
        """Inputs and outputs of the named form. `count` of a kind says that the port is an array."""

        def some(base: str, least: int) -> list[tuple[str, Kind]]:
            count = self.choose.randint(least, 3) + (3 if self.is_arithmetic else 0)
            return [(f"{base}{i}", self.port_type()) for i in range(count)]

        inputs, outputs = some("in", 1), some("out", 1)
        for ports in (inputs, outputs):
            if self.chance(12):
                name, kind = ports[-1]
                if kind.kind != "struct":
                    ports[-1] = (name, self.array(kind, (2, 3)))
        if self.features.packets and self.chance(30):
            inputs.append(("in_packets", FLIT))
            outputs.append(("out_packets", FLIT))
        return inputs, outputs

    def port_type(self) -> Kind:
        flat = [kind for kind in self.structs if kind.is_flat]
        return self.choose.choice(flat) if flat and self.chance(15) else self.scalar()

    def reads(self, ports: list[tuple[str, Kind]]) -> None:
        """Takes tokens: always, or under a condition, or only looks."""
        for port, kind in ports:
            if kind.kind == "array" and kind.of is not None:
                places = [f"{port}[{i}]" for i in range(kind.count)]
                if self.chance(50):
                    places = [f"{port}[{self.index(kind.count)}]"]
                for place in places:
                    self.read(place, kind.of)
            else:
                self.read(port, kind)

    def read(self, port: str, kind: Kind) -> None:
        name = self.fresh("t")
        if self.features.waiting and kind.kind != "struct" and self.chance(5 if self.is_arithmetic else 25):
            self.line(f"{kind.text} {name};")
            with self.inside(f"if ({self.condition(1)})"):
                self.line(f"{name} = read({port});")
        else:
            self.line(f"{kind.text} {name} = {'peek' if self.features.waiting and self.chance(8) else 'read'}({port});")
        self.know(name, kind)
        self.fed += [place for place, inner in self.places(name, kind) if inner.kind == "int"]
        if self.features.choices and self.chance(15):
            self.scope.tests.append(f"test({port})")
        if self.chance(0 if self.is_arithmetic else 50):
            self.statement()

    def select(self, ports: list[tuple[str, Kind]]) -> list[str]:
        """Takes from any of some ports; the flit that it took, if they have packets."""
        kind = ports[0][1]
        name, index = self.fresh("t"), self.fresh("v")
        self.line(f"uint {index};")
        self.line(f"{kind.text} {name} = select({', '.join(port for port, _ in ports)}, &{index});")
        self.know(index, UINT)
        if kind == FLIT:
            self.packet(name)
            return [name]
        self.know(name, kind)
        self.fed += [name] if kind.kind == "int" else []
        return []

    def writes(self, ports: list[tuple[str, Kind]], flits: list[str]) -> None:
        for port, kind in ports:
            place = port
            if kind.kind == "array" and kind.of is not None:
                place, kind = f"{port}[{self.index(kind.count)}]", kind.of
            if kind.text == "flit":
                if not flits:
                    continue
                text = f"write({place}, {self.choose.choice(flits)});"
            elif kind.kind == "struct":
                same = [text for text, whole in self.scope.wholes if whole == kind]
                text = f"write({place}, {self.choose.choice(same) if same and self.chance(30) else self.literal(kind, 1)});"
            elif kind.kind == "int":
                text = f"write({place}, ({kind.text}) ({self.fed_leaf()} ^ {self.value(1)}));"
            else:
                text = f"write({place}, {self.of(kind, 0)});"
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
            with self.inside(f".signal {result.text} {self.fresh('get')}({self.parameters(parameters, names)})"):
                for kind, parameter in zip(parameters, names, strict=True):
                    self.know(parameter, kind)
                self.scope.returns = lambda result=result: f"return {self.of(result, 2)};"
                self.statements(self.choose.randint(0, 2))
                self.line(f"return {self.of(result, 1)};")
        for _ in range(self.choose.choice([0, 0, 0, 0, 1, 2]) if self.features.signals else 0):
            self.timer()

    def timer(self) -> None:
        """Its period is short: the test bench's tick is fast."""
        with self.inside(f".timer {self.fresh('tick')} (every = {self.choose.choice([1, 2, 3, 5, 9, 30])})"):
            if self.chance(50):
                self.line("uint<16> passed = periods();")
                self.know("passed", Kind("uint<16>", "int", 16))
            self.scope.returns = lambda: "return;"
            self.statements(self.choose.randint(1, 3))

    # The two forms

    def named(self, inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]]) -> None:
        """An element in the named form, with these ports or, where it merges, others."""
        merged: list[tuple[str, Kind]] = []
        if self.features.choices and self.chance(12):
            kind = FLIT if self.features.packets and self.chance(30) else self.scalar()
            merged = [(f"in{n}", kind) for n in range(self.choose.choice([2, 2, 3]))]
            inputs = [*merged, *(port for port in inputs if port[1] == FLIT)]
            outputs = [*outputs, ("out_merged", FLIT)] if kind == FLIT else outputs
        self.indent += 1
        self.body(inputs, outputs, merged)
        self.indent -= 1
        self.lines = [f".element {self.name} ({_ports(inputs, outputs)}) {{", *self.lines, "}"]

    def body(self, inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]], merged: list[tuple[str, Kind]]) -> None:
        """`merged`: inputs of which an iteration takes from one."""
        self.states()
        if self.features.tables and self.chance(8):
            self.rule_tables()
        for _ in range(self.choose.randint(0, 2)):
            self.function()
        if self.chance(20):
            self.changer()
        outer = self.scope.state_only()
        self.scope.is_handler = True
        with self.inside(".handler"):
            flits = self.select(merged) if merged else []
            self.reads([port for port in inputs if port not in merged and port[1] != FLIT])
            for port in (name for name, kind in inputs if kind == FLIT and (name, kind) not in merged):
                flits.append(self.fresh("x"))
                self.line(f"flit {flits[-1]} = read({port});")
                self.packet(flits[-1])
            self.scope.returns = lambda: "return;"
            self.statements(0 if self.is_arithmetic else self.choose.randint(2, 7))
            self.writes(outputs, flits)
        self.scope, self.fed = outer, []
        self.signals()

    def numbered(self) -> None:
        """An element in the paper's form."""
        inputs, outputs = self.choose.randint(1, 3), self.choose.randint(1, 2)
        self.indent += 1
        self.states()
        outer = self.scope.state_only()
        self.scope.is_handler = True
        with self.inside(".handler"):
            if self.chance(60):
                self.line("uint ready = get_input_port();")
                self.know("ready", UINT, False)
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
        self.scope, self.fed = outer, []
        self.signals()
        self.indent -= 1
        self.lines = [f".element {self.name} <{inputs}, {outputs}> {{", *self.lines, "}"]

    def text(self) -> str:
        """The element and what it needs."""
        if self.chance(25):
            self.enum()
        for _ in range(self.choose.randint(0, 2)):
            self.struct()
        if self.chance(20):
            self.constant_array()
        if self.features.numbered and self.features.packets and self.chance(12):
            self.numbered()
        else:
            self.named(*self.ports())
        return "\n".join([*self.declarations(), *self.lines]) + "\n"

    def stage(self, inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]]) -> str:
        """An element with these ports, every one of which it reads in each iteration; for a configuration."""
        self.budget = 6
        if self.chance(30):
            self.struct()
        self.indent += 1
        self.body(inputs, outputs, [])
        self.indent -= 1
        self.lines = [f".element {self.name} ({_ports(inputs, outputs)}) {{", *self.lines, "}"]
        return "\n".join([*self.declarations(), *self.lines]) + "\n"


def _ports(inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]]) -> str:
    return ", ".join(map(_port, inputs)) + " -> " + ", ".join(map(_port, outputs))


def dimensions(kind: Kind) -> str:
    """What is behind the name where a variable is declared."""
    return f"[{kind.count}]{dimensions(kind.of)}" if kind.kind == "array" and kind.of is not None else ""


def _port(port: tuple[str, Kind]) -> str:
    name, kind = port
    return f"{'packet' if kind.text == 'flit' else kind.text} {name}{f'[{kind.count}]' if kind.kind == 'array' else ''}"


def element(seed: int, name: str, features: Features = Features()) -> str:  # noqa: B008 (it cannot change)
    """The text of one element."""
    return Elements(random.Random(seed), name, features).text()
