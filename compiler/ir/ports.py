# SPDX-License-Identifier: Apache-2.0
"""Ports during lowering: masks, reads, `select`, writes, and where a packet guard is needed.

Effects are values of the path's state under keys ("take", port): they are joined as variables are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.frontend import typed
from compiler.ir.build import Builder
from compiler.ir.ir import Framing, Node, Put, Register, Select
from compiler.ir.local import is_zero
from compiler.ir.operators import mask
from compiler.ir.paths import Key, Paths, State
from compiler.ir.states import Layout

NEED, TAKE, ENABLE, DATA, STALL = "need", "take", "enable", "data", "stall"


@dataclass
class Ports:
    """Ports of one transition; `registers` are those that the ports themselves need, for the whole element."""

    b: Builder
    paths: Paths
    element: typed.Element
    layout: Layout
    registers: dict[str, Register]
    _names: dict[Key, str] = field(default_factory=dict)
    _selects: dict[tuple[typed.Port, ...], list[Node]] = field(default_factory=dict)

    def register(self, key: Key, name: str, width: int, reset: int) -> Node:
        """A register of the compiler's own; the same for the same key."""
        if key not in self._names:
            self._names[key] = self.layout.unique(name)
            self.registers[self._names[key]] = Register(self._names[key], width, reset)
        found = self.b.exact("register", (), width, name=self._names[key])
        self.paths.defaults[key] = found
        return found

    def mask(self) -> Node:
        """The ports that the iteration before asked to wait for."""
        count = len(self.element.inputs)
        return self.register("mask", "mask_", count, mask(count))

    def arrived(self, port: typed.Port) -> Node:
        """Whether a port holds a token. Where the mask has only this one, the iteration would not have begun without."""
        found = self.b.exact("available", (), 1, name=port.name)
        if not self.element.numbered:
            return found
        only = self.b.eq(self.mask(), self.b.const(1 << port.index, len(self.element.inputs)))
        return self.b.or_(only, found)

    def masked(self, port: typed.Port) -> Node:
        return self.b.extract(self.mask(), port.index, 1)

    def head(self, port: typed.Port) -> Node:
        return self.b.exact("head", (), port.type.bits, name=port.name)

    def read(self, state: State, port: typed.Port, takes: bool) -> Node:
        """`read` and `peek`."""
        one = self.b.const(1, 1)
        if not self.element.numbered:
            state.values[NEED, port] = one
            if takes:
                state.values[TAKE, port] = one
            return self.head(port)
        arrived = self.paths.known(state, self.arrived(port))
        if takes:
            state.values[TAKE, port] = arrived
        return self.b.mux(arrived, self.head(port), self.b.const(0, port.type.bits))

    def test(self, port: typed.Port) -> Node:
        return self.b.and_(self.masked(port), self.arrived(port)) if self.element.numbered else self.arrived(port)

    def ready(self, width: int) -> Node:
        """`get_input_port`."""
        found = self.b.concat(*(self.test(port) for port in reversed(self.element.inputs)))
        return self.b.resize(found, width)

    def write(self, state: State, port: typed.Port, value: Node) -> None:
        state.values[ENABLE, port] = self.b.const(1, 1)
        state.values[DATA, port] = value

    def select(self, state: State, ports: tuple[typed.Port, ...]) -> tuple[Node, Node]:
        """The token, and the index of the port: round-robin from behind the last one, held from sop to eop."""
        b, width = self.b, max(1, (len(ports) - 1).bit_length())
        last = self.register(("last", ports), "select_last", width, len(ports) - 1)
        index, ready = self._next(ports, last)
        token = b.select(index, [self.head(port) for port in ports])
        if ports[0].is_packet:
            inside = self.register(("inside", ports), "select_inside", 1, 0)
            held = b.select(last, [b.exact("available", (), 1, name=port.name) for port in ports])
            index, ready = b.mux(inside, last, index), b.mux(inside, held, ready)
            token = b.select(index, [self.head(port) for port in ports])
            state.values["inside", ports] = b.not_(self._flag(ports[0], token, "eop"))
        for i, port in enumerate(ports):
            state.values[TAKE, port] = b.or_(state.values.get((TAKE, port), b.const(0, 1)), b.eq(index, b.const(i, width)))
        state.values["last", ports] = index
        state.values[STALL,] = b.or_(state.values.get((STALL,), b.const(0, 1)), b.not_(ready))
        self._selects.setdefault(ports, [index]).append(self.paths.all_of(state.path))
        return token, index

    def _next(self, ports: tuple[typed.Port, ...], last: Node) -> tuple[Node, Node]:
        """The first ready port behind `last`, around; and whether any is."""
        b = self.b
        ready = [b.exact("available", (), 1, name=port.name) for port in ports]
        first = later = b.const(0, last.width)
        is_later = b.const(0, 1)
        for i in reversed(range(len(ports))):
            number = b.const(i, last.width)
            behind = b.and_(ready[i], b.binary("ult", last, number))
            first = b.mux(ready[i], number, first)
            later = b.mux(behind, number, later)
            is_later = b.or_(is_later, behind)
        return b.mux(is_later, later, first), b.or_(*ready)

    def _flag(self, port: typed.Port, token: Node, name: str) -> Node:
        low, width = place(port, name)
        return self.b.extract(token, low, width)

    # What the transition does, from the values at its end.

    def needs(self, values: dict[Key, Node]) -> dict[str, Node]:
        return self._by_port(values, NEED)

    def takes(self, values: dict[Key, Node]) -> dict[str, Node]:
        return self._by_port(values, TAKE)

    def _by_port(self, values: dict[Key, Node], kind: str) -> dict[str, Node]:
        found = {port.name: values[kind, port] for port in self.element.inputs if (kind, port) in values}
        return {name: node for name, node in found.items() if not is_zero(node)}

    def any_of(self, values: dict[Key, Node]) -> Node | None:
        """What the iteration waits for besides: a port of the mask, or of a `select`."""
        b = self.b
        if not self.element.numbered:
            return b.not_(values[STALL,]) if (STALL,) in values else None
        if not self.element.inputs:
            return None
        holds = [b.exact("available", (), 1, name=port.name) for port in self.element.inputs]
        found = [b.and_(self.masked(port), held) for port, held in zip(self.element.inputs, holds, strict=True)]
        return b.or_(b.eq(self.mask(), b.const(0, len(holds))), *found)

    def puts(self, values: dict[Key, Node]) -> dict[str, Put]:
        """Tokens for the outputs."""
        found = {port: values.get((ENABLE, port)) for port in self.element.outputs}
        return {port.name: Put(enable, values[DATA, port]) for port, enable in found.items() if enable and not is_zero(enable)}

    def guard(self, port: typed.Port, puts: dict[str, Put], takes: dict[str, Node]) -> Framing | None:
        """Of an output that may send what is no packet."""
        if not port.is_packet or port.name not in puts:
            return None
        put = puts[port.name]
        if any(put.enable is takes.get(source.name) for source in self.framed_as(put)):
            return None  # each token taken is sent in that very iteration
        sop, eop, error = (place(port, name)[0] for name in ("sop", "eop", "error"))
        return Framing(sop, eop, error, *place(port, "empty"))

    def framed_as(self, put: Put) -> list[typed.Port]:
        """The inputs whose flits are framed just as what is written."""
        return [
            port
            for port in self.element.inputs
            if port.is_packet
            and all(self._flag(port, put.data, name) is self._flag(port, self.head(port), name) for name in ("sop", "eop", "empty"))
        ]

    def select_registers(self, values: dict[Key, Node]) -> dict[str, Node]:
        """What the selects remember."""
        return {self._names[key]: values[key] for key in self._names if isinstance(key, tuple) and key in values}

    def selects(self) -> tuple[Select, ...]:
        """For the log."""
        found = []
        for ports, (index, *enables) in self._selects.items():
            inside = self._names.get(("inside", ports), "")
            last = self._names["last", ports]
            found.append(Select(tuple(port.name for port in ports), self.b.or_(*enables), index, last, inside))
        return tuple(found)


def place(port: typed.Port, name: str) -> tuple[int, int]:
    """Lowest bit and bits of a field of the flit."""
    assert isinstance(port.type, typed.Struct)
    found = next(f for f in port.type.fields if f.name == name)
    return found.low, found.type.bits
