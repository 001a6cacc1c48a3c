# SPDX-License-Identifier: Apache-2.0
"""What a program does with a packet, as a function of the packet's first flit.

A handler decides at the first flit of a packet and treats the later ones alike; that is checked here, or on every path later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.interpreter.guard import fields_of
from compiler.ir.build import Builder
from compiler.ir.ir import Node, Put, Transition
from compiler.ir.lower import lower_handler
from compiler.ir.memories import LowerError
from compiler.ir.rewrite import order
from compiler.overlay.bits import LENGTH, PORT, WORD_BITS, OverlayError, replaced, word_name
from toolchain import ROOT

WORDS = 8 * L.DATA_BYTES // WORD_BITS
CHECKSUM, LIBRARY = "checksum_updated", ROOT / "elements" / "ipchecksum" / "updated.sl"
MUX = ROOT / "elements" / "mux" / "mux.sl"
HOST = L.HOST_PORT
FIXED = ("error", "eop", "empty", "ingress_port", "egress_mask", "fault", "timestamp", "length")  # what must leave as it came


@dataclass(frozen=True)
class Output:
    """A port of the element, and the lane that it leads to, or HOST."""

    port: str
    lane: int


@dataclass(frozen=True)
class Packet:
    """A packet on its way: its first words, metadata, and everything else, which must leave as it came."""

    words: tuple[Node, ...]
    verdict: Node
    queue: Node
    mark: tuple[Node, Node]  # high, low
    rest: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.words, *self.mark, self.verdict, self.queue, self.rest)

    @staticmethod
    def of(nodes: Sequence[Node]) -> Packet:
        return Packet(tuple(nodes[:-5]), nodes[-3], nodes[-2], (nodes[-5], nodes[-4]), nodes[-1])


@dataclass(frozen=True)
class Way:
    """What goes to one output: whether the packet does, whether its later flits do, and the packet as it then is."""

    output: Output
    enable: Node
    later: Node
    packet: Packet
    span: Span


@dataclass(frozen=True)
class Behaviour:
    """A program: the ways of its packets; `arrived` is a packet as it comes in."""

    element: typed.Element
    b: Builder
    ways: tuple[Way, ...]
    arrived: Packet
    tables: Mapping[str, typed.Table]
    instance: str


def behaviour(program: typed.Program, lanes: int = 4) -> Behaviour:
    """What a program does. Raises OverlayError where it is not of the kind that a pipeline can do."""
    instance, outputs, inputs = _graph(program, lanes)
    element = instance.element
    try:
        handler, resets = lower_handler(element, lambda f: f.name == CHECKSUM and _is_from(f, LIBRARY))
    except LowerError as error:
        raise OverlayError("E0807", error.text, error.span or element.span, "use shorter loops and smaller arrays") from error
    made = _Handler(element, handler, resets).ways(outputs)
    allowed = _allowed(made.b, inputs, lanes)
    ways = tuple(replace(way, enable=made.b.and_(allowed, way.enable), later=made.b.and_(allowed, way.later)) for way in made.ways)
    return replace(made, ways=ways, instance=instance.name)


def _is_from(item: typed.Function | typed.Element, file: Path) -> bool:
    """Whether a file of the library declares it; the name of a source is from the working folder, or from the checkout."""
    path = Path(item.span.source.name)
    return (path if path.exists() else ROOT / path).resolve() == file


def _graph(program: typed.Program, lanes: int) -> tuple[typed.Instance, list[Output], set[int]]:
    """The one element of a configuration, where its outputs lead, and the lanes that it takes packets from."""
    if not program.channels:
        span = program.elements[-1].span if program.elements else None
        raise OverlayError("E0807", "no configuration", span, "add one: from_tor -> … -> to_tor")  # type: ignore[arg-type]
    merges = {i.name for i in program.instances if _is_from(i.element, MUX)}
    main = [i for i in program.instances if not i.on_host and i.name not in merges]
    if len(main) != 1:
        span = main[1].span if main else program.channels[0].span
        hint = "join them into one element; only a Mux in front of it, and elements on the host behind it, can stay"
        raise OverlayError("E0807", f"{len(main)} elements; the overlay runs one", span, hint)
    hosts = {i.name for i in program.instances if i.on_host}
    (instance,) = main
    outputs, inputs = [], set()
    uploads: set[typed.Endpoint] = set()
    for channel in program.channels:
        source, target = channel.source, channel.target
        for end in (source, target):
            if not end.instance and end.port >= lanes:
                raise OverlayError("E0807", f"lane {end.port}; the device has {lanes}", channel.span, f"lanes 0 to {lanes - 1}")
        if not source.instance and target.instance in {*merges, instance.name}:
            inputs.add(source.port)
        elif source.instance == instance.name and (not target.instance or target.instance in hosts):
            lane = HOST if target.instance else target.port
            uploads |= {target} if target.instance else set()
            if len(uploads) > 1:
                hint = "lead one output to one element on the host; meta.mark can say why a packet goes there"
                raise OverlayError("E0807", "two channels to the host; the overlay has one", channel.span, hint)
            outputs.append(Output(instance.element.outputs[source.port].name, lane))
        elif not (source.instance in merges and target.instance == instance.name):
            hint = "lead lanes to one element, directly or through a Mux, and its outputs to lanes or to elements on the host"
            raise OverlayError("E0807", "a channel that the overlay does not have", channel.span, hint)
    return instance, outputs, inputs


def _allowed(b: Builder, inputs: set[int], lanes: int) -> Node:
    """Whether the packet came through a lane that the program reads."""
    if inputs >= set(range(lanes)):
        return b.const(1, 1)
    port = b.exact("head", (), 8, name=PORT)
    return b.or_(*(b.eq(port, b.const(lane, 8)) for lane in sorted(inputs)))


class _Handler:
    """A handler at the first flit of a packet, and at later ones."""

    def __init__(self, element: typed.Element, handler: Transition, resets: Mapping[str, int]) -> None:
        self.element, self.handler, self.resets = element, handler, resets
        self.b = Builder()
        if len(element.inputs) != 1 or not all(p.is_packet for p in (*element.inputs, *element.outputs)):
            raise self._refusal("its channels are not packets", element.span, "one input and any outputs, all of type packet")
        self.flit = element.inputs[0].type
        self._check()

    def _refusal(self, text: str, span: Span | None, hint: str) -> OverlayError:
        return OverlayError("E0807", f"{self.element.source_name}: {text}", span or self.element.span, hint)

    def _check(self) -> None:
        """What the overlay has not at all."""
        handler, name = self.handler, self.element.inputs[0].name
        if handler.writes or any(node.op in ("read", "choice", "available") for node in order(self._roots())):
            nodes = [node for node in order(self._roots()) if node.op in ("read", "choice", "available")]
            span = handler.writes[0].data.span if handler.writes else nodes[0].span
            hint = "tables, fields and constants decide; arrays, now() and test() are for --target cpu or sim"
            raise self._refusal("what it does depends on more than the packet and tables", span, hint)
        if handler.messages:
            raise self._refusal("print() is not there", handler.messages[0].enable.span, "leave it out")
        if name not in handler.takes or not all(one.op == "const" and one.value for one in handler.takes.values()):
            raise self._refusal("an iteration that takes no flit", self.element.span, "read the input once in every iteration")

    def _roots(self) -> list[Node]:
        return [node for put in self.handler.puts.values() for node in (put.enable, put.data)] + [*self.handler.next.values()]

    def ways(self, outputs: Sequence[Output]) -> Behaviour:
        puts = {port: put for port, put in self.handler.puts.items() if not (put.enable.op == "const" and not put.enable.value)}
        changing = dict(self.handler.next)
        first = self._at(self._first(), changing, {})
        known = {name: first[f"next {name}"] for name in changing}
        later_flit = self._later()
        later = self._at(later_flit, changing, {})
        self._check_states(changing, first, later)
        behind = self._at(later_flit, changing, known)
        arrived = self._packet(self._first())
        ways = []
        for output in outputs:
            if output.port not in puts:
                continue
            span = _span(puts[output.port]) or self.element.span
            packet = self._packet(first[f"data {output.port}"])
            roots = (first[f"enable {output.port}"], behind[f"enable {output.port}"], *packet.nodes[:-1])
            enable, until_end, *nodes = replaced(self.b, roots, self._framing())
            leaves = behind[f"enable {output.port}"]
            if not (leaves.op == "const" and not leaves.value) and later[f"data {output.port}"] is not later_flit:
                raise self._refusal("it changes flits behind the first", span, "change packets where x.sop is set")
            ways.append(Way(output, enable, until_end, Packet.of([*nodes, packet.rest]), span))
        tables = {table.name: table for table in self.element.tables}
        return Behaviour(self.element, self.b, tuple(ways), arrived, tables, "")

    def _at(self, flit: Node, changing: Mapping[str, Node], known: Mapping[str, Node]) -> dict[str, Node]:
        """Every root where the flit is this one, and registers have known values."""
        names, roots = [], []
        for port, put in self.handler.puts.items():
            names += [f"enable {port}", f"data {port}"]
            roots += [put.enable, put.data]
        names += [f"next {name}" for name in changing]
        roots += changing.values()
        values: dict[Node, Node] = {}
        for node in order(roots):
            if node.op == "head":
                values[node] = flit
            elif node.op == "register":
                kept = self.b.const(self.resets.get(node.name, 0), node.width)
                values[node] = known.get(node.name, self._register(node)) if node.name in changing else kept
            elif node.op == "const":
                values[node] = self.b.const(node.value, node.width)
        return dict(zip(names, _again(self.b, roots, values), strict=True))

    def _register(self, node: Node) -> Node:
        return self.b.exact("register", (), node.width, name=node.name)

    def _check_states(self, changing: Mapping[str, Node], first: Mapping[str, Node], later: Mapping[str, Node]) -> None:
        """States may only carry the decision from the first flit to the later ones."""
        used = {n.name for key, root in later.items() if key.startswith("enable") for n in order([root]) if n.op == "register"}
        hint = "a state may only say what happens to the later flits of a packet; counters and memories are for --target cpu or sim"
        for name, node in changing.items():
            span = self._state_span(name) or node.span
            text = f"the state '{name}' changes from packet to packet"
            if name not in used:
                raise self._refusal(text, span, hint)
            here, kept = later[f"next {name}"], self._register(node if node.op == "register" else _sized(node, name))
            kept_to_end = replaced(self.b, [here], {self._eop(): self.b.const(0, 1)})[0]
            if kept_to_end is not kept:
                raise self._refusal(f"the state '{name}' changes at later flits of a packet", span, hint)
        for key, root in first.items():
            for node in order([root]):
                if node.op == "register":
                    text = f"what it does with a packet depends on the state '{node.name}', which packets before it set"
                    if not key.startswith("next") or root is not node:
                        raise self._refusal(text, self._state_span(node.name), hint)

    def _state_span(self, register: str) -> Span | None:
        found = [s for s in self.element.states if register == s.name or register.startswith(f"{s.name}_")]
        return max(found, key=lambda s: len(s.name)).span if found else None

    def _source(self, name: str, width: int) -> Node:
        return self.b.exact("head", (), width, name=name)

    def _first(self) -> Node:
        """The first flit of a packet from a lane."""
        b, length = self.b, self._source(LENGTH, 16)
        words = [self._source(word_name(number), WORD_BITS) for number in range(WORDS)]
        swapped = [half for word in reversed(words) for half in (b.extract(word, 0, 8), b.extract(word, 8, 8))]
        values = {"sop": b.const(1, 1), "eop": self._source("eop", 1), "empty": self._source("empty", self._empty_bits)}
        values |= {"data": b.concat(*swapped), "length": length}
        values |= {"ingress_port": self._source(PORT, 8), "timestamp": self._source("timestamp", 64)}
        return self._flit(values)

    @property
    def _empty_bits(self) -> int:
        return fields_of(self.flit)["empty"][1]

    def _framing(self) -> dict[Node, Node]:
        """`eop` and `empty` of a first flit, by the length of the packet."""
        b, length = self.b, self._source(LENGTH, 16)
        eop = b.binary("ult", length, b.const(L.DATA_BYTES + 1, 16))
        unused = b.extract(b.binary("sub", b.const(L.DATA_BYTES, 16), length), 0, self._empty_bits)
        empty = b.mux(eop, unused, b.const(0, unused.width))
        return {self._source("eop", 1): eop, self._source("empty", self._empty_bits): empty}

    def _eop(self) -> Node:
        return self._source("later eop", 1)

    def _later(self) -> Node:
        widths = fields_of(self.flit)
        values = {name: self._source(f"later {name}", widths[name][1]) for name in ("error", "empty", "data")}
        return self._flit({**values, "eop": self._eop()})

    def _flit(self, values: Mapping[str, Node]) -> Node:
        """A flit of these fields; others are 0."""
        return self.b.concat(*self._fields(self.flit, values))

    def _fields(self, kind: typed.Type, values: Mapping[str, Node]) -> list[Node]:
        assert isinstance(kind, typed.Struct)
        parts: list[Node] = []
        for field in kind.fields:
            if isinstance(field.type, typed.Struct):
                parts += self._fields(field.type, values)
            else:
                parts.append(values.get(field.name, self.b.const(0, field.type.bits)))
        return parts

    def _packet(self, flit: Node) -> Packet:
        """The parts of a first flit."""
        places = _places(self.flit)

        def part(name: str) -> Node:
            return self.b.extract(flit, *places[name])

        data = part("data")
        halves = [self.b.extract(data, 8 * at, 8) for at in range(L.DATA_BYTES)]
        words = tuple(self.b.concat(halves[2 * n], halves[2 * n + 1]) for n in range(WORDS))
        mark = part("mark")
        rest = self.b.concat(*(part(name) for name in FIXED))
        return Packet(words, part("verdict"), part("queue"), (self.b.extract(mark, 16, 16), self.b.extract(mark, 0, 16)), rest)


def _sized(node: Node, name: str) -> Node:
    return Node("register", (), node.width, name=name)


def _again(b: Builder, roots: Sequence[Node], values: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The roots in another pool of nodes."""
    return replaced(b, roots, values)


def _span(put: Put) -> Span | None:
    return put.enable.span or put.data.span


def _places(kind: typed.Type, low: int = 0) -> dict[str, tuple[int, int]]:
    """Lowest bit and bits of each field, those of inner structs included."""
    assert isinstance(kind, typed.Struct)
    found: dict[str, tuple[int, int]] = {}
    for field in kind.fields:
        if isinstance(field.type, typed.Struct):
            found |= _places(field.type, low + field.low)
        else:
            found[field.name] = (low + field.low, field.type.bits)
    return found
