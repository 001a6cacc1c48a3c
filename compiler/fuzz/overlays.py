# SPDX-License-Identifier: Apache-2.0
"""Random configurations for the programmable pipeline as source text: one element, or two in a row, that read headers, look rules
up, decide, change fields and forward; rules and packets in comments behind them. Most fit; some do what the overlay must refuse."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from compiler.fuzz import overlay_packets
from compiler.fuzz.overlay_packets import LANES, Wish
from compiler.fuzz.overlay_rules import KINDS, RuleLine, Table, rules
from compiler.fuzz.overlay_statements import OverlayStatements
from compiler.fuzz.writer import BOOL, Kind

RULE, PACKET, UNITS = "//| ", "//> ", "//= "  # in front of what is no part of the program
STEPS = (0, 1, 10, 100, 1000, 50_000)  # microseconds between packets where there is state of flows


class Overlays(OverlayStatements):
    """Writes one element."""

    def __init__(self, choose: random.Random, name: str) -> None:
        super().__init__(choose, name)
        self.lanes = sorted(choose.sample(range(LANES), choose.choice([1, 2, 4, 4])))  # packets leave there
        self.has_host = self.chance(75)
        self.style = self.choose.choice(["states", "states", "struct", "struct", "plain"])  # what keeps the decision
        self.keys: list[Wish] = []  # of flows that packets belong to
        self.front = "to." if self.style == "struct" else ""
        if self.style == "plain":
            self.lanes, self.has_host = self.lanes[:1], False

    def rule_tables(self) -> None:
        kind = self.choose.choice(KINDS)
        key = Kind(f"uint<{bits}>", "int", bits) if (bits := self.choose.choice([0, 3, 8, 16, 32, 48])) else self.struct()
        if kind == "lpm" and key.kind == "struct":
            key = Kind("uint<32>", "int", 32)
        value = self.struct() if self.chance(60) else Kind(f"uint<{len(self.lanes)}>", "int", len(self.lanes))
        table = Table(self.fresh("t"), kind, key, value, self.choose.choice([1, 4, 8, 8, 16, 90]))
        self.asked.append(table)

    def struct(self) -> Kind:
        widths = [self.choose.choice([1, 4, 8, 16, 16, 32, 48]) for _ in range(self.choose.randint(1, 4))]
        fields = tuple((f"f{number}", Kind(f"uint<{bits}>", "int", bits)) for number, bits in enumerate(widths))
        kind = Kind(f"{self.name}_s{len(self.structs)}_t", "struct", sum(widths), fields=fields)
        self.structs.append(kind)
        return kind

    def states(self) -> None:
        """What keeps the decision, and how it is made."""
        if self.style == "plain":
            self.decisions = [lambda: f"x.meta.queue = {self.choose.randrange(16)};"]
            return
        count = len(self.lanes)
        parts = [("lanes", Kind(f"uint<{count}>", "int", count)), *([("upload", BOOL)] if self.has_host else [])]
        with self.inside(".state"):
            for name, kind in parts if self.style == "states" else [("to", self.decision(parts))]:
                self.line(f"{kind.text} {name};")
        every = (1 << count) - 1
        numbers = [str(self.choose.randint(0, every)) for _ in range(3)]
        self.decisions = [lambda: f"{self.front}lanes = {self.choose.choice([*numbers, str(every)])};"] * 3
        self.decisions += [lambda: f"{self.front}lanes {self.choose.choice(['^=', '|=', '&='])} {self.choose.choice(numbers)};"]
        self.decisions += [self.by_rule] * 3
        if self.has_host:
            self.decisions += [
                lambda: f"{self.front}upload = {self.choose.choice(['true', 'true', 'false', self.condition(1)])};"
            ] * 2

    def constants(self) -> None:
        """A state that never changes, and a function that compares with it."""
        bits = self.choose.choice([4, 8, 16])
        name, function = self.fresh("k"), self.fresh("f")
        with self.inside(".state"):
            self.line(f"uint<{bits}> {name} = {self.near(bits)};")
        if self.chance(40):
            with self.inside(".init"):
                self.line(f"{name} += {self.near(bits)};")
        with self.inside(f"bool {function}(uint<{bits}> a)"):
            self.line(f"if (a == {self.near(bits):#x}) return true;")
            self.line(f"return a {self.choose.choice(['==', '<', '!='])} {name};")
        self.helper = (function, bits)

    def decision(self, parts: Sequence[tuple[str, Kind]]) -> Kind:
        """A struct of what is decided, which rules give too."""
        kind = Kind(f"{self.name}_to_t", "struct", sum(part.bits for _, part in parts), fields=tuple(parts))
        self.structs.append(kind)
        for table in self.asked:
            if self.chance(50):
                table.value = kind
        return kind

    def by_rule(self) -> str:
        """Lanes of a rule's value, where there is one; or all that a rule decides."""
        same = [text for text, kind in self.scope.wholes if self.style == "struct" and kind.text == f"{self.name}_to_t"]
        if same and self.chance(80):
            return f"to = {self.choose.choice(same)};"
        found = [text for text, kind in self.scope.values if text not in self.fields and kind.kind == "int"]
        bits = len(self.lanes)
        value = f"(uint<{bits}>) {self.choose.choice(found)}" if found else str(self.choose.randrange(1 << bits))
        return f"{self.front}lanes = {value};"

    def give_up(self) -> None:
        """Leave the handler in the middle: nothing of the packet goes on, or the decision does not say so."""
        with self.inside(f"if ({self.condition(1)})"):
            if self.chance(80) and self.style != "plain":
                self.line(f"{self.front}lanes = 0;")
                self.line(f"{self.front}upload = false;" if self.has_host else "")
            self.line("return;")

    def writes(self) -> None:
        front, excludes = self.front, f"!{self.front}upload && " if self.has_host and self.chance(90) else ""
        if self.style == "plain":
            return self.line("write(out, x);")
        if len(self.lanes) > 1:
            each = f"if ({excludes}({front}lanes >> lane & 1) == 1) write(out[lane], x);"
            self.line(f".repeat (lane, 0, {len(self.lanes)}) {{ {each} }}")
        else:
            self.line(f"if ({excludes}{front}lanes == 1) write(out, x);")
        return self.line(f"if ({front}upload) write(controller, x);" if self.has_host else "")

    def handler(self) -> None:
        with self.inside(".handler"):
            self.line("flit x = read(in);")
            with self.inside("if (x.sop)"):
                self.first_flit()
            self.writes()

    def defaults(self) -> None:
        """Where a packet goes if nothing else says so."""
        if self.style != "plain":
            self.line(f"{self.front}lanes = {self.choose.randrange(1 << len(self.lanes))};")
            self.line(f"{self.front}upload = {self.choose.choice(['true', 'false'])};" if self.has_host else "")

    def first_flit(self) -> None:
        self.defaults()
        self.views()
        self.scope.is_handler = True
        if self.chance(8):
            self.machine("x")
        for table in self.asked:
            if self.chance(70):  # so that most programs with two tables have two units
                self.look_up(table)
                self.branch()
        self.statements(self.choose.randint(1, 5))
        if self.chance(8):
            self.give_up()
            self.statement()

    def element(self) -> list[str]:
        """Its text. What it declares, compares with and looks up is known then."""
        self.indent = 1
        for _ in range(self.choose.choice([0, 1, 1, 1, 2])):
            self.rule_tables()
        self.states()
        if self.chance(25):
            self.constants()
        for table in self.asked:
            self.line(f"table {table.kind}<{table.key.text}, {table.value.text}> {table.name}[{table.entries}];")
        self.handler()
        out = f"packet out{f'[{len(self.lanes)}]' if len(self.lanes) > 1 else ''}{', packet controller' if self.has_host else ''}"
        return [f".element {self.name} (packet in -> {out}) {{", *self.lines, "}"]

    def outputs(self) -> list[str]:
        """Its ports that lead to lanes, or to another element."""
        return [f"out[{number}]" for number in range(len(self.lanes))] if len(self.lanes) > 1 else ["out"]

    def declarations(self) -> list[str]:
        """Its types."""
        lines = []
        for kind in self.structs:
            word = "header" if kind.kind == "header" else "struct"
            lines += [f"{word} {kind.text} {{", *(f"    {part.text} {name};" for name, part in kind.fields), "}"]
        return lines


