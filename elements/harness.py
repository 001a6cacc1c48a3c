# SPDX-License-Identifier: Apache-2.0
"""Runs one element of the library over given tokens: the CPU's choices, replayed by the interpreter, must give the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.backends import cpp_run
from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.element import Outcome
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, from_flits, to_flits


@dataclass
class Bench:
    """The element `name` of the program `text`."""

    name: str
    text: str
    program: typed.Program = field(init=False)
    element: typed.Element = field(init=False)

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        program = load_text(self.text, "test.sl", diagnostics)
        assert program is not None, "".join(error.render() for error in diagnostics.sorted())
        elements = [e for e in program.elements if e.source_name == self.name]
        assert len(elements) == 1, f"one element of the name {self.name}"
        self.program, self.element = typed.Program((elements[0],), (), (), 0), elements[0]

    @property
    def flit(self) -> typed.Struct:
        """The type of the packet ports."""
        kind = next(port.type for port in (*self.element.inputs, *self.element.outputs) if port.is_packet)
        assert isinstance(kind, typed.Struct)
        return kind

    def flits(self, packets: Iterable[bytes | tuple[bytes, dict[str, int]]]) -> list[int]:
        """Packets, each with the fields of `meta` that it is to have, as tokens."""
        tokens: list[int] = []
        fields = fields_of(self.flit)
        meta = fields_of(next(f.type for f in self.flit.fields if f.name == "meta"))
        for given in packets:
            data, values = given if isinstance(given, tuple) else (given, {})
            flits = to_flits(self.flit, Packet(data), 0)
            for name, value in {"length": len(data), **values}.items():
                low = fields["meta"][0] + meta[name][0]
                flits[0] = flits[0] & ~((1 << meta[name][1]) - 1 << low) | value << low
            tokens += flits
        return tokens

    def packets(self, tokens: Iterable[int]) -> list[bytes]:
        """The packets of tokens; one that is marked as broken fails."""
        found = from_flits(self.flit, tokens)
        assert not any(error for _, error in found)
        return [packet.data for packet, _ in found]

    def port(self, name: str) -> typed.Struct:
        """The type of a port that is a structure."""
        kind = next(p.type for p in (*self.element.inputs, *self.element.outputs) if p.name == name)
        assert isinstance(kind, typed.Struct)
        return kind

    def token(self, port: str, **values: int) -> int:
        """A token of a structure, by its fields."""
        fields = fields_of(self.port(port))
        assert not set(values) - set(fields)
        return sum(value << fields[name][0] for name, value in values.items())

    def fields(self, port: str, token: int) -> dict[str, int]:
        """The fields of a token, inner structures as a number."""
        return {name: token >> low & (1 << bits) - 1 for name, (low, bits) in fields_of(self.port(port)).items()}

    def run(self, streams: dict[str, Sequence[int]], calls: Sequence[SignalCall] = (), seed: int = 0) -> Outcome:
        """On the CPU; the interpreter agrees. Signals come anywhere among the iterations."""
        got = cpp_run.run(self.program, {self.element.name: streams}, seed, {self.element.name: calls})[self.element.name]
        assert disagreement(self.element, streams, got) == ""
        return got