def configuration(choose: random.Random, elements: Mapping[str, Overlays]) -> list[str]:
    """Lanes to the first element, its outputs to lanes or to the next; a Mux where several ports lead to one place."""
    names = list(elements)
    first, last = names[0], names[-1]
    leads: dict[str, list[str]] = {first: []}  # ports by the place that they lead to
    for lane in range(LANES) if choose.random() < 0.75 else sorted(choose.sample(range(LANES), choose.choice([1, 2, 3]))):
        where = last if choose.random() < 0.1 and leads[first] else first
        leads.setdefault(where, []).append(f"from_lane[{lane}]")
    for name, element in elements.items():
        ports, lanes = [f"{name}.{port}" for port in element.outputs()], choose.sample(element.lanes, len(element.lanes))
        for number, (port, lane) in enumerate(zip(ports, lanes, strict=True)):
            goes_on = name != last and (not number or choose.random() < 0.5)
            leads.setdefault(last if goes_on else f"to_lane[{lane}]", []).append(port)
        if element.has_host:
            leads.setdefault("logger", []).append(f"{name}.controller")
    lines = [f"{element.name} :: {name}{' @' if element.asked else ''}" for name, element in elements.items()]
    lines += ["host PktLogger :: logger"] if "logger" in leads else []
    for number, (where, ports) in enumerate(leads.items()):
        mux = f"mux{number}"
        lines += [f"Mux<N = {len(ports)}> :: {mux}"] if len(ports) > 1 else []
        lines += [f"{port} -> [{at + 1}] {mux}" for at, port in enumerate(ports)] if len(ports) > 1 else []
        lines += [f"{mux if len(ports) > 1 else ports[0]} -> {where}"]
    return lines


def text(choose: random.Random, elements: Mapping[str, Overlays]) -> str:
    """Types, elements, configuration; behind them units of the pipeline, rules and packets."""
    written = [line for element in elements.values() for line in element.element()]
    declared = [line for element in elements.values() for line in element.declarations()]
    asked = [(name, element, table) for name, element in elements.items() for table in element.asked]
    known = Counter(table.name for _, _, table in asked)
    found: list[RuleLine] = []
    for name, element, table in asked:
        table.instance, table.shown = name, table.name if known[table.name] == 1 else f"{name}.{table.name}"
        found += rules(choose, table, element.near)
    lines = ['import "ipchecksum/updated.sl";', *declared, *written, *configuration(choose, elements)]
    wishes = [wish for element in elements.values() for wish in element.wishes]
    wishes += [wish for line in found for wish in line.wishes] * 3
    keys = [key for element in elements.values() for key in element.keys]
    packets = overlay_packets.packets(choose, wishes, keys)
    times = _times(choose, len(packets)) if keys else [0] * len(packets)
    lines += [f"{UNITS}{choose.choice([2 if keys else 1, 2, 4, 8, 8])}", *(RULE + line.text for line in found)]
    shown = [f"{PACKET}{lane} {data.hex()}{f' {time}' if time else ''}" for (lane, data), time in zip(packets, times, strict=True)]
    return "\n".join([*lines, *shown]) + "\n"


def _times(choose: random.Random, count: int) -> list[int]:
    """That rise, sometimes beyond 32 bits."""
    steps = [choose.choice(STEPS) for _ in range(count)]
    return [*accumulate(steps, initial=choose.choice([1, (1 << 32) - 2000, choose.getrandbits(33)]))][1:]
